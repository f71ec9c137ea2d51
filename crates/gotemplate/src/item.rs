//! The result of an expression: a value with the Go type it would have.
//!
//! JSON from the context stays the shared value and is walked in place; only what
//! templates make themselves (lists, dictionaries, times) has a form of its own.
//! Dictionaries are shared and can be changed, because Sprig's `set` changes its argument.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use kubewright_golib::time::GoTime;
use kubewright_value::{Map, Number, Text, Value};

use super::functions::semver::SprigVersion;

/// The result of an expression.
#[derive(Clone)]
pub(super) enum TemplateItem {
    /// No value at all: a missing key, or what a pipeline makes of nil.
    Missing,
    /// A nil that a list or an object holds.
    Nil,
    Bool(bool),
    Int(IntegerWidth, i64),
    Float(f64),
    /// A JSON number: a Go `float64` that keeps its integer exactly.
    Number(Number),
    Text(Text),
    /// A Go string that is not UTF-8.
    // INVARIANT: what is UTF-8 is always `Text`.
    Bytes(Rc<[u8]>),
    Array(Arc<Vec<Value>>),
    Object(Arc<Map>),
    List(Rc<ItemList>),
    Dict(Rc<ItemDict>),
    Time(GoTime),
    Version(Rc<SprigVersion>),
    /// The context itself.
    Root,
}

/// Go's integer types, as far as templates can meet them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IntegerWidth {
    Int,
    Int64,
    Uint8,
    Uint64,
}

/// The element type of a list or a dictionary, as a Go type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ElementType {
    Any,
    Text,
    Int,
    Lists,
}

/// A list that the template made.
pub(super) struct ItemList {
    pub of: ElementType,
    pub items: Vec<TemplateItem>,
    /// A Go slice that was never made: empty, and `null` in JSON.
    pub is_nil: bool,
    depth: u32,
}

/// A dictionary that the template made.
pub(super) struct ItemDict {
    pub of: ElementType,
    pub entries: RefCell<BTreeMap<Text, TemplateItem>>,
    depth: u32,
}

/// The maximum depth to which lists and dictionaries may be put into each other.
const MAX_DEPTH: u32 = 250;

/// The message when a list or dictionary would be nested deeper.
pub(super) const TOO_DEEP: &str = "lists and dictionaries are nested deeper than 250 levels";

impl TemplateItem {
    pub(super) const EMPTY: Self = Self::Text(Text::new_static(""));

    /// Returns a Go `int`.
    pub(super) fn int(value: i64) -> Self {
        Self::Int(IntegerWidth::Int, value)
    }

    /// Returns a Go `int64`.
    pub(super) fn int64(value: i64) -> Self {
        Self::Int(IntegerWidth::Int64, value)
    }

    /// Returns a Go string.
    pub(super) fn text(text: impl Into<Text>) -> Self {
        Self::Text(text.into())
    }

    /// Returns the bytes as a Go string.
    pub(super) fn bytes(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self::text(text),
            Err(error) => Self::Bytes(error.into_bytes().into()),
        }
    }

    /// Returns a `[]interface{}`; fails when it is nested too deep.
    pub(super) fn list(items: Vec<TemplateItem>) -> Result<Self, &'static str> {
        Self::list_of(ElementType::Any, items)
    }

    /// Returns a slice of the given type.
    pub(super) fn list_of(of: ElementType, items: Vec<TemplateItem>) -> Result<Self, &'static str> {
        let depth = depth_above(items.iter())?;
        Ok(Self::List(Rc::new(ItemList { of, items, is_nil: false, depth })))
    }

    /// Returns a slice that was never made.
    pub(super) fn nil_list(of: ElementType) -> Self {
        Self::List(Rc::new(ItemList { of, items: Vec::new(), is_nil: true, depth: 1 }))
    }

    /// Returns whether this is a slice that was never made.
    pub(super) fn is_nil_list(&self) -> bool {
        matches!(self, Self::List(list) if list.is_nil)
    }

    /// Returns a `[]string`.
    pub(super) fn texts<T: Into<Text>>(texts: impl IntoIterator<Item = T>) -> Self {
        let items = texts.into_iter().map(|text| Self::Text(text.into())).collect();
        Self::List(Rc::new(ItemList { of: ElementType::Text, items, is_nil: false, depth: 1 }))
    }

    /// Returns a map from strings to the given type.
    pub(super) fn dict(of: ElementType, entries: BTreeMap<Text, TemplateItem>) -> Result<Self, &'static str> {
        Ok(Self::Dict(Rc::new(ItemDict::new(of, entries)?)))
    }

    /// Returns the JSON value as an item; lists and objects are shared, not copied.
    pub(super) fn json(value: &Value) -> Self {
        match value {
            Value::Null => Self::Nil,
            Value::Bool(b) => Self::Bool(*b),
            Value::Number(number) => Self::Number(*number),
            Value::String(text) => Self::Text(text.clone()),
            Value::Array(items) => Self::Array(Arc::clone(items)),
            Value::Object(map) => Self::Object(Arc::clone(map)),
        }
    }

    /// Returns the value as one made in Go: whole numbers are `int`.
    pub(super) fn native(value: &Value) -> Self {
        match value {
            Value::Number(number) => number
                .as_i64()
                .filter(|_| number.is_integer())
                .map_or_else(|| Self::Float(number.as_f64()), Self::int),
            Value::Array(items) => Self::list(items.iter().map(Self::native).collect()).unwrap_or(Self::Nil),
            Value::Object(map) => {
                let entries = map.iter().map(|(key, value)| (key.clone(), Self::native(value))).collect();
                Self::dict(ElementType::Any, entries).unwrap_or(Self::Nil)
            }
            other => Self::json(other),
        }
    }

    pub(super) fn is_nil(&self) -> bool {
        matches!(self, Self::Missing | Self::Nil)
    }

    /// Returns the text, if this is a Go string.
    pub(super) fn as_text(&self) -> Option<&Text> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the bytes, if this is a Go string.
    pub(super) fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Text(text) => Some(text.as_bytes()),
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Returns how many elements a slice has.
    pub(super) fn list_len(&self) -> Option<usize> {
        match self {
            Self::Array(items) => Some(items.len()),
            Self::List(list) => Some(list.items.len()),
            _ => None,
        }
    }

    /// Returns an element of a slice.
    pub(super) fn element(&self, index: usize) -> Option<TemplateItem> {
        match self {
            Self::Array(items) => items.get(index).map(Self::json),
            Self::List(list) => list.items.get(index).cloned(),
            _ => None,
        }
    }

    /// Returns all elements of a slice.
    pub(super) fn elements(&self) -> Option<Vec<TemplateItem>> {
        match self {
            Self::Array(items) => Some(items.iter().map(Self::json).collect()),
            Self::List(list) => Some(list.items.clone()),
            _ => None,
        }
    }

    /// Returns the value under `key` of a map: `None` when this is not a map, [`TemplateItem::Missing`] when it has none.
    pub(super) fn entry(&self, key: &str) -> Option<TemplateItem> {
        match self {
            Self::Object(map) => Some(map.get(key).map_or(Self::Missing, Self::json)),
            Self::Dict(dict) => Some(dict.entries.borrow().get(key).cloned().unwrap_or(Self::Missing)),
            _ => None,
        }
    }

    /// Returns how many entries a map has.
    pub(super) fn map_len(&self) -> Option<usize> {
        match self {
            Self::Object(map) => Some(map.len()),
            Self::Dict(dict) => Some(dict.entries.borrow().len()),
            _ => None,
        }
    }

    /// Returns the entries of a map sorted by key.
    pub(super) fn sorted_entries(&self) -> Option<Vec<(Text, TemplateItem)>> {
        match self {
            Self::Object(map) => {
                Some(map.sorted().into_iter().map(|(key, value)| (key.clone(), Self::json(value))).collect())
            }
            Self::Dict(dict) => {
                Some(dict.entries.borrow().iter().map(|(key, item)| (key.clone(), item.clone())).collect())
            }
            _ => None,
        }
    }

    /// Returns the name of the Go type, as `%T` prints it.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Missing | Self::Nil => "<nil>",
            Self::Bool(_) => "bool",
            Self::Int(width, _) => width.name(),
            Self::Float(_) | Self::Number(_) => "float64",
            Self::Text(_) | Self::Bytes(_) => "string",
            Self::Array(_) => "[]interface {}",
            Self::Object(_) => "map[string]interface {}",
            Self::List(list) => match list.of {
                ElementType::Any => "[]interface {}",
                ElementType::Text => "[]string",
                ElementType::Int => "[]int",
                ElementType::Lists => "[][]interface {}",
            },
            Self::Dict(dict) if dict.of == ElementType::Text => "map[string]string",
            Self::Dict(_) => "map[string]interface {}",
            Self::Time(_) => "time.Time",
            Self::Version(_) => "*semver.Version",
            Self::Root => "template.Context",
        }
    }

    /// Returns the name of the Go kind.
    pub(super) fn kind_name(&self) -> &'static str {
        match self {
            Self::Missing | Self::Nil => "invalid",
            Self::Array(_) | Self::List(_) => "slice",
            Self::Object(_) | Self::Dict(_) => "map",
            Self::Time(_) | Self::Root => "struct",
            Self::Version(_) => "ptr",
            other => other.type_name(),
        }
    }

    fn depth(&self) -> u32 {
        match self {
            Self::List(list) => list.depth,
            Self::Dict(dict) => dict.depth,
            _ => 0,
        }
    }
}

impl ItemDict {
    /// Returns a dictionary; fails when it is nested too deep.
    pub(super) fn new(of: ElementType, entries: BTreeMap<Text, TemplateItem>) -> Result<Self, &'static str> {
        let depth = depth_above(entries.values())?;
        Ok(Self { of, entries: RefCell::new(entries), depth })
    }
}

impl IntegerWidth {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Int => "int",
            Self::Int64 => "int64",
            Self::Uint8 => "uint8",
            Self::Uint64 => "uint64",
        }
    }

    pub(super) fn is_unsigned(self) -> bool {
        matches!(self, Self::Uint8 | Self::Uint64)
    }
}

/// Dropping and printing recurse, so depth is bounded where containers are made.
fn depth_above<'a>(items: impl Iterator<Item = &'a TemplateItem>) -> Result<u32, &'static str> {
    let depth = items.map(TemplateItem::depth).max().unwrap_or(0) + 1;
    if depth > MAX_DEPTH { Err(TOO_DEEP) } else { Ok(depth) }
}
