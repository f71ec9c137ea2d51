//! The statuses of rule objects: whether a rule runs, what is wrong with it, and when it last could not answer.
//!
//! Every replica works out the same status and writes it only where the stored one differs, so that they do not
//! fight, and so that the watch which brings the written status back leads to no further write.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant, SystemTime};

use kubewright_engine::{Diagnostic, FieldError, RuleFailure, RuleReport};
use kubewright_k8s::{ObjectName, object_title};
use kubewright_value::{Map, Text, Value, json};

use crate::events::{is_secret, truncated};
use crate::{Notice, RuleState, clock};

/// How often at most the last failure of a rule is written.
const FAILURE_WRITE_INTERVAL: Duration = Duration::from_secs(60);

/// How long a message may be, in bytes.
const MAX_STATUS_MESSAGE_BYTES: usize = 4096;

/// How many rules' failures are remembered.
const MAX_RECORDED_FAILURES: usize = 10_000;

/// The last failures of rules.
#[derive(Debug, Default)]
pub(crate) struct RecordedFailures {
    by_rule: HashMap<ObjectName, RecordedFailure>,
}

#[derive(Debug)]
struct RecordedFailure {
    last: RuleFailure,
    is_written: bool,
    written: Option<Instant>,
}

impl RecordedFailures {
    /// Takes up that a rule could not answer.
    pub(crate) fn add(&mut self, notice: &Notice, time: SystemTime) {
        if self.by_rule.len() >= MAX_RECORDED_FAILURES && !self.by_rule.contains_key(&notice.document) {
            return;
        }
        let ObjectName { kind, namespace, name, .. } = &notice.subject;
        let message = match is_secret(&notice.subject) {
            // A message can be made of anything that the object has in it.
            true => "the rule could not answer".to_owned(),
            false => truncated(notice.message.to_string(), MAX_STATUS_MESSAGE_BYTES),
        };
        let last = RuleFailure {
            time: clock::rfc3339_seconds(time).into(),
            message,
            object: object_title(kind, namespace, name),
        };
        let entry = self.by_rule.entry(notice.document.clone());
        let entry =
            entry.or_insert_with(|| RecordedFailure { last: last.clone(), is_written: false, written: None });
        (entry.last, entry.is_written) = (last, false);
    }

    /// Returns the rules whose failures are to be written now.
    pub(crate) fn due(&self, now: Instant) -> HashSet<ObjectName> {
        let is_due = |failure: &RecordedFailure| {
            let is_quiet = |at: Instant| now.saturating_duration_since(at) >= FAILURE_WRITE_INTERVAL;
            !failure.is_written && failure.written.is_none_or(is_quiet)
        };
        self.by_rule.iter().filter(|(_, failure)| is_due(failure)).map(|(rule, _)| rule.clone()).collect()
    }

    /// Returns the last failure of `rule`, where it is not written yet.
    pub(crate) fn news(&self, rule: &ObjectName) -> Option<&RuleFailure> {
        self.by_rule.get(rule).filter(|failure| !failure.is_written).map(|failure| &failure.last)
    }

    /// Remembers that the last failure of `rule` is written, or that there is no such rule.
    pub(crate) fn written(&mut self, rule: &ObjectName, now: Instant) {
        if let Some(failure) = self.by_rule.get_mut(rule) {
            (failure.is_written, failure.written) = (true, Some(now));
        }
    }

    /// Forgets rules that are not there any more.
    pub(crate) fn retain(&mut self, is_there: impl Fn(&ObjectName) -> bool) {
        self.by_rule.retain(|rule, _| is_there(rule));
    }
}

/// Returns the report about a rule object. `since` is filled in by [`status_patch`], which knows the stored status.
pub(crate) fn rule_report(state: &RuleState) -> RuleReport {
    let errors = state.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count();
    let reason = match (errors, state.rules) {
        (0, 0) => "NoRules",
        (0, _) => "Compiled",
        (_, 0) => "Invalid",
        _ => "PartlyInvalid",
    };
    let doubtful: Vec<&Diagnostic> = state.diagnostics.iter().filter(|found| found.is_doubtful()).collect();
    let message = match (doubtful.as_slice(), state.rules) {
        ([], 0) => "it contains no rule that runs here".to_owned(),
        ([], 1) => "1 rule runs".to_owned(),
        ([], rules) => format!("{rules} rules run"),
        (diagnostics, _) => truncated(fault_messages(diagnostics).join("; "), MAX_STATUS_MESSAGE_BYTES),
    };
    RuleReport {
        generation: state.generation,
        rules: state.rules,
        is_ready: errors == 0 && state.rules > 0,
        reason: reason.into(),
        message,
        since: Text::default(),
        failure: None,
        has_webhooks: state.has_webhooks,
        fields: state.status.clone(),
        admission_policy: state.admission_policy_state.clone(),
    }
}

/// Returns what is wrong, each with its field. The errors come first.
fn fault_messages(diagnostics: &[&Diagnostic]) -> Vec<String> {
    let document = diagnostics.first().and_then(|first| json::read(&first.location.source).ok());
    let say = |diagnostic: &Diagnostic| match &document {
        Some(document) => FieldError::of(document, diagnostic).to_string(),
        None => format!("{} ({})", diagnostic.message, diagnostic.code.id),
    };
    let (errors, warnings): (Vec<_>, Vec<_>) =
        diagnostics.iter().copied().partition(|found| found.is_error());
    errors.into_iter().chain(warnings).map(say).collect()
}

/// Returns the patch that gives `stored`, a rule object, the status that `make` makes of `report`, or nothing where
/// it has that status already.
pub(crate) fn status_patch(
    stored: &Value,
    mut report: RuleReport,
    now: SystemTime,
    make: impl Fn(&RuleReport) -> Value,
) -> Option<Value> {
    let status = stored.get("status").cloned().unwrap_or_default();
    let conditions = status.get("conditions").and_then(Value::as_array).unwrap_or_default();
    let text = |value: &Value, key: &str| value.str_at(&[key]).to_owned();
    let nested = status.at(&["conditionStatus", "conditions"]).and_then(Value::as_array).unwrap_or_default();
    let before = conditions.iter().find(|condition| text(condition, "type") == "Ready").or(nested.first());
    let word = if report.is_ready { "True" } else { "False" };
    report.since = match before {
        Some(before) if text(before, "status") == word => text(before, "lastTransitionTime").into(),
        _ => clock::rfc3339_seconds(now).into(),
    };
    let mut wanted = make(&report);
    with_other_conditions(&mut wanted, conditions);
    let wanted = wanted.as_object()?;
    let changed: Vec<_> = wanted.iter().filter(|(key, value)| status.get(key) != Some(value)).collect();
    if changed.is_empty() {
        return None;
    }
    let mut patch = Map::new();
    for (key, value) in changed {
        patch.insert(key.clone(), value.clone());
    }
    let version = stored.str_at(&["metadata", "resourceVersion"]);
    // The list of conditions is replaced as a whole: one that another program has added since must not be lost.
    let is_guarded = patch.get("conditions").is_some() && !version.is_empty();
    let mut change = Map::from([("status", patch.into())]);
    if is_guarded {
        change.insert("metadata".into(), Map::from([("resourceVersion", version.into())]).into());
    }
    Some(change.into())
}

/// Puts the conditions of others after ours, which programs look for first. The list is replaced as a whole.
fn with_other_conditions(wanted: &mut Value, stored: &[Value]) {
    let Some(ours) =
        wanted.as_object_mut().and_then(|map| map.get_mut("conditions")).and_then(Value::as_array_mut)
    else {
        return;
    };
    let kind = |condition: &Value| condition.get("type").and_then(Value::as_str).map(Text::new);
    let others: Vec<Value> = {
        let is_ours = |other: &&Value| ours.iter().any(|one| kind(one) == kind(other));
        stored.iter().filter(|other| !is_ours(other)).cloned().collect()
    };
    ours.extend(others);
}

#[cfg(test)]
mod tests;
