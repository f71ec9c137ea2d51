//! An annotation: one thing that is wrong, at a line of a file, whichever command found it.

use std::borrow::Cow;
use std::collections::HashMap;

use kubewright_engine::{Diagnostic, DiagnosticLevel, RuleStatus};
use kubewright_golib::naming::sha256_hex;
use kubewright_value::Position;

use crate::Severity;
use crate::text::relative_file;

/// How many hexadecimal digits a fingerprint has.
const FINGERPRINT_DIGITS: usize = 32;

/// One thing that is wrong, at a line of a file.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Annotation<'a> {
    /// How bad it is.
    pub level: AnnotationLevel,
    /// How bad it is on the scale that rules and patterns use.
    pub severity: Severity,
    /// What it is about, apart from the line: the object and the part of it, or the case.
    pub identity: String,
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
        let level = diagnostic.severity().into();
        Annotation {
            level,
            severity: Severity::of_level(level),
            identity: diagnostic.message.clone(),
            file: location.source.name.as_str().into(),
            position: location.position,
            title: diagnostic.code.id.to_owned(),
            text: diagnostic_text(diagnostic),
        }
    }
}

/// Fingerprints of annotations: they stay the same when lines move, and none is given twice.
#[derive(Debug, Default)]
pub(crate) struct Fingerprints {
    given: HashMap<String, usize>,
}

impl Fingerprints {
    /// Returns the fingerprint of `annotation`, and how many had it before, this one included.
    pub(crate) fn next(&mut self, annotation: &Annotation<'_>, folder: &str) -> (String, usize) {
        let file = relative_file(&annotation.file, folder);
        let text = [annotation.title.as_str(), file, &annotation.identity].join("\n");
        let fingerprint: String = sha256_hex(&text).chars().take(FINGERPRINT_DIGITS).collect();
        let number = self.given.entry(fingerprint.clone()).or_default();
        *number += 1;
        (fingerprint, *number)
    }
}

impl AnnotationLevel {
    /// Returns the level of an outcome, the same in every format; nothing where nothing is wrong. The severity that the
    /// author of the rule wrote says how bad a failure is, not whether it is one.
    #[must_use]
    pub fn of_status(status: RuleStatus) -> Option<Self> {
        match status {
            RuleStatus::Fail | RuleStatus::Error => Some(Self::Error),
            RuleStatus::Warn => Some(Self::Warning),
            RuleStatus::Pass | RuleStatus::Skip => None,
        }
    }

    /// Returns its name in SARIF and for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Notice => "note",
        }
    }
}

impl Severity {
    /// Returns how bad a violation of a rule is: as its author says in `word`, and otherwise medium.
    #[must_use]
    pub fn of_rule(word: &str) -> Self {
        Self::named(&word.to_ascii_lowercase()).unwrap_or(Self::Medium)
    }

    /// Returns how bad something of `level` is that has no severity of its own.
    #[must_use]
    pub fn of_level(level: AnnotationLevel) -> Self {
        match level {
            AnnotationLevel::Error => Self::High,
            AnnotationLevel::Warning => Self::Medium,
            AnnotationLevel::Notice => Self::Info,
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
