//! Every name once: namespaces, kinds, names, label keys and the fields that edges come from.

mod hash;

use std::collections::HashMap;
use std::fmt::Write;
use std::hash::{BuildHasher, BuildHasherDefault, RandomState};

use kubewright_value::Text;

pub(crate) use hash::SymbolHasher;

/// A name as a number. Its order says nothing: it depends on who came first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Symbol(pub(crate) u32);

impl Symbol {
    /// The empty name.
    pub(crate) const EMPTY: Self = Self(0);
    /// No name at all: stands for every namespace, where one is expected.
    pub(crate) const ANY: Self = Self(u32::MAX);
}

/// A map whose keys are made of symbols. Symbols are given in turn, so nobody can choose those that collide.
pub(crate) type SymbolMap<K, V> = HashMap<K, V, BuildHasherDefault<SymbolHasher>>;

/// All names that were ever given.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    texts: Vec<Text>,
    // A power of two, at least half empty. The upper half of an entry is that of the hash, the lower one the symbol;
    // zero where there is none.
    table: Vec<u64>,
    // Names come from outside: who does not know the seed cannot choose those that collide.
    seed: [u64; 2],
    fields: SymbolMap<[u64; 6], Symbol>,
}

/// A field, written from words and the places in lists that follow them: `spec.volumes[1].configMap`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Field<'a> {
    /// As it stands.
    Text(&'a str),
    /// Words, each with a place or [`NO_PLACE`]; empty words are left out.
    Words([(&'static str, usize); 4]),
}

/// Stands for no place in a list.
pub(crate) const NO_PLACE: usize = u32::MAX as usize;

impl<'a> From<&'a str> for Field<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a String> for Field<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text)
    }
}

impl From<[(&'static str, usize); 2]> for Field<'_> {
    fn from([first, second]: [(&'static str, usize); 2]) -> Self {
        Self::Words([first, second, ("", NO_PLACE), ("", NO_PLACE)])
    }
}

impl From<[(&'static str, usize); 3]> for Field<'_> {
    fn from([first, second, third]: [(&'static str, usize); 3]) -> Self {
        Self::Words([first, second, third, ("", NO_PLACE)])
    }
}

impl From<[(&'static str, usize); 4]> for Field<'_> {
    fn from(words: [(&'static str, usize); 4]) -> Self {
        Self::Words(words)
    }
}

/// How many names there is room for at first.
const ROOM: usize = 64;

impl Names {
    pub(crate) fn new() -> Self {
        let random = RandomState::new();
        let seed = [random.hash_one(0_u8), random.hash_one(1_u8)];
        Self { texts: vec![Text::default()], table: vec![0; 2 * ROOM], seed, fields: SymbolMap::default() }
    }

    /// Returns the symbol of `name`, a new one if it was never given.
    pub(crate) fn intern(&mut self, name: &str) -> Symbol {
        if name.is_empty() {
            return Symbol::EMPTY;
        }
        let hash = hash::of(name.as_bytes(), self.seed);
        match self.probe(name, hash) {
            Ok(known) => known,
            Err(place) => self.add(Text::new(name), hash, place),
        }
    }

    /// Returns the symbol of `name`, and shares its text if it was never given.
    pub(crate) fn intern_text(&mut self, name: &Text) -> Symbol {
        if name.is_empty() {
            return Symbol::EMPTY;
        }
        let hash = hash::of(name.as_bytes(), self.seed);
        match self.probe(name, hash) {
            Ok(known) => known,
            Err(place) => self.add(name.clone(), hash, place),
        }
    }

    /// Returns the symbol of a field, which is written out only when it is new.
    pub(crate) fn field(&mut self, field: Field<'_>) -> Symbol {
        let words = match field {
            Field::Text(text) => return self.intern(text),
            Field::Words(words) => words,
        };
        // A word of the program is the same one if it stands in the same place of memory.
        let word = |at: usize| {
            let (word, _) = words.get(at).copied().unwrap_or_default();
            (word.as_ptr().addr() as u64) ^ ((word.len() as u64) << 56)
        };
        let place = |at: usize| words.get(at).map_or(0, |(_, place)| *place as u64);
        let key =
            [word(0), word(1), word(2), word(3), place(0) | (place(1) << 32), place(2) | (place(3) << 32)];
        if let Some(known) = self.fields.get(&key) {
            return *known;
        }
        let symbol = self.intern(&written(&words));
        self.fields.insert(key, symbol);
        symbol
    }

    /// Returns the symbol of `name`, if it was ever given.
    pub(crate) fn find(&self, name: &str) -> Option<Symbol> {
        if name.is_empty() {
            return Some(Symbol::EMPTY);
        }
        self.probe(name, hash::of(name.as_bytes(), self.seed)).ok()
    }

    pub(crate) fn text(&self, symbol: Symbol) -> &str {
        self.texts.get(symbol.0 as usize).map_or("", Text::as_str)
    }

    /// Returns the shared text of `symbol`.
    pub(crate) fn shared(&self, symbol: Symbol) -> Text {
        self.texts.get(symbol.0 as usize).cloned().unwrap_or_default()
    }

    /// Returns the symbol of `name`, or the free place where it belongs.
    fn probe(&self, name: &str, hash: u64) -> Result<Symbol, usize> {
        let mask = self.table.len() - 1;
        let mut place = hash as usize & mask;
        loop {
            let entry = self.table.get(place).copied().unwrap_or(0);
            if entry == 0 {
                return Err(place);
            }
            let symbol = Symbol(entry as u32);
            if entry >> 32 == hash >> 32 && self.text(symbol) == name {
                return Ok(symbol);
            }
            place = (place + 1) & mask;
        }
    }

    fn add(&mut self, name: Text, hash: u64, place: usize) -> Symbol {
        // One below ANY; four billion names do not fit into memory.
        let symbol = Symbol(u32::try_from(self.texts.len()).unwrap_or(u32::MAX - 1));
        self.texts.push(name);
        put(&mut self.table, place, entry(hash, symbol));
        if self.texts.len() * 2 > self.table.len() {
            self.grow();
        }
        symbol
    }

    fn grow(&mut self) {
        let size = self.table.len() * 2;
        let mask = size - 1;
        let mut table = vec![0; size];
        for (at, name) in self.texts.iter().enumerate().skip(1) {
            let hash = hash::of(name.as_bytes(), self.seed);
            let mut place = hash as usize & mask;
            while table.get(place).is_some_and(|entry| *entry != 0) {
                place = (place + 1) & mask;
            }
            put(&mut table, place, entry(hash, Symbol(u32::try_from(at).unwrap_or(u32::MAX - 1))));
        }
        self.table = table;
    }
}

fn entry(hash: u64, symbol: Symbol) -> u64 {
    (hash >> 32 << 32) | u64::from(symbol.0)
}

fn put(table: &mut [u64], place: usize, entry: u64) {
    table.get_mut(place).into_iter().for_each(|free| *free = entry);
}

fn written(words: &[(&'static str, usize)]) -> String {
    let mut text = String::new();
    for (word, place) in words.iter().filter(|(word, _)| !word.is_empty()) {
        if !text.is_empty() {
            text.push('.');
        }
        text.push_str(word);
        if *place != NO_PLACE {
            // Writing into a text cannot fail.
            let _ = write!(text, "[{place}]");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_symbol_while_others_come() {
        let mut names = Names::new();
        let name = |at: usize| format!("name-{at}-{}", "x".repeat(at % 40));
        let symbols: Vec<Symbol> = (0..5_000).map(|at| names.intern(&name(at))).collect();
        for (at, symbol) in symbols.iter().enumerate() {
            assert_eq!(names.find(&name(at)), Some(*symbol));
            assert_eq!(names.text(*symbol), name(at));
        }
        assert_eq!(names.find("name"), None);
        assert_eq!((names.intern(""), names.find("")), (Symbol::EMPTY, Some(Symbol::EMPTY)));
    }

    #[test]
    fn a_field_is_written_from_its_words() {
        let mut names = Names::new();
        let field = names.field(Field::from([("spec", NO_PLACE), ("volumes", 1), ("configMap", NO_PLACE)]));
        assert_eq!(names.text(field), "spec.volumes[1].configMap");
        assert_eq!(names.intern("spec.volumes[1].configMap"), field);
        let other = names.field(Field::from([("spec", NO_PLACE), ("volumes", 2), ("configMap", NO_PLACE)]));
        assert_ne!(other, field);
    }
}
