//! The errors of templates, with their positions.

use std::fmt;

use kubewright_value::{Position, Text};

/// A template that could not be parsed or executed.
///
/// Displays as Go does: `template: name:1:3: executing "name" at <x>: …`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GoTemplateError {
    /// When it happened.
    pub kind: GoTemplateErrorKind,
    /// The message, without the template's name and position.
    pub message: String,
    /// The position in the template's text.
    pub position: Position,
    /// The name the template was parsed under.
    pub template: Text,
}

/// The ways in which a template fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GoTemplateErrorKind {
    /// The text is not a template.
    Parse,
    /// The text calls a function that must be allowed by name.
    Refused,
    /// The template does not fit the values it was given.
    Execute,
    /// A limit of the budget was reached.
    Limit,
}

impl fmt::Display for GoTemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { line, column } = self.position;
        match self.kind {
            GoTemplateErrorKind::Parse | GoTemplateErrorKind::Refused => {
                write!(f, "template: {}:{line}: {}", self.template, self.message)
            }
            // Go counts columns from zero.
            _ => {
                write!(f, "template: {}:{line}:{}: {}", self.template, column.saturating_sub(1), self.message)
            }
        }
    }
}

impl std::error::Error for GoTemplateError {}
