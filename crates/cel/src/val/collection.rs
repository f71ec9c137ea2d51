//! Lists and maps, borrowed from JSON or made by an expression.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use kubewright_value::{Map, Text, Value};

use super::Val;

/// The largest map made by an expression that is searched without an index.
const MAX_UNINDEXED_ENTRIES: usize = 12;

/// A list.
#[derive(Clone)]
pub enum ListVal<'a> {
    /// A JSON list, borrowed from the bindings.
    Borrowed(&'a Arc<Vec<Value>>),
    /// A shared JSON list.
    Shared(Arc<Vec<Value>>),
    /// A collection made by the expression.
    Made(Arc<Vec<Val<'a>>>),
}

impl<'a> ListVal<'a> {
    /// Returns the number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Borrowed(items) => items.len(),
            Self::Shared(items) => items.len(),
            Self::Made(items) => items.len(),
        }
    }

    /// Returns whether the list is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the item at `index`.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Val<'a>> {
        match self {
            Self::Borrowed(items) => items.get(index).map(Val::borrowed),
            Self::Shared(items) => items.get(index).cloned().map(Val::from),
            Self::Made(items) => items.get(index).cloned(),
        }
    }

    /// Returns the items in order.
    pub fn iter(&self) -> impl Iterator<Item = Val<'a>> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}

/// A map.
#[derive(Clone)]
pub enum MapVal<'a> {
    /// A JSON object, borrowed from the bindings.
    Borrowed(&'a Arc<Map>),
    /// A shared JSON object.
    Shared(Arc<Map>),
    /// A collection made by the expression.
    Made(Arc<MapEntries<'a>>),
}

impl<'a> MapVal<'a> {
    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Borrowed(map) => map.len(),
            Self::Shared(map) => map.len(),
            Self::Made(entries) => entries.len(),
        }
    }

    /// Returns whether the map is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the name of the structure that it is a value of, such as `Object.spec`.
    #[must_use]
    pub fn structure(&self) -> Option<&Text> {
        match self {
            Self::Borrowed(_) | Self::Shared(_) => None,
            Self::Made(entries) => entries.structure.as_ref(),
        }
    }

    /// Returns the value of a string key.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<Val<'a>> {
        match self {
            Self::Borrowed(map) => map.get(name).map(Val::borrowed),
            Self::Shared(map) => map.get(name).cloned().map(Val::from),
            Self::Made(entries) => entries.field(name),
        }
    }

    /// Returns the value of `key`; a number matches equal numbers of other types.
    #[must_use]
    pub fn get(&self, key: &Val<'_>) -> Option<Val<'a>> {
        match (self, key) {
            (_, Val::String(name)) => self.field(name),
            (Self::Made(entries), _) => entries.get(key),
            _ => None,
        }
    }

    /// Returns the entry at `position`.
    #[must_use]
    pub fn entry(&self, position: usize) -> Option<(Val<'a>, Val<'a>)> {
        match self {
            Self::Borrowed(map) => map
                .entry(position)
                .map(|(key, value)| (Val::String(Cow::Borrowed(key)), Val::borrowed(value))),
            Self::Shared(map) => map
                .entry(position)
                .map(|(key, value)| (Val::String(Cow::Owned(key.clone())), Val::from(value.clone()))),
            Self::Made(entries) => entries.entries.get(position).cloned(),
        }
    }

    /// Returns the entries in order.
    pub fn iter(&self) -> impl Iterator<Item = (Val<'a>, Val<'a>)> + '_ {
        (0..self.len()).filter_map(|position| self.entry(position))
    }
}

/// The entries of a map made by an expression, in order.
#[derive(Clone, Default)]
pub struct MapEntries<'a> {
    entries: Vec<(Val<'a>, Val<'a>)>,
    // INVARIANT: empty, or holds the positions of every entry by the hash of its key.
    index: HashMap<u64, Vec<u32>>,
    /// The name of the structure that it is a value of.
    structure: Option<Text>,
}

impl<'a> MapEntries<'a> {
    /// Returns no entries.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the entries as a value of the structure `name`.
    #[must_use]
    pub fn named(self, name: Option<Text>) -> Self {
        Self { structure: name, ..self }
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether the map is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds an entry; returns false and changes nothing if the key exists or has a type that no key can have.
    pub fn insert(&mut self, key: Val<'a>, value: Val<'a>) -> bool {
        let Some(hash) = hash_key(&key) else { return false };
        if self.position(&key, hash).is_some() {
            return false;
        }
        let position = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        self.entries.push((key, value));
        if !self.index.is_empty() {
            self.index.entry(hash).or_default().push(position);
        } else if self.entries.len() > MAX_UNINDEXED_ENTRIES {
            for (position, (key, _)) in (0..).zip(&self.entries) {
                let hash = self::hash_key(key).unwrap_or_default();
                self.index.entry(hash).or_default().push(position);
            }
        }
        true
    }

    fn field(&self, name: &str) -> Option<Val<'a>> {
        if self.index.is_empty() {
            let found = self.entries.iter().find(|(key, _)| key.as_str() == Some(name));
            return found.map(|(_, value)| value.clone());
        }
        let candidates = self.index.get(&hash_text_key(name))?;
        let mut entries = candidates.iter().filter_map(|at| self.entries.get(*at as usize));
        entries.find(|(key, _)| key.as_str() == Some(name)).map(|(_, value)| value.clone())
    }

    fn get(&self, key: &Val<'_>) -> Option<Val<'a>> {
        let position = self.position(key, hash_key(key)?)?;
        self.entries.get(position).map(|(_, value)| value.clone())
    }

    fn position(&self, key: &Val<'_>, hash: u64) -> Option<usize> {
        if self.index.is_empty() {
            return self.entries.iter().position(|(known, _)| known.is_same_scalar(key));
        }
        let is_it = |at: usize| self.entries.get(at).is_some_and(|(known, _)| known.is_same_scalar(key));
        self.index.get(&hash)?.iter().map(|at| *at as usize).find(|at| is_it(*at))
    }
}

/// Returns the hash of a key; nothing for a value that cannot be a key. Equal numbers of different types have the
/// same hash.
fn hash_key(key: &Val<'_>) -> Option<u64> {
    let mut state = DefaultHasher::new();
    match key {
        Val::Bool(value) => value.hash(&mut state),
        Val::Int(value) => value.hash(&mut state),
        Val::UInt(value) => value.cast_signed().hash(&mut state),
        Val::Double(value) => {
            let integer = super::convert::exact_integer(*value)?;
            #[expect(clippy::cast_possible_truncation, reason = "wraps as the unsigned case does")]
            (integer as i64).hash(&mut state);
        }
        Val::String(text) => return Some(hash_text_key(text)),
        _ => return None,
    }
    Some(state.finish())
}

fn hash_text_key(text: &str) -> u64 {
    let mut state = DefaultHasher::new();
    text.hash(&mut state);
    state.finish()
}

impl<'a> FromIterator<(Text, Val<'a>)> for MapEntries<'a> {
    fn from_iter<I: IntoIterator<Item = (Text, Val<'a>)>>(entries: I) -> Self {
        let mut made = Self::new();
        for (key, value) in entries {
            made.insert(Val::text(key), value);
        }
        made
    }
}
