//! What a live search returns.

use kubewright_graph::GraphNode;
use kubewright_k8s::ObjectName;
use kubewright_value::{Exhausted, Text};

use super::super::finding::PatternFinding;

/// A finding that is new, different or gone.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FindingChange {
    /// The name of the pattern.
    pub pattern: Text,
    /// The objects of the actors, the leader first; together with the pattern they identify the finding. Empty where the
    /// finding is that a kind has no object.
    pub actors: Vec<FindingObject>,
    /// The finding as it is now; none if it is gone.
    pub finding: Option<LiveFinding>,
}

impl FindingChange {
    /// Returns the object that leads the finding; none where the finding is that a kind has no object.
    #[must_use]
    pub fn leader(&self) -> Option<&FindingObject> {
        self.actors.first()
    }
}

/// A finding and since when it is there.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LiveFinding {
    /// The finding. Its ids are those of the graph, and valid until the next change to it.
    pub finding: PatternFinding,
    /// When its condition was first observed, in seconds since the epoch.
    pub since: i64,
    /// The reason why it is suppressed, if it is; the reason may be empty.
    pub suppressed: Option<Text>,
}

/// An object of a finding, as reports name it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct FindingObject {
    /// The API version, with the group.
    pub api_version: Text,
    /// The kind.
    pub kind: Text,
    /// The namespace; empty for an object without one.
    pub namespace: Text,
    /// The name.
    pub name: Text,
    /// The uid; empty if it is not known.
    pub uid: Text,
}

impl FindingObject {
    pub(super) fn of(node: &GraphNode) -> Self {
        Self {
            api_version: node.api_version.clone(),
            kind: node.kind.clone(),
            namespace: node.namespace.clone(),
            name: node.name.clone(),
            uid: node.uid.clone(),
        }
    }

    /// Returns its name without version and uid.
    #[must_use]
    pub fn object_name(&self) -> ObjectName {
        let group = self.api_version.split_once('/').map_or("", |(group, _)| group);
        ObjectName {
            group: group.into(),
            kind: self.kind.clone(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }
}

/// A pattern whose findings are not known completely.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct IncompletePattern {
    /// The name of the pattern.
    pub pattern: Text,
    /// Why.
    pub reason: IncompleteReason,
}

/// Why the findings of a pattern are not known completely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IncompleteReason {
    /// The search exceeded its budget; the findings are those of the search before.
    Exhausted(Exhausted),
    /// The search failed by a defect; the findings are those of the search before.
    Panicked,
    /// There are more findings than the limits allow.
    Truncated,
}

/// How much was looked for again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RedetectionCounts {
    /// Searches for a pattern in the whole graph.
    pub patterns: u64,
    /// Searches for a pattern with one leader.
    pub leaders: u64,
    /// Changes of objects that no edge and no pattern reads.
    pub unread_changes: u64,
}
