//! What all rules of a policy together say about an object, and whether a converted policy says the same.

use kubewright_convert::{IMAGE_RECORDS, ORIGIN_LABELS};
use kubewright_engine::{Decision, EvalErrorKind, ObjectWrite, RuleStatus, WriteVerb};
use kubewright_k8s::Operation;
use kubewright_patch as patch;
use kubewright_report::text::plural;
use kubewright_value::{Map, Text, Value, json};

/// The combined outcome of rules for an object.
#[derive(Debug, Clone)]
pub(in crate::commands) struct CombinedVerdict {
    /// The worst status.
    status: Option<RuleStatus>,
    is_refusal: bool,
    /// Whether something could not be looked up, so that nothing is known.
    is_unknown: bool,
    message: Text,
    /// What becomes of the object, and what else is written; only for rules that change, make or delete objects.
    change: Option<ChangeVerdict>,
    /// Whether objects are also judged.
    is_check: bool,
}

/// What rules change.
#[derive(Debug, Clone)]
struct ChangeVerdict {
    object: Value,
    /// The objects that are made, without the labels that say by what.
    made: Vec<Value>,
    /// Whether the object itself is deleted.
    is_deleted: bool,
}

impl CombinedVerdict {
    /// Returns the outcome of all rules in `decision`, which change, make or delete objects if `is_change`, and judge them
    /// if `is_check`.
    pub(in crate::commands) fn of(decision: &Decision, is_change: bool, is_check: bool) -> Self {
        let rank = |status: RuleStatus| match status {
            RuleStatus::Skip => 0,
            RuleStatus::Pass => 1,
            RuleStatus::Warn => 2,
            RuleStatus::Error => 3,
            RuleStatus::Fail => 4,
        };
        let worst = decision.outcomes.iter().max_by_key(|outcome| rank(outcome.status));
        Self {
            status: worst.map(|outcome| outcome.status),
            is_refusal: decision.outcomes.iter().any(|outcome| outcome.is_refusal),
            is_unknown: decision.outcomes.iter().any(|one| one.error == Some(EvalErrorKind::Failed)),
            message: worst.map(|outcome| outcome.message.clone()).unwrap_or_default(),
            change: is_change.then(|| ChangeVerdict::of(decision)),
            is_check,
        }
    }

    /// Returns whether the rule says something about the object.
    pub(in crate::commands) fn is_judgement(&self) -> bool {
        !self.is_unknown && self.status.is_some_and(|status| status != RuleStatus::Skip)
    }

    /// Returns whether a converted policy that says `after` to a request of `operation` says the same.
    pub(in crate::commands) fn agrees(&self, after: &Self, operation: Operation) -> bool {
        // What was as bad before is skipped there and let through here.
        let is_forgiven = operation == Operation::Update
            && self.status == Some(RuleStatus::Skip)
            && after.status == Some(RuleStatus::Pass);
        match (&self.change, &after.change) {
            (Some(before), Some(changed)) => {
                let is_error = |verdict: &Self| verdict.status == Some(RuleStatus::Error);
                let is_same = match self.is_check {
                    true => self.is_same(after),
                    false => is_error(self) == is_error(after),
                };
                // Of what is refused nothing is stored.
                is_same
                    && self.is_refusal == after.is_refusal
                    && (self.is_refusal || before.difference(changed).is_none())
            }
            _ => is_forgiven || self.is_same(after),
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        // A violation that does not count is a warning.
        let plain = |status: Option<RuleStatus>| match status {
            None => RuleStatus::Skip,
            Some(RuleStatus::Warn) => RuleStatus::Fail,
            Some(status) => status,
        };
        match (plain(self.status), plain(other.status)) {
            // A variable that leads nowhere is an error there and a violation here.
            (RuleStatus::Fail | RuleStatus::Error, RuleStatus::Fail) => self.is_refusal == other.is_refusal,
            (one, other) => one == other,
        }
    }

    /// Returns how `after` differs, in words.
    pub(in crate::commands) fn difference(&self, after: &Self) -> String {
        let changes = self.change.as_ref().zip(after.change.as_ref());
        if let Some(difference) = changes.and_then(|(before, after)| before.difference(after)) {
            return difference;
        }
        format!("the source says {}, the converted one {}", self.text(), after.text())
    }

    fn text(&self) -> String {
        let status = self.status.map_or("nothing", RuleStatus::name);
        let refusal = if self.is_refusal { " and refuses it" } else { "" };
        match (self.status, self.message.as_str()) {
            (Some(RuleStatus::Error), message) if !message.is_empty() => format!("{status} ({message})"),
            _ => format!("{status}{refusal}"),
        }
    }
}

impl ChangeVerdict {
    fn of(decision: &Decision) -> Self {
        let writes = || decision.outcomes.iter().flat_map(|outcome| &outcome.writes);
        let is_deletion =
            |write: &ObjectWrite| write.verb == WriteVerb::Delete && write.object == decision.object;
        // What goes with its trigger is found by labels, and not by the rule.
        let made = writes().filter(|write| write.verb != WriteVerb::Delete);
        Self {
            object: without_records(&decision.object),
            is_deleted: writes().any(is_deletion),
            made: made.map(|write| without_origin(&write.object)).collect(),
        }
    }

    /// Returns how `after` differs, in words.
    fn difference(&self, after: &Self) -> Option<String> {
        if let Some(operation) = patch::diff_values(&self.object, &after.object).first() {
            return Some(format!(
                "the resulting objects differ, first in {}",
                json::to_string(&operation.to_value())
            ));
        }
        if self.is_deleted != after.is_deleted {
            let word = |is_deleted: bool| if is_deleted { "deletes" } else { "keeps" };
            return Some(format!(
                "the source {} the object, the converted one {} it",
                word(self.is_deleted),
                word(after.is_deleted)
            ));
        }
        if self.made.len() != after.made.len() {
            return Some(format!(
                "the source makes {}, the converted one {}",
                plural(self.made.len(), "object"),
                after.made.len()
            ));
        }
        let mut pairs = self.made.iter().zip(&after.made);
        let differing = pairs.find_map(|(one, other)| patch::diff_values(one, other).into_iter().next())?;
        Some(format!("the objects that are made differ, first in {}", json::to_string(&differing.to_value())))
    }
}

/// Returns an object without what rules that verify images write down about it: others do not, or elsewhere.
fn without_records(object: &Value) -> Value {
    let annotations = object.at(&["metadata", "annotations"]).and_then(Value::as_object);
    let is_record = |name: &Text| name.starts_with(IMAGE_RECORDS);
    if !annotations.is_some_and(|annotations| annotations.keys().any(is_record)) {
        return object.clone();
    }
    let kept = annotations.into_iter().flat_map(Map::iter).filter(|(name, _)| !is_record(name));
    let kept: Map = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
    let mut object = object.clone();
    let metadata = object.as_object_mut().and_then(|map| map.get_mut("metadata")?.as_object_mut());
    if let Some(metadata) = metadata {
        match kept.is_empty() {
            true => drop(metadata.remove("annotations")),
            false => drop(metadata.insert("annotations".into(), kept.into())),
        }
    }
    object
}

/// Returns an object without the labels that say what made it.
fn without_origin(object: &Value) -> Value {
    let mut object = object.clone();
    let metadata = object.as_object_mut().and_then(|map| map.get_mut("metadata")?.as_object_mut());
    let Some(metadata) = metadata else { return object };
    if let Some(labels) = metadata.get("labels").and_then(Value::as_object) {
        let is_origin = |name: &Text| ORIGIN_LABELS.iter().any(|prefix| name.starts_with(prefix));
        let kept: Map = labels
            .iter()
            .filter(|(name, _)| !is_origin(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        match kept.is_empty() {
            true => drop(metadata.remove("labels")),
            false => drop(metadata.insert("labels".into(), kept.into())),
        }
    }
    object
}
