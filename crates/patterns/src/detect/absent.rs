//! Objects that are referred to and are not in the input: their known fields.

use kubewright_graph::GraphNode;
use kubewright_value::{Map, Value};

/// Returns an object with the known fields of an absent one.
pub(super) fn absent_object(node: &GraphNode) -> Value {
    let text = |text: &str| Value::String(text.into());
    let mut metadata = Map::new();
    metadata.insert("name".into(), text(&node.name));
    if !node.namespace.is_empty() {
        metadata.insert("namespace".into(), text(&node.namespace));
    }
    let mut object = Map::new();
    object.insert("apiVersion".into(), text(&node.api_version));
    object.insert("kind".into(), text(&node.kind));
    object.insert("metadata".into(), Value::Object(metadata.into()));
    Value::Object(object.into())
}
