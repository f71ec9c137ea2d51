//! From JSON and back to it.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_value::{Map, Number, Text, Value};

use super::{List, MapVal, Val};

impl<'a> Val<'a> {
    /// Returns `value` as CEL sees it, without a copy.
    #[must_use]
    #[inline]
    pub fn borrowed(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => number_of(*number),
            Value::String(text) => Self::String(Cow::Borrowed(text)),
            Value::Array(items) => Self::List(List::Borrowed(items)),
            Value::Object(map) => Self::Map(MapVal::Borrowed(map)),
        }
    }

    /// Returns the value as JSON: bytes in base64, timestamps and durations as text, an empty optional as null.
    ///
    /// # Errors
    /// When JSON has no word for it: a type, a value of a library, or a number that is not finite.
    pub fn to_value(&self) -> Result<Value, String> {
        Ok(match self {
            Self::Null | Self::Optional(None) => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Int(value) => Value::from(*value),
            Self::UInt(value) => Value::from(*value),
            Self::Double(value) if value.is_finite() => Value::from(*value),
            Self::String(text) => Value::String(text.as_ref().clone()),
            Self::Bytes(bytes) => Value::from(STANDARD.encode(bytes)),
            Self::List(List::Borrowed(items)) => Value::Array((*items).clone()),
            Self::List(List::Shared(items)) => Value::Array(items.clone()),
            Self::List(List::Made(items)) => {
                Value::array(items.iter().map(Val::to_value).collect::<Result<_, _>>()?)
            }
            Self::Map(MapVal::Borrowed(map)) => Value::Object((*map).clone()),
            Self::Map(MapVal::Shared(map)) => Value::Object(map.clone()),
            Self::Map(map) => {
                let entry = |(key, value): (Val<'_>, Val<'_>)| Ok((key_text(&key)?, value.to_value()?));
                Value::object(map.iter().map(entry).collect::<Result<Map, String>>()?)
            }
            Self::Timestamp(time) => Value::from(time.to_string()),
            Self::Duration(duration) => Value::from(crate::cel::time::seconds_text(*duration)),
            Self::Optional(Some(value)) => value.to_value()?,
            Self::Opaque(value) => match value.to_text() {
                Some(text) => Value::from(text),
                None => return Err(format!("a value of type `{}` has no form in JSON", value.type_name())),
            },
            Self::Double(_) | Self::Type(_) => {
                return Err(format!("`{self:?}` has no form in JSON"));
            }
        })
    }
}

fn number_of<'a>(number: Number) -> Val<'a> {
    match number {
        Number::Int(value) => Val::Int(value),
        Number::UInt(value) => Val::UInt(value),
        Number::Float(value) => Val::Double(value),
    }
}

fn key_text(key: &Val<'_>) -> Result<Text, String> {
    match key {
        Val::String(text) => Ok(text.as_ref().clone()),
        Val::Int(value) => Ok(value.to_string().into()),
        Val::UInt(value) => Ok(value.to_string().into()),
        Val::Bool(value) => Ok(value.to_string().into()),
        _ => Err(format!("`{key:?}` cannot be a key in JSON")),
    }
}

/// Returns the integer that `value` is.
#[expect(clippy::cast_possible_truncation, reason = "the range was checked")]
pub(in crate::cel) fn exact_integer(value: f64) -> Option<i128> {
    (value.fract() == 0.0 && value.abs() < 1e19).then_some(value as i128)
}

impl From<Value> for Val<'_> {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(value),
            Value::Number(number) => number_of(number),
            Value::String(text) => Self::String(Cow::Owned(text)),
            Value::Array(items) => Self::List(List::Shared(items)),
            Value::Object(map) => Self::Map(MapVal::Shared(map)),
        }
    }
}

impl From<bool> for Val<'_> {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Val<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<&str> for Val<'_> {
    fn from(value: &str) -> Self {
        Self::text(value)
    }
}

impl From<String> for Val<'_> {
    fn from(value: String) -> Self {
        Self::text(value)
    }
}
