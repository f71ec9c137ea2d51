//! What selectors ask for, and in what labels do not meet it.

use kubewright_graph::Node;
use kubewright_k8s::{LabelRequirement, PodTemplatePath, WorkloadKind};
use kubewright_value::{Map, Text, Value};

use super::Difference;

/// Returns the field below `spec` that selects, for relationships of that sort.
pub(super) fn field(relationship: &str, node: &Node) -> Option<&'static str> {
    match (relationship, node.kind.as_str()) {
        ("EXPOSES", "Service") | ("PROTECTS", "PodDisruptionBudget") => Some("selector"),
        ("SCRAPES", "ServiceMonitor" | "PodMonitor") => Some("selector"),
        ("ISOLATES" | "SAME_NETWORK", "NetworkPolicy") => Some("podSelector"),
        ("MANAGES" | "OWNS", kind) if is_apps_workload(kind) => Some("selector"),
        _ => None,
    }
}

/// Returns the labels that selectors look at: those of the Pods that a workload makes, or its own.
pub(super) fn labels(node: &Node) -> Option<&Map> {
    let object = node.object.as_ref()?;
    let labels_at = |path: PodTemplatePath| path.template(object)?.at(&["metadata", "labels"]);
    let paths = [PodTemplatePath::Template, PodTemplatePath::JobTemplate, PodTemplatePath::Pod];
    paths.into_iter().find_map(labels_at).and_then(Value::as_object)
}

/// Returns whether objects of `kind` select the Pods that they made.
fn is_apps_workload(kind: &str) -> bool {
    WorkloadKind::named(kind).is_some_and(|workload| workload.group() == "apps")
}

/// Returns in what `labels` do not meet `requirement`.
pub(super) fn differs(requirement: &LabelRequirement, labels: Option<&Map>) -> Option<Difference> {
    let found = labels.and_then(|labels| labels.get(&requirement.key)).and_then(Value::as_str);
    (!requirement.holds(found)).then(|| Difference {
        label: requirement.key.clone(),
        wanted: requirement.to_string(),
        found: found.map(Text::new),
    })
}
