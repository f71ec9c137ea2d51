//! The request as CEL sees it: without the objects, which are variables of their own.

use kubewright_engine::Request;
use kubewright_value::{Map, Text, Value};

use crate::kyverno::context::{kind_of, resource_of};

/// Returns the fields of `request`; a text that is empty is not there.
pub(super) fn value(request: &Request) -> Value {
    let mut map = Map::with_capacity(12);
    map.insert("kind".into(), kind_of(&request.kind));
    map.insert("resource".into(), resource_of(&request.kind));
    map.insert("requestKind".into(), kind_of(&request.kind));
    map.insert("requestResource".into(), resource_of(&request.kind));
    put(&mut map, "subResource", &request.subresource);
    put(&mut map, "requestSubResource", &request.subresource);
    put(&mut map, "name", &request.name);
    put(&mut map, "namespace", &request.namespace);
    map.insert("operation".into(), request.operation.name().into());
    map.insert("userInfo".into(), user(&request.user));
    map.insert("dryRun".into(), request.is_dry_run.into());
    map.insert("options".into(), Value::Null);
    map.into()
}

fn put(map: &mut Map, key: &str, text: &Text) {
    if !text.is_empty() {
        map.insert(key.into(), text.clone().into());
    }
}

fn user(user: &Value) -> Value {
    match user {
        Value::Object(_) => user.clone(),
        _ => Map::new().into(),
    }
}
