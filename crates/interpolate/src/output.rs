//! What expressions give, as JSON and as text.
//!
//! Everything made is counted, since a small value of an expression may hold another many times over.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_value::json::MAX_DEPTH;
use kubewright_value::{Map, Number, Text, Value, json};

use super::error::RenderError;
use super::{Rendered, is_omitted};
use kubewright_cel::{Cost, EvalErrorKind, List, MapVal, Val};

type Failed = Box<RenderError>;

/// Returns `value` as JSON, without the entries and items that are marked as left out: whole doubles are
/// integers, bytes are base64, a timestamp is text, a duration is a number of nanoseconds, a type is its
/// name, an empty optional is null.
///
/// # Errors
/// When JSON has no word for it, or it is too large or too deep.
pub fn rendered(value: &Val<'_>, cost: &mut Cost) -> Result<Rendered, RenderError> {
    value_of(value, 0, cost)
        .map(|value| value.map_or(Rendered::Omitted, Rendered::Value))
        .map_err(|error| *error)
}

/// Returns the JSON of `value`, which will stand `depth` levels deep; nothing when it is left out.
pub(super) fn value_of(value: &Val<'_>, depth: usize, cost: &mut Cost) -> Result<Option<Value>, Failed> {
    if depth > MAX_DEPTH {
        return Err(Box::new(RenderError::too_deep()));
    }
    cost.make(1).map_err(exceeded)?;
    Ok(Some(match value {
        Val::Null | Val::Optional(None) => Value::Null,
        Val::Bool(value) => Value::Bool(*value),
        Val::Int(value) => Value::from(*value),
        Val::UInt(value) => Value::from(*value),
        Val::Double(value) => Value::Number(number(*value)?),
        Val::String(text) => {
            counted_text(text.len(), cost)?;
            Value::String(text.as_ref().clone())
        }
        Val::Bytes(bytes) => {
            counted_text(bytes.len().saturating_mul(2), cost)?;
            Value::from(STANDARD.encode(bytes))
        }
        Val::List(List::Borrowed(items)) => counted(Value::Array((*items).clone()), depth, cost)?,
        Val::List(List::Shared(items)) => counted(Value::Array(items.clone()), depth, cost)?,
        Val::List(List::Made(items)) => {
            let mut kept = Vec::with_capacity(items.len());
            for item in items.iter() {
                kept.extend(value_of(item, depth + 1, cost)?);
            }
            Value::array(kept)
        }
        Val::Map(MapVal::Borrowed(map)) => counted(Value::Object((*map).clone()), depth, cost)?,
        Val::Map(MapVal::Shared(map)) => counted(Value::Object(map.clone()), depth, cost)?,
        Val::Map(map) => {
            let mut kept = Map::with_capacity(map.len());
            for (key, value) in map.iter() {
                let Some(value) = value_of(&value, depth + 1, cost)? else { continue };
                let key = key_of(&key)?;
                counted_text(key.len(), cost)?;
                kept.insert(key, value);
            }
            Value::object(kept)
        }
        Val::Timestamp(time) => Value::from(time.to_string()),
        Val::Duration(duration) => Value::from(duration.nanoseconds()),
        Val::Type(name) => Value::String(name.clone()),
        Val::Optional(Some(value)) => return value_of(value, depth, cost),
        Val::Opaque(_) if is_omitted(value) => return Ok(None),
        Val::Opaque(value) => value.to_json().ok_or_else(|| {
            wrong(format!("a value of type `{}` cannot be part of a manifest", value.type_name()))
        })?,
    }))
}

/// Appends `value` to a text: strings as they are, lists and maps as JSON with sorted keys.
pub(super) fn write_text(out: &mut String, value: &Val<'_>, cost: &mut Cost) -> Result<(), Failed> {
    if let Val::String(text) = value {
        counted_text(text.len(), cost)?;
        out.push_str(text);
        return Ok(());
    }
    match value_of(value, 0, cost)? {
        None => {
            return Err(Box::new(RenderError::new(
                EvalErrorKind::Type,
                "what is left out cannot be a part of a text",
            )));
        }
        Some(Value::String(text)) => out.push_str(&text),
        Some(value) => write_json(out, &value, cost)?,
    }
    Ok(())
}

/// As Go writes JSON: keys in order, and nothing that could be taken for HTML.
fn write_json(out: &mut String, value: &Value, cost: &mut Cost) -> Result<(), Failed> {
    cost.work(1).map_err(exceeded)?;
    match value {
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_json(out, item, cost)?;
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            out.push('{');
            for (index, (key, value)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_string(out, key, cost)?;
                out.push(':');
                write_json(out, value, cost)?;
            }
            out.push('}');
        }
        Value::String(text) => write_string(out, text, cost)?,
        scalar => json::write(out, scalar),
    }
    Ok(())
}

fn write_string(out: &mut String, text: &str, cost: &mut Cost) -> Result<(), Failed> {
    counted_text(text.len(), cost)?;
    for c in json::quote(text).chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    Ok(())
}

/// Counts JSON that is used as it is.
fn counted(value: Value, depth: usize, cost: &mut Cost) -> Result<Value, Failed> {
    count(&value, depth, cost)?;
    Ok(value)
}

fn count(value: &Value, depth: usize, cost: &mut Cost) -> Result<(), Failed> {
    if depth > MAX_DEPTH {
        return Err(Box::new(RenderError::too_deep()));
    }
    cost.work(1).map_err(exceeded)?;
    match value {
        Value::Array(items) => items.iter().try_for_each(|item| count(item, depth + 1, cost)),
        Value::Object(map) => map.iter().try_for_each(|(key, value)| {
            counted_text(key.len(), cost)?;
            count(value, depth + 1, cost)
        }),
        Value::String(text) => counted_text(text.len(), cost),
        _ => Ok(()),
    }
}

pub(super) fn counted_text(length: usize, cost: &mut Cost) -> Result<(), Failed> {
    cost.work(length / 8).map_err(exceeded)?;
    cost.produce(length).map_err(exceeded)
}

fn number(value: f64) -> Result<Number, Failed> {
    if value.is_finite() {
        Ok(Number::from(value).normalized())
    } else {
        Err(wrong(format!("`{value}` is not a number that JSON can hold")))
    }
}

fn key_of(key: &Val<'_>) -> Result<Text, Failed> {
    match key {
        Val::String(text) => Ok(text.as_ref().clone()),
        Val::Int(value) => Ok(value.to_string().into()),
        Val::UInt(value) => Ok(value.to_string().into()),
        Val::Bool(value) => Ok(value.to_string().into()),
        other => Err(wrong(format!("a value of type `{}` cannot be a key", other.type_name()))),
    }
}

fn wrong(message: String) -> Failed {
    Box::new(RenderError::new(EvalErrorKind::Value, message))
}

pub(super) fn exceeded(exceeded: kubewright_cel::Exceeded) -> Failed {
    Box::new(RenderError::new(EvalErrorKind::Limit, exceeded.to_string()))
}
