//! Objects that are referred to and are not in the input: their known fields.

use std::collections::HashMap;

use kubewright_graph::{Graph, GraphNode, Id};
use kubewright_value::{Map, Value};

use super::super::pattern::{Presence, Role};
use super::candidates::Candidates;

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

/// Adds what is known of the candidates of a role for absent objects.
pub(super) fn describe_absent(
    role: &Role,
    graph: &Graph,
    candidates: Option<&Candidates>,
    known: &mut HashMap<Id, Value>,
) {
    if role.presence == Presence::Present {
        return;
    }
    for id in candidates.map_or(&[][..], |found| found.ids.as_slice()) {
        if let Some(node) = graph.node(*id) {
            known.entry(*id).or_insert_with(|| absent_object(node));
        }
    }
}
