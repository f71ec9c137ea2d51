//! What can go wrong, before and while a template is rendered.

use kubewright_value::{Position, Step, Text};
use thiserror::Error;

use kubewright_cel::EvalErrorKind;

/// Something in a template that can never be rendered.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct Problem {
    /// The text that it is about, from the root of the template.
    pub path: Vec<Step>,
    /// Whether it is about the key that ends the path, not about its value.
    pub is_key: bool,
    /// What was found and what was expected.
    pub message: String,
    /// Where in the text.
    pub position: Position,
    /// How many characters it is about; at least 1.
    pub length: u32,
}

/// Why a template has no result for these values.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct RenderError {
    /// The text that failed, from the root of the template.
    pub path: Vec<Step>,
    /// Whether the key that ends the path failed, not its value.
    pub is_key: bool,
    /// What went wrong.
    pub message: String,
    /// Where in the text.
    pub position: Position,
    /// The expression that failed, without its braces; empty when it was none.
    pub expression: Text,
    /// What kind of error it is.
    pub kind: EvalErrorKind,
    /// The key that a map does not have, where that is the error.
    pub missing_key: Option<Text>,
}

impl RenderError {
    /// Returns the error of the root of a template.
    pub(super) fn new(kind: EvalErrorKind, message: impl Into<String>) -> Self {
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
        Self::new(EvalErrorKind::Limit, format!("nested deeper than {most} levels"))
    }

    /// Says that it is about what is under `step`. Steps are added from the inside out and turned around at
    /// the end, so that rendering without errors keeps no path.
    pub(super) fn under(mut self: Box<Self>, step: Step) -> Box<Self> {
        self.path.push(step);
        self
    }

    pub(super) fn finished(mut self) -> Self {
        self.path.reverse();
        self
    }
}

/// Returns where something is that stands at `inner` of a part which starts at `start`.
pub(super) fn moved(start: Position, inner: Position) -> Position {
    match inner.line {
        0 | 1 => {
            Position { line: start.line, column: start.column.saturating_add(inner.column).saturating_sub(1) }
        }
        line => Position { line: start.line.saturating_add(line).saturating_sub(1), column: inner.column },
    }
}
