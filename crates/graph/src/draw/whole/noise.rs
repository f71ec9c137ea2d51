//! What says little in a picture.

use kubewright_value::Value;

use crate::{Edge, EdgeType, Graph, Id, Node, Sort};

/// Types that everything has, or that a frame or another line says better.
const TYPES: [EdgeType; 8] = [
    EdgeType::IS_NAMESPACE_OF,
    EdgeType::LIMITED_BY,
    EdgeType::SAME_NETWORK,
    EdgeType::SCHEDULED_ON,
    EdgeType::DEFINES_KIND,
    EdgeType::USES_IMAGE,
    EdgeType::PART_OF,
    EdgeType::REPORTS_ON,
];

/// Kinds whose objects the cluster makes for itself, or that frames stand for.
const KINDS: [&str; 11] = [
    "Namespace",
    "Node",
    "Event",
    "Lease",
    "Endpoints",
    "EndpointSlice",
    "ControllerRevision",
    "CSINode",
    "PodMetrics",
    "NodeMetrics",
    "CSIStorageCapacity",
];

/// Returns whether an edge says little.
pub(super) fn is_edge(graph: &Graph, edge: &Edge<'_>) -> bool {
    if TYPES.contains(&edge.kind) {
        return true;
    }
    let Some(to) = graph.node(edge.to) else { return true };
    match to.sort {
        Sort::Object => false,
        // A class is mostly not among the manifests of an application.
        Sort::Absent => matches!(edge.kind, EdgeType::OF_CLASS | EdgeType::PROVISIONED_BY),
        Sort::Virtual => edge.kind != EdgeType::BINDS_SUBJECT,
    }
}

/// Returns whether a node says little.
pub(super) fn is_node(graph: &Graph, id: Id, node: &Node) -> bool {
    if KINDS.contains(&node.kind.as_str()) || node.name == "kube-root-ca.crt" {
        return true;
    }
    match node.kind.as_str() {
        "ReplicaSet" => is_old(graph, id, node),
        "ClusterRole" | "ClusterRoleBinding" | "Role" | "RoleBinding" => node.name.starts_with("system:"),
        "Secret" => {
            let kind = node.object.as_ref().and_then(|object| object.at(&["type"])).and_then(Value::as_str);
            kind == Some("helm.sh/release.v1")
        }
        _ => false,
    }
}

/// A ReplicaSet that a Deployment keeps for going back to.
fn is_old(graph: &Graph, id: Id, node: &Node) -> bool {
    let replicas = node.object.as_ref().and_then(|object| object.at(&["spec", "replicas"]));
    replicas.and_then(Value::as_i64) == Some(0) && graph.into(id, EdgeType::OWNS).next().is_some()
}
