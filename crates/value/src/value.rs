//! The value itself.
//!
//! A list or an object is behind one reference count, so a clone of any subtree
//! costs the same. Editing goes through [`Value::as_array_mut`] and
//! [`Value::as_object_mut`], which copy one level when it is shared.
//!
//! A missing value is `Option::None` at the call, never a variant: JSON has no
//! word for it. A language that needs an `undefined` of its own wraps this type.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use crate::{Map, Number, Step, Text};

/// A JSON value with exact integers, ordered keys and O(1) clones.
#[derive(Clone, Default)]
pub enum Value {
    /// JSON `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An exact integer or a double.
    Number(Number),
    /// Text; short text is stored inline.
    String(Text),
    /// A list.
    Array(Arc<Vec<Value>>),
    /// An object whose keys keep their order.
    Object(Arc<Map>),
}

/// The six JSON types, in the order in which values of different types sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ValueKind {
    /// `null`
    Null,
    /// `true`, `false`
    Bool,
    /// a number
    Number,
    /// a string
    String,
    /// an array
    Array,
    /// an object
    Object,
}

impl ValueKind {
    /// Returns the word a user knows the type by.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "boolean",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }
}

impl fmt::Display for ValueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Value {
    /// Returns an array that holds `items`.
    #[must_use]
    pub fn array(items: Vec<Value>) -> Self {
        Self::Array(Arc::new(items))
    }

    /// Returns an object that holds `map`.
    #[must_use]
    pub fn object(map: Map) -> Self {
        Self::Object(Arc::new(map))
    }

    /// Returns which of the six JSON types this is.
    #[must_use]
    pub fn kind(&self) -> ValueKind {
        match self {
            Self::Null => ValueKind::Null,
            Self::Bool(_) => ValueKind::Bool,
            Self::Number(_) => ValueKind::Number,
            Self::String(_) => ValueKind::String,
            Self::Array(_) => ValueKind::Array,
            Self::Object(_) => ValueKind::Object,
        }
    }

    /// Returns whether this is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Returns the boolean, if this is one.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(b) => Some(*b),
            _ => None,
        }
    }

    /// Returns the number, if this is one.
    #[must_use]
    pub fn as_number(&self) -> Option<Number> {
        match self {
            Self::Number(n) => Some(*n),
            _ => None,
        }
    }

    /// Returns the integer, if this is a number that is exactly one.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        self.as_number().and_then(Number::as_i64)
    }

    /// Returns the text, if this is a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(s) => Some(s),
            _ => None,
        }
    }

    /// Returns the items, if this is an array.
    #[must_use]
    pub fn as_array(&self) -> Option<&[Value]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the entries, if this is an object.
    #[must_use]
    pub fn as_object(&self) -> Option<&Map> {
        match self {
            Self::Object(map) => Some(map),
            _ => None,
        }
    }

    /// Returns the items for editing; copies this level first when it is shared.
    pub fn as_array_mut(&mut self) -> Option<&mut Vec<Value>> {
        match self {
            Self::Array(items) => Some(Arc::make_mut(items)),
            _ => None,
        }
    }

    /// Returns the entries for editing; copies this level first when it is shared.
    pub fn as_object_mut(&mut self) -> Option<&mut Map> {
        match self {
            Self::Object(map) => Some(Arc::make_mut(map)),
            _ => None,
        }
    }

    /// Returns the value under `key`, if this is an object that has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_object()?.get(key)
    }

    /// Returns the item at `index`, if this is an array that long.
    #[must_use]
    pub fn item(&self, index: usize) -> Option<&Value> {
        self.as_array()?.get(index)
    }

    /// Returns the value at the end of `keys`, each a key of the one before.
    #[must_use]
    pub fn at(&self, keys: &[&str]) -> Option<&Value> {
        keys.iter().try_fold(self, |value, key| value.get(key))
    }

    /// Returns the string at the end of `keys`, each a key of the one before; empty when there is none.
    ///
    /// For fields whose absence and emptiness mean the same, such as `metadata.namespace`.
    #[must_use]
    pub fn str_at(&self, keys: &[&str]) -> &str {
        self.at(keys).and_then(Self::as_str).unwrap_or_default()
    }

    /// Returns the value at the end of `steps`.
    #[must_use]
    pub fn follow(&self, steps: &[Step]) -> Option<&Value> {
        steps.iter().try_fold(self, |value, step| match step {
            Step::Key(key) => value.get(key),
            Step::Index(index) => value.item(*index),
        })
    }

    /// Returns whether both are the same allocation, which implies equality.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Array(a), Self::Array(b)) => Arc::ptr_eq(a, b),
            (Self::Object(a), Self::Object(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// Returns a copy without the spare room that arrays and objects have from when they were read.
    #[must_use]
    pub fn compacted(&self) -> Self {
        match self {
            Self::Array(items) => Self::array(items.iter().map(Value::compacted).collect()),
            Self::Object(map) => Self::object(map.compacted()),
            scalar => scalar.clone(),
        }
    }

    /// Returns how many levels of arrays and objects there are; 0 for a scalar.
    #[must_use]
    pub fn depth(&self) -> usize {
        match self {
            Self::Array(items) => 1 + items.iter().map(Value::depth).max().unwrap_or(0),
            Self::Object(map) => 1 + map.values().map(Value::depth).max().unwrap_or(0),
            _ => 0,
        }
    }
}

/// Numbers compare by value (`1` equals `1.0`), objects regardless of key order.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Number(a), Self::Number(b)) => a == b,
            (Self::String(a), Self::String(b)) => a == b,
            (Self::Array(a), Self::Array(b)) => Arc::ptr_eq(a, b) || a == b,
            (Self::Object(a), Self::Object(b)) => Arc::ptr_eq(a, b) || a == b,
            _ => false,
        }
    }
}

impl Eq for Value {}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Total: first by [`ValueKind`], then by content. Agrees with equality.
impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Number(a), Self::Number(b)) => a.cmp(b),
            (Self::String(a), Self::String(b)) => a.cmp(b),
            (Self::Array(a), Self::Array(b)) => a.cmp(b),
            (Self::Object(a), Self::Object(b)) => a.cmp(b),
            _ => self.kind().cmp(&other.kind()),
        }
    }
}

/// As compact JSON, all of it: for output and tests. Shared parts can make that larger than memory, so evaluation
/// asks for [`bounded::to_json`](crate::bounded::to_json) and messages for
/// [`bounded::shortened_json`](crate::bounded::shortened_json).
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::json::to_string(self))
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Number(Number::from(value))
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Number(Number::from(value))
    }
}

impl From<usize> for Value {
    fn from(value: usize) -> Self {
        Self::Number(Number::from(value as u64))
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Number(Number::from(value))
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::String(Text::new(value))
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::String(Text::from(value))
    }
}

impl From<Text> for Value {
    fn from(value: Text) -> Self {
        Self::String(value)
    }
}

impl From<Number> for Value {
    fn from(value: Number) -> Self {
        Self::Number(value)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Self {
        Self::array(items.into_iter().map(Into::into).collect())
    }
}

impl From<Map> for Value {
    fn from(map: Map) -> Self {
        Self::object(map)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

#[cfg(test)]
mod tests;
