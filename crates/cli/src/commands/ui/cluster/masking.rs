//! Objects as the page may show them: without values of Secrets.

use kubewright_report::render::masked_secret;
use kubewright_value::Value;

/// The annotation that repeats the whole object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Returns whether `object` is a Secret.
pub(super) fn is_secret(object: &Value) -> bool {
    object.str_at(&["kind"]) == "Secret"
}

/// Returns `object` without its managed fields, and without values if it is a Secret.
pub(super) fn masked(object: Value) -> Value {
    let is_secret = is_secret(&object);
    let mut shown = if is_secret { masked_secret(&object) } else { object };
    let Some(metadata) =
        shown.as_object_mut().and_then(|map| map.get_mut("metadata")).and_then(Value::as_object_mut)
    else {
        return shown;
    };
    metadata.remove("managedFields");
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut)
        && is_secret
    {
        annotations.remove(LAST_APPLIED);
    }
    shown
}
