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

pub use item::{JsonPathItem, JsonPathResult};
use kubewright_value::{Budget, Position, Step, Text, Value};
pub use lint::JsonPathLint;
pub use render::{render_go_text, render_text};
use thiserror::Error;
pub use walk::CapturedKey;

use eval::PathScope;
use fault::{PathFault, PathFaultKind};

/// The parts of the language that are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum JsonPathLanguage {
    /// Paths, literals, `==` and `!=`.
    Paths,
    /// The same, and objects with `#` in their keys.
    Placeholders,
    /// Everything.
    #[default]
    Full,
}

/// A compiled expression.
pub struct JsonPathExpression {
    source: Box<str>,
    root: ast::PathExpr,
    plain_path: Option<Vec<Step>>,
}

/// A compiled path that selects values together with the keys it went through.
pub struct JsonPathSelector {
    source: Box<str>,
    path: ast::ParsedPath,
}

/// A value that a [`JsonPathSelector`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SelectedValue {
    /// The keys that wildcards, filters, ranges, unions and `..` went through, in order.
    pub keys: Vec<CapturedKey>,
    /// The value.
    pub value: Value,
}

/// The reason why a text is not an expression.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct JsonPathSyntaxError {
    /// The value found and the one expected.
    pub message: String,
    /// The position in the expression.
    pub position: Position,
    /// The number of characters it is about; at least 1.
    pub length: u32,
}

/// The error of evaluating an expression on an object.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct JsonPathError {
    /// A description of the error.
    pub message: String,
    /// The position in the expression.
    pub position: Position,
    /// The kind of error.
    pub kind: JsonPathErrorKind,
}

/// The kinds of [`JsonPathError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonPathErrorKind {
    /// A value of the wrong type.
    Type,
    /// An index outside of an array.
    Range,
    /// A wrong number of arguments, or a text that is not a date or regular expression.
    Argument,
    /// The budget is used up. Always an error of the rule, never a "no".
    Limit,
}

impl JsonPathExpression {
    /// Parses `text` in the full language.
    ///
    /// # Errors
    /// When it is not an expression; unknown functions and bad regular expressions included.
    pub fn parse(text: &str) -> Result<Self, JsonPathSyntaxError> {
        Self::parse_as(text, JsonPathLanguage::Full)
    }

    /// Parses `text` in `language`.
    ///
    /// # Errors
    /// When it is not an expression of that language.
    pub fn parse_as(text: &str, language: JsonPathLanguage) -> Result<Self, JsonPathSyntaxError> {
        let root = parser::parse_expression(text, language)?;
        let plain_path = analyse::plain_path(&root);
        Ok(Self { source: text.into(), root, plain_path })
    }

    /// Returns the names of all functions.
    pub fn function_names() -> impl Iterator<Item = &'static str> {
        ast::PathFunction::NAMES.iter().map(|(name, _)| *name)
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
    pub fn evaluate(&self, root: &Value, budget: &mut Budget) -> Result<JsonPathResult, JsonPathError> {
        self.evaluate_ref(root, budget).map(JsonPathItem::into_found)
    }

    /// Evaluates the expression on `root` and borrows what it finds.
    ///
    /// # Errors
    /// As [`JsonPathExpression::evaluate`].
    pub fn evaluate_ref<'a>(
        &'a self,
        root: &'a Value,
        budget: &mut Budget,
    ) -> Result<JsonPathItem<'a>, JsonPathError> {
        eval::eval_expression(budget, &self.root, root_scope(root))
            .map_err(|fault| located_error(&self.source, &fault))
    }

    /// Returns the keys of a path like `$.a.b["c"][0]`, and nothing for any other expression.
    ///
    /// A number means an index here; evaluating it on an object takes it for a key.
    #[must_use]
    pub fn plain_path(&self) -> Option<&[Step]> {
        self.plain_path.as_deref()
    }

    /// Returns the text that a path of keys, like `$.kind`, finds in `root`, and how many keys it has. Nothing for any other
    /// expression, and where it finds something else.
    #[must_use]
    pub fn plain_text<'v>(&self, root: &'v Value) -> Option<(&'v Text, usize)> {
        self.plain_path.as_ref()?;
        let ast::ExprNode::Path(path) = &self.root.node else { return None };
        let mut found = root;
        for step in &path.steps {
            let (ast::ParsedStepKind::Key(key), Value::Object(map)) = (&step.kind, found) else {
                return None;
            };
            found = key.position_hint.get(map, &key.name).filter(|_| !key.is_number)?;
        }
        match found {
            Value::String(text) => Some((text, path.steps.len())),
            _ => None,
        }
    }

    /// Returns whether it is a path that finds a list, whatever is there. All members of the list are defined.
    #[must_use]
    pub fn is_list_path(&self) -> bool {
        matches!(&self.root.node, ast::ExprNode::Path(path) if path.is_list)
    }

    /// Returns values that must be at certain paths for the expression to be true,
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

    /// Returns the parts of the expression that are probably mistakes, with their positions.
    #[must_use]
    pub fn lints(&self) -> Vec<(JsonPathLint, Position)> {
        with_positions(&self.source, lint::lints(&self.root))
    }

    /// Returns whether every result is a boolean.
    #[must_use]
    pub fn is_boolean(&self) -> bool {
        analyse::is_boolean(&self.root)
    }
}

impl JsonPathSelector {
    /// Parses `text`, which must be nothing but a path that starts with `$` or `@`.
    ///
    /// # Errors
    /// When it is not.
    pub fn parse(text: &str) -> Result<Self, JsonPathSyntaxError> {
        Ok(Self { source: text.into(), path: parser::parse_path(text)? })
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
    pub fn evaluate(&self, root: &Value, budget: &mut Budget) -> Result<Vec<SelectedValue>, JsonPathError> {
        let mut found = Vec::new();
        let mut visit = |place: walk::WalkPlace<'_>, trail: &walk::WalkTrail| {
            if let Some(value) = place.into_item().into_value() {
                found.push(SelectedValue { keys: trail.keys.clone(), value });
            }
            Ok(())
        };
        walk::visit_with_trail(budget, &self.path, root_scope(root), false, &mut visit)
            .map_err(|fault| located_error(&self.source, &fault))?;
        Ok(found)
    }

    /// Returns the values the path finds together with their places. When the path has a script
    /// step, the place where that was applied.
    ///
    /// # Errors
    /// When the budget is used up.
    pub fn places(
        &self,
        root: &Value,
        budget: &mut Budget,
    ) -> Result<Vec<(Vec<Step>, Value)>, JsonPathError> {
        let mut found = Vec::new();
        let mut visit = |place: walk::WalkPlace<'_>, trail: &walk::WalkTrail| {
            if let Some(value) = place.into_item().into_value() {
                found.push((trail.steps.clone(), value));
            }
            Ok(())
        };
        walk::visit_with_trail(budget, &self.path, root_scope(root), true, &mut visit)
            .map_err(|fault| located_error(&self.source, &fault))?;
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

    /// Returns the parts of the path that are probably mistakes, with their positions.
    #[must_use]
    pub fn lints(&self) -> Vec<(JsonPathLint, Position)> {
        with_positions(&self.source, lint::path_lints(&self.path))
    }
}

impl fmt::Debug for JsonPathExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Expression({:?})", self.source)
    }
}

impl fmt::Debug for JsonPathSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Select({:?})", self.source)
    }
}

/// `@` outside of a filter is null.
fn root_scope(root: &Value) -> PathScope<'_> {
    PathScope { root, current: Some(&Value::Null), trail: None }
}

fn with_positions(source: &str, lints: Vec<(JsonPathLint, u32)>) -> Vec<(JsonPathLint, Position)> {
    lints.into_iter().map(|(lint, at)| (lint, Position::of(source, at as usize))).collect()
}

fn located_error(source: &str, fault: &PathFault) -> JsonPathError {
    let kind = match fault.kind {
        PathFaultKind::Exhausted(_) => JsonPathErrorKind::Limit,
        PathFaultKind::OutOfBounds { .. } => JsonPathErrorKind::Range,
        PathFaultKind::Arguments(_)
        | PathFaultKind::BadRegex(_)
        | PathFaultKind::BadDate(_)
        | PathFaultKind::NoPlaceholder(_) => JsonPathErrorKind::Argument,
        _ => JsonPathErrorKind::Type,
    };
    JsonPathError { message: fault.kind.to_string(), position: Position::of(source, fault.at as usize), kind }
}

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

#[cfg(test)]
mod tests;
