//! `dependencies`: what other components and resources give to the container, item by item and all together.

use kubewright_value::{Map, Value};

/// Returns `dependencies` with the lists that are put together of those of all items and resources.
#[must_use]
pub fn dependencies(items: &[Value], resources: &[Value]) -> Value {
    let all = |key: &str, of: &[&[Value]]| {
        let inner = of.iter().flat_map(|list| list.iter()).filter_map(|item| item.get(key)?.as_array());
        Value::array(inner.flatten().cloned().collect())
    };
    Value::object(Map::from([
        ("items", Value::array(items.to_vec())),
        ("resources", Value::array(resources.to_vec())),
        ("envVars", all("envVars", &[items, resources])),
        ("volumeMounts", all("volumeMounts", &[resources])),
        ("volumes", all("volumes", &[resources])),
    ]))
}
