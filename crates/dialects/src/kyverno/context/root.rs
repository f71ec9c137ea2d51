//! The request as expressions see it.

use kubewright_engine::{GroupVersionKind, Operation, Request, resource_name};
use kubewright_value::{Map, Text, Value};

/// Returns what expressions are evaluated on: the request, and who asks.
pub(super) fn of(request: &Request, object: &Value) -> Value {
    let is_admission = !request.uid.is_empty();
    let mut root = Map::with_capacity(8);
    root.insert("request".into(), asked(request, object, is_admission).into());
    if is_admission || request.has_user() {
        let (namespace, name) = service_account(request);
        root.insert("serviceAccountName".into(), name.into());
        root.insert("serviceAccountNamespace".into(), namespace.into());
    }
    root.into()
}

/// Outside a cluster only what is known there exists; an admission request has all its fields.
fn asked(request: &Request, object: &Value, is_admission: bool) -> Map {
    let mut map = Map::with_capacity(if is_admission { 18 } else { 8 });
    if is_admission {
        identify(&mut map, request);
    }
    put_objects(&mut map, request, object, is_admission);
    if !is_admission || !request.namespace.is_empty() {
        map.insert("namespace".into(), request.namespace.clone().into());
    }
    map.insert("operation".into(), request.operation.name().into());
    if is_admission || request.has_user() {
        let texts = |texts: &[Text]| Value::array(texts.iter().cloned().map(Value::String).collect());
        if !request.roles.is_empty() {
            map.insert("roles".into(), texts(&request.roles));
        }
        if !request.cluster_roles.is_empty() {
            map.insert("clusterRoles".into(), texts(&request.cluster_roles));
        }
        map.insert("userInfo".into(), request.user.clone());
    }
    map
}

/// Returns the object as it will be and as it was.
pub(in super::super) fn objects(request: &Request, object: &Value) -> (Value, Value) {
    match request.operation {
        Operation::Delete if request.old_object.is_null() => (Value::Null, object.clone()),
        Operation::Delete => (Value::Null, request.old_object.clone()),
        // Outside a cluster nobody knows what an object was before it is changed.
        Operation::Update if request.old_object.is_null() && request.uid.is_empty() => {
            (object.clone(), object.clone())
        }
        _ => (object.clone(), request.old_object.clone()),
    }
}

fn put_objects(map: &mut Map, request: &Request, object: &Value, is_admission: bool) {
    let (new, old) = objects(request, object);
    for (key, value) in [("object", new), ("oldObject", old)] {
        if is_admission || !value.is_null() {
            map.insert(key.into(), value);
        }
    }
}

fn identify(map: &mut Map, request: &Request) {
    let kind = kind_of(&request.kind);
    let resource = resource_of(&request.kind);
    map.insert("uid".into(), request.uid.clone().into());
    map.insert("kind".into(), kind.clone());
    map.insert("resource".into(), resource.clone());
    map.insert("requestKind".into(), kind);
    map.insert("requestResource".into(), resource);
    for (key, text) in [("name", &request.name), ("subResource", &request.subresource)] {
        if !text.is_empty() {
            map.insert(key.into(), text.clone().into());
        }
    }
    map.insert("dryRun".into(), request.is_dry_run.into());
    map.insert("options".into(), Value::Null);
}

/// Returns a kind as requests have it.
pub(in super::super) fn kind_of(kind: &GroupVersionKind) -> Value {
    let texts = [("group", &kind.group), ("version", &kind.version), ("kind", &kind.kind)];
    texts.into_iter().map(|(key, text)| (key.into(), text.clone().into())).collect::<Map>().into()
}

/// The name of the resource is not known; Kubernetes guesses it from the kind in the same way.
pub(in super::super) fn resource_of(kind: &GroupVersionKind) -> Value {
    let texts = [
        ("group", kind.group.clone()),
        ("version", kind.version.clone()),
        ("resource", resource_name(&kind.kind).into()),
    ];
    texts.into_iter().map(|(key, text)| (key.into(), text.into())).collect::<Map>().into()
}

/// Returns the namespace and name in `system:serviceaccount:NAMESPACE:NAME`; empty for anybody else.
fn service_account(request: &Request) -> (Text, Text) {
    let user = request.user.get("username").and_then(Value::as_str).unwrap_or_default();
    let account = user.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'));
    let (namespace, name) = account.unwrap_or_default();
    (namespace.into(), name.split(':').next().unwrap_or_default().into())
}
