//! Why a function, and with it the expression, has no result.

use kubewright_value::Exhausted;

use super::super::JmesPathErrorKind;

/// Why a call has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JmesPathFailure {
    kind: JmesPathErrorKind,
    message: String,
    /// Which argument it is about.
    argument: Option<usize>,
    /// Where in the expression, once that is known.
    at: Option<u32>,
}

impl JmesPathFailure {
    /// Returns a failure because of a value of the wrong type.
    #[must_use]
    pub fn wrong_type(message: impl Into<String>) -> Self {
        Self { kind: JmesPathErrorKind::Type, message: message.into(), argument: None, at: None }
    }

    /// Returns a failure because of a value that has the right type and cannot be used.
    #[must_use]
    pub fn wrong_value(message: impl Into<String>) -> Self {
        Self { kind: JmesPathErrorKind::Value, message: message.into(), argument: None, at: None }
    }

    /// Says that it is about the argument at `index`, counted from 0.
    #[must_use]
    pub fn about(self, index: usize) -> Self {
        Self { argument: Some(index), ..self }
    }

    /// Returns which argument it is about.
    pub(in super::super) fn argument(&self) -> Option<usize> {
        self.argument
    }

    /// Returns whether the budget is used up, which nothing forgives.
    pub(crate) fn is_limit(&self) -> bool {
        self.kind == JmesPathErrorKind::Limit
    }

    /// Says where it was, unless that is known already.
    pub(in super::super) fn at(self, at: u32) -> Self {
        Self { at: self.at.or(Some(at)), ..self }
    }

    pub(in super::super) fn into_parts(self) -> (JmesPathErrorKind, String, u32) {
        (self.kind, self.message, self.at.unwrap_or(0))
    }
}

impl From<Exhausted> for JmesPathFailure {
    fn from(exhausted: Exhausted) -> Self {
        Self { kind: JmesPathErrorKind::Limit, message: exhausted.to_string(), argument: None, at: None }
    }
}
