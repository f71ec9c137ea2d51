//! Errors of functions.

use kubewright_value::Exhausted;

use super::super::JmesPathErrorKind;

/// An error of a function, before its position in the expression is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JmesPathFailure {
    kind: JmesPathErrorKind,
    message: String,
    /// The argument that caused it.
    argument: Option<usize>,
    /// The byte offset in the expression, once it is known.
    at: Option<u32>,
}

impl JmesPathFailure {
    /// Returns an error about a value of the wrong type.
    #[must_use]
    pub fn wrong_type(message: impl Into<String>) -> Self {
        Self { kind: JmesPathErrorKind::Type, message: message.into(), argument: None, at: None }
    }

    /// Returns an error about a value of the right type that cannot be used.
    #[must_use]
    pub fn wrong_value(message: impl Into<String>) -> Self {
        Self { kind: JmesPathErrorKind::Value, message: message.into(), argument: None, at: None }
    }

    /// Sets the argument that caused it, counted from 0.
    #[must_use]
    pub fn about(self, index: usize) -> Self {
        Self { argument: Some(index), ..self }
    }

    /// Returns the argument that caused it.
    pub(in super::super) fn argument(&self) -> Option<usize> {
        self.argument
    }

    /// Returns whether the budget is used up, which is an error in every mode.
    pub(crate) fn is_limit(&self) -> bool {
        self.kind == JmesPathErrorKind::Limit
    }

    /// Sets the position, unless it is known already.
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
