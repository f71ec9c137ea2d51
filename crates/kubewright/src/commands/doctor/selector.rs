//! Label selectors of the API, as the API server understands them.

use kubewright_value::Value;

/// Whether `selector` selects the namespace called `name` with these labels. An empty one selects everything.
pub(super) fn selects_namespace(selector: Option<&Value>, name: &str, labels: Option<&Value>) -> bool {
    let label = |key: &str| match key {
        "kubernetes.io/metadata.name" => Some(name),
        key => labels.and_then(|labels| labels.get(key)).and_then(Value::as_str),
    };
    let Some(selector) = selector else { return true };
    let equal = selector.get("matchLabels").and_then(Value::as_object);
    let mut equal = equal.into_iter().flat_map(|map| map.iter());
    let expressions = selector.get("matchExpressions").and_then(Value::as_array).unwrap_or_default();
    equal.all(|(key, value)| label(key) == value.as_str())
        && expressions.iter().all(|expression| {
            let found = label(expression.get("key").and_then(Value::as_str).unwrap_or_default());
            let values = expression.get("values").and_then(Value::as_array).unwrap_or_default();
            let is_in = found.is_some_and(|found| values.iter().any(|value| value.as_str() == Some(found)));
            match expression.get("operator").and_then(Value::as_str).unwrap_or_default() {
                "In" => is_in,
                "NotIn" => !is_in,
                "Exists" => found.is_some(),
                "DoesNotExist" => found.is_none(),
                _ => false,
            }
        })
}
