//! Strategic merge: a patch that looks like the object, merged with knowledge of its lists.
//!
//! Objects are united key by key, null removes a key, and a list is merged element by element where a [`MergeSchema`]
//! knows the keys of its elements; any other list is replaced. Elements that exist keep their places, and new ones
//! come first, in the order of the patch. An empty object of the patch is made where there is nothing, except in an
//! element that exists: there it says nothing, and could contradict what the element has.

mod list;
mod merge;

pub use merge::{MergeEffect, MergeStep, StrategicMerge};

use kubewright_value::{Exhausted, Map, Step, Text, Value, ValueKind};
use thiserror::Error;

/// The key of an object that says how it is merged.
pub const DIRECTIVE_KEY: &str = "$patch";

/// A patch, in which the directives are told from ordinary keys.
#[derive(Debug, Clone, PartialEq)]
pub enum StrategicPatch {
    /// A value without directives. Null removes what is there.
    Plain(Value),
    /// An object.
    Object(ObjectPatch),
    /// A list.
    List(ListPatch),
}

/// An object of a patch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ObjectPatch {
    /// How it is merged; without one, key by key.
    pub directive: Option<PatchDirective>,
    /// Its keys, in order.
    pub entries: Vec<PatchEntry>,
}

/// A key of an object of a patch.
#[derive(Debug, Clone, PartialEq)]
pub struct PatchEntry {
    /// The key in the object.
    pub key: Text,
    /// The key as it is written in the patch, for [`MergeStep::from`].
    pub written: Text,
    /// What is merged there.
    pub patch: StrategicPatch,
}

/// A list of a patch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ListPatch {
    /// Patches of elements that exist, by their index before the merge, in ascending order.
    pub in_place: Vec<ElementPatch>,
    /// The field by which the elements in place are told apart. A list that is merged by another one is left alone.
    pub in_place_key: Option<&'static str>,
    /// Elements that are merged by their keys, or replace the list where it has none.
    pub elements: Vec<ElementPatch>,
}

/// An element of a list of a patch.
#[derive(Debug, Clone, PartialEq)]
pub struct ElementPatch {
    /// The index in the object's list, for an element in place.
    pub index: usize,
    /// The index in the patch as it is written, for [`MergeStep::from`].
    pub written: usize,
    /// What is merged there.
    pub patch: StrategicPatch,
}

/// How an object of a patch is merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatchDirective {
    /// Key by key.
    Merge,
    /// It replaces what is there. As the only key of an element, the others replace the list.
    Replace,
    /// What is there is removed.
    Delete,
    /// Anything else, which is an error when it is merged.
    Unknown(Text),
}

/// Knowledge of the lists in objects.
pub trait MergeSchema {
    /// A type of objects.
    type Type: Copy;

    /// Returns the type of objects of a kind.
    fn of_kind(&self, api_version: &str, kind: &str) -> Option<Self::Type>;

    /// Returns how the field called `name` of a type is merged.
    fn field(&self, of: Self::Type, name: &str) -> SchemaMerge<Self::Type>;
}

/// How a field is merged.
#[derive(Debug, Clone, Copy)]
pub enum SchemaMerge<T> {
    /// A list in it is replaced as a whole.
    Replace,
    /// An object of a known type.
    Object(T),
    /// A list whose elements are identified by keys, and their type.
    Keyed(ListKeys, Option<T>),
    /// A list of scalars that is a set.
    Set,
}

/// The fields that identify the elements of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListKeys {
    /// The field that every element of a patch needs.
    pub first: ElementKey,
    /// A field that tells elements apart of which the first is equal.
    pub second: Option<ElementKey>,
}

/// A field that identifies elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ElementKey {
    /// Its name.
    pub name: &'static str,
    /// The value of an element that does not have it.
    pub default: Option<&'static str>,
}

/// Why a patch cannot be merged.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{kind} at {}", shown_path(path))]
#[non_exhaustive]
pub struct StrategicError {
    /// The kind of the error.
    pub kind: StrategicErrorKind,
    /// The path in the object.
    pub path: Vec<Step>,
}

/// The kinds of [`StrategicError`].
#[derive(Debug, Clone, PartialEq, Error)]
pub enum StrategicErrorKind {
    /// An object, a list or a scalar where the object has another of the three.
    #[error("the patch has {}, the object {}", .patch.kind(), .found)]
    WrongType {
        /// The part of the patch.
        patch: Value,
        /// The type of the part of the object.
        found: ValueKind,
    },
    /// An element without the key by which its list is merged.
    #[error("an element has no `{key}`, by which the list is merged")]
    NoKey {
        /// The name of the key.
        key: &'static str,
    },
    /// A directive that does not exist.
    #[error("unknown directive `{0}`")]
    UnknownDirective(Text),
    /// A directive that removes the whole object.
    #[error("the whole object cannot be removed")]
    DeletesRoot,
    /// The budget is used up.
    #[error("{0}")]
    Limit(Exhausted),
}

impl StrategicPatch {
    /// Reads a patch as its author wrote it, directives included. How deep it goes is bounded by its source.
    #[must_use]
    pub fn parse(value: &Value) -> Self {
        match value {
            Value::Object(map) if has_directive(value) => {
                let directive = map.get(DIRECTIVE_KEY).map(PatchDirective::of);
                let entries = map.iter().filter(|(key, _)| *key != DIRECTIVE_KEY).map(|(key, item)| {
                    PatchEntry { key: key.clone(), written: key.clone(), patch: Self::parse(item) }
                });
                Self::Object(ObjectPatch { directive, entries: entries.collect() })
            }
            Value::Array(items) if has_directive(value) => {
                let elements = items.iter().enumerate().map(|(index, item)| ElementPatch {
                    index,
                    written: index,
                    patch: Self::parse(item),
                });
                Self::List(ListPatch { elements: elements.collect(), ..ListPatch::default() })
            }
            plain => Self::Plain(plain.clone()),
        }
    }

    /// Returns the patch as a value, without its directives.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match self {
            Self::Plain(value) => value.clone(),
            Self::Object(object) => {
                let mut map = Map::with_capacity(object.entries.len());
                for entry in &object.entries {
                    map.insert(entry.key.clone(), entry.patch.to_value());
                }
                map.into()
            }
            Self::List(list) => {
                let all = list.in_place.iter().chain(&list.elements);
                Value::array(all.map(|element| element.patch.to_value()).collect())
            }
        }
    }
}

impl PatchDirective {
    /// Returns the directive that the value of `$patch` is.
    #[must_use]
    pub fn of(value: &Value) -> Self {
        match value.as_str() {
            Some("merge") => Self::Merge,
            Some("replace") => Self::Replace,
            Some("delete") => Self::Delete,
            Some(other) => Self::Unknown(other.into()),
            None => Self::Unknown(kubewright_value::bounded::shortened_json(value, 40).into()),
        }
    }
}

impl From<Exhausted> for StrategicErrorKind {
    fn from(exhausted: Exhausted) -> Self {
        Self::Limit(exhausted)
    }
}

fn has_directive(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.contains_key(DIRECTIVE_KEY) || map.values().any(has_directive),
        Value::Array(items) => items.iter().any(has_directive),
        _ => false,
    }
}

fn shown_path(path: &[Step]) -> String {
    match path {
        [] => "the root".to_owned(),
        path => format!("`{}`", super::Pointer::from_steps(path)),
    }
}

#[cfg(test)]
mod tests;
