//! Nodes and edges that clutter a picture.

use kubewright_value::Value;

use kubewright_graph::{Edge, EdgeType, Graph, GraphNode, Id, Sort, Strength};

/// Kinds that the cluster makes for itself, or that are drawn as frames.
const NOISY_KINDS: [&str; 11] = [
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

/// Returns whether an edge clutters a picture.
pub(super) fn is_noisy_edge(graph: &Graph, edge: &Edge<'_>) -> bool {
    if edge.kind.spec().is_some_and(|spec| spec.is_noisy) {
        return true;
    }
    let Some(to) = graph.node(edge.to) else { return true };
    match (edge.kind, to.sort) {
        // Nearly every object has one, and few are distinct.
        (EdgeType::OF_CLASS, _)
            if matches!(to.kind.as_str(), "StorageClass" | "PriorityClass" | "RuntimeClass") =>
        {
            true
        }
        // The default account of workloads that name none.
        (EdgeType::USES_SA, Sort::Object) => edge.strength == Strength::Implicit,
        (EdgeType::ISOLATES, Sort::Object) => graph.node(edge.from).is_some_and(selects_all),
        (_, Sort::Object) => false,
        // A class is mostly not among the manifests of an application, a driver never.
        (EdgeType::OF_CLASS | EdgeType::PROVISIONED_BY, Sort::Absent) => true,
        (_, Sort::Absent) => false,
        (kind, Sort::Virtual) => kind != EdgeType::BINDS_SUBJECT,
    }
}

/// Returns whether a NetworkPolicy selects every Pod of its namespace; lines to all of them would clutter a picture.
pub(super) fn selects_all(node: &GraphNode) -> bool {
    let selector = node.object.as_ref().and_then(|object| object.at(&["spec", "podSelector"]));
    let is_empty = selector.and_then(Value::as_object).is_none_or(kubewright_value::Map::is_empty);
    node.kind == "NetworkPolicy" && is_empty
}

/// Returns whether a node clutters a picture.
pub(super) fn is_noisy_node(graph: &Graph, id: Id, node: &GraphNode) -> bool {
    if NOISY_KINDS.contains(&node.kind.as_str()) || node.name == "kube-root-ca.crt" {
        return true;
    }
    match node.kind.as_str() {
        "ReplicaSet" => is_in_between(graph, id, node),
        "ClusterRole" | "ClusterRoleBinding" | "Role" | "RoleBinding" => node.name.starts_with("system:"),
        "Secret" => {
            let kind = node.object.as_ref().and_then(|object| object.at(&["type"])).and_then(Value::as_str);
            kind == Some("helm.sh/release.v1")
        }
        _ => false,
    }
}

/// Returns whether a node without edges clutters a picture.
pub(super) fn is_noisy_alone(node: &GraphNode) -> bool {
    node.kind == "ServiceAccount" && node.name == "default"
}

/// Returns whether a ReplicaSet of a Deployment is inactive, or the only active one.
fn is_in_between(graph: &Graph, id: Id, node: &GraphNode) -> bool {
    let is_active = |node: &GraphNode| {
        let replicas = node.object.as_ref().and_then(|object| object.at(&["spec", "replicas"]));
        replicas.and_then(Value::as_i64) != Some(0)
    };
    let Some(owner) = graph.incoming(id, EdgeType::OWNS).find(|edge| graph.is_object(edge.from)) else {
        return false;
    };
    let active = graph
        .out(owner.from, EdgeType::OWNS)
        .filter(|edge| graph.node(edge.to).is_some_and(|node| node.kind == "ReplicaSet" && is_active(node)));
    !is_active(node) || active.take(2).count() == 1
}
