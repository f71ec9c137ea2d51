//! The body of a rule that is built when an object first needs it.

use std::ops::Deref;
use std::sync::LazyLock;

use kubewright_value::Text;

use super::{RuleBody, ValidateCheck};

/// A body that may be built when it is first needed.
pub(crate) struct LazyBody(LazyLock<RuleBody, BodyBuilder>);

type BodyBuilder = Box<dyn FnOnce() -> RuleBody + Send + Sync>;

impl LazyBody {
    /// Returns the body that `build` builds when it is first needed.
    pub(crate) fn later(build: impl FnOnce() -> RuleBody + Send + Sync + 'static) -> Self {
        Self(LazyLock::new(Box::new(build)))
    }

    /// Returns the body of a rule that cannot run, and why.
    pub(crate) fn impossible(reason: Text) -> Self {
        let check = ValidateCheck::Impossible(reason);
        RuleBody { entries: Vec::new(), preconditions: None, check }.into()
    }
}

impl From<RuleBody> for LazyBody {
    fn from(body: RuleBody) -> Self {
        let body = Self::later(move || body);
        LazyLock::force(&body.0);
        body
    }
}

impl Deref for LazyBody {
    type Target = RuleBody;

    #[inline]
    fn deref(&self) -> &RuleBody {
        &self.0
    }
}
