//! The objects of a document: itself, or the items of a list of objects.
//!
//! What is a list is decided as kubectl decides it, so that whatever it would create is looked at or told.

use kubewright_engine::{Diagnostic, Engine};
use kubewright_value::{Document, Value, ValueKind};

use crate::codes::{NESTED_LISTS, NOT_AN_OBJECT, UNUSUAL_LIST};

/// How deep lists of lists are opened.
const MAX_LISTS: usize = 64;

/// What is taken out of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Kubernetes objects.
    Objects,
    /// Everything that has fields.
    Payloads,
}

impl Wanted {
    /// Returns what `engine` has rules about.
    #[must_use]
    pub fn by(engine: &Engine) -> Self {
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
#[must_use]
pub fn objects_of(documents: Vec<Document>, problems: &mut Vec<Diagnostic>) -> Vec<Document> {
    wanted_objects(documents, Wanted::Objects, problems)
}

/// Returns what is wanted of `documents`.
#[must_use]
pub fn wanted_objects(
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
    let list = ListOfObjects::of(&document.value);
    if let Some(list) = &list {
        tell(list, &document, problems);
        if deeper == 0 {
            let message = format!("lists are nested more than {MAX_LISTS} deep, so the items are left out");
            problems.push(Diagnostic::new(&NESTED_LISTS, message, document.locate(&[])));
            return;
        }
        if list.has_items {
            for item in document.items(&["items".into()]) {
                open(list.typed(item), wanted, deeper - 1, problems, take);
            }
            return;
        }
    }
    let has = |key| document.value.get(key).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    let is_payload = wanted == Wanted::Payloads && document.value.as_object().is_some();
    if is_payload || (has("kind") && has("apiVersion")) {
        take(document);
        return;
    }
    let message = match document.value.kind() {
        ValueKind::Object => "this document has no apiVersion and kind, so it is left out".to_owned(),
        kind => format!("this document is of type {kind}, not a Kubernetes object, so it is left out"),
    };
    problems.push(Diagnostic::new(&NOT_AN_OBJECT, message, document.locate(&[])));
}

/// Says what may surprise about a list.
fn tell(list: &ListOfObjects, document: &Document, problems: &mut Vec<Diagnostic>) {
    let (message, help) = match (list.has_items, list.is_called_list) {
        (true, true) => return,
        (true, false) => (
            format!(
                "this {} has `items`, so kubectl takes it for a list: its items are looked at, and not itself",
                list.kind
            ),
            "call the kind `List`, or take `items` out",
        ),
        (false, _) => (
            format!("`items` of this {} is no list of objects, so kubectl refuses it", list.kind),
            "write a list of objects",
        ),
    };
    let location = document.locate_key(&["items".into()]);
    problems.push(Diagnostic::new(&UNUSUAL_LIST, message, location).help(help));
}

/// An object with a field `items`, which kubectl takes for a list whatever its kind is called.
#[derive(Debug)]
pub(super) struct ListOfObjects {
    kind: String,
    api_version: String,
    /// Whether there are items to open, and not something else in their place.
    has_items: bool,
    is_called_list: bool,
}

impl ListOfObjects {
    /// Returns the list that `value` is.
    pub(super) fn of(value: &Value) -> Option<Self> {
        let text = |key| value.str_at(&[key]);
        let (kind, items) = (text("kind"), value.get("items")?);
        // Without a kind kubectl takes nothing, and a payload may have whatever fields it likes.
        if kind.is_empty() || (!kind.ends_with("List") && text("apiVersion").is_empty()) {
            return None;
        }
        let has_items = items.is_null() || items.as_array().is_some();
        Some(Self::named(kind, text("apiVersion"), has_items))
    }

    /// Returns a list of the kind `kind`.
    pub(super) fn named(kind: &str, api_version: &str, has_items: bool) -> Self {
        let is_called_list = kind.ends_with("List");
        Self { kind: kind.to_owned(), api_version: api_version.to_owned(), has_items, is_called_list }
    }

    /// Returns an item with the kind that follows from that of its list, where it names neither kind nor apiVersion.
    pub(super) fn typed(&self, mut item: Document) -> Document {
        let is_missing = |key| {
            item.value.get(key).is_none_or(|text| text.as_str().is_some_and(str::is_empty) || text.is_null())
        };
        let kind = self.kind.strip_suffix("List").unwrap_or(&self.kind);
        let is_untyped = !kind.is_empty() && is_missing("kind") && is_missing("apiVersion");
        if let Some(map) = item.value.as_object_mut().filter(|_| is_untyped) {
            // Behind all others, so that no position changes.
            map.insert("apiVersion".into(), self.api_version.as_str().into());
            map.insert("kind".into(), kind.into());
        }
        item
    }
}

/// Returns the items of a list of objects, or the document itself.
#[must_use]
pub fn list_items(document: Document) -> Vec<Document> {
    match ListOfObjects::of(&document.value).filter(|list| list.has_items) {
        Some(list) => document.items(&["items".into()]).map(|item| list.typed(item)).collect(),
        None => vec![document],
    }
}
