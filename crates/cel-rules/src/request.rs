//! The request as CEL sees it: without the objects, which are variables of their own.

use kubewright_k8s::{AdmissionRequest, GroupVersionKind, Operation, resource_name};
use kubewright_value::{Map, Text, Value};

/// Returns the fields of `request`; a text that is empty is not there.
#[must_use]
pub fn request_value(request: &AdmissionRequest) -> Value {
    let mut map = Map::with_capacity(12);
    map.insert("kind".into(), kind_value(&request.kind));
    map.insert("resource".into(), resource_value(request.addressed()));
    map.insert("requestKind".into(), kind_value(&request.kind));
    map.insert("requestResource".into(), resource_value(request.addressed()));
    put_text(&mut map, "subResource", &request.subresource);
    put_text(&mut map, "requestSubResource", &request.subresource);
    put_text(&mut map, "name", &request.name);
    put_text(&mut map, "namespace", namespace_of(request));
    map.insert("operation".into(), request.operation.name().into());
    map.insert("userInfo".into(), user_value(&request.user));
    map.insert("dryRun".into(), request.is_dry_run.into());
    map.insert("options".into(), Value::Null);
    map.into()
}

/// Returns the namespace of a request; for a request about a Namespace, that namespace.
pub(super) fn namespace_of(request: &AdmissionRequest) -> &Text {
    match request.kind.group.is_empty() && request.kind.kind == "Namespace" {
        true => &request.name,
        false => &request.namespace,
    }
}

fn put_text(map: &mut Map, key: &str, text: &Text) {
    if !text.is_empty() {
        map.insert(key.into(), text.clone().into());
    }
}

fn user_value(user: &Value) -> Value {
    match user {
        Value::Object(_) => user.clone(),
        _ => Map::new().into(),
    }
}

/// Returns the object as it will be and as it was.
#[must_use]
pub fn request_objects<'a>(request: &'a AdmissionRequest, object: &'a Value) -> (&'a Value, &'a Value) {
    match request.operation {
        Operation::Delete if request.old_object.is_null() => (&Value::Null, object),
        Operation::Delete => (&Value::Null, &request.old_object),
        // Outside a cluster the object before the change is not known.
        Operation::Update if request.old_object.is_null() && !request.is_admission() => (object, object),
        _ => (object, &request.old_object),
    }
}

/// Returns a kind as requests have it.
#[must_use]
pub fn kind_value(kind: &GroupVersionKind) -> Value {
    let texts = [("group", &kind.group), ("version", &kind.version), ("kind", &kind.kind)];
    texts.into_iter().map(|(key, text)| (key.into(), text.clone().into())).collect::<Map>().into()
}

/// The name of the resource is not known; Kubernetes guesses it from the kind in the same way.
#[must_use]
pub fn resource_value(kind: &GroupVersionKind) -> Value {
    let texts = [
        ("group", kind.group.clone()),
        ("version", kind.version.clone()),
        ("resource", resource_name(&kind.kind).into()),
    ];
    texts.into_iter().map(|(key, text)| (key.into(), text.into())).collect::<Map>().into()
}
