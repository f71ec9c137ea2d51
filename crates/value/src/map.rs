//! An object's entries, in the order in which they were written.
//!
//! Kubernetes objects have few keys at each level, so a scan beats a hash table.
//! Above [`MAX_SCANNED_ENTRIES`] entries a hash index is kept, so that a hostile object with a
//! hundred thousand keys is not quadratic.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering as MemoryOrdering};

use crate::{Text, Value};

/// The number of entries up to which a map is searched by a scan.
const MAX_SCANNED_ENTRIES: usize = 24;

/// Returns a bit of `key` by its length and its ends, in which the fields of one object differ.
#[inline]
fn key_bit(key: &str) -> u64 {
    let end = |byte: Option<&u8>| usize::from(byte.copied().unwrap_or_default());
    let bytes = key.as_bytes();
    let mixed = bytes.len().wrapping_mul(11) ^ end(bytes.first()) ^ end(bytes.last()).wrapping_mul(5);
    1 << (mixed & 63)
}

/// Ordered entries with unique keys.
#[derive(Clone, Default)]
pub struct Map {
    entries: Vec<(Text, Value)>,
    // INVARIANT: has the bits of all keys. Those of removed ones may be left.
    key_bits: u64,
    // INVARIANT: present exactly when there are more than `INDEXED` entries; holds every key's position.
    #[expect(clippy::box_collection, reason = "most maps have no index and should not carry its size")]
    index: Option<Box<HashMap<Text, usize>>>,
}

/// The position of a key in the last object, where it is looked up first in the next one: objects of one kind are often
/// written alike.
#[derive(Debug, Default)]
pub struct PositionHint(AtomicU32);

impl PositionHint {
    /// Returns the first position.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Returns the value of `map` under `key`.
    #[must_use]
    #[inline]
    pub fn get<'m>(&self, map: &'m Map, key: &str) -> Option<&'m Value> {
        map.entry(self.position(map, key)?).map(|(_, value)| value)
    }

    /// Returns the position of `key` in `map`.
    #[must_use]
    #[inline]
    pub fn position(&self, map: &Map, key: &str) -> Option<usize> {
        let guess = self.0.load(MemoryOrdering::Relaxed);
        let position = map.position_near(key, guess as usize)?;
        // Stored only when it changes, since a store invalidates the cache lines of other threads.
        if position != guess as usize {
            self.0.store(u32::try_from(position).unwrap_or(0), MemoryOrdering::Relaxed);
        }
        Some(position)
    }
}

impl Clone for PositionHint {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Map {
    /// Returns an empty map.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a copy without spare room, in its values too.
    pub(crate) fn compacted(&self) -> Self {
        let entries = self.entries.iter().map(|(key, value)| (key.clone(), value.compacted())).collect();
        Self { entries, index: self.index.clone(), key_bits: self.key_bits }
    }

    /// Returns an empty map with room for `capacity` entries.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self { entries: Vec::with_capacity(capacity), ..Self::default() }
    }

    /// Returns a map of `entries` without room for more. Of several with the same key the last one counts.
    #[must_use]
    pub fn of_entries(mut entries: Vec<(Text, Value)>) -> Self {
        let is_repeated =
            |(at, (key, _)): (usize, &(Text, Value))| entries.iter().take(at).any(|(other, _)| other == key);
        if entries.len() > MAX_SCANNED_ENTRIES || entries.iter().enumerate().any(is_repeated) {
            return entries.into_iter().collect();
        }
        entries.shrink_to_fit();
        let key_bits = entries.iter().fold(0, |bits, (key, _)| bits | key_bit(key));
        Self { entries, key_bits, index: None }
    }

    /// Returns how many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether it has no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the string at the end of `keys`, each a key of the one before; empty when there is none.
    #[must_use]
    pub fn str_at(&self, keys: &[&str]) -> &str {
        let Some((first, rest)) = keys.split_first() else { return "" };
        self.get(first).map_or("", |value| value.str_at(rest))
    }

    /// Returns the value under `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.position(key).and_then(|i| self.entries.get(i)).map(|(_, value)| value)
    }

    /// Returns the index of `key`, which is looked for at `guess` first.
    #[inline]
    fn position_near(&self, key: &str, guess: usize) -> Option<usize> {
        match self.entries.get(guess) {
            Some((known, _)) if known == key => Some(guess),
            _ => self.position(key),
        }
    }

    /// Returns the value under `key` for editing.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.position(key).and_then(|i| self.entries.get_mut(i)).map(|(_, value)| value)
    }

    /// Returns the value under `key`, which is null where it was not there; a new key goes to the end.
    ///
    /// There always is one.
    pub fn get_or_insert(&mut self, key: &Text) -> Option<&mut Value> {
        let position = match self.position(key) {
            Some(position) => position,
            None => {
                self.push_new(key.clone(), Value::Null);
                self.entries.len() - 1
            }
        };
        self.entries.get_mut(position).map(|(_, value)| value)
    }

    /// Returns whether `key` is there.
    #[must_use]
    pub fn contains_key(&self, key: &str) -> bool {
        self.position(key).is_some()
    }

    /// Returns the index of `key`.
    #[must_use]
    pub fn position(&self, key: &str) -> Option<usize> {
        // Rules ask for many fields that an object does not have.
        if self.key_bits & key_bit(key) == 0 {
            return None;
        }
        match &self.index {
            Some(index) => index.get(key).copied(),
            None => self.entries.iter().position(|(k, _)| k == key),
        }
    }

    /// Returns the entry at `position`.
    #[must_use]
    pub fn entry(&self, position: usize) -> Option<(&Text, &Value)> {
        self.entries.get(position).map(|(key, value)| (key, value))
    }

    /// Returns the value of the entry at `position`, for editing.
    pub fn entry_mut(&mut self, position: usize) -> Option<&mut Value> {
        self.entries.get_mut(position).map(|(_, value)| value)
    }

    /// Sets `key`; a new key goes to the end, a known one keeps its place. Returns the value it had.
    pub fn insert(&mut self, key: Text, value: Value) -> Option<Value> {
        if let Some(known) = self.get_mut(&key) {
            return Some(std::mem::replace(known, value));
        }
        self.push_new(key, value);
        None
    }

    /// Adds `key` with null at the end and returns the value to be filled in; if the key is known, its place.
    ///
    /// For readers: a value written where it stays is not moved, which is what costs most in them.
    #[inline]
    pub(crate) fn slot(&mut self, key: &str) -> Result<&mut Value, usize> {
        if let Some(place) = self.position(key) {
            return Err(place);
        }
        let place = self.entries.len();
        if self.index.is_some() || place >= MAX_SCANNED_ENTRIES {
            self.push_new(Text::new(key), Value::Null);
        } else {
            self.key_bits |= key_bit(key);
            self.entries.push((Text::new(key), Value::Null));
        }
        self.entries.get_mut(place).map(|(_, value)| value).ok_or(place)
    }

    /// Sets `key` and puts a new one at `position` instead of at the end.
    pub fn insert_at(&mut self, position: usize, key: Text, value: Value) -> Option<Value> {
        if let Some(known) = self.get_mut(&key) {
            return Some(std::mem::replace(known, value));
        }
        self.key_bits |= key_bit(&key);
        self.entries.insert(position.min(self.entries.len()), (key, value));
        self.reindex();
        None
    }

    /// Removes `key`; the others keep their order. Returns the value it had.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let position = self.position(key)?;
        let (key, value) = self.entries.remove(position);
        if self.entries.len() <= MAX_SCANNED_ENTRIES {
            self.index = None;
        }
        if let Some(index) = &mut self.index {
            index.remove(&key);
            // Only the entries after it have moved.
            for (place, (key, _)) in self.entries.iter().enumerate().skip(position) {
                if let Some(known) = index.get_mut(key) {
                    *known = place;
                }
            }
        }
        Some(value)
    }

    /// Returns the entries in order.
    #[must_use]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&Text, &Value)> + ExactSizeIterator {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    /// Returns the entries in order, the values for editing.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (&Text, &mut Value)> + ExactSizeIterator {
        self.entries.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// Returns the keys in order.
    #[must_use]
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &Text> + ExactSizeIterator {
        self.entries.iter().map(|(key, _)| key)
    }

    /// Returns the values in order.
    #[must_use]
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator {
        self.entries.iter().map(|(_, value)| value)
    }

    /// Returns the entries sorted by key, as Go's maps are printed.
    #[must_use]
    pub fn sorted(&self) -> Vec<(&Text, &Value)> {
        let mut entries: Vec<_> = self.iter().collect();
        entries.sort_unstable_by(|a, b| a.0.cmp(b.0));
        entries
    }

    fn push_new(&mut self, key: Text, value: Value) {
        let position = self.entries.len();
        self.key_bits |= key_bit(&key);
        if let Some(index) = &mut self.index {
            index.insert(key.clone(), position);
        }
        self.entries.push((key, value));
        if self.index.is_none() && self.entries.len() > MAX_SCANNED_ENTRIES {
            self.reindex();
        }
    }

    fn reindex(&mut self) {
        self.index = (self.entries.len() > MAX_SCANNED_ENTRIES).then(|| {
            Box::new(self.entries.iter().enumerate().map(|(i, (key, _))| (key.clone(), i)).collect())
        });
    }
}

impl PartialEq for Map {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self.entries.iter().zip(&other.entries).all(|((key, value), (other_key, other_value))| {
                // Equal maps mostly have equal order; look the key up only where they differ.
                if key == other_key { value == other_value } else { other.get(key) == Some(value) }
            })
    }
}

impl Eq for Map {}

impl PartialOrd for Map {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Map {
    fn cmp(&self, other: &Self) -> Ordering {
        self.sorted().cmp(&other.sorted())
    }
}

impl FromIterator<(Text, Value)> for Map {
    fn from_iter<I: IntoIterator<Item = (Text, Value)>>(entries: I) -> Self {
        let mut map = Self::new();
        for (key, value) in entries {
            map.insert(key, value);
        }
        map
    }
}

impl<const N: usize> From<[(&str, Value); N]> for Map {
    fn from(entries: [(&str, Value); N]) -> Self {
        entries.into_iter().map(|(key, value)| (Text::new(key), value)).collect()
    }
}

#[cfg(test)]
mod tests;
