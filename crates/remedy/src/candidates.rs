//! Lists of changes that may make an object pass a rule, the most certain first.

use kubewright_value::{Step, Value, json};

use crate::{FieldChange, PatternScope, known_changes, pattern_changes};

/// How many values of a pattern that allows several are tried.
const MAX_PICKS: usize = 3;

/// The maximum number of lists.
const MAX_CANDIDATES: usize = 24;

/// A rule as it is written, and the object that fails it.
#[derive(Debug, Clone, Copy)]
pub struct FailedCheck<'a> {
    /// The rule: an entry of `spec.rules`, or a policy that is one rule.
    pub rule: &'a Value,
    /// What the rule said.
    pub message: &'a str,
    /// The object.
    pub object: &'a Value,
    /// The way to the part of the object that the rule was written about, such as the template of a Pod.
    pub part: &'a [Step],
}

/// Returns lists of changes, each of which may make the object pass, without doubles.
#[must_use]
pub fn candidate_changes(check: FailedCheck<'_>) -> Vec<Vec<FieldChange>> {
    let mut candidates: Vec<Vec<FieldChange>> = Vec::new();
    let mut add = |changes: Vec<FieldChange>| {
        if !changes.is_empty() && !candidates.contains(&changes) && candidates.len() < MAX_CANDIDATES {
            candidates.push(changes);
        }
    };
    let validate = check.rule.get("validate");
    let patterns: Vec<&Value> = validate.map(patterns_of).unwrap_or_default();
    for pick in 0..MAX_PICKS {
        for pattern in &patterns {
            add(check.fitting(pattern, check.part, pick));
        }
        for looped in validate
            .and_then(|validate| validate.get("foreach"))
            .and_then(Value::as_array)
            .unwrap_or_default()
        {
            for pattern in patterns_of(looped) {
                add(check.fitting_containers(pattern, pick));
            }
        }
    }
    let words = format!("{}\n{}", json::to_string(check.rule), check.message);
    add(known_changes(check.object, &words));
    add(known_changes(check.object, check.message));
    candidates
}

impl FailedCheck<'_> {
    fn fitting(&self, pattern: &Value, part: &[Step], pick: usize) -> Vec<FieldChange> {
        let Some(value) = self.object.follow(part) else { return Vec::new() };
        let scope = PatternScope { value, name: self.object.str_at(&["metadata", "name"]), pick };
        pattern_changes(pattern, scope).iter().map(|change| change.below(part)).collect()
    }

    /// Fits every container to a pattern of a loop, which mostly goes over containers.
    fn fitting_containers(&self, pattern: &Value, pick: usize) -> Vec<FieldChange> {
        let mut changes = Vec::new();
        for list in ["containers", "initContainers", "ephemeralContainers"] {
            let path = [self.part, &["spec".into(), list.into()]].concat();
            let count = self.object.follow(&path).and_then(Value::as_array).map_or(0, <[Value]>::len);
            for index in 0..count {
                changes.extend(self.fitting(pattern, &[path.as_slice(), &[index.into()]].concat(), pick));
            }
        }
        changes
    }
}

fn patterns_of(check: &Value) -> Vec<&Value> {
    let any = check.get("anyPattern").and_then(Value::as_array).unwrap_or_default();
    check.get("pattern").into_iter().chain(any).collect()
}
