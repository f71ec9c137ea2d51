//! The last steps of a release: labels, the hash that restarts Pods, the order of manifests.

use kubewright_golib::naming;
use kubewright_value::{Map, Text, Value, json};

use super::super::manifest::{Manifest, Plane, manifest_sort_key};
use kubewright_value::CompactSort as _;

/// The annotation of a Pod template that changes when another manifest of the release changes.
const HASH_ANNOTATION: &str = "openchoreo.dev/dp-resource-hash";
/// The length of the hash in digits.
const HASH_DIGITS: usize = 10;

/// Sets `labels` on all `manifests`, replacing existing values.
pub(super) fn add_labels(manifests: &mut [Manifest], labels: &Value) {
    let Some(labels) = labels.as_object() else { return };
    for manifest in manifests {
        let metadata = manifest.object.as_object_mut().and_then(|object| object.get_mut("metadata"));
        let Some(own) = metadata.and_then(|metadata| object_under_key(metadata, "labels")) else { continue };
        for (key, value) in labels.iter() {
            own.insert(key.clone(), value.clone());
        }
    }
}

/// Annotates the Pod template of the workload with a hash of the other manifests of its plane, so that Pods are replaced
/// when a ConfigMap changes. It hashes sorted JSON; the original hashes Go's print format, so the values differ.
pub(super) fn annotate_resource_hash(manifests: &mut [Manifest], workload_type: Option<&str>) {
    let kind = match workload_type {
        Some("deployment") => "Deployment",
        Some("statefulset") => "StatefulSet",
        _ => return,
    };
    let is_workload = |manifest: &Manifest| manifest.object.get("kind").and_then(Value::as_str) == Some(kind);
    let Some(workload) = manifests.iter().position(is_workload) else { return };
    let others = manifests.iter().enumerate().filter(|(at, _)| *at != workload);
    let others = others.map(|(_, manifest)| manifest).filter(|manifest| manifest.plane == Plane::Data);
    let mut written: Vec<String> = others.map(|manifest| canonical_json(&manifest.object)).collect();
    if written.is_empty() {
        return;
    }
    // The order of the manifests must not change the hash.
    written.sort_unstable();
    let mut hash = naming::sha256_hex(&written.join("\n"));
    hash.truncate(HASH_DIGITS);
    let object = manifests.get_mut(workload).and_then(|manifest| manifest.object.as_object_mut());
    let spec = object.and_then(|object| object.get_mut("spec"));
    let template = spec.and_then(|spec| spec.as_object_mut()?.get_mut("template"));
    let metadata = template.and_then(|template| {
        object_under_key(template, "metadata")?;
        template.as_object_mut()?.get_mut("metadata")
    });
    if let Some(annotations) = metadata.and_then(|metadata| object_under_key(metadata, "annotations")) {
        annotations.insert(HASH_ANNOTATION.into(), hash.into());
    }
}

/// Sorts by kind, `apiVersion`, namespace and name; the sort is stable.
pub(super) fn sort_manifests(manifests: &mut [Manifest]) {
    manifests.compact_sort_by_cached_key(|manifest| manifest_sort_key(&manifest.object));
}

/// Returns the object under `key` of `value`, created if it is missing; `None` if `value` is not an object.
fn object_under_key<'v>(value: &'v mut Value, key: &str) -> Option<&'v mut Map> {
    let map = value.as_object_mut()?;
    if map.get(key).is_none_or(|inner| inner.as_object().is_none()) {
        map.insert(Text::new(key), Value::object(Map::new()));
    }
    map.get_mut(key)?.as_object_mut()
}

fn canonical_json(object: &Value) -> String {
    let without: Map = object
        .as_object()
        .into_iter()
        .flat_map(Map::iter)
        .filter(|(key, _)| *key != "metadata")
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    json::to_string(&sort_object_keys(&Value::object(without)))
}

/// Returns `value` with sorted keys. Recursion is safe, because the depth of rendered values is limited.
fn sort_object_keys(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::array(items.iter().map(sort_object_keys).collect()),
        Value::Object(map) => {
            let entries = map.sorted().into_iter();
            Value::object(entries.map(|(key, value)| (key.clone(), sort_object_keys(value))).collect())
        }
        scalar => scalar.clone(),
    }
}
