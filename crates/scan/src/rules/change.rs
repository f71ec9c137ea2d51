//! What a rule that would change a stored object means for a report.

use kubewright_engine::{RuleOutcome, RuleStatus, SECRET_MARK};
use kubewright_patch::JsonPatchOperation;
use kubewright_value::text::{TextLimit, shorten_text};
use kubewright_value::{Text, Value, bounded};

/// The property of a row with the changes that a rule would make.
pub const CHANGES_PROPERTY: &str = "patch";

/// How many operations are shown, and how long each may be.
const MAX_SHOWN_OPERATIONS: usize = 10;
const MAX_OPERATION_CHARACTERS: usize = 200;

/// Returns the outcome of a rule that would change the object: a warning, because the object is not as the rule would
/// have it, and no rule is violated; a violation where the rule calls it one. The changes are in the property `patch`, without values if the object is a Secret.
pub(crate) fn would_change(mut outcome: RuleOutcome, is_secret: bool) -> RuleOutcome {
    let count = outcome.patch.len();
    let noun = if count == 1 { "change" } else { "changes" };
    let shown = outcome.patch.iter().take(MAX_SHOWN_OPERATIONS);
    let operations: Vec<Value> = shown.map(|operation| shown_operation(operation, is_secret)).collect();
    let paths: Vec<&str> = operations.iter().take(3).map(|operation| operation.str_at(&["path"])).collect();
    let more = if count > paths.len() { ", …" } else { "" };
    let message = format!("the rule would change the object ({count} {noun}): {}{more}", paths.join(", "));
    (outcome.status, outcome.message) = match &outcome.metadata.unapplied_message {
        Some(message) => (RuleStatus::Fail, message.clone()),
        None => {
            (RuleStatus::Warn, shorten_text(&message, TextLimit::BytesWithLength(1 << 10)).as_ref().into())
        }
    };
    let mut metadata = outcome.metadata.as_ref().clone();
    metadata.properties.push((Text::new(CHANGES_PROPERTY), patch_text(&operations, count).into()));
    outcome.metadata = metadata.into();
    outcome.patch.clear();
    outcome
}

fn shown_operation(operation: &JsonPatchOperation, is_secret: bool) -> Value {
    let mut shown = operation.to_value();
    if let Some(value) = shown.as_object_mut().filter(|_| is_secret).and_then(|map| map.get_mut("value")) {
        *value = SECRET_MARK.into();
    }
    shown
}

/// Returns the first operations, one on each line.
fn patch_text(operations: &[Value], count: usize) -> String {
    let line = |operation: &Value| bounded::shortened_json(operation, MAX_OPERATION_CHARACTERS);
    let mut lines: Vec<String> = operations.iter().map(line).collect();
    if count > operations.len() {
        lines.push(format!("… and {} more", count - operations.len()));
    }
    lines.join("\n")
}
