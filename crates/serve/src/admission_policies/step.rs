//! What is to be done next about one rule that the API server should enforce.

use kubewright_engine::{AdmissionPhase, AdmissionPolicy};
use kubewright_value::{Text, Value};

use super::compare::{is_owned, repaired_policy};

/// How much of a warning of the API server is told, in characters.
const MAX_WARNING_CHARACTERS: usize = 300;

/// Which of the two objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum PolicyPart {
    Policy,
    Binding,
}

/// What is to be done next.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PolicyStep {
    /// This is to be written: it is new, or not as it should be.
    Write(PolicyPart, Value),
    /// The binding is to go, because of this.
    Unbind(String),
    /// Nothing can be done, because of this.
    Wait(String),
    /// All is as it should be.
    SettledPolicy,
}

/// What there is of a rule's two objects, and what the API server made of them when they were last written.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ExistingObjects<'f> {
    pub(super) policy: Option<&'f Value>,
    pub(super) binding: Option<&'f Value>,
    pub(super) answered_policy: Option<&'f Value>,
    pub(super) answered_binding: Option<&'f Value>,
}

/// Returns what is to be done so that the API server enforces `wanted`, whose objects are complete.
pub(super) fn next_policy_step(wanted: &AdmissionPolicy, found: ExistingObjects<'_>) -> PolicyStep {
    for (actual, wanted) in [(found.policy, &wanted.policy), (found.binding, &wanted.binding)] {
        if let Some(actual) = actual.filter(|actual| !is_owned(actual, wanted)) {
            let text = |path: &[&str]| actual.str_at(path);
            let (kind, name) = (text(&["kind"]), text(&["metadata", "name"]));
            return PolicyStep::Wait(format!(
                "{kind} `{name}` is there already and does not belong to this policy"
            ));
        }
    }
    let policy = match found.policy {
        None => return PolicyStep::Write(PolicyPart::Policy, wanted.policy.clone()),
        Some(actual) => match repaired_policy(actual, &wanted.policy, found.answered_policy) {
            Some(new) => return PolicyStep::Write(PolicyPart::Policy, new),
            None => actual,
        },
    };
    // The types of policies that change objects are not checked.
    if wanted.phase() == AdmissionPhase::Validating && !is_observed(policy) {
        return PolicyStep::Wait(
            "the API server has not checked the ValidatingAdmissionPolicy yet".to_owned(),
        );
    }
    if let Some(warning) = type_check_warning(policy) {
        let why = format!("the type check of the API server warns: {warning}");
        return if found.binding.is_some() { PolicyStep::Unbind(why) } else { PolicyStep::Wait(why) };
    }
    match found.binding {
        None => PolicyStep::Write(PolicyPart::Binding, wanted.binding.clone()),
        Some(actual) => match repaired_policy(actual, &wanted.binding, found.answered_binding) {
            Some(new) => PolicyStep::Write(PolicyPart::Binding, new),
            None => PolicyStep::SettledPolicy,
        },
    }
}

/// Returns whether the types of the policy as it is now were checked.
fn is_observed(policy: &Value) -> bool {
    let number = |path: &[&str]| policy.at(path).and_then(Value::as_i64);
    number(&["status", "observedGeneration"])
        .is_some_and(|seen| Some(seen) == number(&["metadata", "generation"]))
}

/// Returns the first thing that is wrong with the types of the policy, in one line.
fn type_check_warning(policy: &Value) -> Option<String> {
    let warnings = policy.at(&["status", "typeChecking", "expressionWarnings"])?.as_array()?;
    let first = warnings.first()?;
    let text = |key: &str| first.get(key).and_then(Value::as_str).map(Text::new).unwrap_or_default();
    let line = text("warning").split_whitespace().collect::<Vec<_>>().join(" ");
    Some(format!("{}: {line}", text("fieldRef")).chars().take(MAX_WARNING_CHARACTERS).collect())
}

#[cfg(test)]
mod tests;
