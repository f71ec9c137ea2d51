//! Mistakes in a rule object, in the form of Kubernetes' field errors.

use std::fmt;
use std::sync::Arc;

use kubewright_value::{Document, Step, Text, Value};

use crate::{Code, Diagnostic};
use kubewright_k8s::GroupVersionKind;

/// One mistake in one field of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// The field, such as `spec.match[0].select`; empty for the whole object.
    pub field: String,
    /// The message, with the remedy.
    pub message: String,
    /// The diagnostic code.
    pub code: &'static Code,
    /// The words of the program that the rule language comes from.
    pub upstream_words: Option<Box<Text>>,
}

impl FieldError {
    /// Returns `diagnostic` as a mistake in a field of `document`.
    #[must_use]
    pub fn of(document: &Document, diagnostic: &Diagnostic) -> Self {
        let is_here = Arc::ptr_eq(&diagnostic.location.source, &document.source);
        let path = if is_here { document.path_at(diagnostic.location.position) } else { Vec::new() };
        let message = match (diagnostic.message.as_str(), diagnostic.help.as_str()) {
            (message, "") => message.to_owned(),
            (message, help) => format!("{message}; {help}"),
        };
        Self {
            field: kubernetes_field_path(&path),
            message,
            code: diagnostic.code,
            upstream_words: diagnostic.upstream_words.clone(),
        }
    }
}

/// As one line: `field: message (code)`.
impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        write!(f, "{} ({})", self.message, self.code.id)?;
        match &self.upstream_words {
            Some(words) => write!(f, ": {words}"),
            None => Ok(()),
        }
    }
}

/// Returns the message of the API server for an invalid `object`: `Kind.group "name" is invalid: [...]`.
#[must_use]
pub fn invalid_object_message(object: &Value, faults: &[FieldError]) -> String {
    let GroupVersionKind { group, kind, .. } = GroupVersionKind::of(object);
    let dot = if group.is_empty() { "" } else { "." };
    let name = object.str_at(&["metadata", "name"]);
    let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
    format!("{kind}{dot}{group} {name:?} is invalid: [{}]", faults.join(", "))
}

/// Writes a path as Kubernetes does: `spec.match[0].select`, and `[key]` for a key with special characters.
fn kubernetes_field_path(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Index(index) => text.push_str(&format!("[{index}]")),
            Step::Key(key) if key.contains(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_') => {
                text.push_str(&format!("[{key}]"));
            }
            Step::Key(key) if text.is_empty() => text.push_str(key),
            Step::Key(key) => text.push_str(&format!(".{key}")),
        }
    }
    text
}
