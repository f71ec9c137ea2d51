//! Equal parts of objects, kept once: the Pods of one ReplicaSet differ in little more than their names.

use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use kubewright_value::{Map, Text, Value};

/// Lists and objects that were seen before.
#[derive(Debug, Default)]
pub(crate) struct ValueInterner {
    known: HashSet<InternedValue>,
    /// How many there may be before those that are not shared are dropped.
    sweep_at: usize,
}

/// How many parts there may be before the first sweep.
const MIN_PARTS_BEFORE_SWEEP: usize = 4_096;
/// How deep a value is whose inner parts are freed by one sweep.
const MAX_SWEEP_ROUNDS: usize = 16;

/// A list or object whose own lists and objects are interned: it equals another if these are the same allocations.
#[derive(Debug)]
struct InternedValue(Value);

impl ValueInterner {
    /// Returns `object` with its parts shared with earlier ones. The object itself and its metadata are not: no other
    /// object has the same.
    pub(crate) fn share_parts(&mut self, object: Value) -> Value {
        self.sweep_if_due();
        let Value::Object(map) = object else { return object };
        let part = |(key, value): (&Text, &Value)| {
            let shared = match value {
                Value::Object(metadata) if key == "metadata" => {
                    let fields = metadata.iter().map(|(key, value)| (key.clone(), self.share(value.clone())));
                    Value::object(Map::of_entries(fields.collect()))
                }
                value => self.share(value.clone()),
            };
            (key.clone(), shared)
        };
        Value::object(Map::of_entries(map.iter().map(part).collect()))
    }

    /// Returns `object`, as it is kept for another that is equal if there is one.
    pub(crate) fn share_whole(&mut self, object: Value) -> Value {
        self.sweep_if_due();
        self.share(object)
    }

    fn share(&mut self, mut value: Value) -> Value {
        if let Some(items) = value.as_array_mut() {
            items.iter_mut().for_each(|item| *item = self.share(std::mem::take(item)));
        } else if let Some(map) = value.as_object_mut() {
            map.iter_mut().for_each(|(_, field)| *field = self.share(std::mem::take(field)));
        } else {
            return value;
        }
        let shared = InternedValue(value);
        if let Some(known) = self.known.get(&shared) {
            return known.0.clone();
        }
        let value = without_spare_room(&shared.0);
        self.known.insert(InternedValue(value.clone()));
        value
    }

    fn sweep_if_due(&mut self) {
        if self.known.len() >= self.sweep_at.max(MIN_PARTS_BEFORE_SWEEP) {
            self.sweep();
        }
    }

    /// Drops the parts that are not shared.
    pub(super) fn sweep(&mut self) {
        for _ in 0..MAX_SWEEP_ROUNDS {
            let before = self.known.len();
            self.known.retain(|part| part.is_shared());
            if self.known.len() == before {
                break;
            }
        }
        self.known.shrink_to_fit();
        self.sweep_at = self.known.len() + self.known.len() / 4 + MIN_PARTS_BEFORE_SWEEP;
    }
}

impl InternedValue {
    /// Returns whether several hold it besides the interner. What one holds takes less room without an entry here, and those
    /// that are equal mostly come one after the other.
    fn is_shared(&self) -> bool {
        match &self.0 {
            Value::Array(items) => Arc::strong_count(items) > 2,
            Value::Object(map) => Arc::strong_count(map) > 2,
            _ => false,
        }
    }
}

impl PartialEq for InternedValue {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Value::Array(one), Value::Array(other)) => {
                one.len() == other.len()
                    && one.iter().zip(other.iter()).all(|(one, other)| is_same(one, other))
            }
            (Value::Object(one), Value::Object(other)) => {
                let mut pairs = one.iter().zip(other.iter());
                one.len() == other.len()
                    && pairs.all(|((key, one), (known, other))| key == known && is_same(one, other))
            }
            _ => false,
        }
    }
}

impl Eq for InternedValue {}

impl Hash for InternedValue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            Value::Array(items) => {
                state.write_usize(items.len());
                items.iter().for_each(|item| hash_part(item, state));
            }
            Value::Object(map) => map.iter().for_each(|(key, value)| {
                key.hash(state);
                hash_part(value, state);
            }),
            scalar => hash_part(scalar, state),
        }
    }
}

/// Returns a list or an object with the same parts and no room for more.
fn without_spare_room(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::array(items.to_vec()),
        Value::Object(map) => {
            let fields = map.iter().map(|(key, value)| (key.clone(), value.clone()));
            Value::object(Map::of_entries(fields.collect()))
        }
        scalar => scalar.clone(),
    }
}

/// Returns whether two interned values are equal.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Array(one), Value::Array(other)) => Arc::ptr_eq(one, other),
        (Value::Object(one), Value::Object(other)) => Arc::ptr_eq(one, other),
        // Numbers of one value may be written differently.
        (Value::Number(one), Value::Number(other)) => one == other && one.is_integer() == other.is_integer(),
        (one, other) => one == other,
    }
}

fn hash_part<H: Hasher>(value: &Value, state: &mut H) {
    match value {
        Value::Null => state.write_u8(0),
        Value::Bool(flag) => state.write_u8(1 + u8::from(*flag)),
        Value::Number(number) => number.hash(state),
        Value::String(text) => text.hash(state),
        Value::Array(items) => state.write_usize(Arc::as_ptr(items).addr()),
        Value::Object(map) => state.write_usize(Arc::as_ptr(map).addr()),
    }
}
