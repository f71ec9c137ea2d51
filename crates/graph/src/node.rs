//! Nodes: objects, and ends of edges that are not objects of the input.

use std::hash::{Hash, Hasher};

use kubewright_value::{Text, Value};

use crate::names::Symbol;

/// The number of a node, valid until its object is removed. Numbers have no meaningful order; [`Graph::ids`](crate::Graph::ids)
/// returns nodes in canonical order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(pub(crate) u32);

impl Id {
    /// Returns the number, below [`Graph::capacity`](crate::Graph::capacity): for tables with a row for each node.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One object, or one that references name and that is not in the input.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct GraphNode {
    /// As the object writes it. For an absent one the usual version of its group, for a virtual one empty.
    pub api_version: Text,
    /// The kind.
    pub kind: Text,
    /// The namespace; empty for none.
    pub namespace: Text,
    /// The name.
    pub name: Text,
    /// The uid; empty if it is not known.
    pub uid: Text,
    /// The object; none unless `sort` is [`Sort::Object`].
    pub object: Option<Value>,
    /// Whether the node is an object of the input.
    pub sort: Sort,
}

impl GraphNode {
    /// Returns the API group; empty for the core group.
    #[must_use]
    pub fn group(&self) -> &str {
        api_group_of(&self.api_version)
    }
}

/// Whether a node is an object of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sort {
    /// An object of the input.
    Object,
    /// An object that a reference names and that is not in the input: the reference is broken.
    Absent,
    /// Not a Kubernetes object, or one that need not be in the input: an image, the identity of a volume, a user, a
    /// namespace or a cluster node without a manifest.
    Virtual,
}

impl Sort {
    /// Returns the sort of a node without an object.
    pub(crate) fn without_object(group: &str, kind: &str) -> Self {
        let is_virtual = match group {
            "" => matches!(kind, "Namespace" | "Node" | "Image" | "Volume" | "Application"),
            "rbac.authorization.k8s.io" => matches!(kind, "User" | "Group"),
            _ => false,
        };
        if is_virtual { Self::Virtual } else { Self::Absent }
    }

    /// Returns the name of the sort, as every output writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Absent => "absent",
            Self::Virtual => "virtual",
        }
    }
}

/// The fields by which two objects are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ObjectIdentity {
    pub(crate) group: Symbol,
    pub(crate) kind: Symbol,
    pub(crate) namespace: Symbol,
    pub(crate) name: Symbol,
    /// Empty, except for an absent owner: another object may have its name by now.
    pub(crate) uid: Symbol,
}

impl Hash for ObjectIdentity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let pair = |a: Symbol, b: Symbol| u64::from(a.0) << 32 | u64::from(b.0);
        state.write_u64(pair(self.group, self.kind));
        state.write_u64(pair(self.namespace, self.name));
        state.write_u32(self.uid.0);
    }
}

/// Returns the group of an `apiVersion`.
pub(crate) fn api_group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// Returns the `apiVersion` that objects of `group` mostly have; the bare group with an open end where it is not known.
pub(crate) fn usual_version(group: &str, kind: &str) -> String {
    match (group, kind) {
        ("", "Image" | "Volume" | "Application") => String::new(),
        ("", _) => "v1".to_owned(),
        ("autoscaling", "HorizontalPodAutoscaler") => "autoscaling/v2".to_owned(),
        _ if !group.contains('.') || group.ends_with(".k8s.io") => format!("{group}/v1"),
        _ => format!("{group}/"),
    }
}
