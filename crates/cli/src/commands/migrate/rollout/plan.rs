//! What the next safe step of a migration in a cluster is: a pure function of what the cluster has.
//!
//! absent → created without effect → ready and agreeing → with the action of its source → ready → the source's rules go →
//! done. The new policy always acts before the old rules go, and a policy that is done is never touched again: it is all
//! that is left.

use kubewright_golib::naming::sha256_hex;
use kubewright_value::{Map, Text, Value, json};

/// The annotation with the policy that a successor comes from: `Kind/name` or `Kind/namespace/name`.
pub(in super::super) const SOURCE_ANNOTATION: &str = "migrate.kubewright.dev/source";
/// The annotation with the uid of that policy.
pub(in super::super) const SOURCE_UID_ANNOTATION: &str = "migrate.kubewright.dev/source-uid";
/// The annotation with the version of that policy that was read when the successor was written.
pub(in super::super) const SOURCE_VERSION_ANNOTATION: &str = "migrate.kubewright.dev/source-resource-version";
/// The annotation with the digest of what that policy said, and of what was made of it.
pub(in super::super) const DIGEST_ANNOTATION: &str = "migrate.kubewright.dev/digest";
/// The annotation with the rules that a successor replaces, separated by commas.
pub(in super::super) const RULES_ANNOTATION: &str = "migrate.kubewright.dev/rules";
/// The annotation with the phase.
pub(in super::super) const PHASE_ANNOTATION: &str = "migrate.kubewright.dev/phase";

/// Annotations that say nothing about what a policy does.
const OTHER_ANNOTATIONS: [&str; 1] = ["kubectl.kubernetes.io/last-applied-configuration"];

/// How far a successor has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum RolloutPhase {
    /// It exists and has no effect.
    Audit,
    /// It has the action of its source, which is still there.
    Enforcing,
    /// The rules of its source are gone.
    Done,
}

impl RolloutPhase {
    /// Returns the value of the annotation.
    pub(in super::super) fn name(self) -> &'static str {
        match self {
            Self::Audit => "audit",
            Self::Enforcing => "enforcing",
            Self::Done => "done",
        }
    }

    /// Returns the phase of a successor, where its annotation names one.
    pub(in super::super) fn of(object: &Value) -> Option<Self> {
        let name = object.str_at(&["metadata", "annotations", PHASE_ANNOTATION]);
        [Self::Audit, Self::Enforcing, Self::Done].into_iter().find(|phase| phase.name() == name)
    }
}

/// A policy that succeeds rules of another one.
#[derive(Debug, Clone)]
pub(in super::super) struct Successor {
    /// As it must be in the end, with the annotations of the migration but the phase.
    pub(in super::super) wanted: Value,
    /// The same without any effect.
    pub(in super::super) quiet: Value,
}

/// The next step of a successor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum SuccessorStep {
    /// Create it without effect.
    Create,
    /// Its source, or itself, has changed since: write it anew without effect.
    StartOver,
    /// Wait, because nothing evaluates it yet.
    WaitUntilReady,
    /// Give it the action of its source.
    Enforce,
    /// Its source may go.
    Settled,
    /// It cannot be written.
    Blocked(String),
}

/// Returns the next step of `successor`, of which the cluster has `live`.
pub(in super::super) fn next_step(successor: &Successor, live: Option<&Value>) -> SuccessorStep {
    let Some(live) = live else { return SuccessorStep::Create };
    let annotation =
        |object: &Value, name: &str| object.str_at(&["metadata", "annotations", name]).to_owned();
    let source = annotation(&successor.wanted, SOURCE_ANNOTATION);
    if annotation(live, SOURCE_ANNOTATION) != source {
        return SuccessorStep::Blocked("a policy of this name is there already".to_owned());
    }
    let spec = |object: &Value| object.get("spec").cloned().unwrap_or(Value::Null);
    let is_same_source = [SOURCE_UID_ANNOTATION, DIGEST_ANNOTATION]
        .iter()
        .all(|name| annotation(live, name) == annotation(&successor.wanted, name));
    match RolloutPhase::of(live) {
        Some(RolloutPhase::Done) => SuccessorStep::Blocked(format!(
            "it was migrated before, and its source `{source}` is there again: delete one of them"
        )),
        Some(RolloutPhase::Audit) if is_same_source && contains(&spec(live), &spec(&successor.quiet)) => {
            if is_ready(live) {
                SuccessorStep::Enforce
            } else {
                SuccessorStep::WaitUntilReady
            }
        }
        Some(RolloutPhase::Enforcing)
            if is_same_source && contains(&spec(live), &spec(&successor.wanted)) =>
        {
            if is_ready(live) {
                SuccessorStep::Settled
            } else {
                SuccessorStep::WaitUntilReady
            }
        }
        _ => SuccessorStep::StartOver,
    }
}

/// Returns the successor that `document` becomes, which replaces `rules` of `source`; nothing where its kind cannot run
/// beside its source without effect.
pub(in super::super) fn plan_successor(
    document: &Value,
    rules: &[Text],
    source: &Value,
) -> Option<Successor> {
    let annotations = [
        (SOURCE_ANNOTATION, policy_reference(source)),
        (SOURCE_UID_ANNOTATION, source.str_at(&["metadata", "uid"]).to_owned()),
        (SOURCE_VERSION_ANNOTATION, source.str_at(&["metadata", "resourceVersion"]).to_owned()),
        (DIGEST_ANNOTATION, content_digest(source, document)),
        (RULES_ANNOTATION, rules.iter().map(Text::as_str).collect::<Vec<_>>().join(",")),
    ];
    let mut wanted = document.clone();
    let written = annotations_mut(&mut wanted)?;
    for (name, value) in annotations {
        written.insert(name.into(), value.into());
    }
    let quiet = without_effect(&wanted)?;
    Some(Successor { wanted, quiet })
}

/// Returns `object` in `phase`.
pub(in super::super) fn in_phase(object: &Value, phase: RolloutPhase) -> Value {
    let mut object = object.clone();
    if let Some(annotations) = annotations_mut(&mut object) {
        annotations.insert(PHASE_ANNOTATION.into(), phase.name().into());
    }
    object
}

/// Returns `Kind/name`, or `Kind/namespace/name`.
pub(in super::super) fn policy_reference(policy: &Value) -> String {
    super::super::report::successor_name(policy)
}

/// Returns whether a controller has said that it evaluates `policy` as it is.
pub(in super::super) fn is_ready(policy: &Value) -> bool {
    let status = policy.get("status").cloned().unwrap_or(Value::Null);
    let generation = policy.at(&["metadata", "generation"]);
    let is_current = |condition: &Value| match (condition.get("observedGeneration"), generation) {
        (Some(observed), Some(generation)) => observed == generation,
        _ => true,
    };
    let lists = [status.at(&["conditions"]), status.at(&["conditionStatus", "conditions"])];
    let conditions = lists.into_iter().flatten().filter_map(Value::as_array).flatten();
    let ready: Vec<&Value> = conditions.filter(|condition| condition.str_at(&["type"]) == "Ready").collect();
    match ready.is_empty() {
        true => status.at(&["conditionStatus", "ready"]).and_then(Value::as_bool) == Some(true),
        false => {
            ready.iter().all(|condition| condition.str_at(&["status"]) == "True" && is_current(condition))
        }
    }
}

/// Returns the policy so that it judges and refuses nothing, and changes nothing.
fn without_effect(policy: &Value) -> Option<Value> {
    let mut policy = policy.clone();
    let kind = policy.str_at(&["kind"]).trim_start_matches("Namespaced").to_owned();
    let spec = policy.as_object_mut()?.get_mut("spec")?.as_object_mut()?;
    match kind.as_str() {
        "ValidatingPolicy" | "ImageValidatingPolicy" => {
            spec.insert("validationActions".into(), vec!["Audit"].into());
        }
        "MutatingPolicy" | "GeneratingPolicy" | "DeletingPolicy" => {
            let key = if kind == "DeletingPolicy" { "conditions" } else { "matchConditions" };
            let off = Map::from([
                ("name", Value::from("migration-is-not-finished")),
                ("expression", "false".into()),
            ]);
            let written = spec.get(key).and_then(Value::as_array).unwrap_or_default();
            let conditions = std::iter::once(Value::from(off)).chain(written.iter().cloned()).collect();
            spec.insert(key.into(), Value::array(conditions));
        }
        _ => return None,
    }
    Some(policy)
}

/// Returns the digest of what `source` says and of what was made of it.
fn content_digest(source: &Value, document: &Value) -> String {
    let mut content = Map::new();
    content.insert("spec".into(), source.get("spec").cloned().unwrap_or(Value::Null));
    for key in ["labels", "annotations"] {
        let written = source.at(&["metadata", key]).and_then(Value::as_object);
        let kept = written.into_iter().flat_map(Map::iter);
        let kept = kept.filter(|(name, _)| !OTHER_ANNOTATIONS.contains(&name.as_str()));
        let kept: Map = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
        content.insert(key.into(), kept.into());
    }
    content.insert("converted".into(), document.clone());
    sha256_hex(&json::to_string(&content.into()))
}

fn annotations_mut(object: &mut Value) -> Option<&mut Map> {
    let metadata = object.as_object_mut()?.get_mut("metadata")?.as_object_mut()?;
    if metadata.get("annotations").and_then(Value::as_object).is_none() {
        metadata.insert("annotations".into(), Map::new().into());
    }
    metadata.get_mut("annotations")?.as_object_mut()
}

/// Returns whether everything in `wanted` is in `stored`, which may have more fields: the defaults of its definition.
fn contains(stored: &Value, wanted: &Value) -> bool {
    match (stored, wanted) {
        (Value::Object(stored), Value::Object(wanted)) => {
            wanted.iter().all(|(key, wanted)| stored.get(key).is_some_and(|stored| contains(stored, wanted)))
        }
        (Value::Array(stored), Value::Array(wanted)) => {
            stored.len() == wanted.len()
                && stored.iter().zip(wanted.iter()).all(|(stored, wanted)| contains(stored, wanted))
        }
        (stored, wanted) => stored == wanted,
    }
}

#[cfg(test)]
mod tests;
