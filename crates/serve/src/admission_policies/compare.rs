//! Whether a policy of the API server or a binding is as it should be, and what it must become.

use kubewright_engine::GENERATED_LABEL;
use kubewright_value::{Map, Value};

use super::POLICY_GROUP;

/// Returns `wanted` with what the API server fills in, so that it can be compared with what is stored.
pub(super) fn with_api_defaults(wanted: &Value) -> Value {
    let mut object = wanted.clone();
    let is_policy = object.str_at(&["kind"]).ends_with("AdmissionPolicy");
    let Some(spec) = child_map(&mut object, "spec") else { return object };
    if is_policy {
        insert_default(spec, "failurePolicy", "Fail".into());
    }
    for key in ["matchConstraints", "matchResources"] {
        let Some(matching) = spec.get_mut(key).and_then(Value::as_object_mut) else { continue };
        insert_default(matching, "matchPolicy", "Equivalent".into());
        insert_default(matching, "namespaceSelector", Map::new().into());
        insert_default(matching, "objectSelector", Map::new().into());
        for list in ["resourceRules", "excludeResourceRules"] {
            let rules = matching.get_mut(list).and_then(Value::as_array_mut);
            for rule in rules.into_iter().flatten() {
                if let Some(rule) = rule.as_object_mut() {
                    insert_default(rule, "scope", "*".into());
                }
            }
        }
    }
    object
}

/// Returns `object` in the `version` in which it is written.
pub(super) fn in_version(mut object: Value, version: &str) -> Value {
    if let Some(map) = object.as_object_mut() {
        map.insert("apiVersion".into(), format!("{POLICY_GROUP}/{version}").into());
    }
    object
}

/// Returns what is to be put in the place of `actual`, or nothing where it is as `wanted` already. `answered` is what the
/// API server made of the same `wanted` before.
pub(super) fn repaired_policy(actual: &Value, wanted: &Value, answered: Option<&Value>) -> Option<Value> {
    let spec = actual.get("spec");
    let is_spec_kept = spec == wanted.get("spec") || (spec.is_some() && spec == answered);
    let is_equal = is_spec_kept
        && object_labels(wanted)
            .iter()
            .all(|(key, value)| actual.at(&["metadata", "labels", key]) == Some(value))
        && policy_owners(wanted).iter().all(|owner| policy_owners(actual).contains(owner));
    if is_equal {
        return None;
    }
    let mut new = actual.clone();
    if let Some(spec) = wanted.get("spec") {
        new.as_object_mut()?.insert("spec".into(), spec.clone());
    }
    let metadata = child_map(&mut new, "metadata")?;
    let mut all = object_labels(actual);
    for (key, value) in object_labels(wanted).iter() {
        all.insert(key.clone(), value.clone());
    }
    metadata.insert("labels".into(), all.into());
    metadata.insert("ownerReferences".into(), Value::array(policy_owners(wanted).to_vec()));
    Some(new)
}

/// Returns whether `actual` belongs to the owner of `wanted`.
pub(super) fn is_owned(actual: &Value, wanted: &Value) -> bool {
    let uid = |owner: &Value| owner.get("uid").cloned();
    policy_owners(wanted).iter().any(|owner| is_owned_by(actual, &uid(owner).unwrap_or_default()))
}

/// Returns whether `object` was generated for the object with this `uid`.
pub(super) fn is_generated_for(object: &Value, uid: &Value) -> bool {
    let label = object.at(&["metadata", "labels", GENERATED_LABEL]).and_then(Value::as_str);
    label == Some("true") && is_owned_by(object, uid)
}

fn is_owned_by(object: &Value, uid: &Value) -> bool {
    !uid.is_null() && policy_owners(object).iter().any(|owner| owner.get("uid") == Some(uid))
}

fn policy_owners(object: &Value) -> &[Value] {
    object.at(&["metadata", "ownerReferences"]).and_then(Value::as_array).unwrap_or_default()
}

fn object_labels(object: &Value) -> Map {
    object.at(&["metadata", "labels"]).and_then(Value::as_object).cloned().unwrap_or_default()
}

fn child_map<'v>(object: &'v mut Value, key: &str) -> Option<&'v mut Map> {
    object.as_object_mut()?.get_mut(key)?.as_object_mut()
}

fn insert_default(map: &mut Map, key: &'static str, value: Value) {
    if map.get(key).is_none() {
        map.insert(key.into(), value);
    }
}
