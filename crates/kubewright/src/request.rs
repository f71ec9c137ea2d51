//! What is asked about the object of a manifest, which is as a person wrote it and not as a cluster would store it.

use std::path::Path;

use kubewright_k8s::{AdmissionRequest, GroupVersionKind, Operation, is_cluster_scoped};
use kubewright_value::{Document, Map, Text, Value};

use crate::given::UserInfo;

/// Returns the request of `user` to do `operation` to `object`, which is as it was and as it will be.
pub(crate) fn of(object: &Value, operation: Operation, namespace: &str, user: &UserInfo) -> AdmissionRequest {
    let mut request = AdmissionRequest::for_object(object.clone(), Operation::Create, namespace);
    change_operation(&mut request, operation);
    user.place(&mut request);
    request
}

/// Returns whether `document` is of no kind.
pub(crate) fn is_payload(document: &Document) -> bool {
    document.value.get("kind").and_then(Value::as_str).is_none_or(str::is_empty)
}

/// Returns the request of `user` about a document that is of no kind, which is called as its file is.
pub(crate) fn of_payload(document: &Document, user: &UserInfo) -> AdmissionRequest {
    let mut request = AdmissionRequest::for_object(document.value.clone(), Operation::Create, "");
    let file = Path::new(&document.source.name).file_name().unwrap_or_default();
    request.name = file.to_string_lossy().as_ref().into();
    user.place(&mut request);
    request
}

/// Returns the request to create `object` as a cluster would see it: the object names its namespace, and a map that was
/// written without anything in it is empty.
pub(crate) fn stored(object: &Value, namespace: &str) -> AdmissionRequest {
    let mut request = AdmissionRequest::for_object(object.clone(), Operation::Create, namespace);
    place_namespace(&mut request);
    place_maps(&mut request);
    request
}

/// Lets the maps of a request that were written without anything in them be empty, as they are in a cluster.
pub(crate) fn place_maps(request: &mut AdmissionRequest) {
    for object in [&mut request.object, &mut request.old_object] {
        if has_null_map(object) {
            fill_maps(object);
        }
    }
}

/// Lets the objects of a request name their namespace, as they do in a cluster.
pub(crate) fn place_namespace(request: &mut AdmissionRequest) {
    if request.namespace.is_empty() {
        return;
    }
    for object in [&mut request.object, &mut request.old_object] {
        if object
            .get("metadata")
            .is_none_or(|metadata| metadata.get("namespace").is_some_and(|name| !name.is_null()))
        {
            continue;
        }
        let metadata = object.as_object_mut().and_then(|object| object.get_mut("metadata"));
        if let Some(metadata) = metadata.and_then(Value::as_object_mut) {
            metadata.insert("namespace".into(), request.namespace.clone().into());
        }
    }
}

/// Returns `after` without the namespace that `before` did not name.
pub(crate) fn unplaced(mut after: Value, before: &Value, namespace: &str) -> Value {
    let path = ["metadata", "namespace"];
    if before.at(&path).is_none() && after.at(&path).and_then(Value::as_str) == Some(namespace) {
        let metadata = after.as_object_mut().and_then(|object| object.get_mut("metadata"));
        if let Some(metadata) = metadata.and_then(Value::as_object_mut) {
            metadata.remove("namespace");
        }
    }
    after
}

/// Fields that are maps in every object that has them.
const MAPS: [&str; 6] = ["annotations", "labels", "matchLabels", "nodeSelector", "data", "stringData"];

fn has_null_map(value: &Value) -> bool {
    match value {
        Value::Object(map) => map
            .iter()
            .any(|(key, value)| has_null_map(value) || (value.is_null() && MAPS.contains(&key.as_str()))),
        Value::Array(items) => items.iter().any(has_null_map),
        _ => false,
    }
}

fn fill_maps(value: &mut Value) {
    if let Some(items) = value.as_array_mut() {
        items.iter_mut().for_each(fill_maps);
    }
    let Some(map) = value.as_object_mut() else { return };
    for (key, value) in map.iter_mut() {
        if value.is_null() && MAPS.contains(&key.as_str()) {
            *value = Value::object(Map::new());
        }
        fill_maps(value);
    }
}

/// What is sent to connect to something: its kind, the kind of what is connected to, and the subresource.
const CONNECT_OPTIONS: [(&str, &str, &str); 6] = [
    ("PodExecOptions", "Pod", "exec"),
    ("PodAttachOptions", "Pod", "attach"),
    ("PodPortForwardOptions", "Pod", "portforward"),
    ("PodProxyOptions", "Pod", "proxy"),
    ("ServiceProxyOptions", "Service", "proxy"),
    ("NodeProxyOptions", "Node", "proxy"),
];

/// Lets a request to create an object be one to do `operation` to it. How the object was before an update nobody said:
/// it stands for that too, and is known to be no more than a stand-in.
pub(crate) fn change_operation(request: &mut AdmissionRequest, operation: Operation) {
    request.operation = operation;
    request.old_object = match operation {
        Operation::Create | Operation::Connect => Value::Null,
        Operation::Update | Operation::Delete => request.object.clone(),
    };
    request.is_old_object_assumed = operation == Operation::Update;
    if operation == Operation::Connect {
        connect(request);
    }
}

/// Lets a request whose object are the options of a connection be about what is connected to, as in a cluster.
fn connect(request: &mut AdmissionRequest) {
    let is_core = request.kind.group.is_empty();
    let known = CONNECT_OPTIONS.iter().find(|(kind, ..)| is_core && request.kind.kind == *kind);
    let Some((_, whole, subresource)) = known else { return };
    request.whole = GroupVersionKind { kind: (*whole).into(), ..request.kind.clone() };
    request.subresource = (*subresource).into();
    if is_cluster_scoped(&request.whole) {
        request.namespace = Text::default();
    }
}
