//! An annotation: one thing that is wrong, at a line of a file, whichever command found it.

use std::borrow::Cow;

use kubewright_engine::{Diagnostic, DiagnosticLevel};
use kubewright_value::Position;

use crate::Severity;

/// One thing that is wrong, at a line of a file.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Annotation<'a> {
    /// How bad it is.
    pub level: AnnotationLevel,
    /// The file.
    pub file: Cow<'a, str>,
    /// The position in the file.
    pub position: Position,
    /// The id of the rule, the name of the pattern or the code of the diagnostic.
    pub title: String,
    /// The message; may have several lines.
    pub text: String,
}

/// How bad it is, as code hosts distinguish it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnnotationLevel {
    /// Must be mended.
    Error,
    /// Should be looked at.
    Warning,
    /// Worth knowing.
    Notice,
}

impl Annotation<'_> {
    /// Returns the annotation of a diagnostic.
    #[must_use]
    pub fn of_diagnostic(diagnostic: &Diagnostic) -> Annotation<'_> {
        let location = &diagnostic.location;
        Annotation {
            level: diagnostic.severity().into(),
            file: location.source.name.as_str().into(),
            position: location.position,
            title: diagnostic.code.id.to_owned(),
            text: diagnostic_text(diagnostic),
        }
    }
}

/// Returns the message and help of a diagnostic.
pub(crate) fn diagnostic_text(diagnostic: &Diagnostic) -> String {
    match diagnostic.help.as_str() {
        "" => diagnostic.message.clone(),
        help => format!("{}\nhelp: {help}", diagnostic.message),
    }
}

impl From<DiagnosticLevel> for AnnotationLevel {
    fn from(level: DiagnosticLevel) -> Self {
        match level {
            DiagnosticLevel::Error => Self::Error,
            DiagnosticLevel::Warning => Self::Warning,
            DiagnosticLevel::Hint => Self::Notice,
        }
    }
}

impl From<Severity> for AnnotationLevel {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Critical | Severity::High => Self::Error,
            Severity::Medium => Self::Warning,
            Severity::Low | Severity::Info => Self::Notice,
        }
    }
}
