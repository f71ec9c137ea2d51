//! JMESPath, such as `spec.containers[?image != 'x'].{name: name, ports: ports[].containerPort}`.
//!
//! An expression is parsed once and evaluated often. Results are borrowed from the object
//! where possible. A missing key is `null`, as the specification requires, and objects keep the
//! order of their keys.
//!
//! The caller passes the table of functions to the parser, so an unknown name or a
//! wrong number of arguments is found before anything is evaluated. Where the specification leaves
//! the grouping open, it follows the reference implementations: `!a.b` is `(!a).b`.

mod ast;
mod eval;
mod function;
mod kubernetes;
mod lex;
mod parser;
mod reads;
mod rewrite;
mod slots;
mod standard;

use std::borrow::Cow;
use std::fmt;

pub use function::{
    ArgumentTypes, ExpressionReference, JmesPathArgument, JmesPathFailure, JmesPathFunctions,
    JmesPathSignature,
};

pub use kubewright_golib::inputs::Inputs;
use kubewright_value::{Budget, Position, Text, Value};
pub use reads::{ExpressionReads, ReadPath};
pub use rewrite::{JmesPathChange, PathRoots};
use thiserror::Error;

/// The variant of the language: how missing keys and errors are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum JmesPathLanguage {
    /// The specification.
    #[default]
    Standard,
    /// The variant of policies. A path ends with null at a missing key, so a function
    /// behind it is not called; and `[]`, `[?…]` and `.*` over a source that fails are null.
    Forgiving,
}

/// A compiled expression.
#[derive(Clone)]
pub struct JmesPathExpression {
    source: Box<str>,
    root: ast::JmesPathExpr,
    calls: function::CalledFunctions,
}

/// The result of [`JmesPathExpression::find`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JmesPathLookup<'a> {
    /// A value, which may be null.
    Value(Cow<'a, Value>),
    /// No value, because an object does not have this key.
    Missing(Text),
}

/// Returns the message for a missing key, in the words that policy tests expect.
#[must_use]
pub fn unknown_key_message(key: &str) -> String {
    format!("Unknown key \"{key}\" in path")
}

/// An error in the text of an expression.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct JmesPathParseError {
    /// The message: what was found and what was expected.
    pub message: String,
    /// The position in the expression.
    pub position: Position,
    /// The number of characters that the error covers; at least 1.
    pub length: u32,
    /// The kind of error.
    pub kind: JmesPathParseErrorKind,
}

/// The kinds of [`JmesPathParseError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JmesPathParseErrorKind {
    /// The text does not follow the grammar, or nests too deep.
    Syntax,
    /// An unknown function is called.
    UnknownFunction,
    /// A function is called with too few or too many arguments.
    Arity,
}

/// An error of evaluating an expression.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct JmesPathError {
    /// The message.
    pub message: String,
    /// The position in the expression.
    pub position: Position,
    /// The kind of error.
    pub kind: JmesPathErrorKind,
}

/// The kinds of [`JmesPathError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JmesPathErrorKind {
    /// An argument of the wrong type.
    Type,
    /// A value of the right type that cannot be used, such as a slice with step 0.
    Value,
    /// The budget is used up. Always an error of the rule, never a "no".
    Limit,
}

impl JmesPathExpression {
    /// Parses `text`, in which the functions of `functions` may be called.
    ///
    /// # Errors
    /// When it is not a valid expression, or calls an unknown function or one with a wrong number of arguments.
    pub fn parse(text: &str, functions: &JmesPathFunctions) -> Result<Self, JmesPathParseError> {
        Self::parse_as(text, functions, JmesPathLanguage::Standard)
    }

    /// Parses `text` in `language`.
    ///
    /// # Errors
    /// As [`JmesPathExpression::parse`].
    pub fn parse_as(
        text: &str,
        functions: &JmesPathFunctions,
        language: JmesPathLanguage,
    ) -> Result<Self, JmesPathParseError> {
        Self::parse_by(text, &parser::ParserSettings::new(functions, language))
    }

    fn parse_by(text: &str, settings: &parser::ParserSettings<'_>) -> Result<Self, JmesPathParseError> {
        parser::parse_jmespath(text, settings)
            .map(|(root, calls)| Self { source: text.into(), root, calls })
            .map_err(|bad| bad.located(text))
    }

    /// Returns the text of the expression.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns whether it calls a function. Without one, its text alone decides what it finds.
    #[must_use]
    pub fn calls_functions(&self) -> bool {
        self.calls.has_any
    }

    /// Evaluates the expression on `root`.
    ///
    /// # Errors
    /// When a function refuses its arguments, a slice has step 0, or the budget is used up.
    pub fn evaluate(&self, root: &Value, budget: &mut Budget) -> Result<Value, JmesPathError> {
        self.evaluate_ref(root, budget).map(Cow::into_owned)
    }

    /// Evaluates the expression on `root` and borrows what it finds.
    ///
    /// # Errors
    /// As [`JmesPathExpression::evaluate`].
    pub fn evaluate_ref<'a>(
        &'a self,
        root: &'a Value,
        budget: &mut Budget,
    ) -> Result<Cow<'a, Value>, JmesPathError> {
        eval::evaluate_root(budget, &self.root, root).map_err(|failure| self.located(failure))
    }

    /// Evaluates the expression on `root`, and distinguishes a missing key from null if a path at the end of the
    /// expression meets it: in `a.b` and in `x && a.b`, but not in `a.b || c` or `f(a.b)`.
    ///
    /// # Errors
    /// As [`JmesPathExpression::evaluate`].
    pub fn find<'a>(
        &'a self,
        root: &'a Value,
        budget: &mut Budget,
    ) -> Result<JmesPathLookup<'a>, JmesPathError> {
        let found = eval::lookup_expr(budget, &self.root, root).and_then(|found| {
            if let JmesPathLookup::Value(value) = &found {
                eval::charge_copies(budget, &self.root, value)?;
            }
            Ok(found)
        });
        found.map_err(|failure| self.located(failure))
    }

    fn located(&self, failure: JmesPathFailure) -> JmesPathError {
        let (kind, message, at) = failure.into_parts();
        JmesPathError { message, position: Position::of(&self.source, at as usize), kind }
    }
}

/// Returns whether a condition with this result holds: null, false and empty values do not, zero does.
#[must_use]
pub fn is_truthy(value: &Value) -> bool {
    eval::is_truthy_value(value)
}

impl fmt::Debug for JmesPathExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JmesPathExpression({:?})", self.source)
    }
}

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

#[cfg(test)]
mod tests;
