//! Traces of an answer: those that say something first, and not too many.

use kubewright_engine::{Diagnostic, TraceNode, TraceVerdict};
use kubewright_report::trace::{out_of_scope_trace, outcome_trace};
use kubewright_report::{ObjectRow, OutcomeRow};
use kubewright_value::{Map, Value};

use crate::commands::trace::{OutOfScopeRule, is_telling};

/// The maximum number of traces of an answer.
pub(super) const MAX_TRACES: usize = 200;

/// Returns the traces of `rows`, and whether there are more.
pub(super) fn trace_values(rows: &[(ObjectRow, Vec<OutOfScopeRule>)]) -> (Vec<Value>, bool) {
    let all: usize = rows.iter().map(|(row, outside)| row.outcomes.len() + outside.len()).sum();
    let is_truncated = all > MAX_TRACES;
    let telling = |outcome: &OutcomeRow| !is_truncated || is_telling(outcome);
    let mut values = Vec::new();
    for (row, outside) in rows {
        for outcome in row.outcomes.iter().filter(|outcome| telling(outcome)) {
            values.push(rule_trace(outcome, row));
        }
        for rule in outside.iter().filter(|_| !is_truncated) {
            values.push(out_of_scope_trace(rule.rule(), rule.reason(), row));
        }
    }
    let quiet = rows.iter().flat_map(|(row, _)| row.outcomes.iter().map(move |outcome| (row, outcome)));
    for (row, outcome) in quiet.filter(|(_, outcome)| !telling(outcome)) {
        if values.len() >= MAX_TRACES {
            break;
        }
        values.push(rule_trace(outcome, row));
    }
    values.truncate(MAX_TRACES);
    (values, is_truncated)
}

fn rule_trace(outcome: &OutcomeRow, row: &ObjectRow) -> Value {
    let mut value = outcome_trace(outcome, row);
    if let Some(map) = value.as_object_mut() {
        map.insert("refuses".into(), outcome.is_refusal.into());
        let is_skip = outcome.status == kubewright_engine::RuleStatus::Skip;
        map.insert("nearly".into(), (is_skip && is_telling(outcome)).into());
        if let Some(reason) = outcome.reason.as_ref().filter(|reason| !reason.text.is_empty()) {
            let reason = Map::from([
                ("text", Value::from(reason.text.as_str())),
                ("help", reason.help.as_str().into()),
            ]);
            map.insert("reason".into(), reason.into());
        }
    }
    value
}

/// Returns diagnostics as `lint -o json` does, with their ends.
pub(super) fn diagnostic_values<'d>(diagnostics: impl IntoIterator<Item = &'d Diagnostic>) -> Vec<Value> {
    diagnostics.into_iter().map(diagnostic_with_end).collect()
}

fn diagnostic_with_end(diagnostic: &Diagnostic) -> Value {
    let mut value = crate::output::json_diagnostic(diagnostic);
    let place = &diagnostic.location;
    if let Some(map) = value.as_object_mut().filter(|_| place.length > 0) {
        let end = place.position.column.saturating_add(place.length);
        map.insert("endLine".into(), u64::from(place.position.line).into());
        map.insert("endColumn".into(), u64::from(end).into());
    }
    value
}

/// Returns whether a node was looked at.
pub(super) fn is_looked_at(node: &TraceNode) -> bool {
    node.verdict != TraceVerdict::NotLooked
}
