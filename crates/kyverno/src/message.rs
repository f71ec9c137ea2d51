//! The messages of rules, in Kyverno's wording, so that reports and tests compare equal.

use kubewright_value::Text;

use super::conditions;
use super::context::VariableContext;
use super::template::VariableTemplate;

/// The message of a rule.
pub(super) struct RuleMessage {
    /// The rule's name.
    pub(super) rule: Text,
    /// The message of a rule that passes.
    pub(super) passed: Text,
    /// As its author wrote it; may be empty.
    written: Text,
    template: VariableTemplate,
}

/// The result of comparing an object with a pattern.
pub(super) enum PatternOutcome<'a> {
    /// It differs at a path; the reason is shown when there is no better message.
    At { path: &'a str, reason: &'a str },
    /// It could not be compared.
    Execution(&'a str),
    /// It differs from every one of several patterns; one message for each.
    Each(&'a [String]),
}

impl RuleMessage {
    pub(super) fn new(rule: Text, written: Text, template: VariableTemplate) -> Self {
        let passed = format!("validation rule '{rule}' passed.").into();
        Self { rule, passed, written, template }
    }

    /// Returns the message as its author wrote it.
    pub(super) fn text(&self) -> &str {
        &self.written
    }

    /// Returns the message as its author wrote it, with those of the conditions that denied; empty where it is the
    /// rule's own alone.
    pub(super) fn written_with(&self, conditions: &conditions::ConditionVerdict<'_>) -> Text {
        match conditions.messages.is_empty() {
            true => Text::default(),
            false => join_messages(&self.written, &conditions.text()).into(),
        }
    }

    /// Returns the message for an object that violates a pattern, and the author's part of it, which may be empty.
    pub(super) fn violated(
        &self,
        outcome: &PatternOutcome<'_>,
        context: &mut VariableContext<'_>,
    ) -> (String, Text) {
        let rule = &self.rule;
        let what = match outcome {
            PatternOutcome::At { path, .. } => format!("rule {rule} failed at path {path}"),
            PatternOutcome::Execution(error) => format!("rule {rule} execution error: {error}"),
            PatternOutcome::Each(failures) => failures.join(" "),
        };
        if self.written.is_empty() {
            return (format!("validation error: {what}"), Text::default());
        }
        if let Ok(text) = self.template.resolve_text(context) {
            let stop = if text.ends_with('.') { "" } else { "." };
            return (format!("validation error: {text}{stop} {what}"), text);
        }
        let reason = match outcome {
            PatternOutcome::At { reason, .. } | PatternOutcome::Execution(reason) => reason,
            PatternOutcome::Each(_) => what.as_str(),
        };
        let full = format!(
            "validation error: variables substitution error in rule {rule} execution error: {reason}"
        );
        (full, Text::default())
    }

    /// Returns the message for a denied object; `conditions` are those that denied it. A message with an unresolved
    /// variable is returned as it is written.
    pub(super) fn denied(
        &self,
        conditions: Option<&conditions::ConditionVerdict<'_>>,
        context: &mut VariableContext<'_>,
    ) -> String {
        let written = conditions.map(conditions::ConditionVerdict::text).unwrap_or_default();
        if self.written.is_empty() && written.is_empty() {
            return format!("validation error: rule {} failed", self.rule);
        }
        let resolved = self.template.resolve_text(context).and_then(|text| {
            let of_conditions = conditions.map(|conditions| conditions.resolve(context)).transpose()?;
            Ok(join_messages(&text, &of_conditions.unwrap_or_default()))
        });
        resolved.unwrap_or_else(|_| join_messages(&self.written, &written))
    }
}

fn join_messages(message: &str, conditions: &str) -> String {
    match (message, conditions) {
        (message, "") => message.to_owned(),
        ("", conditions) => conditions.to_owned(),
        (message, conditions) => format!("{message}; {conditions}"),
    }
}
