//! Namespace selectors of webhooks.

use kubewright_k8s::LabelSelector;
use kubewright_value::Value;

/// The label that the API server gives every namespace.
const NAMESPACE_NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// Whether `selector` selects the namespace called `name` with these labels. An empty one selects everything.
pub(super) fn selector_selects_namespace(
    selector: Option<&Value>,
    name: &str,
    labels: Option<&Value>,
) -> bool {
    let Some(selector) = selector.filter(|selector| !selector.is_null()) else { return true };
    let label = |key: &str| match key {
        NAMESPACE_NAME_LABEL => Some(name),
        key => labels.and_then(|labels| labels.get(key)).and_then(Value::as_str),
    };
    LabelSelector::read(selector).is_some_and(|selector| selector.matches(label))
}
