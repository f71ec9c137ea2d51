//! Conversion of the values of expressions to JSON and text.
//!
//! All output is counted, since a small value may contain another many times.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_value::json::MAX_DEPTH;
use kubewright_value::{Map, Number, Text, Value, json};

use super::error::RenderError;
use super::{RenderedValue, is_omitted};
use kubewright_cel::{CelCost, CelErrorKind, ListVal, MapVal, Val};
use kubewright_value::CompactSort as _;

type BoxedRenderError = Box<RenderError>;

/// Returns `value` as JSON, without omitted entries and items: whole doubles are
/// integers, bytes are base64, a timestamp is text, a duration is a number of nanoseconds, a type is its
/// name, an empty optional is null.
///
/// # Errors
/// When it has no JSON form, or is too large or too deep.
pub fn render_val(value: &Val<'_>, cost: &mut CelCost) -> Result<RenderedValue, RenderError> {
    val_to_json(value, 0, cost)
        .map(|value| value.map_or(RenderedValue::Omitted, RenderedValue::Value))
        .map_err(|error| *error)
}

/// Returns the JSON of `value` at nesting level `depth`; nothing when it is omitted.
pub(super) fn val_to_json(
    value: &Val<'_>,
    depth: usize,
    cost: &mut CelCost,
) -> Result<Option<Value>, BoxedRenderError> {
    if depth > MAX_DEPTH {
        return Err(Box::new(RenderError::too_deep()));
    }
    cost.make(1).map_err(limit_error)?;
    Ok(Some(match value {
        Val::Null | Val::Optional(None) => Value::Null,
        Val::Bool(value) => Value::Bool(*value),
        Val::Int(value) => Value::from(*value),
        Val::UInt(value) => Value::from(*value),
        Val::Double(value) => Value::Number(double_to_number(*value)?),
        Val::String(text) => {
            charge_text_bytes(text.len(), cost)?;
            Value::String(text.as_ref().clone())
        }
        Val::Bytes(bytes) => {
            charge_text_bytes(bytes.len().saturating_mul(2), cost)?;
            Value::from(STANDARD.encode(bytes))
        }
        Val::List(ListVal::Borrowed(items)) => charge_json(Value::Array((*items).clone()), depth, cost)?,
        Val::List(ListVal::Shared(items)) => charge_json(Value::Array(items.clone()), depth, cost)?,
        Val::List(ListVal::Made(items)) => {
            let mut kept = Vec::with_capacity(items.len());
            for item in items.iter() {
                kept.extend(val_to_json(item, depth + 1, cost)?);
            }
            Value::array(kept)
        }
        Val::Map(MapVal::Borrowed(map)) => charge_json(Value::Object((*map).clone()), depth, cost)?,
        Val::Map(MapVal::Shared(map)) => charge_json(Value::Object(map.clone()), depth, cost)?,
        Val::Map(map) => {
            let mut kept = Map::with_capacity(map.len());
            for (key, value) in map.iter() {
                let Some(value) = val_to_json(&value, depth + 1, cost)? else { continue };
                let key = map_key_text(&key)?;
                charge_text_bytes(key.len(), cost)?;
                kept.insert(key, value);
            }
            Value::object(kept)
        }
        Val::Timestamp(time) => Value::from(time.to_string()),
        Val::Duration(duration) => Value::from(duration.nanoseconds()),
        Val::Type(name) => Value::String(name.clone()),
        Val::Optional(Some(value)) => return val_to_json(value, depth, cost),
        Val::Opaque(_) if is_omitted(value) => return Ok(None),
        Val::Opaque(value) => value.to_json().ok_or_else(|| {
            type_error(format!("a value of type `{}` cannot be part of a manifest", value.type_name()))
        })?,
    }))
}

/// Appends `value` to a text: strings as they are, lists and maps as JSON with sorted keys.
pub(super) fn write_val_text(
    out: &mut String,
    value: &Val<'_>,
    cost: &mut CelCost,
) -> Result<(), BoxedRenderError> {
    if let Val::String(text) = value {
        charge_text_bytes(text.len(), cost)?;
        out.push_str(text);
        return Ok(());
    }
    match val_to_json(value, 0, cost)? {
        None => {
            return Err(Box::new(RenderError::new(
                CelErrorKind::Type,
                "an omitted value cannot be part of a text",
            )));
        }
        Some(Value::String(text)) => out.push_str(&text),
        Some(value) => write_sorted_json(out, &value, cost)?,
    }
    Ok(())
}

/// Writes JSON as Go does: keys sorted, HTML characters escaped.
fn write_sorted_json(out: &mut String, value: &Value, cost: &mut CelCost) -> Result<(), BoxedRenderError> {
    cost.work(1).map_err(limit_error)?;
    match value {
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_sorted_json(out, item, cost)?;
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.compact_sort_by_key(|(key, _)| *key);
            out.push('{');
            for (index, (key, value)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_json_string(out, key, cost)?;
                out.push(':');
                write_sorted_json(out, value, cost)?;
            }
            out.push('}');
        }
        Value::String(text) => write_json_string(out, text, cost)?,
        scalar => json::write(out, scalar),
    }
    Ok(())
}

fn write_json_string(out: &mut String, text: &str, cost: &mut CelCost) -> Result<(), BoxedRenderError> {
    charge_text_bytes(text.len(), cost)?;
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

/// Charges for JSON that is used unchanged.
fn charge_json(value: Value, depth: usize, cost: &mut CelCost) -> Result<Value, BoxedRenderError> {
    charge_nested_values(&value, depth, cost)?;
    Ok(value)
}

fn charge_nested_values(value: &Value, depth: usize, cost: &mut CelCost) -> Result<(), BoxedRenderError> {
    if depth > MAX_DEPTH {
        return Err(Box::new(RenderError::too_deep()));
    }
    cost.work(1).map_err(limit_error)?;
    match value {
        Value::Array(items) => items.iter().try_for_each(|item| charge_nested_values(item, depth + 1, cost)),
        Value::Object(map) => map.iter().try_for_each(|(key, value)| {
            charge_text_bytes(key.len(), cost)?;
            charge_nested_values(value, depth + 1, cost)
        }),
        Value::String(text) => charge_text_bytes(text.len(), cost),
        _ => Ok(()),
    }
}

pub(super) fn charge_text_bytes(length: usize, cost: &mut CelCost) -> Result<(), BoxedRenderError> {
    cost.work(length / 8).map_err(limit_error)?;
    cost.produce(length).map_err(limit_error)
}

fn double_to_number(value: f64) -> Result<Number, BoxedRenderError> {
    if value.is_finite() {
        Ok(Number::from(value).normalized())
    } else {
        Err(type_error(format!("`{value}` is not a number that JSON can hold")))
    }
}

fn map_key_text(key: &Val<'_>) -> Result<Text, BoxedRenderError> {
    match key {
        Val::String(text) => Ok(text.as_ref().clone()),
        Val::Int(value) => Ok(value.to_string().into()),
        Val::UInt(value) => Ok(value.to_string().into()),
        Val::Bool(value) => Ok(value.to_string().into()),
        other => Err(type_error(format!("a value of type `{}` cannot be a key", other.type_name()))),
    }
}

fn type_error(message: String) -> BoxedRenderError {
    Box::new(RenderError::new(CelErrorKind::Value, message))
}

pub(super) fn limit_error(exceeded: kubewright_cel::CostExceeded) -> BoxedRenderError {
    Box::new(RenderError::new(CelErrorKind::Limit, exceeded.to_string()))
}
