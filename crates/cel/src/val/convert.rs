//! Conversion from and to JSON.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_value::{Map, Number, Text, Value};

use super::{ListVal, MapVal, Val};

impl<'a> Val<'a> {
    /// Returns `value` as CEL sees it, without a copy.
    #[must_use]
    #[inline]
    pub fn borrowed(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => number_to_val(*number),
            Value::String(text) => Self::String(Cow::Borrowed(text)),
            Value::Array(items) => Self::List(ListVal::Borrowed(items)),
            Value::Object(map) => Self::Map(MapVal::Borrowed(map)),
        }
    }

    /// Returns the value as JSON: bytes in base64, timestamps and durations as text, an empty optional as null.
    ///
    /// # Errors
    /// When the value has no JSON form (a type, a value of a library, or a number that is not finite), or is
    /// too large.
    pub fn to_value(&self) -> Result<Value, String> {
        self.written(&mut MAX_JSON_VALUES.clone())
    }

    /// Converts the value, counting down `left`: a small value may contain another many times and be huge as JSON.
    fn written(&self, left: &mut usize) -> Result<Value, String> {
        *left = left.checked_sub(1).ok_or("the value is too large")?;
        Ok(match self {
            Self::Null | Self::Optional(None) => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Int(value) => Value::from(*value),
            Self::UInt(value) => Value::from(*value),
            Self::Double(value) if value.is_finite() => Value::from(*value),
            Self::String(text) => Value::String(text.as_ref().clone()),
            Self::Bytes(bytes) => Value::from(STANDARD.encode(bytes)),
            Self::List(ListVal::Borrowed(items)) => count_part(Value::Array((*items).clone()), left)?,
            Self::List(ListVal::Shared(items)) => count_part(Value::Array(items.clone()), left)?,
            Self::List(ListVal::Made(items)) => {
                Value::array(items.iter().map(|item| item.written(left)).collect::<Result<_, _>>()?)
            }
            Self::Map(MapVal::Borrowed(map)) => count_part(Value::Object((*map).clone()), left)?,
            Self::Map(MapVal::Shared(map)) => count_part(Value::Object(map.clone()), left)?,
            Self::Map(map) => {
                let entry =
                    |(key, value): (Val<'_>, Val<'_>)| Ok((json_key_text(&key)?, value.written(left)?));
                Value::object(map.iter().map(entry).collect::<Result<Map, String>>()?)
            }
            Self::Timestamp(time) => Value::from(time.to_string()),
            Self::Duration(duration) => Value::from(crate::time::format_seconds(*duration)),
            Self::Optional(Some(value)) => value.written(left)?,
            Self::Opaque(value) => match value.to_json() {
                Some(value) => value,
                None => return Err(format!("a value of type `{}` has no form in JSON", value.type_name())),
            },
            Self::Double(value) => return Err(format!("`{value}` has no form in JSON")),
            Self::Type(name) => return Err(format!("the type `{name}` has no form in JSON")),
        })
    }
}

/// The values that a result may consist of, unless it is one whole object from the input.
const MAX_JSON_VALUES: usize = 200_000;

/// Counts JSON that is part of a larger value. A result that is one whole object is not counted, since it is input.
fn count_part(value: Value, left: &mut usize) -> Result<Value, String> {
    if *left + 1 < MAX_JSON_VALUES {
        count_json_values(&value, left).ok_or("the value is too large")?;
    }
    Ok(value)
}

fn count_json_values(value: &Value, left: &mut usize) -> Option<()> {
    *left = left.checked_sub(1)?;
    match value {
        Value::Array(items) => items.iter().try_for_each(|item| count_json_values(item, left)),
        Value::Object(map) => map.values().try_for_each(|value| count_json_values(value, left)),
        _ => Some(()),
    }
}

fn number_to_val<'a>(number: Number) -> Val<'a> {
    match number {
        Number::Int(value) => Val::Int(value),
        Number::UInt(value) => Val::UInt(value),
        Number::Float(value) => Val::Double(value),
    }
}

fn json_key_text(key: &Val<'_>) -> Result<Text, String> {
    match key {
        Val::String(text) => Ok(text.as_ref().clone()),
        Val::Int(value) => Ok(value.to_string().into()),
        Val::UInt(value) => Ok(value.to_string().into()),
        Val::Bool(value) => Ok(value.to_string().into()),
        _ => Err(format!("`{key:?}` cannot be a key in JSON")),
    }
}

/// Returns `value` as an integer, if it is one.
#[expect(clippy::cast_possible_truncation, reason = "the range was checked")]
pub(crate) fn exact_integer(value: f64) -> Option<i128> {
    (value.fract() == 0.0 && value.abs() < 1e19).then_some(value as i128)
}

impl From<Value> for Val<'_> {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(value),
            Value::Number(number) => number_to_val(number),
            Value::String(text) => Self::String(Cow::Owned(text)),
            Value::Array(items) => Self::List(ListVal::Shared(items)),
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
