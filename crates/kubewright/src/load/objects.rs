//! The objects of a document: itself, or the items of a list of objects.

use kubewright_engine::{Diagnostic, Engine};
use kubewright_value::{Document, Kind, Value};

use crate::codes::NOT_AN_OBJECT;

/// How deep lists of lists are opened.
const MAX_LISTS: usize = 8;

/// What is taken out of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Kubernetes objects.
    Objects,
    /// Everything that has fields.
    Payloads,
}

impl Wanted {
    /// Returns what `engine` has rules about.
    pub(crate) fn by(engine: &Engine) -> Self {
        let has_payloads = engine.rules().iter().any(|rule| rule.scope.payloads);
        if has_payloads { Self::Payloads } else { Self::Objects }
    }
}

/// Hands over the objects of `document`, each with its own positions. An empty document has none.
pub(crate) fn each_object(
    document: Document,
    wanted: Wanted,
    problems: &mut Vec<Diagnostic>,
    take: &mut dyn FnMut(Document),
) {
    open(document, wanted, MAX_LISTS, problems, take);
}

/// Returns the objects of `documents`.
pub(crate) fn objects_of(documents: Vec<Document>, problems: &mut Vec<Diagnostic>) -> Vec<Document> {
    taken(documents, Wanted::Objects, problems)
}

/// Returns what is wanted of `documents`.
pub(crate) fn taken(
    documents: Vec<Document>,
    wanted: Wanted,
    problems: &mut Vec<Diagnostic>,
) -> Vec<Document> {
    let mut objects = Vec::new();
    for document in documents {
        each_object(document, wanted, problems, &mut |object| objects.push(object));
    }
    objects
}

fn open(
    document: Document,
    wanted: Wanted,
    deeper: usize,
    problems: &mut Vec<Diagnostic>,
    take: &mut dyn FnMut(Document),
) {
    if document.value.is_null() {
        return;
    }
    if deeper > 0 && each_item(&document, &mut |item| open(item, wanted, deeper - 1, problems, take)) {
        return;
    }
    let has = |key| document.value.get(key).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    let is_payload = wanted == Wanted::Payloads && document.value.as_object().is_some();
    if is_payload || (has("kind") && has("apiVersion")) {
        take(document);
        return;
    }
    let message = match document.value.kind() {
        Kind::Object => "this document has no apiVersion and kind, so it is left out".to_owned(),
        kind => format!("this document is of type {kind}, not a Kubernetes object, so it is left out"),
    };
    problems.push(Diagnostic::new(&NOT_AN_OBJECT, message, document.locate(&[])));
}

/// Hands over the items of a list of objects; returns whether it is one.
///
/// One item at a time, however many there are.
fn each_item(document: &Document, take: &mut dyn FnMut(Document)) -> bool {
    let Some(map) = document.value.as_object() else { return false };
    let is_list = map.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"));
    if !is_list || map.get("items").and_then(Value::as_array).is_none() {
        return false;
    }
    let items = document.items(&["items".into()]);
    items.for_each(take);
    true
}
