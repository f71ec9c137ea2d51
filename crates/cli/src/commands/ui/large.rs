//! What an answer leaves out where there is more than a person looks at: each keystroke is answered at once.

use std::collections::{BTreeMap, HashSet};

use kubewright_engine::RuleStatus;
use kubewright_report::{ObjectRow, OutcomeRow};
use kubewright_value::{Map, Value};

use super::traced::MAX_TRACES;

/// Up to this many outcomes, an answer has all of them, and all their traces.
pub(super) const MAX_WHOLE_OUTCOMES: usize = 500;

/// Returns whether an answer about `objects` leaves something out.
pub(super) fn is_large(objects: &[&ObjectRow]) -> bool {
    objects.iter().map(|row| row.outcomes.len()).sum::<usize>() > MAX_WHOLE_OUTCOMES
}

/// Returns the places of the objects to trace: all, or one for each set of verdicts and then others that fail, until there are
/// as many traces as an answer has.
pub(super) fn traced_objects(objects: &[&ObjectRow]) -> Vec<usize> {
    if !is_large(objects) {
        return (0..objects.len()).collect();
    }
    let mut seen = HashSet::new();
    let verdicts = |row: &ObjectRow| {
        let verdict = |one: &OutcomeRow| (one.rule.to_string(), one.status.name(), one.is_patched());
        row.outcomes.iter().map(verdict).collect::<Vec<_>>()
    };
    let mut chosen: Vec<usize> = Vec::new();
    for has_failure in [true, false] {
        let rows = objects.iter().enumerate().filter(|(_, row)| fails(row) == has_failure);
        chosen.extend(rows.filter(|(_, row)| seen.insert(verdicts(row))).map(|(at, _)| at));
    }
    let others = (0..objects.len()).filter(|at| objects.get(*at).is_some_and(|row| fails(row)));
    let known: HashSet<usize> = chosen.iter().copied().collect();
    chosen.extend(others.filter(|at| !known.contains(at)));
    let mut traces = 0;
    chosen.retain(|at| {
        let is_wanted = traces < MAX_TRACES;
        traces += objects.get(*at).map_or(0, |row| row.outcomes.len());
        is_wanted
    });
    chosen.sort_unstable();
    chosen
}

fn fails(row: &ObjectRow) -> bool {
    row.outcomes
        .iter()
        .any(|one| matches!(one.status, RuleStatus::Fail | RuleStatus::Error | RuleStatus::Warn))
}

/// Takes out of the value of an object what passes or skips without a change, and says how much that is.
pub(super) fn shorten_object(value: &mut Value, row: &ObjectRow) {
    let Some(map) = value.as_object_mut() else { return };
    let Some(all) = map.get("outcomes").and_then(Value::as_array) else { return };
    let mut more: BTreeMap<&'static str, u64> = BTreeMap::new();
    let mut kept = Vec::new();
    for (one, outcome) in all.iter().zip(&row.outcomes) {
        match is_quiet(outcome) {
            true => *more.entry(outcome.status.name()).or_default() += 1,
            false => kept.push(without_why(one)),
        }
    }
    let more: Map = more.into_iter().map(|(status, count)| (status.into(), count.into())).collect();
    map.insert("outcomes".into(), Value::array(kept));
    map.insert("more".into(), more.into());
}

fn is_quiet(outcome: &OutcomeRow) -> bool {
    let is_quiet = matches!(outcome.status, RuleStatus::Pass | RuleStatus::Skip);
    is_quiet && !outcome.is_patched() && !outcome.is_writing() && outcome.exceptions.is_empty()
}

/// Returns an outcome without the command that shows its trace, which the page shows itself.
fn without_why(outcome: &Value) -> Value {
    let mut outcome = outcome.clone();
    if let Some(map) = outcome.as_object_mut() {
        map.remove("why");
    }
    outcome
}
