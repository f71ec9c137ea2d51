//! Objects as the page may show them: without values of Secrets.

use kubewright_value::{Map, Value};

/// What is shown in place of a value of a Secret.
const MASKED_VALUE: &str = "(secret)";
/// The annotation that repeats the whole object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Returns whether `object` is a Secret.
pub(super) fn is_secret(object: &Value) -> bool {
    object.str_at(&["kind"]) == "Secret" && object.str_at(&["apiVersion"]) == "v1"
}

/// Returns `object` without its managed fields, and without values if it is a Secret.
pub(super) fn masked(mut object: Value) -> Value {
    let is_secret = is_secret(&object);
    let Some(map) = object.as_object_mut() else { return object };
    if let Some(metadata) = map.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut)
            && is_secret
        {
            annotations.remove(LAST_APPLIED);
        }
    }
    if is_secret {
        for key in ["data", "stringData"] {
            if let Some(values) = map.get(key).and_then(Value::as_object) {
                let hidden: Map =
                    values.iter().map(|(name, _)| (name.clone(), MASKED_VALUE.into())).collect();
                map.insert(key.into(), hidden.into());
            }
        }
    }
    object
}
