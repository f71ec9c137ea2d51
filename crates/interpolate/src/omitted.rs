//! The marker for an omitted entry or item.

use std::any::Any;

use kubewright_cel::{Opaque, Val};

/// The name of the marker's type.
pub const OMITTED_TYPE_NAME: &str = "omitted";

/// Returns the marker: the value of an expression whose entry or item is left out.
#[must_use]
pub fn omitted<'a>() -> Val<'a> {
    Val::opaque(OmittedMark)
}

/// Returns whether `value` is the marker.
#[must_use]
pub fn is_omitted(value: &Val<'_>) -> bool {
    value.as_opaque::<OmittedMark>().is_some()
}

#[derive(Debug)]
struct OmittedMark;

impl Opaque for OmittedMark {
    fn type_name(&self) -> &'static str {
        OMITTED_TYPE_NAME
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn equals(&self, _: &dyn Opaque) -> bool {
        true
    }
}
