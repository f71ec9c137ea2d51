//! The labels of objects that rules made. They are the only state that outlives a process: everything else is found out
//! again by lists when a term begins.

use kubewright_k8s::ObjectName;
use kubewright_value::{Map, Text, Value};

/// Which program an object belongs to, and the value for what rules made.
pub(crate) const MANAGED_BY_LABEL: &str = "app.kubernetes.io/managed-by";
pub(crate) const RULE_MANAGER: &str = "kyverno";

pub(crate) const POLICY_NAME_LABEL: &str = "generate.kyverno.io/policy-name";
pub(crate) const POLICY_NAMESPACE_LABEL: &str = "generate.kyverno.io/policy-namespace";
pub(crate) const RULE_NAME_LABEL: &str = "generate.kyverno.io/rule-name";
const TRIGGER_UID_LABEL: &str = "generate.kyverno.io/trigger-uid";
const TRIGGER_GROUP_LABEL: &str = "generate.kyverno.io/trigger-group";
const TRIGGER_KIND_LABEL: &str = "generate.kyverno.io/trigger-kind";
const SOURCE_UID_LABEL: &str = "generate.kyverno.io/source-uid";
const SOURCE_GROUP_LABEL: &str = "generate.kyverno.io/source-group";
const SOURCE_KIND_LABEL: &str = "generate.kyverno.io/source-kind";

/// Says that an object goes when its policy or rule does; the value is the kind of the policy. So a controller that was
/// stopped while it deleted goes on, though the policy that could tell is gone.
pub(crate) const KEPT_FOR_LABEL: &str = "generate.kubewright.dev/kept-for";

/// A rule as labels name it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LabelledRule {
    pub(crate) policy: Text,
    /// Empty for a policy that is in no namespace.
    pub(crate) namespace: Text,
    pub(crate) rule: Text,
}

/// What the labels of a downstream say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DownstreamLabels {
    pub(crate) rule: LabelledRule,
    pub(crate) trigger_uid: Text,
    pub(crate) trigger_group: Text,
    pub(crate) trigger_kind: Text,
    /// Empty for what is no copy.
    pub(crate) source_uid: Text,
    pub(crate) source_group: Text,
    pub(crate) source_kind: Text,
    /// The kind of the policy with which it goes; empty where it stays.
    pub(crate) kept_for: Text,
}

impl DownstreamLabels {
    /// Reads the labels of an object; nothing where no rule made it.
    pub(crate) fn of(object: &Value) -> Option<Self> {
        let labels = object.at(&["metadata", "labels"])?;
        let text = |key: &str| Text::from(labels.str_at(&[key]));
        if text(MANAGED_BY_LABEL) != RULE_MANAGER || text(POLICY_NAME_LABEL).is_empty() {
            return None;
        }
        Some(Self {
            rule: LabelledRule {
                policy: text(POLICY_NAME_LABEL),
                namespace: text(POLICY_NAMESPACE_LABEL),
                rule: text(RULE_NAME_LABEL),
            },
            trigger_uid: text(TRIGGER_UID_LABEL),
            trigger_group: text(TRIGGER_GROUP_LABEL),
            trigger_kind: text(TRIGGER_KIND_LABEL),
            source_uid: text(SOURCE_UID_LABEL),
            source_group: text(SOURCE_GROUP_LABEL),
            source_kind: text(SOURCE_KIND_LABEL),
            kept_for: text(KEPT_FOR_LABEL),
        })
    }
}

/// Sets or removes the label that says whether `object` goes with its policy.
pub(crate) fn set_kept_for(object: &mut Value, policy_kind: Option<&Text>) {
    let Some(metadata) = object.as_object_mut().and_then(|map| map.get_or_insert(&"metadata".into())) else {
        return;
    };
    if !matches!(metadata, Value::Object(_)) {
        *metadata = Map::new().into();
    }
    let Some(labels) = metadata.as_object_mut().and_then(|map| map.get_or_insert(&"labels".into())) else {
        return;
    };
    if !matches!(labels, Value::Object(_)) {
        *labels = Map::new().into();
    }
    let Some(labels) = labels.as_object_mut() else { return };
    match policy_kind {
        Some(kind) => drop(labels.insert(KEPT_FOR_LABEL.into(), kind.clone().into())),
        None => drop(labels.remove(KEPT_FOR_LABEL)),
    }
}

/// Lets an object go: it stays, and no rule counts it as its own.
pub(crate) fn release(object: &mut Value) {
    let metadata = object.as_object_mut().and_then(|map| map.get_mut("metadata")?.as_object_mut());
    let labels = metadata.and_then(|map| map.get_mut("labels")?.as_object_mut());
    if let Some(labels) = labels {
        for key in [POLICY_NAME_LABEL, POLICY_NAMESPACE_LABEL, RULE_NAME_LABEL, KEPT_FOR_LABEL] {
            labels.remove(key);
        }
    }
}

/// Returns the name of `object` as messages show it.
pub(crate) fn title(object: &ObjectName) -> String {
    kubewright_k8s::object_title(&object.kind, &object.namespace, &object.name)
}
