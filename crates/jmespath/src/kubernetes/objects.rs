//! Lookup by computed keys, and conversion between objects and arrays.

use kubewright_value::{Budget, Map, Text, Value};

use super::super::function::{
    ArgumentTypes, JmesPathArgument, JmesPathBuiltin, JmesPathFailure, define_builtin,
};
use super::{integer_argument, scalar_to_text};

const CONTAINER: ArgumentTypes = ArgumentTypes::OBJECT.or(ArgumentTypes::ARRAY);

pub(super) const TABLE: &[JmesPathBuiltin] = &[
    define_builtin(
        "lookup",
        &[CONTAINER, ArgumentTypes::STRING.or(ArgumentTypes::NUMBER)],
        "any",
        "the value of the key or index; null if there is none",
        call_lookup,
    ),
    define_builtin(
        "items",
        &[CONTAINER, ArgumentTypes::STRING, ArgumentTypes::STRING],
        "array[object]",
        "each entry as an object, its key and value under the two names; keys are sorted",
        call_items,
    ),
    define_builtin(
        "object_from_lists",
        &[ArgumentTypes::ARRAY, ArgumentTypes::ARRAY],
        "object",
        "an object of the keys and the values; null for a key without a value",
        call_object_from_lists,
    ),
];

/// The bytes of an object with two entries in a list.
const ITEM_BYTES: usize = size_of::<Value>() + size_of::<Map>() + 2 * size_of::<(Text, Value)>() + 32;

/// The bytes of an entry of an object, which may reserve twice its size and an index.
const ENTRY_BYTES: usize = 2 * size_of::<(Text, Value)>() + 64;

/// Returns the value of a key or index, or null.
fn call_lookup(arguments: &[JmesPathArgument<'_>], _: &mut Budget) -> Result<Value, JmesPathFailure> {
    let [container, key] = arguments else { return Ok(Value::Null) };
    let found = match (container.value(), key.value()) {
        (Value::Object(map), Value::String(key)) => map.get(key),
        (Value::Array(items), Value::Number(_)) => {
            usize::try_from(integer_argument(arguments, 1, "an index")?)
                .ok()
                .and_then(|index| items.get(index))
        }
        (Value::Object(_), _) => return Err(lookup_key_failure("an object", "a string")),
        _ => return Err(lookup_key_failure("an array", "a number")),
    };
    Ok(found.cloned().unwrap_or_default())
}

fn lookup_key_failure(container: &str, key: &str) -> JmesPathFailure {
    JmesPathFailure::wrong_type(format!("argument 2 of `lookup` in {container} must be {key}")).about(1)
}

/// Returns an object with key and value for each entry; those of an object sorted by key.
fn call_items(arguments: &[JmesPathArgument<'_>], budget: &mut Budget) -> Result<Value, JmesPathFailure> {
    let [container, key_name, value_name] = arguments else { return Ok(Value::Null) };
    let (key_name, value_name) = (Text::new(key_name.text()), Text::new(value_name.text()));
    let entries: Vec<(Value, &Value)> = match container.value() {
        Value::Object(map) => {
            budget.step(map.len() as u64 * 8)?;
            budget.produce(map.len().saturating_mul(size_of::<(Value, &Value)>()))?;
            map.sorted().into_iter().map(|(key, value)| (Value::from(key.clone()), value)).collect()
        }
        other => {
            let items = other.as_array().unwrap_or_default();
            budget.step(items.len() as u64)?;
            budget.produce(items.len().saturating_mul(size_of::<(Value, &Value)>()))?;
            items.iter().enumerate().map(|(i, value)| (Value::from(i), value)).collect()
        }
    };
    // The entries share the two key names, but writing the result out repeats them.
    let each = ITEM_BYTES + key_name.len() + value_name.len();
    budget.produce(entries.len().saturating_mul(each))?;
    let object = |(key, value): (Value, &Value)| {
        let mut map = Map::with_capacity(2);
        map.insert(key_name.clone(), key);
        map.insert(value_name.clone(), value.clone());
        Value::object(map)
    };
    Ok(Value::array(entries.into_iter().map(object).collect()))
}

/// Builds an object from keys and values. A missing value is null; extra values are ignored.
fn call_object_from_lists(
    arguments: &[JmesPathArgument<'_>],
    budget: &mut Budget,
) -> Result<Value, JmesPathFailure> {
    let [keys, values] = arguments else { return Ok(Value::Null) };
    budget.produce(keys.items().len().saturating_mul(ENTRY_BYTES))?;
    let mut map = Map::with_capacity(keys.items().len());
    for (i, key) in keys.items().iter().enumerate() {
        budget.step(1)?;
        let key = scalar_to_text(key).ok_or_else(|| {
            JmesPathFailure::wrong_type(format!("a key must be a string, not {}", key.kind())).about(0)
        })?;
        budget.produce(key.len())?;
        map.insert(Text::new(&key), values.items().get(i).cloned().unwrap_or_default());
    }
    Ok(Value::object(map))
}
