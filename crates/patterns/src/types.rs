//! Edge types by name, and the kinds of Kubernetes that each can link. The types are those of the graph's table.

use kubewright_engine::nearest_word;
use kubewright_graph::{EDGE_TYPES, EdgeType, EdgeTypeSpec, KindSet};
use kubewright_k8s::{PodTemplatePath, WorkloadKind, is_cluster_scoped_name};
use kubewright_value::Text;

/// A kind of Argo Rollouts, which has a Pod template as a Deployment has.
const ROLLOUT: &str = "Rollout";

/// Kinds of Kubernetes itself whose references are all known.
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

/// Returns whether objects of a kind are Pods or have a Pod template.
pub(crate) fn has_pods(kind: &str) -> bool {
    PodTemplatePath::of_kind(kind).is_some() || kind == ROLLOUT
}

/// Returns whether a kind is known to have no Pod template.
pub(crate) fn has_no_pods(kind: &str) -> bool {
    is_built_in(kind) && !has_pods(kind)
}

fn is_built_in(kind: &str) -> bool {
    BUILT_IN.contains(&kind) || WorkloadKind::named(kind).is_some()
}

/// Returns whether edges of the type called `name` have no direction.
pub(crate) fn is_symmetric(name: &str) -> bool {
    EdgeTypeSpec::named(name).is_some_and(|spec| spec.is_symmetric)
}

/// Returns the type called `name`, in any case, built in or one of the `declared` ones.
pub(crate) fn find_edge_type(name: &str, declared: &[Text]) -> Option<Text> {
    if declared.iter().any(|known| *known == name) {
        return Some(name.into());
    }
    let spec = EDGE_TYPES.iter().find(|spec| spec.name.eq_ignore_ascii_case(name))?;
    Some(Text::new_static(spec.name))
}

/// Returns the help for an unknown type `name`.
pub(crate) fn edge_type_help(name: &str) -> String {
    if let Some(near) = nearest_word(name, EDGE_TYPES.iter().map(|spec| spec.name)) {
        return format!("did you mean `{near}`?");
    }
    let contract = EDGE_TYPES.iter().filter(|spec| spec.is_in_contract).map(|spec| spec.name);
    format!("use one of {}", contract.collect::<Vec<&str>>().join(", "))
}

/// Returns why an edge of the type `name` can never link objects of the two kinds; nothing if it can, or if a kind is not
/// one of Kubernetes itself.
pub(crate) fn cannot_link(name: &str, one: &str, other: &str) -> Option<String> {
    let spec = EdgeTypeSpec::named(name)?;
    if ![one, other].iter().all(|kind| is_built_in(kind)) {
        return None;
    }
    let links = |from, to| holds_kind(spec.from_kinds, from) && holds_kind(spec.to_kinds, to);
    let kinds = if one == other { format!("two of kind `{one}`") } else { format!("`{one}` and `{other}`") };
    (!links(one, other) && !links(other, one)).then(|| format!("`{name}` never links {kinds}"))
}

/// Returns whether an object of the kind called `name` may be at an end of an edge of a built-in type; also if nothing is
/// known of the kind.
pub(crate) fn can_have(kind: EdgeType, name: &str) -> bool {
    let is_at = |spec: &EdgeTypeSpec| holds_kind(spec.from_kinds, name) || holds_kind(spec.to_kinds, name);
    !is_built_in(name) || kind.spec().is_none_or(is_at)
}

/// Returns whether `kind`, one of Kubernetes itself, is in `set`.
fn holds_kind(set: KindSet, kind: &str) -> bool {
    match set {
        KindSet::Any => true,
        KindSet::Workloads => has_pods(kind),
        KindSet::WorkloadsAnd(more) => has_pods(kind) || kind == more,
        KindSet::Only(kinds) => kinds.contains(&kind),
        KindSet::Except(other) => kind != other,
        KindSet::Namespaced => !is_cluster_scoped_name(kind),
        KindSet::Custom => false,
    }
}
