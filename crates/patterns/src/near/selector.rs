//! Requirements of label selectors, and the labels that differ from them.

use kubewright_graph::{EdgeTypeSpec, GraphNode};
use kubewright_k8s::{LabelRequirement, PodTemplatePath};
use kubewright_value::{Map, Text, Value};

use super::LabelDifference;

/// Returns the field below `spec` of `node` whose selector makes edges of the type called `relationship`.
pub(super) fn selector_field(relationship: &str, node: &GraphNode) -> Option<&'static str> {
    EdgeTypeSpec::named(relationship)?.selector_field(&node.kind)
}

/// Returns the labels that selectors look at: those of the Pods that a workload makes, or its own.
pub(super) fn pod_labels_of(node: &GraphNode) -> Option<&Map> {
    let object = node.object.as_ref()?;
    let labels_at = |path: PodTemplatePath| path.template(object)?.at(&["metadata", "labels"]);
    let paths = [PodTemplatePath::Template, PodTemplatePath::JobTemplate, PodTemplatePath::Pod];
    paths.into_iter().find_map(labels_at).and_then(Value::as_object)
}

/// Returns in what `labels` do not meet `requirement`.
pub(super) fn differs(requirement: &LabelRequirement, labels: Option<&Map>) -> Option<LabelDifference> {
    let found = labels.and_then(|labels| labels.get(&requirement.key)).and_then(Value::as_str);
    (!requirement.holds(found)).then(|| LabelDifference {
        label: requirement.key.clone(),
        wanted: requirement.to_string(),
        found: found.map(Text::new),
    })
}
