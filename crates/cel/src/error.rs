//! Errors of compiling and of evaluating an expression.

use kubewright_value::{Position, Text};
use thiserror::Error;

use super::ast::CelSpan;
use super::cost::CostExceeded;

/// An error in the text of an expression.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct CelCompileError {
    /// The message: what was found and what was expected.
    pub message: String,
    /// The position in the expression.
    pub position: Position,
    /// The number of characters that the error covers; at least 1.
    pub length: u32,
    /// The kind of error.
    pub kind: CelCompileErrorKind,
    /// What to write instead; may be empty.
    pub help: String,
}

/// The kinds of [`CelCompileError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CelCompileErrorKind {
    /// The text does not follow the grammar, nests too deep or is too long.
    Syntax,
    /// A variable or a type that does not exist.
    UnknownName,
    /// A function that does not exist.
    UnknownFunction,
    /// A function is called with too few or too many arguments.
    Arity,
    /// An operator or function cannot be used with values of these types.
    Type,
    /// A constant that cannot be used, such as an invalid regular expression.
    Value,
}

impl CelCompileError {
    pub(super) fn new(message: String, span: CelSpan, kind: CelCompileErrorKind, text: &str) -> Self {
        let (start, end) = (span.start as usize, span.end as usize);
        let covered = text.get(start..end).unwrap_or_default().chars().count();
        Self {
            message,
            position: Position::of(text, start),
            length: u32::try_from(covered).unwrap_or(u32::MAX).max(1),
            kind,
            help: String::new(),
        }
    }
}

/// An error of evaluating an expression.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct CelError {
    /// The message.
    pub message: String,
    /// The position in the expression.
    pub position: Position,
    /// The kind of error.
    pub kind: CelErrorKind,
    /// The missing key, if the error is that a map does not have it.
    pub missing_key: Option<Text>,
}

/// The kinds of [`CelError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CelErrorKind {
    /// No operator or function takes values of these types.
    Type,
    /// A value of the right type that cannot be used, such as a divisor of 0.
    Value,
    /// A map does not have the key, or a list the index.
    Missing,
    /// A variable without a value.
    Unbound,
    /// The cost limit is used up. Always an error of the rule, never a "no".
    Limit,
    /// An error of the host, with the number that the host assigned to it.
    Host(u32),
}

/// An error of a function or operator, before its position in the expression is known.
#[derive(Debug, Clone)]
pub struct CelFailure(Box<FailureParts>);

#[derive(Debug, Clone)]
struct FailureParts {
    message: String,
    kind: CelErrorKind,
    missing_key: Option<Text>,
    at: Option<u32>,
}

impl CelFailure {
    /// Returns an error of this kind.
    #[must_use]
    pub fn new(kind: CelErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(FailureParts { message: message.into(), kind, missing_key: None, at: None }))
    }

    /// Returns the error of a missing key in a map.
    #[must_use]
    pub fn missing_key(key: &str) -> Self {
        let mut failure = Self::new(CelErrorKind::Missing, format!("no such key: {key}"));
        failure.0.missing_key = Some(key.into());
        failure
    }

    /// Returns an error about a value that cannot be used.
    #[must_use]
    pub fn value(message: impl Into<String>) -> Self {
        Self::new(CelErrorKind::Value, message)
    }

    /// Returns an error about a type that cannot be used.
    #[must_use]
    pub fn type_error(message: impl Into<String>) -> Self {
        Self::new(CelErrorKind::Type, message)
    }

    /// Returns the error of a function whose arguments do not fit its overload.
    #[must_use]
    pub fn mismatch() -> Self {
        Self::type_error("no such overload")
    }

    /// Returns the kind of error.
    #[must_use]
    pub fn kind(&self) -> CelErrorKind {
        self.0.kind
    }

    /// Returns the message.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the error with `prefix` and a colon before its message.
    #[must_use]
    pub fn within(mut self, prefix: &str) -> Self {
        self.0.message = format!("{prefix}: {}", self.0.message);
        self
    }

    /// Sets the position, unless it is known already.
    pub(super) fn at(mut self, at: u32) -> Self {
        self.0.at.get_or_insert(at);
        self
    }

    pub(super) fn located(self, text: &str) -> CelError {
        let position = Position::of(text, self.0.at.unwrap_or(0) as usize);
        CelError { message: self.0.message, position, kind: self.0.kind, missing_key: self.0.missing_key }
    }

    pub(super) fn is_limit(&self) -> bool {
        self.0.kind == CelErrorKind::Limit
    }
}

/// An error about a value.
impl From<String> for CelFailure {
    fn from(message: String) -> Self {
        Self::value(message)
    }
}

impl From<CostExceeded> for CelFailure {
    fn from(exceeded: CostExceeded) -> Self {
        Self::new(CelErrorKind::Limit, exceeded.to_string())
    }
}
