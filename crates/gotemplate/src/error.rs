//! What can go wrong with a template, and where.

use std::fmt;

use kubewright_value::{Position, Text};

/// A template that could not be parsed or executed.
///
/// Displays as Go does: `template: name:1:3: executing "name" at <x>: …`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateError {
    /// When it happened.
    pub kind: ErrorKind,
    /// What happened, without the template's name and position.
    pub message: String,
    /// Where in the template's text.
    pub position: Position,
    /// The name the template was parsed under.
    pub template: Text,
}

/// The ways in which a template fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The text is not a template.
    Parse,
    /// The text calls a function that must be allowed by name.
    Refused,
    /// The template does not fit the values it was given.
    Execute,
    /// A limit of the budget was reached.
    Limit,
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { line, column } = self.position;
        match self.kind {
            ErrorKind::Parse | ErrorKind::Refused => {
                write!(f, "template: {}:{line}: {}", self.template, self.message)
            }
            // Go counts columns from zero.
            _ => {
                write!(f, "template: {}:{line}:{}: {}", self.template, column.saturating_sub(1), self.message)
            }
        }
    }
}

impl std::error::Error for TemplateError {}
