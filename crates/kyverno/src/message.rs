//! The messages of rules, in Kyverno's wording, so that reports and tests compare equal.

use kubewright_value::Text;

use super::conditions;
use super::context::{Unresolved, VariableContext};
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

impl PatternOutcome<'_> {
    /// Returns `parts` and then what happened to `rule`. Every refusal has such a message, and formatting takes far longer
    /// than to join it.
    fn after(&self, parts: &[&str], rule: &str) -> String {
        let mut text = String::with_capacity(parts.iter().map(|part| part.len()).sum::<usize>() + 128);
        let mut push = |more: &[&str]| more.iter().for_each(|part| text.push_str(part));
        push(parts);
        match self {
            Self::At { path, .. } => push(&["rule ", rule, " failed at path ", path]),
            Self::Execution(error) => push(&["rule ", rule, " execution error: ", error]),
            Self::Each(failures) => push(&[&failures.join(" ")]),
        }
        text
    }
}

/// The message of a violation.
pub(super) struct ViolationMessage {
    /// In Kyverno's words.
    pub(super) text: String,
    /// The author's part of it, as it is written where a variable has no value; may be empty.
    pub(super) plain: Text,
    /// Which variable has no value; empty where all have.
    pub(super) help: String,
}

impl ViolationMessage {
    fn new(text: String, plain: Text) -> Self {
        Self { text, plain, help: String::new() }
    }
}

/// Returns which variable of a message has no value, and what to do about it.
fn unresolved_help(unresolved: &Unresolved) -> String {
    match unresolved.cause() {
        (cause, "") => cause.to_owned(),
        (cause, help) => format!("{cause}; {help}"),
    }
}

impl RuleMessage {
    pub(super) fn new(rule: Text, written: Text, template: VariableTemplate) -> Self {
        let passed = format!("validation rule '{rule}' passed.").into();
        Self { rule, passed, written, template }
    }

    /// Returns the message with its variables.
    pub(super) fn template(&self) -> &VariableTemplate {
        &self.template
    }

    /// Returns the message as its author wrote it.
    pub(super) fn text(&self) -> &Text {
        &self.written
    }

    /// Returns whether it is the same for every object.
    pub(super) fn is_constant(&self) -> bool {
        self.template.constant().is_some()
    }

    /// Returns the message as its author wrote it, with those of the conditions that denied; empty where it is the
    /// rule's own alone.
    pub(super) fn written_with(&self, conditions: &conditions::ConditionVerdict<'_>) -> Text {
        match conditions.messages.is_empty() {
            true => Text::default(),
            false => join_messages(&self.written, &conditions.text()).into(),
        }
    }

    /// Returns the message for an object that violates a pattern.
    pub(super) fn violated(
        &self,
        outcome: &PatternOutcome<'_>,
        context: &mut VariableContext<'_>,
    ) -> ViolationMessage {
        let rule = self.rule.as_str();
        if self.written.is_empty() {
            return ViolationMessage::new(outcome.after(&["validation error: "], rule), Text::default());
        }
        let unresolved = match self.template.resolve_text(context) {
            Ok(text) => {
                let stop = if text.ends_with('.') { " " } else { ". " };
                return ViolationMessage::new(
                    outcome.after(&["validation error: ", &text, stop], rule),
                    text,
                );
            }
            Err(unresolved) => unresolved,
        };
        let reason = match outcome {
            PatternOutcome::At { reason, .. } | PatternOutcome::Execution(reason) => (*reason).to_owned(),
            PatternOutcome::Each(_) => outcome.after(&[], rule),
        };
        ViolationMessage {
            text: format!(
                "validation error: variables substitution error in rule {rule} execution error: {reason}"
            ),
            plain: self.written.clone(),
            help: unresolved_help(&unresolved),
        }
    }

    /// Returns the message for a denied object; `conditions` are those that denied it. A message with an unresolved
    /// variable is returned as it is written.
    pub(super) fn denied(
        &self,
        conditions: Option<&conditions::ConditionVerdict<'_>>,
        context: &mut VariableContext<'_>,
    ) -> ViolationMessage {
        let written = conditions.map(conditions::ConditionVerdict::text).unwrap_or_default();
        if self.written.is_empty() && written.is_empty() {
            let text = format!("validation error: rule {} failed", self.rule);
            return ViolationMessage::new(text, Text::default());
        }
        let resolved = self.template.resolve_text(context).and_then(|text| {
            let of_conditions = conditions.map(|conditions| conditions.resolve(context)).transpose()?;
            Ok(join_messages(&text, &of_conditions.unwrap_or_default()))
        });
        match resolved {
            Ok(text) => ViolationMessage::new(text, Text::default()),
            Err(unresolved) => ViolationMessage {
                help: unresolved_help(&unresolved),
                ..ViolationMessage::new(join_messages(&self.written, &written), Text::default())
            },
        }
    }
}

fn join_messages(message: &str, conditions: &str) -> String {
    match (message, conditions) {
        (message, "") => message.to_owned(),
        ("", conditions) => conditions.to_owned(),
        (message, conditions) => format!("{message}; {conditions}"),
    }
}
