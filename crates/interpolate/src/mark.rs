//! The mark of what is left out.

use std::any::Any;

use kubewright_cel::{Opaque, Val};

/// The name of the type of the mark.
pub const OMITTED: &str = "omitted";

/// Returns the mark: what an expression gives for an entry or item that is to be left out.
#[must_use]
pub fn omitted<'a>() -> Val<'a> {
    Val::opaque(OmittedMark)
}

/// Returns whether `value` is the mark.
#[must_use]
pub fn is_omitted(value: &Val<'_>) -> bool {
    value.as_opaque::<OmittedMark>().is_some()
}

#[derive(Debug)]
struct OmittedMark;

impl Opaque for OmittedMark {
    fn type_name(&self) -> &'static str {
        OMITTED
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn equals(&self, _: &dyn Opaque) -> bool {
        true
    }
}
