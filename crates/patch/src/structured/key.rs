//! What an item of a list is told apart by.

use kubewright_value::{Number, Value};

use super::{ListRelation, MergeKey};

/// Returns the key of `item` as a path shows it: `[name="a"]`, `[="a"]`.
///
/// # Errors
/// When it has none, with the reason.
pub(super) fn item_key(item: &Value, relation: &ListRelation) -> Result<String, String> {
    match relation {
        ListRelation::Keyed(keys) => keyed(item, keys),
        ListRelation::Set => match item {
            Value::Object(_) => Err("associative list without keys has an element that's a map type".into()),
            Value::Array(_) => Err("not supported: associative list with lists as elements".into()),
            Value::Null => Err("associative list without keys has an element that's an explicit null".into()),
            plain => Ok(format!("[={}]", plain_text(plain))),
        },
        ListRelation::Atomic => Err("invalid indexing of non-associative list".into()),
    }
}

fn keyed(item: &Value, keys: &[MergeKey]) -> Result<String, String> {
    let fields = match item {
        Value::Object(fields) => fields,
        Value::Null => return Err("associative list with keys may not have a null element".into()),
        _ => return Err("associative list with keys may not have non-map elements".into()),
    };
    let mut parts = Vec::with_capacity(keys.len());
    for key in keys {
        let value = fields.get(&key.name).or(key.default.as_ref()).ok_or_else(|| {
            format!(
                "associative list with keys has an element that omits key field {:?} (and doesn't have default value)",
                key.name.as_str()
            )
        })?;
        parts.push(format!("{}={}", key.name, plain_text(value)));
    }
    parts.sort_unstable();
    Ok(format!("[{}]", parts.join(",")))
}

/// Returns a plain value as JSON. The parts of others do not matter: they have the wrong type.
fn plain_text(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number_text(*number),
        Value::String(text) => format!("{:?}", text.as_str()),
        Value::Array(_) => "[]".to_owned(),
        Value::Object(_) => "{}".to_owned(),
    }
}

/// Returns a number as it is written; equal numbers have one text.
pub(super) fn number_text(number: Number) -> String {
    match number.normalized() {
        Number::Int(value) => value.to_string(),
        Number::UInt(value) => value.to_string(),
        Number::Float(value) => value.to_string(),
    }
}
