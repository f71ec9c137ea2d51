//! Findings as K8sPatterns and Smells in a cluster, where people suppress them by `spec.suppress`.
//!
//! They are written by server-side apply. What is sent never has `spec.suppress`, so the field belongs to the user who
//! set it and survives every write. Objects of a pattern are deleted only if the search for that pattern was complete.

use std::collections::HashMap;

use kubewright_golib::naming::sha256_hex;
use kubewright_patterns::resources::{ResourcePlacement, k8s_pattern, smell};
use kubewright_value::{Map, Text, Value, json};

use super::{DIGEST_ANNOTATION, JudgedFinding, MANAGED_BY, MANAGED_BY_LABEL};

/// The field manager of server-side apply.
pub const FIELD_MANAGER: &str = "kubewright-scan";
/// The number of digits of a digest.
const DIGEST_DIGITS: usize = 32;

/// A kind of object in which pattern engines store findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PatternObjectKind {
    /// `kubepattern.it/v1` K8sPattern.
    K8sPattern,
    /// `kubepattern.dev/v1` Smell.
    Smell,
}

impl PatternObjectKind {
    /// Both kinds.
    pub const ALL: [Self; 2] = [Self::K8sPattern, Self::Smell];

    /// Returns the API group.
    #[must_use]
    pub fn group(self) -> &'static str {
        match self {
            Self::K8sPattern => "kubepattern.it",
            Self::Smell => "kubepattern.dev",
        }
    }

    /// Returns the name of the kind.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::K8sPattern => "K8sPattern",
            Self::Smell => "Smell",
        }
    }
}

/// A finding as it is sent by server-side apply.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PatternObject {
    /// The kind.
    pub kind: PatternObjectKind,
    /// The pattern that was found.
    pub pattern: Text,
    /// The namespace.
    pub namespace: Text,
    /// The name.
    pub name: Text,
    /// What it says.
    pub digest: String,
    /// The whole manifest, without `spec.suppress`.
    pub value: Value,
}

/// A stored K8sPattern or Smell.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredPatternObject {
    /// The kind.
    pub kind: PatternObjectKind,
    /// The pattern that was found.
    pub pattern: Text,
    /// The namespace.
    pub namespace: Text,
    /// The name.
    pub name: Text,
    /// What it says, as its annotation states; empty if it has none.
    pub digest: Text,
    /// The uid, which a delete names.
    pub uid: Text,
    /// The version, which a delete names.
    pub resource_version: Text,
    /// Whether we wrote it: its label says so.
    pub is_managed: bool,
    /// Whether its `spec.suppress` is true.
    pub is_suppressed: bool,
}

/// One write.
#[derive(Debug, Clone, PartialEq)]
pub enum PatternObjectChange<'p> {
    /// A server-side apply.
    Apply(&'p PatternObject),
    /// The finding is gone.
    Delete(&'p StoredPatternObject),
}

/// What tells objects apart.
type PatternObjectKey<'p> = (PatternObjectKind, &'p str, &'p str);

/// Returns a finding as an object of `kind` in `namespace`, or beside its leader if that has a namespace and
/// `is_beside_object`.
#[must_use]
pub fn pattern_object(
    kind: PatternObjectKind,
    judged: &JudgedFinding<'_>,
    namespace: &str,
    is_beside_object: bool,
) -> PatternObject {
    let placement = ResourcePlacement { namespace, beside_object: is_beside_object, suppressed: false };
    let make = match kind {
        PatternObjectKind::K8sPattern => k8s_pattern,
        PatternObjectKind::Smell => smell,
    };
    let mut value = make(judged.pattern, judged.finding, judged.graph, placement);
    if let Some(spec) = part_of(&mut value, "spec") {
        spec.remove("suppress");
    }
    if let Some(metadata) = part_of(&mut value, "metadata") {
        metadata.insert("labels".into(), Map::from([(MANAGED_BY_LABEL, Value::from(MANAGED_BY))]).into());
    }
    let digest: String = sha256_hex(&json::to_string(&value)).chars().take(DIGEST_DIGITS).collect();
    if let Some(metadata) = part_of(&mut value, "metadata") {
        let annotations = metadata.get("annotations").and_then(Value::as_object).cloned();
        let mut annotations = annotations.unwrap_or_default();
        annotations.insert(DIGEST_ANNOTATION.into(), digest.as_str().into());
        metadata.insert("annotations".into(), annotations.into());
    }
    PatternObject {
        kind,
        pattern: judged.pattern.name.clone(),
        namespace: value.str_at(&["metadata", "namespace"]).into(),
        name: value.str_at(&["metadata", "name"]).into(),
        digest,
        value,
    }
}

/// Returns what makes `stored` into `wanted`. Objects of a pattern are deleted only where `is_complete` says that its
/// search was, because a finding that was not looked for is not gone. Objects of other programs are left alone.
#[must_use]
pub fn pattern_object_changes<'p>(
    wanted: &'p [PatternObject],
    stored: &'p [StoredPatternObject],
    is_complete: impl Fn(&str) -> bool,
) -> Vec<PatternObjectChange<'p>> {
    let mut by_key: HashMap<PatternObjectKey<'_>, &StoredPatternObject> =
        stored.iter().map(|object| (object.key(), object)).collect();
    let mut changes = Vec::new();
    for object in wanted {
        match by_key.remove(&object.key()) {
            Some(stored) if !stored.is_managed || stored.digest == object.digest => {}
            _ => changes.push(PatternObjectChange::Apply(object)),
        }
    }
    let is_gone = |object: &&StoredPatternObject| {
        object.is_managed && by_key.contains_key(&object.key()) && is_complete(&object.pattern)
    };
    // In the order of the list, because that of the map is not the same every time.
    changes.extend(stored.iter().filter(is_gone).map(PatternObjectChange::Delete));
    changes
}

impl PatternObject {
    fn key(&self) -> PatternObjectKey<'_> {
        (self.kind, &self.namespace, &self.name)
    }
}

impl StoredPatternObject {
    /// Reads a stored object.
    #[must_use]
    pub fn read(kind: PatternObjectKind, object: &Value) -> Self {
        let text = |key: &str| Text::from(object.str_at(&["metadata", key]));
        Self {
            kind,
            pattern: object.str_at(&["spec", "name"]).into(),
            namespace: text("namespace"),
            name: text("name"),
            digest: object.str_at(&["metadata", "annotations", DIGEST_ANNOTATION]).into(),
            uid: text("uid"),
            resource_version: text("resourceVersion"),
            is_managed: object.str_at(&["metadata", "labels", MANAGED_BY_LABEL]) == MANAGED_BY,
            is_suppressed: object.at(&["spec", "suppress"]).and_then(Value::as_bool) == Some(true),
        }
    }

    /// Returns why the finding of `object` is suppressed, if this stored object is the same and says so.
    #[must_use]
    pub fn suppression_of(&self, object: &PatternObject) -> Option<Text> {
        let is_same = self.is_suppressed && self.key() == object.key();
        is_same
            .then(|| format!("spec.suppress of {} {}/{}", self.kind.name(), self.namespace, self.name).into())
    }

    fn key(&self) -> PatternObjectKey<'_> {
        (self.kind, &self.namespace, &self.name)
    }
}

fn part_of<'v>(value: &'v mut Value, key: &str) -> Option<&'v mut Map> {
    value.as_object_mut()?.get_mut(key)?.as_object_mut()
}

#[cfg(test)]
mod tests;
