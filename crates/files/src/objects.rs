//! The objects of a document: itself, or the items of a list of objects.
//!
//! What is a list is decided as kubectl decides it, so that whatever it would create is looked at or told.

use kubewright_engine::{Diagnostic, Engine};
use kubewright_value::{Document, Value, ValueKind};

use crate::codes::{NESTED_LISTS, NOT_AN_OBJECT, UNTYPED_ITEM, UNUSUAL_LIST};

/// The maximum nesting of lists.
const MAX_LISTS: usize = 64;

/// Which documents count as objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectFilter {
    /// Kubernetes objects.
    Objects,
    /// Everything that has fields.
    Payloads,
}

impl ObjectFilter {
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
    wanted: ObjectFilter,
    problems: &mut Vec<Diagnostic>,
    take: &mut dyn FnMut(Document),
) {
    open_lists(document, wanted, MAX_LISTS, problems, take);
}

/// Hands over the objects of an item of a list.
pub(crate) fn each_object_of_item(
    item: Document,
    wanted: ObjectFilter,
    problems: &mut Vec<Diagnostic>,
    take: &mut dyn FnMut(Document),
) {
    open_lists(item, wanted, MAX_LISTS - 1, problems, take);
}

/// Returns the objects of `documents`.
#[must_use]
pub fn objects_of(documents: Vec<Document>, problems: &mut Vec<Diagnostic>) -> Vec<Document> {
    wanted_objects(documents, ObjectFilter::Objects, problems)
}

/// Returns whether `document` is an object, and neither a list of objects nor something else.
#[must_use]
pub fn is_object(document: &Document) -> bool {
    missing_type(&document.value).is_none() && ListOfObjects::of(&document.value).is_none()
}

/// Returns what is wanted of `documents`.
#[must_use]
pub fn wanted_objects(
    documents: Vec<Document>,
    wanted: ObjectFilter,
    problems: &mut Vec<Diagnostic>,
) -> Vec<Document> {
    let mut objects = Vec::new();
    for document in documents {
        each_object(document, wanted, problems, &mut |object| objects.push(object));
    }
    objects
}

fn open_lists(
    document: Document,
    wanted: ObjectFilter,
    deeper: usize,
    problems: &mut Vec<Diagnostic>,
    take: &mut dyn FnMut(Document),
) {
    let is_item = deeper < MAX_LISTS;
    if document.value.is_null() && !is_item {
        return;
    }
    let list = ListOfObjects::of(&document.value);
    if let Some(list) = &list {
        report_list_oddities(list, &document, problems);
        if deeper == 0 {
            let message = format!("lists are nested more than {MAX_LISTS} deep, so the items are left out");
            problems.push(Diagnostic::new(&NESTED_LISTS, message, document.locate(&[])));
            return;
        }
        if list.has_items {
            for item in document.items(&["items".into()]) {
                open_lists(list.typed(item), wanted, deeper - 1, problems, take);
            }
            return;
        }
    }
    let is_payload = wanted == ObjectFilter::Payloads && document.value.as_object().is_some();
    match missing_type(&document.value) {
        Some(_) if is_payload => take(document),
        None => take(document),
        Some(why) => {
            let (code, what) = if is_item { (&UNTYPED_ITEM, "item") } else { (&NOT_AN_OBJECT, "document") };
            let message = format!("this {what} {why}, so it is left out");
            problems.push(Diagnostic::new(code, message, document.locate(&[])));
        }
    }
}

/// Returns what `value` lacks to be an object.
fn missing_type(value: &Value) -> Option<String> {
    let has = |key| value.get(key).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    Some(match (value.kind(), has("apiVersion"), has("kind")) {
        (ValueKind::Object, true, true) => return None,
        (ValueKind::Object, false, false) => "has no apiVersion and kind".to_owned(),
        (ValueKind::Object, true, false) => "has an apiVersion, but no kind".to_owned(),
        (ValueKind::Object, false, true) => {
            format!("is a {}, but has no apiVersion", value.str_at(&["kind"]))
        }
        (kind, ..) => format!("is of type {kind}, not a Kubernetes object"),
    })
}

/// Says what may surprise about a list.
fn report_list_oddities(list: &ListOfObjects, document: &Document, problems: &mut Vec<Diagnostic>) {
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
            format!("`items` of this {} is not a list of objects, so kubectl refuses it", list.kind),
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
