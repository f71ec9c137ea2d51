//! Paths and conditions over JSON, such as `$.spec.containers[? @.image =~ "nginx"].name`.
//!
//! An expression is parsed once and evaluated often. What it finds is borrowed from the
//! object until the caller asks for a copy. *Undefined* is what a path finds where a key
//! is missing; it is not `null`, and every comparison with it is false.
//!
//! A path with a wildcard, filter, range, union or `..` always finds a list, and drops
//! what is undefined or fails on the way. Any other path finds one value, or fails.

mod analyse;
mod ast;
mod convert;
mod date;
mod eval;
mod fault;
mod item;
mod lint;
mod operators;
mod parser;
mod render;
mod scan;
mod walk;

use std::fmt;

pub use item::{Found, Item};
use kubewright_value::{Budget, Position, Step, Value};
pub use lint::Lint;
pub use render::{text, text_go};
use thiserror::Error;
pub use walk::Captured as Key;

use eval::Scope;
use fault::{Fault, FaultKind};

/// Which parts of the language are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Language {
    /// Paths, literals, `==` and `!=`.
    Paths,
    /// The same, and objects with `#` in their keys.
    Placeholders,
    /// Everything.
    #[default]
    Full,
}

/// A compiled expression.
pub struct Expression {
    source: Box<str>,
    root: ast::Expr,
    plain_path: Option<Vec<Step>>,
}

/// A compiled path that selects values together with the keys it went through.
pub struct Select {
    source: Box<str>,
    path: ast::Path,
}

/// A value that a [`Select`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selected {
    /// The keys that wildcards, filters, ranges, unions and `..` went through, in order.
    pub keys: Vec<Key>,
    /// The value.
    pub value: Value,
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
    /// A value of the wrong type.
    Type,
    /// An index outside of an array.
    Range,
    /// A wrong number of arguments, or a text that is no date or regular expression.
    Argument,
    /// The budget is used up. Always an error of the rule, never a "no".
    Limit,
}

impl Expression {
    /// Parses `text` in the full language.
    ///
    /// # Errors
    /// When it is no expression; unknown functions and bad regular expressions included.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        Self::parse_as(text, Language::Full)
    }

    /// Parses `text` in `language`.
    ///
    /// # Errors
    /// When it is no expression of that language.
    pub fn parse_as(text: &str, language: Language) -> Result<Self, ParseError> {
        let root = parser::expression(text, language)?;
        let plain_path = analyse::plain_path(&root);
        Ok(Self { source: text.into(), root, plain_path })
    }

    /// Returns the text it was parsed from.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Evaluates the expression on `root`.
    ///
    /// # Errors
    /// When a value has the wrong type, an index is out of bounds, or the budget is used up.
    pub fn evaluate(&self, root: &Value, budget: &mut Budget) -> Result<Found, EvalError> {
        self.evaluate_ref(root, budget).map(Item::into_found)
    }

    /// Evaluates the expression on `root` and borrows what it finds.
    ///
    /// # Errors
    /// As [`Expression::evaluate`].
    pub fn evaluate_ref<'a>(&'a self, root: &'a Value, budget: &mut Budget) -> Result<Item<'a>, EvalError> {
        eval::eval(budget, &self.root, scope(root)).map_err(|fault| located(&self.source, &fault))
    }

    /// Returns the keys of a path like `$.a.b["c"][0]`, and nothing for any other expression.
    ///
    /// A number means an index here; evaluating it on an object takes it for a key.
    #[must_use]
    pub fn plain_path(&self) -> Option<&[Step]> {
        self.plain_path.as_deref()
    }

    /// Returns values that must stand at certain paths for the expression to be true,
    /// such as `Pod` at `kind` for `$.kind == "Pod" && …`. There may be more.
    #[must_use]
    pub fn pinned(&self) -> Vec<(Vec<Step>, Value)> {
        analyse::pinned(&self.root)
    }

    /// Returns whether the expression may look at `key` of the root object.
    #[must_use]
    pub fn reads_root_key(&self, key: &str) -> bool {
        analyse::reads_root_key(&self.root, key)
    }

    /// Returns what in the expression hardly means what it seems to, and where.
    #[must_use]
    pub fn lints(&self) -> Vec<(Lint, Position)> {
        placed(&self.source, lint::lints(&self.root))
    }

    /// Returns whether every result is a boolean.
    #[must_use]
    pub fn is_boolean(&self) -> bool {
        analyse::is_boolean(&self.root)
    }
}

impl Select {
    /// Parses `text`, which must be nothing but a path that starts with `$` or `@`.
    ///
    /// # Errors
    /// When it is not.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        Ok(Self { source: text.into(), path: parser::path(text)? })
    }

    /// Returns the text it was parsed from.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns the values the path finds, in document order. What is undefined or fails is left out.
    ///
    /// # Errors
    /// When the budget is used up.
    pub fn evaluate(&self, root: &Value, budget: &mut Budget) -> Result<Vec<Selected>, EvalError> {
        let mut found = Vec::new();
        let mut visit = |place: walk::Place<'_>, trail: &walk::Trail| {
            if let Some(value) = place.into_item().into_value() {
                found.push(Selected { keys: trail.keys.clone(), value });
            }
            Ok(())
        };
        walk::visit_with_trail(budget, &self.path, scope(root), false, &mut visit)
            .map_err(|fault| located(&self.source, &fault))?;
        Ok(found)
    }

    /// Returns the values the path finds together with the places where they stand. When the path has a script
    /// step, the place where that was applied.
    ///
    /// # Errors
    /// When the budget is used up.
    pub fn places(&self, root: &Value, budget: &mut Budget) -> Result<Vec<(Vec<Step>, Value)>, EvalError> {
        let mut found = Vec::new();
        let mut visit = |place: walk::Place<'_>, trail: &walk::Trail| {
            if let Some(value) = place.into_item().into_value() {
                found.push((trail.steps.clone(), value));
            }
            Ok(())
        };
        walk::visit_with_trail(budget, &self.path, scope(root), true, &mut visit)
            .map_err(|fault| located(&self.source, &fault))?;
        Ok(found)
    }

    /// Returns how many keys every result has at least, and at most if there is a limit.
    #[must_use]
    pub fn captures(&self) -> (usize, Option<usize>) {
        analyse::captures(&self.path)
    }

    /// Returns whether the path may look at `key` of the root object.
    #[must_use]
    pub fn reads_root_key(&self, key: &str) -> bool {
        analyse::path_reads_root_key(&self.path, key)
    }

    /// Returns what in the path hardly means what it seems to, and where.
    #[must_use]
    pub fn lints(&self) -> Vec<(Lint, Position)> {
        placed(&self.source, lint::path_lints(&self.path))
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Expression({:?})", self.source)
    }
}

impl fmt::Debug for Select {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Select({:?})", self.source)
    }
}

/// `@` outside of a filter is null.
fn scope(root: &Value) -> Scope<'_> {
    Scope { root, current: Some(&Value::Null), trail: None }
}

fn placed(source: &str, lints: Vec<(Lint, u32)>) -> Vec<(Lint, Position)> {
    lints.into_iter().map(|(lint, at)| (lint, Position::of(source, at as usize))).collect()
}

fn located(source: &str, fault: &Fault) -> EvalError {
    let kind = match fault.kind {
        FaultKind::Exhausted(_) => EvalErrorKind::Limit,
        FaultKind::OutOfBounds { .. } => EvalErrorKind::Range,
        FaultKind::Arguments(_)
        | FaultKind::BadRegex(_)
        | FaultKind::BadDate(_)
        | FaultKind::NoPlaceholder(_) => EvalErrorKind::Argument,
        _ => EvalErrorKind::Type,
    };
    EvalError { message: fault.kind.to_string(), position: Position::of(source, fault.at as usize), kind }
}

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

#[cfg(test)]
mod tests;
