//! The hash of a value: of one text that says everything about it.
//!
//! A keyed hash of many small parts takes several times as long as of one long text.

use std::hash::Hasher;

use kubewright_value::{Map, Value};

/// How many bytes are collected before they are hashed.
const CHUNK_BYTES: usize = 4 << 10;

/// Collects what is hashed.
pub(crate) struct ValueHasher<H> {
    hasher: H,
    collected: Vec<u8>,
}

impl<H: Hasher> ValueHasher<H> {
    /// Returns one that feeds `hasher`.
    pub(crate) fn new(hasher: H) -> Self {
        Self { hasher, collected: Vec::with_capacity(CHUNK_BYTES) }
    }

    /// Adds all of `value`. Equal values give equal hashes if their keys have the same order, in which the API server
    /// always sends them.
    pub(crate) fn add(&mut self, value: &Value) {
        match value {
            Value::Null => self.collected.push(0),
            Value::Bool(flag) => self.collected.extend([1, u8::from(*flag)]),
            Value::Number(number) => match number.as_i64() {
                Some(integer) => self.add_number(2, integer.to_le_bytes()),
                None => self.add_number(3, number.as_f64().to_bits().to_le_bytes()),
            },
            Value::String(text) => self.add_text(4, text),
            Value::Array(items) => {
                self.add_number(5, (items.len() as u64).to_le_bytes());
                items.iter().for_each(|item| self.add(item));
            }
            Value::Object(map) => self.add_map_without(map, &[]),
        }
    }

    /// Adds `map`, except for the entries called as in `left_out`.
    pub(crate) fn add_map_without(&mut self, map: &Map, left_out: &[&str]) {
        self.collected.push(6);
        for (key, value) in map.iter().filter(|(key, _)| !left_out.contains(&key.as_str())) {
            self.add_text(7, key);
            self.add(value);
        }
        self.collected.push(8);
    }

    /// Returns the hash.
    pub(crate) fn finish(mut self) -> u64 {
        self.hasher.write(&self.collected);
        self.hasher.finish()
    }

    fn add_number(&mut self, tag: u8, [a, b, c, d, e, f, g, h]: [u8; 8]) {
        self.collected.extend_from_slice(&[tag, a, b, c, d, e, f, g, h]);
    }

    /// The length comes first, so that no two lists of texts are the same bytes.
    fn add_text(&mut self, tag: u8, text: &str) {
        self.add_number(tag, (text.len() as u64).to_le_bytes());
        self.collected.extend_from_slice(text.as_bytes());
        if self.collected.len() >= CHUNK_BYTES {
            self.hasher.write(&self.collected);
            self.collected.clear();
        }
    }
}
