//! The hash of a value, part by part.

use std::hash::{Hash, Hasher};

use kubewright_value::{Map, Value};

/// Feeds all of `value` to `hasher`. Equal values give equal hashes if their keys have the same order, in which the API
/// server always sends them.
pub(crate) fn hash_value(value: &Value, hasher: &mut impl Hasher) {
    match value {
        Value::Null => hasher.write_u8(0),
        Value::Bool(flag) => (1_u8, flag).hash(hasher),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => (2_u8, integer).hash(hasher),
            None => (3_u8, number.as_f64().to_bits()).hash(hasher),
        },
        Value::String(text) => (4_u8, text.as_str()).hash(hasher),
        Value::Array(items) => {
            (5_u8, items.len()).hash(hasher);
            items.iter().for_each(|item| hash_value(item, hasher));
        }
        Value::Object(map) => hash_map_without(map, &[], hasher),
    }
}

/// Feeds `map` to `hasher`, except for the entries called as in `left_out`.
pub(crate) fn hash_map_without(map: &Map, left_out: &[&str], hasher: &mut impl Hasher) {
    hasher.write_u8(6);
    for (key, value) in map.iter().filter(|(key, _)| !left_out.contains(&key.as_str())) {
        hasher.write_u8(7);
        key.as_str().hash(hasher);
        hash_value(value, hasher);
    }
    hasher.write_u8(8);
}
