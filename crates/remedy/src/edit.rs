//! Edits of a YAML text that change one field and nothing else: comments, order and style stay.
//!
//! Where a text is too unusual to be sure, such as a block scalar or an alias, there is no edit. Every edit is read back and
//! compared with the change of the value before it is returned.

mod block;
mod flow;
mod lines;

use std::sync::Arc;

use kubewright_value::{Document, Source, Step, Value, yaml};

use crate::FieldChange;
use lines::TextLines;

/// The maximum size of a text that is edited.
const MAX_TEXT_BYTES: usize = 4 << 20;

/// Where an object is in a file: the document, and the way to the object in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectPlace {
    document: usize,
    path: Vec<Step>,
}

impl ObjectPlace {
    /// Returns where `object`, which was read from `source`, is in it.
    #[must_use]
    pub fn of(source: &Arc<Source>, object: &Document) -> Option<Self> {
        let start = object.positions.first()?;
        let documents = read_documents(source)?;
        for (number, document) in documents.iter().enumerate() {
            let mut path = document.path_at(start);
            // The way to the first field of the object begins with the way to the object.
            loop {
                if document.locate(&path).position == start
                    && document.value.follow(&path)?.is_same_fields(&object.value)
                {
                    return Some(Self { document: number, path });
                }
                if path.pop().is_none() {
                    break;
                }
            }
        }
        None
    }
}

/// Whether a value that was read has the fields of another, which may have got its kind from a list.
trait SameFields {
    fn is_same_fields(&self, other: &Self) -> bool;
}

impl SameFields for Value {
    fn is_same_fields(&self, other: &Self) -> bool {
        match (self.as_object(), other.as_object()) {
            (Some(own), Some(other)) => own.iter().all(|(key, value)| other.get(key) == Some(value)),
            _ => self == other,
        }
    }
}

/// Returns the text of `source` with `change` made to the object at `place`; nothing where no safe edit is known.
#[must_use]
pub fn edit_text(source: &Arc<Source>, place: &ObjectPlace, change: &FieldChange) -> Option<String> {
    let mut documents = read_documents(source)?;
    let change = change.below(&place.path);
    let document = documents.get(place.document)?;
    let edited = Editing::new(document).edit(&change)?;
    let wanted = documents.get_mut(place.document)?;
    change.apply(&mut wanted.value)?;
    let again = read_documents(&Source::new(source.name.clone(), edited.as_str()))?;
    let is_same = again.len() == documents.len()
        && again.iter().zip(&documents).all(|(found, wanted)| found.value == wanted.value);
    is_same.then_some(edited)
}

/// Returns the documents of a text without mistakes.
fn read_documents(source: &Arc<Source>) -> Option<Vec<Document>> {
    if source.text.len() > MAX_TEXT_BYTES {
        return None;
    }
    let read = yaml::read(source);
    read.problems.is_empty().then_some(read.documents)
}

/// One document that is edited.
struct Editing<'d> {
    document: &'d Document,
    lines: TextLines<'d>,
}

impl<'d> Editing<'d> {
    fn new(document: &'d Document) -> Self {
        Self { document, lines: TextLines::new(&document.source.text) }
    }

    fn edit(&self, change: &FieldChange) -> Option<String> {
        match change {
            FieldChange::Set { path, value } => self.set(path, value),
            FieldChange::Remove { path } => self.remove(path),
        }
    }

    fn set(&self, path: &[Step], value: &Value) -> Option<String> {
        let found =
            |count: usize| self.document.value.follow(path.get(..count)?).filter(|value| !value.is_null());
        let known = (0..=path.len()).rev().find(|count| found(*count).is_some())?;
        if known == path.len() {
            return self.replace(path, value);
        }
        let (parent, rest) = path.split_at(known);
        let (first, deeper) = rest.split_first()?;
        let value = nested(deeper, value)?;
        // A key without a value gets one.
        let full = path.get(..=known)?;
        if self.document.value.follow(full).is_some() {
            return self.replace(full, &value);
        }
        match (found(known)?, first) {
            (Value::Object(map), Step::Key(key)) if map.is_empty() => {
                self.replace(parent, &nested(std::slice::from_ref(&Step::Key(key.clone())), &value)?)
            }
            (Value::Array(items), Step::Index(0)) if items.is_empty() => {
                self.replace(parent, &Value::array(vec![value]))
            }
            (Value::Object(_), Step::Key(key)) if self.is_flow(parent) => {
                let text = format!(
                    "{}: {}",
                    flow::key_text(key, self.is_json()),
                    flow::value_text(&value, self.is_json())
                );
                self.insert_in_flow(parent, &text)
            }
            (Value::Array(_), Step::Index(_)) if self.is_flow(parent) => {
                self.insert_in_flow(parent, &flow::value_text(&value, self.is_json()))
            }
            (Value::Object(map), Step::Key(key)) => self.add_key(parent, map, (key, &value)),
            (Value::Array(items), Step::Index(index)) if *index == items.len() => {
                self.add_item(parent, items.len(), &value)
            }
            _ => None,
        }
    }

    /// Returns whether the collection at `path` is written with brackets.
    fn is_flow(&self, path: &[Step]) -> bool {
        let position = self.document.locate(path).position;
        self.lines.offset(position).is_some_and(|at| self.lines.rest(at).starts_with(['{', '[']))
    }

    fn is_json(&self) -> bool {
        self.document.source.name.ends_with(".json")
    }
}

/// Returns `value` below the keys of `path`.
fn nested(path: &[Step], value: &Value) -> Option<Value> {
    let mut nested = value.clone();
    for step in path.iter().rev() {
        let Step::Key(key) = step else { return None };
        let mut map = kubewright_value::Map::new();
        map.insert(key.clone(), nested);
        nested = map.into();
    }
    Some(nested)
}

#[cfg(test)]
mod tests;
