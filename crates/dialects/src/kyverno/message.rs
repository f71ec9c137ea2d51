//! What a rule says, in Kyverno's words, so that reports and tests compare equal.

use kubewright_lang::jmespath::Functions;
use kubewright_value::{Text, Value};

use super::context::Context;
use super::template::Template;

/// The message of a rule.
pub(super) struct Message {
    /// The rule's name.
    pub(super) rule: Text,
    /// What a rule that passes says.
    pub(super) passed: Text,
    /// As its author wrote it; may be empty.
    written: Text,
    template: Template,
    functions: Functions,
}

/// What came of comparing an object with a pattern.
pub(super) enum Outcome<'a> {
    /// It differs at this path.
    At(&'a str),
    /// It could not be compared.
    Execution(&'a str),
    /// It differs from every one of several patterns, each in these words.
    Each(&'a [String]),
}

impl Message {
    pub(super) fn new(rule: Text, written: Text, template: Template, functions: Functions) -> Self {
        let passed = format!("validation rule '{rule}' passed.").into();
        Self { rule, passed, written, template, functions }
    }

    /// Returns the message as its author wrote it.
    pub(super) fn text(&self) -> &str {
        &self.written
    }

    /// Returns what is said about an object that violates a pattern.
    pub(super) fn violated(&self, outcome: &Outcome<'_>, context: &mut Context<'_>) -> String {
        let rule = &self.rule;
        let what = match outcome {
            Outcome::At(path) => format!("rule {rule} failed at path {path}"),
            Outcome::Execution(error) => format!("rule {rule} execution error: {error}"),
            Outcome::Each(failures) => failures.join(" "),
        };
        if self.written.is_empty() {
            return format!("validation error: {what}");
        }
        match (self.template.resolve_text(context), outcome) {
            (Ok(text), _) => {
                let stop = if text.ends_with('.') { "" } else { "." };
                format!("validation error: {text}{stop} {what}")
            }
            (Err(_), Outcome::At(path)) => {
                let error = format!("pattern mismatch at path {path}");
                format!("validation error: variables substitution error in rule {rule} execution error: {error}")
            }
            (Err(_), Outcome::Execution(error)) => {
                format!("validation error: variables substitution error in rule {rule} execution error: {error}")
            }
            (Err(_), Outcome::Each(_)) => {
                format!("validation error: variables substitution error in rule {rule} execution error: {what}")
            }
        }
    }

    /// Returns what is said about a denied object; `conditions` are the messages of the conditions that denied it.
    pub(super) fn denied(&self, conditions: &str, context: &mut Context<'_>) -> String {
        let joined = match (self.written.as_str(), conditions) {
            ("", "") => return format!("validation error: rule {} failed", self.rule),
            (written, "") => {
                let resolved = self.template.resolve_text(context);
                return resolved.map_or_else(|_| written.to_owned(), Into::into);
            }
            ("", conditions) => conditions.to_owned(),
            (written, conditions) => format!("{written}; {conditions}"),
        };
        if !joined.contains("{{") && !joined.contains("$(") {
            return joined;
        }
        let (template, _) = Template::parse(&Value::from(joined.as_str()), &self.functions);
        template.resolve_text(context).map_or(joined, Into::into)
    }
}
