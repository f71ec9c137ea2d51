//! The values of CEL.
//!
//! Objects are never copied: a JSON list or map is borrowed from the bindings, or shared with
//! them. Lists and maps that the expression makes consist of [`Val`]s.

mod collection;
mod compare;
mod convert;
mod structure;

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

pub use collection::{ListVal, MapEntries, MapVal};
pub(super) use convert::exact_integer;
use kubewright_value::duration::Duration;
use kubewright_value::{Text, Value};

use super::time::Timestamp;

/// A value of CEL.
#[derive(Clone, Default)]
pub enum Val<'a> {
    /// `null`
    #[default]
    Null,
    /// `true`, `false`
    Bool(bool),
    /// `1`
    Int(i64),
    /// `1u`
    UInt(u64),
    /// `1.0`
    Double(f64),
    /// `'a'`
    String(Cow<'a, Text>),
    /// `b'a'`
    Bytes(Arc<[u8]>),
    /// `[1, 2]`
    List(ListVal<'a>),
    /// `{'a': 1}`
    Map(MapVal<'a>),
    /// `timestamp('2020-01-01T00:00:00Z')`
    Timestamp(Timestamp),
    /// `duration('1h')`
    Duration(Duration),
    /// `int`, `type(1)`
    Type(Text),
    /// `optional.of(1)`, `optional.none()`
    Optional(Option<Arc<Val<'a>>>),
    /// A value of a library's own type.
    Opaque(Arc<dyn Opaque>),
}

/// A value of a library's own type, such as an IP address.
pub trait Opaque: fmt::Debug + Send + Sync {
    /// Returns the name of its type, such as `net.IP`.
    fn type_name(&self) -> &'static str;

    /// Returns the value for downcasting.
    fn as_any(&self) -> &dyn Any;

    /// Returns whether it equals `other`, which has the same type name.
    fn equals(&self, other: &dyn Opaque) -> bool;

    /// Returns the size that costs are computed from; 1 for most values.
    fn size(&self) -> u64 {
        1
    }

    /// Returns the value of a field, zero or empty if it is unset; nothing when the type has no such field.
    fn field(&self, _: &str) -> Option<Val<'static>> {
        None
    }

    /// Returns whether it is the zero value of its type.
    fn is_zero(&self) -> bool {
        false
    }

    /// Returns the result of `string()`, if the type supports it.
    fn to_text(&self) -> Option<String> {
        None
    }

    /// Returns the JSON form, if there is one.
    fn to_json(&self) -> Option<Value> {
        self.to_text().map(Value::from)
    }
}

/// The kind of a value, by which overloads are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CelKind {
    /// Any kind, or an unknown one.
    Any,
    /// `null_type`
    Null,
    /// `bool`
    Bool,
    /// `int`
    Int,
    /// `uint`
    UInt,
    /// `double`
    Double,
    /// `string`
    String,
    /// `bytes`
    Bytes,
    /// `list`
    List,
    /// `map`
    Map,
    /// `google.protobuf.Timestamp`
    Timestamp,
    /// `google.protobuf.Duration`
    Duration,
    /// `type`
    Type,
    /// `optional_type`
    Optional,
    /// A type of a library, by its name.
    Opaque(&'static str),
}

impl CelKind {
    /// Returns the name of the type as in `type()`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "dyn",
            Self::Null => "null_type",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::UInt => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::List => "list",
            Self::Map => "map",
            Self::Timestamp => "google.protobuf.Timestamp",
            Self::Duration => "google.protobuf.Duration",
            Self::Type => "type",
            Self::Optional => "optional_type",
            Self::Opaque(name) => name,
        }
    }
}

/// The name for messages.
impl fmt::Display for CelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timestamp => "timestamp",
            Self::Duration => "duration",
            Self::Optional => "optional",
            Self::Null => "null",
            other => other.name(),
        })
    }
}

impl<'a> Val<'a> {
    /// Returns a string made by the expression.
    #[must_use]
    pub fn text(text: impl Into<Text>) -> Self {
        Self::String(Cow::Owned(text.into()))
    }

    /// Returns a list made by the expression.
    #[must_use]
    pub fn list(items: Vec<Val<'a>>) -> Self {
        Self::List(ListVal::Made(Arc::new(items)))
    }

    /// Returns an optional that holds `value`.
    #[must_use]
    pub fn some(value: Val<'a>) -> Self {
        Self::Optional(Some(Arc::new(value)))
    }

    /// Returns a value of a library.
    #[must_use]
    pub fn opaque(value: impl Opaque + 'static) -> Self {
        Self::Opaque(Arc::new(value))
    }

    /// Returns the kind of the value.
    #[must_use]
    pub fn kind(&self) -> CelKind {
        match self {
            Self::Null => CelKind::Null,
            Self::Bool(_) => CelKind::Bool,
            Self::Int(_) => CelKind::Int,
            Self::UInt(_) => CelKind::UInt,
            Self::Double(_) => CelKind::Double,
            Self::String(_) => CelKind::String,
            Self::Bytes(_) => CelKind::Bytes,
            Self::List(_) => CelKind::List,
            Self::Map(_) => CelKind::Map,
            Self::Timestamp(_) => CelKind::Timestamp,
            Self::Duration(_) => CelKind::Duration,
            Self::Type(_) => CelKind::Type,
            Self::Optional(_) => CelKind::Optional,
            Self::Opaque(value) => CelKind::Opaque(value.type_name()),
        }
    }

    /// Returns the name of its type as in `type()`.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        self.kind().name()
    }

    /// Returns the text, if this is a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text.as_str()),
            _ => None,
        }
    }

    /// Returns the boolean, if this is one.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// Returns the integer, if this is an `int`.
    #[must_use]
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// Returns the value of a library, if it is a `T`.
    #[must_use]
    pub fn as_opaque<T: 'static>(&self) -> Option<&T> {
        match self {
            Self::Opaque(value) => value.as_any().downcast_ref(),
            _ => None,
        }
    }

    /// Returns the size that costs are computed from: characters, bytes, items or entries; 1 for all other values.
    #[must_use]
    pub fn size(&self) -> u64 {
        match self {
            Self::String(text) => count_characters(text),
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::List(list) => list.len() as u64,
            Self::Map(map) => map.len() as u64,
            Self::Optional(Some(value)) => value.size(),
            Self::Opaque(value) => value.size(),
            _ => 1,
        }
    }

    /// Returns the work of reading a long string; 0 for short strings and other values.
    pub(super) fn long_text(&self) -> usize {
        match self {
            Self::String(text) => text.len() / 32,
            Self::Bytes(bytes) => bytes.len() / 32,
            _ => 0,
        }
    }

    /// Returns the length of a string or bytes, in bytes; 0 for other values.
    pub(super) fn text_bytes(&self) -> usize {
        match self {
            Self::String(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
            _ => 0,
        }
    }

    /// Returns whether the value is false, zero or empty, as `optional.ofNonZeroValue` defines it.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        match self {
            Self::Null | Self::Optional(None) => true,
            Self::Bool(value) => !value,
            Self::Int(value) => *value == 0,
            Self::UInt(value) => *value == 0,
            Self::Double(value) => *value == 0.0,
            Self::String(text) => text.is_empty(),
            Self::Bytes(bytes) => bytes.is_empty(),
            Self::List(list) => list.is_empty(),
            Self::Map(map) => map.is_empty(),
            Self::Timestamp(time) => *time == Timestamp::ZERO,
            Self::Duration(duration) => duration.nanoseconds() == 0,
            Self::Opaque(value) => value.is_zero(),
            Self::Type(_) | Self::Optional(Some(_)) => false,
        }
    }
}

/// Returns the number of characters in `text`.
pub(super) fn count_characters(text: &str) -> u64 {
    if text.is_ascii() { text.len() as u64 } else { text.chars().count() as u64 }
}

impl fmt::Debug for Val<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => value.fmt(f),
            Self::Int(value) => value.fmt(f),
            Self::UInt(value) => write!(f, "{value}u"),
            Self::Double(value) => write!(f, "{value:?}"),
            Self::String(text) => write!(f, "{:?}", text.as_str()),
            Self::Bytes(bytes) => write!(f, "b{:?}", String::from_utf8_lossy(bytes)),
            Self::List(list) => f.debug_list().entries(list.iter()).finish(),
            Self::Map(map) => f.debug_map().entries(map.iter()).finish(),
            Self::Timestamp(time) => write!(f, "timestamp({time})"),
            Self::Duration(duration) => write!(f, "duration({duration})"),
            Self::Type(name) => f.write_str(name),
            Self::Optional(None) => f.write_str("optional.none()"),
            Self::Optional(Some(value)) => write!(f, "optional.of({value:?})"),
            Self::Opaque(value) => value.fmt(f),
        }
    }
}
