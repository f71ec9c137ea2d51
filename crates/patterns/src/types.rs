//! The types of relationships by name, and which kinds each can link.

use kubewright_engine::nearest_word;
use kubewright_k8s::{PodTemplatePath, WorkloadKind, is_cluster_scoped_name};
use kubewright_value::Text;

/// The types of the contract.
const CONTRACT: [&str; 10] = [
    "OWNS",
    "MANAGES",
    "MOUNTS",
    "EXPOSES",
    "USES_CONFIG",
    "SAME_NETWORK",
    "IS_NAMESPACE_OF",
    "USES_SA",
    "HAS_AFFINITY_TO",
    "REFERENCES_KRATEO",
];

/// The types that the graph has beside them.
const MORE: [&str; 37] = [
    "MANAGES_KRATEO",
    "HAS_ANTI_AFFINITY_TO",
    "PULLS_WITH",
    "ROUTES_TO",
    "TERMINATES_TLS_WITH",
    "OF_CLASS",
    "ATTACHES_TO",
    "FORWARDS_TO",
    "GRANTS_REFERENCE",
    "TARGETS_POLICY",
    "SCALES",
    "PROTECTS",
    "ISOLATES",
    "ALLOWS_FROM",
    "ALLOWS_TO",
    "BINDS_ROLE",
    "BINDS_SUBJECT",
    "AGGREGATES",
    "BOUND_TO",
    "PROVISIONED_BY",
    "ATTACHES_VOLUME",
    "SNAPSHOT_OF",
    "SCHEDULED_ON",
    "GOVERNED_BY",
    "CALLS_WEBHOOK",
    "DEFINES_KIND",
    "LIMITED_BY",
    "SCRAPES",
    "ISSUES",
    "SYNCS_FROM",
    "DEPLOYS",
    "PART_OF",
    "USES_IMAGE",
    "REPORTS_ON",
    "REFERS_TO",
    "CAN_ACCESS",
    "TOLERATES",
];

/// A kind of Argo Rollouts, which has a Pod template as a Deployment has.
const ROLLOUT: &str = "Rollout";

/// Kinds of Kubernetes itself, which are no widgets and of which it is known what they refer to.
/// Those that make Pods are not listed: see [`WorkloadKind`].
const BUILT_IN: [&str; 23] = [
    "Pod",
    "Service",
    "ConfigMap",
    "Secret",
    "ServiceAccount",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "StorageClass",
    "Ingress",
    "IngressClass",
    "NetworkPolicy",
    "HorizontalPodAutoscaler",
    "PodDisruptionBudget",
    "Role",
    "RoleBinding",
    "ClusterRole",
    "ClusterRoleBinding",
    "LimitRange",
    "ResourceQuota",
    "PriorityClass",
    "EndpointSlice",
];

/// Those of them that a Pod mounts.
const MOUNTED: [&str; 4] = ["PersistentVolumeClaim", "PersistentVolume", "ConfigMap", "Secret"];

/// Returns whether objects of a kind are Pods or have a template for them.
pub(crate) fn has_pods(kind: &str) -> bool {
    PodTemplatePath::of_kind(kind).is_some() || kind == ROLLOUT
}

/// Returns whether it is known of a kind that it has nothing to do with Pods.
pub(crate) fn has_no_pods(kind: &str) -> bool {
    is_built_in(kind) && !has_pods(kind)
}

fn is_built_in(kind: &str) -> bool {
    BUILT_IN.contains(&kind) || WorkloadKind::named(kind).is_some()
}

/// Returns whether edges of the type called `name` lead both ways.
pub(crate) fn is_symmetric(name: &str) -> bool {
    name == "SAME_NETWORK"
}

/// Returns the type called `name`, in whatever case.
pub(crate) fn find(name: &str, own: &[Text]) -> Option<Text> {
    if own.iter().any(|known| *known == name) {
        return Some(name.into());
    }
    let mut known = CONTRACT.iter().chain(&MORE);
    known.find(|known| known.eq_ignore_ascii_case(name)).map(|known| Text::new_static(known))
}

/// Returns what to write instead of `name`.
pub(crate) fn help(name: &str) -> String {
    match nearest_word(name, CONTRACT.iter().chain(&MORE).copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("use one of {}", CONTRACT.join(", ")),
    }
}

/// Returns why an edge of the type `name` can never link objects of the two kinds; nothing where it can, or where a
/// kind is not one of Kubernetes itself.
pub(crate) fn cannot_link(name: &str, one: &str, other: &str) -> Option<String> {
    if ![one, other].iter().all(|kind| is_built_in(kind)) {
        return None;
    }
    let both = |test: &dyn Fn(&str, &str) -> bool| test(one, other) || test(other, one);
    let can = match name {
        "MANAGES" => both(&|from, to| to == "Pod" && from != "Pod"),
        "MOUNTS" => both(&|from, to| has_pods(from) && MOUNTED.contains(&to)),
        "EXPOSES" => both(&|from, to| from == "Service" && has_pods(to)),
        "USES_CONFIG" => both(&|from, to| has_pods(from) && matches!(to, "ConfigMap" | "Secret")),
        "USES_SA" => both(&|from, to| has_pods(from) && to == "ServiceAccount"),
        "SAME_NETWORK" => both(&|from, to| (has_pods(from) || from == "NetworkPolicy") && has_pods(to)),
        "IS_NAMESPACE_OF" => both(&|from, to| from == "Namespace" && !is_cluster_scoped_name(to)),
        "HAS_AFFINITY_TO" => both(&|from, to| has_pods(from) && (has_pods(to) || to == "Node")),
        "REFERENCES_KRATEO" | "MANAGES_KRATEO" => false,
        "ROUTES_TO" => both(&|from, _| from == "Ingress"),
        "PROTECTS" => both(&|from, to| from == "PodDisruptionBudget" && has_pods(to)),
        "SCHEDULED_ON" | "TOLERATES" => both(&|from, to| has_pods(from) && to == "Node"),
        "CAN_ACCESS" => both(&|from, to| from == "ServiceAccount" && matches!(to, "Role" | "ClusterRole")),
        _ => true,
    };
    let kinds = if one == other { format!("two of kind `{one}`") } else { format!("`{one}` and `{other}`") };
    (!can).then(|| format!("`{name}` never links {kinds}"))
}
