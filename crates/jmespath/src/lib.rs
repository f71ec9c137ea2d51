//! JMESPath, such as `spec.containers[?image != 'x'].{name: name, ports: ports[].containerPort}`.
//!
//! An expression is parsed once and evaluated often. What it finds is borrowed from the object
//! where it can be. A missing key is `null`, as the specification wants it, and objects keep the
//! order of their keys.
//!
//! Which functions exist is a table that the caller hands to the parser, so an unknown name or a
//! wrong number of arguments is found before anything is evaluated. Where the specification leaves
//! the grouping open, it is the one of the reference implementations: `!a.b` is `(!a).b`.

mod ast;
mod eval;
mod function;
mod kubernetes;
mod lex;
mod parser;
mod rewrite;
mod standard;

use std::borrow::Cow;
use std::fmt;

pub use function::{Accepts, Argument, Failure, Functions, Reference, Signature};

pub use kubewright_golib::inputs::Inputs;
use kubewright_value::{Budget, Position, Text, Value};
pub use rewrite::{Change, Roots};
use thiserror::Error;

/// What an expression forgives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Language {
    /// As the specification has it.
    #[default]
    Standard,
    /// As policy engines have it. A path ends with null at a key that an object does not have, so a function
    /// behind it is not called; and `[]`, `[?…]` and `.*` over what fails find null.
    Forgiving,
}

/// A compiled expression.
pub struct Expression {
    source: Box<str>,
    root: ast::Expr,
    is_volatile: bool,
}

/// What [`Expression::find`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found<'a> {
    /// A value, which may be null.
    Value(Cow<'a, Value>),
    /// Nothing, because an object does not have this key.
    Missing(Text),
}

/// Returns what policy engines say where `key` is missing.
#[must_use]
pub fn unknown_key(key: &str) -> String {
    format!("Unknown key \"{key}\" in path")
}

/// Why a text is no expression.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct ParseError {
    /// What was found and what was expected.
    pub message: String,
    /// Where in the expression.
    pub position: Position,
    /// How many characters it is about; at least 1.
    pub length: u32,
    /// What kind of error it is.
    pub kind: ParseErrorKind,
}

/// The kinds of [`ParseError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParseErrorKind {
    /// The text does not follow the grammar, or nests too deep.
    Syntax,
    /// A function is called that the table does not have.
    UnknownFunction,
    /// A function is called with too few or too many arguments.
    Arity,
}

/// Why an expression has no result for this object.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct EvalError {
    /// What went wrong.
    pub message: String,
    /// Where in the expression.
    pub position: Position,
    /// What kind of error it is.
    pub kind: EvalErrorKind,
}

/// The kinds of [`EvalError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvalErrorKind {
    /// An argument of the wrong type.
    Type,
    /// A value of the right type that cannot be used, such as a slice with step 0.
    Value,
    /// The budget is used up. Always an error of the rule, never a "no".
    Limit,
}

impl Expression {
    /// Parses `text`, in which the functions of `functions` may be called.
    ///
    /// # Errors
    /// When it is no expression; unknown functions and wrong numbers of arguments included.
    pub fn parse(text: &str, functions: &Functions) -> Result<Self, ParseError> {
        Self::parse_as(text, functions, Language::Standard)
    }

    /// Parses `text` in `language`.
    ///
    /// # Errors
    /// As [`Expression::parse`].
    pub fn parse_as(text: &str, functions: &Functions, language: Language) -> Result<Self, ParseError> {
        parser::parse(text, functions, language)
            .map(|(root, is_volatile)| Self { source: text.into(), root, is_volatile })
            .map_err(|bad| bad.located(text))
    }

    /// Returns the text it was parsed from.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Evaluates the expression on `root`.
    ///
    /// # Errors
    /// When a function refuses its arguments, a slice has step 0, or the budget is used up.
    pub fn evaluate(&self, root: &Value, budget: &mut Budget) -> Result<Value, EvalError> {
        self.evaluate_ref(root, budget).map(Cow::into_owned)
    }

    /// Evaluates the expression on `root` and borrows what it finds.
    ///
    /// # Errors
    /// As [`Expression::evaluate`].
    pub fn evaluate_ref<'a>(
        &'a self,
        root: &'a Value,
        budget: &mut Budget,
    ) -> Result<Cow<'a, Value>, EvalError> {
        eval::whole(budget, &self.root, root).map_err(|failure| self.located(failure))
    }

    /// Evaluates the expression on `root`, and tells a missing key from null where a path at the end of the
    /// expression runs into it: in `a.b` and in `x && a.b`, but not in `a.b || c` or `f(a.b)`.
    ///
    /// # Errors
    /// As [`Expression::evaluate`].
    pub fn find<'a>(&'a self, root: &'a Value, budget: &mut Budget) -> Result<Found<'a>, EvalError> {
        let found = eval::find(budget, &self.root, root).and_then(|found| {
            if let Found::Value(value) = &found {
                eval::charge_copies(budget, &self.root, value)?;
            }
            Ok(found)
        });
        found.map_err(|failure| self.located(failure))
    }

    fn located(&self, failure: Failure) -> EvalError {
        let (kind, message, at) = failure.into_parts();
        EvalError { message, position: Position::of(&self.source, at as usize), kind }
    }
}

/// Returns whether a condition with this result holds. Zero does; null, false and what is empty do not.
#[must_use]
pub fn is_true(value: &Value) -> bool {
    eval::is_true(value)
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Expression({:?})", self.source)
    }
}

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

#[cfg(test)]
mod tests;
