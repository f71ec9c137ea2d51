//! The objects of a document: itself, or the items of a list of objects.

use std::sync::Arc;

use kubewright_engine::Diagnostic;
use kubewright_value::{Document, Map, Positions, Value};

use crate::codes::NOT_AN_OBJECT;

/// How deep lists of lists are opened.
const MAX_LISTS: usize = 8;

/// Returns the objects of `document`, each with its own positions. An empty document has none.
pub(crate) fn objects_of(document: Document, problems: &mut Vec<Diagnostic>) -> Vec<Document> {
    let mut objects = Vec::with_capacity(1);
    open(document, MAX_LISTS, &mut objects, problems);
    objects
}

fn open(document: Document, deeper: usize, objects: &mut Vec<Document>, problems: &mut Vec<Diagnostic>) {
    if document.value.is_null() {
        return;
    }
    if deeper > 0
        && let Some(items) = items(&document)
    {
        for item in items {
            open(item, deeper - 1, objects, problems);
        }
        return;
    }
    let has = |key| document.value.get(key).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    if has("kind") && has("apiVersion") {
        objects.push(document);
        return;
    }
    let message = match document.value.kind() {
        kubewright_value::Kind::Object => {
            "this document has no apiVersion and kind, so it is left out".to_owned()
        }
        kind => format!("this document is of type {kind}, not a Kubernetes object, so it is left out"),
    };
    problems.push(Diagnostic::new(&NOT_AN_OBJECT, message, document.locate(&[])));
}

/// Returns the items of a list of objects. One pass over the positions, however many items there are.
fn items(document: &Document) -> Option<Vec<Document>> {
    let map = document.value.as_object()?;
    map.get("kind")?.as_str().filter(|kind| kind.ends_with("List"))?;
    let items = map.get("items")?.as_array()?;
    let mut at = start_of(map, "items")? + 1;
    Some(
        items
            .iter()
            .map(|item| {
                let end = at + size(item);
                let positions = document.positions.0.get(at..end).unwrap_or_default().to_vec();
                at = end;
                Document {
                    value: item.clone(),
                    source: Arc::clone(&document.source),
                    positions: Positions(positions),
                }
            })
            .collect(),
    )
}

/// Returns where among the positions of an object the value under `key` begins.
fn start_of(map: &Map, key: &str) -> Option<usize> {
    let place = map.position(key)?;
    Some(2 + map.values().take(place).map(|value| 1 + size(value)).sum::<usize>())
}

/// Returns how many positions a value takes: see [`Positions`].
fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(map) => 1 + map.values().map(|value| 1 + size(value)).sum::<usize>(),
        _ => 1,
    }
}
