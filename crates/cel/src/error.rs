//! What can go wrong, before and while an expression is evaluated.

use kubewright_value::{Position, Text};
use thiserror::Error;

use super::ast::Span;
use super::cost::Exceeded;

/// Why a text is no expression of its environment.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct CompileError {
    /// What was found and what was expected.
    pub message: String,
    /// Where in the expression.
    pub position: Position,
    /// How many characters it is about; at least 1.
    pub length: u32,
    /// What kind of error it is.
    pub kind: CompileErrorKind,
}

/// The kinds of [`CompileError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompileErrorKind {
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
    /// A constant that cannot be used, such as a pattern that is none.
    Value,
}

impl CompileError {
    pub(super) fn new(message: String, span: Span, kind: CompileErrorKind, text: &str) -> Self {
        let (start, end) = (span.start as usize, span.end as usize);
        let covered = text.get(start..end).unwrap_or_default().chars().count();
        Self {
            message,
            position: Position::of(text, start),
            length: u32::try_from(covered).unwrap_or(u32::MAX).max(1),
            kind,
        }
    }
}

/// Why an expression has no result for these values.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct EvalError {
    /// What went wrong.
    pub message: String,
    /// Where in the expression.
    pub position: Position,
    /// What kind of error it is.
    pub kind: EvalErrorKind,
    /// The key that a map does not have, where that is the error.
    pub missing_key: Option<Text>,
}

/// The kinds of [`EvalError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvalErrorKind {
    /// No operator or function takes values of these types.
    Type,
    /// A value of the right type that cannot be used, such as a divisor of 0.
    Value,
    /// A map does not have the key, or a list the index.
    Missing,
    /// A variable that nobody bound.
    Unbound,
    /// The cost limit is used up. Always an error of the rule, never a "no".
    Limit,
    /// An error of the host, with the number that the host gave it.
    Host(u32),
}

/// An error of a function, which does not know where it was called.
#[derive(Debug, Clone)]
pub struct Failure(Box<Parts>);

#[derive(Debug, Clone)]
struct Parts {
    message: String,
    kind: EvalErrorKind,
    missing_key: Option<Text>,
    at: Option<u32>,
}

impl Failure {
    /// Returns an error of this kind.
    #[must_use]
    pub fn new(kind: EvalErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Parts { message: message.into(), kind, missing_key: None, at: None }))
    }

    /// Returns the error of a map that does not have `key`.
    #[must_use]
    pub fn missing_key(key: &str) -> Self {
        let mut failure = Self::new(EvalErrorKind::Missing, format!("no such key: {key}"));
        failure.0.missing_key = Some(key.into());
        failure
    }

    /// Returns an error about a value that cannot be used.
    #[must_use]
    pub fn value(message: impl Into<String>) -> Self {
        Self::new(EvalErrorKind::Value, message)
    }

    /// Returns an error about a type that cannot be used.
    #[must_use]
    pub fn type_error(message: impl Into<String>) -> Self {
        Self::new(EvalErrorKind::Type, message)
    }

    /// Returns the error of a function that got other arguments than its overload has.
    #[must_use]
    pub fn mismatch() -> Self {
        Self::type_error("no such overload")
    }

    /// Returns what kind of error it is.
    #[must_use]
    pub fn kind(&self) -> EvalErrorKind {
        self.0.kind
    }

    /// Returns what went wrong.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the same with `prefix` and a colon before its message.
    #[must_use]
    pub fn within(mut self, prefix: &str) -> Self {
        self.0.message = format!("{prefix}: {}", self.0.message);
        self
    }

    /// Says where it went wrong, unless that is known already.
    pub(super) fn at(mut self, at: u32) -> Self {
        self.0.at.get_or_insert(at);
        self
    }

    pub(super) fn located(self, text: &str) -> EvalError {
        let position = Position::of(text, self.0.at.unwrap_or(0) as usize);
        EvalError { message: self.0.message, position, kind: self.0.kind, missing_key: self.0.missing_key }
    }

    pub(super) fn is_limit(&self) -> bool {
        self.0.kind == EvalErrorKind::Limit
    }
}

/// An error about a value.
impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self::value(message)
    }
}

impl From<Exceeded> for Failure {
    fn from(exceeded: Exceeded) -> Self {
        Self::new(EvalErrorKind::Limit, exceeded.to_string())
    }
}
