//! What a template is rendered with.

use kubewright_value::{Text, Value};
use sha2::{Digest as _, Sha256};

use super::item::Item;

/// The root of a template: a fixed set of fields, like a Go struct.
///
/// Asking it for another field is an error, unlike asking an object for a key it does not have.
#[derive(Debug, Clone, Default)]
pub struct Context {
    fields: Vec<(Text, Field)>,
}

#[derive(Debug, Clone)]
struct Field {
    value: Value,
    is_native: bool,
}

impl Context {
    /// Returns a context without fields.
    #[must_use]
    pub fn new() -> Self {
        Self { fields: Vec::with_capacity(4) }
    }

    /// Adds a field decoded from JSON: its numbers count as Go's `float64`.
    #[must_use]
    pub fn json(self, name: impl Into<Text>, value: impl Into<Value>) -> Self {
        self.with(name.into(), value.into(), false)
    }

    /// Adds a field made in code: its whole numbers count as Go's `int`.
    #[must_use]
    pub fn native(self, name: impl Into<Text>, value: impl Into<Value>) -> Self {
        self.with(name.into(), value.into(), true)
    }

    fn with(mut self, name: Text, value: Value, is_native: bool) -> Self {
        self.fields.push((name, Field { value, is_native }));
        self
    }

    /// Returns the JSON value of a field, for walking it in place.
    pub(super) fn plain(&self, name: &str) -> Option<&Value> {
        self.fields.iter().find(|(n, field)| n == name && !field.is_native).map(|(_, field)| &field.value)
    }

    /// Returns a field.
    pub(super) fn field(&self, name: &str) -> Option<Item> {
        self.fields.iter().find(|(n, _)| n == name).map(|(_, field)| field.item())
    }

    /// Returns all fields in the order in which they were added.
    pub(super) fn items(&self) -> impl Iterator<Item = (&Text, Item)> {
        self.fields.iter().map(|(name, field)| (name, field.item()))
    }
}

impl Field {
    fn item(&self) -> Item {
        if self.is_native { Item::native(&self.value) } else { Item::json(&self.value) }
    }
}

/// What functions that are not repeatable take from the caller.
///
/// Only functions that were allowed by name ask for these.
#[derive(Debug, Clone, Copy, Default)]
pub struct Inputs {
    /// The current time in nanoseconds since 1970.
    pub now: Option<i128>,
    /// The seed of the random numbers of this rendering.
    pub random_seed: Option<u64>,
    /// What keys and certificates are made from.
    pub keys: Option<KeySource>,
}

/// What keys and certificates follow from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeySource {
    /// Where keys are to be secret, nobody else knows it.
    pub seed: [u8; 32],
    /// From when on certificates are valid, in nanoseconds since 1970.
    pub valid_from: i128,
}

impl Inputs {
    /// Returns the inputs for one of many renderings, which `identity` tells apart from the others: their random numbers
    /// and keys have nothing in common, and are the same whenever the identity is.
    #[must_use]
    pub fn of_rendering(&self, identity: &[&str]) -> Self {
        let digest = |seed: &[u8]| {
            let mut digest = Sha256::new().chain_update(seed);
            for part in identity {
                digest.update((part.len() as u64).to_be_bytes());
                digest.update(part);
            }
            <[u8; 32]>::from(digest.finalize())
        };
        let random = |seed: u64| {
            let bytes = digest(&seed.to_be_bytes());
            bytes.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
        };
        Self {
            now: self.now,
            random_seed: self.random_seed.map(random),
            keys: self.keys.map(|keys| KeySource { seed: digest(&keys.seed), ..keys }),
        }
    }
}
