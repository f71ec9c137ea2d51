//! What a rule says, in Kyverno's words, so that reports and tests compare equal.

use kubewright_value::Text;

use super::conditions;
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
}

/// What came of comparing an object with a pattern.
pub(super) enum Outcome<'a> {
    /// It differs at a path, for a reason that is told when there is nothing better to say.
    At { path: &'a str, reason: &'a str },
    /// It could not be compared.
    Execution(&'a str),
    /// It differs from every one of several patterns, each in these words.
    Each(&'a [String]),
}

impl Message {
    pub(super) fn new(rule: Text, written: Text, template: Template) -> Self {
        let passed = format!("validation rule '{rule}' passed.").into();
        Self { rule, passed, written, template }
    }

    /// Returns the message as its author wrote it.
    pub(super) fn text(&self) -> &str {
        &self.written
    }

    /// Returns the message as its author wrote it, with those of the conditions that denied; empty where it is the
    /// rule's own alone.
    pub(super) fn written_with(&self, conditions: &conditions::Verdict<'_>) -> Text {
        match conditions.messages.is_empty() {
            true => Text::default(),
            false => joined(&self.written, &conditions.text()).into(),
        }
    }

    /// Returns what is said about an object that violates a pattern.
    pub(super) fn violated(&self, outcome: &Outcome<'_>, context: &mut Context<'_>) -> String {
        let rule = &self.rule;
        let what = match outcome {
            Outcome::At { path, .. } => format!("rule {rule} failed at path {path}"),
            Outcome::Execution(error) => format!("rule {rule} execution error: {error}"),
            Outcome::Each(failures) => failures.join(" "),
        };
        if self.written.is_empty() {
            return format!("validation error: {what}");
        }
        if let Ok(text) = self.template.resolve_text(context) {
            let stop = if text.ends_with('.') { "" } else { "." };
            return format!("validation error: {text}{stop} {what}");
        }
        let reason = match outcome {
            Outcome::At { reason, .. } | Outcome::Execution(reason) => reason,
            Outcome::Each(_) => what.as_str(),
        };
        format!("validation error: variables substitution error in rule {rule} execution error: {reason}")
    }

    /// Returns what is said about a denied object; `conditions` are those that denied it. A message with a variable
    /// that stands for nothing is said as it is written.
    pub(super) fn denied(
        &self,
        conditions: Option<&conditions::Verdict<'_>>,
        context: &mut Context<'_>,
    ) -> String {
        let written = conditions.map(conditions::Verdict::text).unwrap_or_default();
        if self.written.is_empty() && written.is_empty() {
            return format!("validation error: rule {} failed", self.rule);
        }
        let resolved = self.template.resolve_text(context).and_then(|text| {
            let of_conditions = conditions.map(|conditions| conditions.resolve(context)).transpose()?;
            Ok(joined(&text, &of_conditions.unwrap_or_default()))
        });
        resolved.unwrap_or_else(|_| joined(&self.written, &written))
    }
}

fn joined(message: &str, conditions: &str) -> String {
    match (message, conditions) {
        (message, "") => message.to_owned(),
        ("", conditions) => conditions.to_owned(),
        (message, conditions) => format!("{message}; {conditions}"),
    }
}
