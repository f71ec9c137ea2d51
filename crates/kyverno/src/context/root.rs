//! The request as expressions see it.

use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Map, Text, Value};

use kubewright_cel_rules::request::{kind_value, request_objects, resource_value};

/// Returns the root value of expressions: the request and its user.
pub(super) fn context_root(request: &AdmissionRequest, object: &Value) -> Value {
    let is_admission = request.is_admission();
    let mut root = Map::with_capacity(8);
    root.insert("request".into(), request_variables(request, object, is_admission).into());
    if is_admission || request.has_user() {
        let (namespace, name) = service_account_of(request);
        root.insert("serviceAccountName".into(), name.into());
        root.insert("serviceAccountNamespace".into(), namespace.into());
    }
    root.into()
}

/// Outside a cluster only the known fields exist; an admission request has all its fields.
fn request_variables(request: &AdmissionRequest, object: &Value, is_admission: bool) -> Map {
    let mut map = Map::with_capacity(if is_admission { 18 } else { 8 });
    // The target of a connection is in neither object.
    if is_admission || request.operation == Operation::Connect {
        identify(&mut map, request);
    }
    put_objects(&mut map, request, object, is_admission);
    // To the API server a Namespace is in itself.
    let is_namespace = is_admission && request.kind.group.is_empty() && request.kind.kind == "Namespace";
    let namespace = if is_namespace { &request.name } else { &request.namespace };
    if !is_admission || !namespace.is_empty() {
        map.insert("namespace".into(), namespace.clone().into());
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

fn put_objects(map: &mut Map, request: &AdmissionRequest, object: &Value, is_admission: bool) {
    let (new, old) = request_objects(request, object);
    for (key, value) in [("object", new), ("oldObject", old)] {
        if is_admission || !value.is_null() {
            map.insert(key.into(), value.clone());
        }
    }
}

fn identify(map: &mut Map, request: &AdmissionRequest) {
    let kind = kind_value(&request.kind);
    let resource = resource_value(request.addressed());
    if request.is_admission() {
        map.insert("uid".into(), request.uid.clone().into());
    }
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

/// Returns the namespace and name in `system:serviceaccount:NAMESPACE:NAME`; empty for other users.
fn service_account_of(request: &AdmissionRequest) -> (Text, Text) {
    let user = request.user.str_at(&["username"]);
    let account = user.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'));
    let (namespace, name) = account.unwrap_or_default();
    (namespace.into(), name.split(':').next().unwrap_or_default().into())
}
