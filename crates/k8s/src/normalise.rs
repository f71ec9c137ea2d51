//! The form in which the API server would store an object that a person wrote.
//!
//! The API server decodes an object before any webhook is called. A manifest outside a cluster was never decoded:
//! it may name no namespace, and its maps may be null because nothing was written below their key.

use kubewright_value::{Map, Value};

use crate::AdmissionRequest;

/// Fields that are maps in every kind that has them.
const MAP_FIELDS: [&str; 6] = ["annotations", "labels", "matchLabels", "nodeSelector", "data", "stringData"];

impl AdmissionRequest {
    /// Sets `metadata.namespace` of the objects where they do not name the namespace that they are in.
    pub fn fill_namespace(&mut self) {
        if self.namespace.is_empty() {
            return;
        }
        for object in [&mut self.object, &mut self.old_object] {
            let names_namespace =
                |metadata: &Value| metadata.get("namespace").is_some_and(|name| !name.is_null());
            if object.get("metadata").is_none_or(names_namespace) {
                continue;
            }
            if let Some(metadata) = request_metadata_mut(object) {
                metadata.insert("namespace".into(), self.namespace.clone().into());
            }
        }
    }

    /// Returns this request with empty maps in the place of null ones, or nothing if it has no null map.
    #[must_use]
    pub fn with_maps_filled(&self) -> Option<Self> {
        if !has_null_map(&self.object) && !has_null_map(&self.old_object) {
            return None;
        }
        let mut filled = self.clone();
        fill_null_maps(&mut filled.object);
        fill_null_maps(&mut filled.old_object);
        Some(filled)
    }
}

/// Replaces null in fields that are maps by an empty map. An object without one is not copied.
pub fn fill_null_maps(object: &mut Value) {
    if has_null_map(object) {
        fill_null_maps_in(object);
    }
}

/// Returns `after` without the namespace that [`AdmissionRequest::fill_namespace`] added to `before`.
#[must_use]
pub fn without_filled_namespace(mut after: Value, before: &Value, namespace: &str) -> Value {
    let path = ["metadata", "namespace"];
    if before.at(&path).is_none()
        && after.at(&path).and_then(Value::as_str) == Some(namespace)
        && let Some(metadata) = request_metadata_mut(&mut after)
    {
        metadata.remove("namespace");
    }
    after
}

fn request_metadata_mut(object: &mut Value) -> Option<&mut Map> {
    object.as_object_mut()?.get_mut("metadata")?.as_object_mut()
}

fn has_null_map(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.iter().any(|(key, value)| has_null_map(value) || is_null_map(key, value)),
        Value::Array(items) => items.iter().any(has_null_map),
        _ => false,
    }
}

fn is_null_map(key: &str, value: &Value) -> bool {
    value.is_null() && MAP_FIELDS.contains(&key)
}

fn fill_null_maps_in(value: &mut Value) {
    if let Some(items) = value.as_array_mut() {
        items.iter_mut().for_each(fill_null_maps_in);
    }
    let Some(map) = value.as_object_mut() else { return };
    for (key, value) in map.iter_mut() {
        if is_null_map(key, value) {
            *value = Value::object(Map::new());
        }
        fill_null_maps_in(value);
    }
}

#[cfg(test)]
mod tests {
    use kubewright_value::json;

    use super::*;
    use crate::Operation;

    fn request(object: &str) -> AdmissionRequest {
        let object = json::parse(object).expect("JSON");
        AdmissionRequest::for_object(object, Operation::Create, "shop")
    }

    #[test]
    fn fill_namespace_keeps_the_namespace_that_an_object_names() {
        for (object, want) in [
            (r#"{"kind":"Pod","metadata":{}}"#, r#"{"kind":"Pod","metadata":{"namespace":"shop"}}"#),
            (
                r#"{"kind":"Pod","metadata":{"namespace":"a"}}"#,
                r#"{"kind":"Pod","metadata":{"namespace":"a"}}"#,
            ),
            (
                r#"{"kind":"Pod","metadata":{"namespace":null}}"#,
                r#"{"kind":"Pod","metadata":{"namespace":"shop"}}"#,
            ),
            (
                r#"{"apiVersion":"v1","kind":"Node","metadata":{}}"#,
                r#"{"apiVersion":"v1","kind":"Node","metadata":{}}"#,
            ),
            (r#"{"kind":"Pod"}"#, r#"{"kind":"Pod"}"#),
        ] {
            let mut request = request(object);
            request.fill_namespace();
            assert_eq!(json::to_string(&request.object), want);
        }
    }

    #[test]
    fn without_filled_namespace_is_the_inverse_of_fill_namespace() {
        let mut request = request(r#"{"kind":"Pod","metadata":{}}"#);
        let before = request.object.clone();
        request.fill_namespace();
        assert_eq!(without_filled_namespace(request.object, &before, "shop"), before);
    }

    #[test]
    fn with_maps_filled_fills_maps_and_no_other_null() {
        let object = r#"{"metadata":{"labels":null,"name":null},"spec":[{"nodeSelector":null,"x":null}]}"#;
        let want = r#"{"metadata":{"labels":{},"name":null},"spec":[{"nodeSelector":{},"x":null}]}"#;
        let filled = request(object).with_maps_filled().expect("a null map");
        assert_eq!(json::to_string(&filled.object), want);
        assert!(request(want).with_maps_filled().is_none());
    }
}
