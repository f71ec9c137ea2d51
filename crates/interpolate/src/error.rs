//! Errors of compiling and of rendering a template.

use kubewright_value::{Position, Step, Text};
use thiserror::Error;

use kubewright_cel::CelErrorKind;

/// An error in the text of a template.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct InterpolationProblem {
    /// The path of the string, from the root of the template.
    pub path: Vec<Step>,
    /// Whether the error is in the key that ends the path, not in its value.
    pub is_key: bool,
    /// The message: what was found and what was expected.
    pub message: String,
    /// The position in the string.
    pub position: Position,
    /// The number of characters that the error covers; at least 1.
    pub length: u32,
}

/// An error of rendering a template.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct RenderError {
    /// The path of the string, from the root of the template.
    pub path: Vec<Step>,
    /// Whether the error is in the key that ends the path, not in its value.
    pub is_key: bool,
    /// The message.
    pub message: String,
    /// The position in the string.
    pub position: Position,
    /// The expression that failed, without its braces; empty if no expression failed.
    pub expression: Text,
    /// The kind of error.
    pub kind: CelErrorKind,
    /// The missing key, if the error is that a map does not have it.
    pub missing_key: Option<Text>,
}

impl RenderError {
    /// Returns an error with an empty path.
    pub(super) fn new(kind: CelErrorKind, message: impl Into<String>) -> Self {
        Self {
            path: Vec::new(),
            is_key: false,
            message: message.into(),
            position: Position::START,
            expression: Text::default(),
            kind,
            missing_key: None,
        }
    }

    pub(super) fn too_deep() -> Self {
        let most = kubewright_value::json::MAX_DEPTH;
        Self::new(CelErrorKind::Limit, format!("nested deeper than {most} levels"))
    }

    /// Adds a step to the path. Steps are added from the inside out and reversed at
    /// the end, so that rendering without errors does not track a path.
    pub(super) fn under(mut self: Box<Self>, step: Step) -> Box<Self> {
        self.path.push(step);
        self
    }

    pub(super) fn finished(mut self) -> Self {
        self.path.reverse();
        self
    }
}

/// Returns the position in the whole string of a position `inner` in a part that starts at `start`.
pub(super) fn offset_position(start: Position, inner: Position) -> Position {
    match inner.line {
        0 | 1 => {
            Position { line: start.line, column: start.column.saturating_add(inner.column).saturating_sub(1) }
        }
        line => Position { line: start.line.saturating_add(line).saturating_sub(1), column: inner.column },
    }
}
