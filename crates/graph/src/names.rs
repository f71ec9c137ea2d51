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
    /// Not a name: every namespace, where a namespace is expected.
    pub(crate) const ANY: Self = Self(u32::MAX);
}

/// A map whose keys are made of symbols. Symbols are numbered in turn, so input cannot choose colliding ones.
pub(crate) type SymbolMap<K, V> = HashMap<K, V, BuildHasherDefault<SymbolHasher>>;

/// All names that were ever given.
#[derive(Debug, Clone)]
pub(crate) struct NameTable {
    // The symbol of the first text.
    first: u32,
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
pub(crate) enum FieldPath<'a> {
    /// The text itself.
    Text(&'a str),
    /// Words, each with a place or [`NO_PLACE`]; empty words are left out.
    Words([(&'static str, usize); 4]),
}

/// The index of a field path without a list index.
pub(crate) const NO_PLACE: usize = u32::MAX as usize;

impl<'a> From<&'a str> for FieldPath<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a String> for FieldPath<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text)
    }
}

impl From<[(&'static str, usize); 2]> for FieldPath<'_> {
    fn from([first, second]: [(&'static str, usize); 2]) -> Self {
        Self::Words([first, second, ("", NO_PLACE), ("", NO_PLACE)])
    }
}

impl From<[(&'static str, usize); 3]> for FieldPath<'_> {
    fn from([first, second, third]: [(&'static str, usize); 3]) -> Self {
        Self::Words([first, second, third, ("", NO_PLACE)])
    }
}

impl From<[(&'static str, usize); 4]> for FieldPath<'_> {
    fn from(words: [(&'static str, usize); 4]) -> Self {
        Self::Words(words)
    }
}

/// The initial capacity of the table, in names.
const INITIAL_NAMES: usize = 64;

impl NameTable {
    pub(crate) fn new() -> Self {
        let random = RandomState::new();
        let seed = [random.hash_one(0_u8), random.hash_one(1_u8)];
        let table = vec![0; 2 * INITIAL_NAMES];
        Self { first: 0, texts: vec![Text::default()], table, seed, fields: SymbolMap::default() }
    }

    /// Returns a table for names that are not among these; their symbols come after.
    pub(crate) fn beside(&self) -> Self {
        let (first, table) = (self.end(), vec![0; 2 * INITIAL_NAMES]);
        Self { first, texts: Vec::new(), table, seed: self.seed, fields: SymbolMap::default() }
    }

    /// Returns the number of the next symbol.
    pub(crate) fn end(&self) -> u32 {
        // One below ANY; four billion names do not fit into memory.
        u32::try_from(self.texts.len())
            .ok()
            .and_then(|count| self.first.checked_add(count))
            .unwrap_or(u32::MAX - 1)
    }

    /// Returns the symbol of `name`, a new one if it was never given.
    pub(crate) fn intern(&mut self, name: &str) -> Symbol {
        if name.is_empty() {
            return Symbol::EMPTY;
        }
        let hash = hash::hash_bytes(name.as_bytes(), self.seed);
        self.probe(name, hash).unwrap_or_else(|place| self.add(Text::new(name), hash, place))
    }

    /// Returns the symbol of `name`, and shares its text if it was never given.
    pub(crate) fn intern_text(&mut self, name: &Text) -> Symbol {
        if name.is_empty() {
            return Symbol::EMPTY;
        }
        let hash = hash::hash_bytes(name.as_bytes(), self.seed);
        self.probe(name, hash).unwrap_or_else(|place| self.add(name.clone(), hash, place))
    }

    /// Returns the symbol of `name` in `base`, otherwise here, a new one if it was never given.
    pub(crate) fn intern_beside(&mut self, name: &str, base: &Self) -> Symbol {
        if name.is_empty() {
            return Symbol::EMPTY;
        }
        let hash = hash::hash_bytes(name.as_bytes(), self.seed);
        if let Ok(known) = base.probe(name, hash) {
            return known;
        }
        self.probe(name, hash).unwrap_or_else(|place| self.add(Text::new(name), hash, place))
    }

    /// Returns the symbol of a field in `base`, otherwise here. It is written out only when it is new.
    pub(crate) fn field_beside(&mut self, field: FieldPath<'_>, base: &Self) -> Symbol {
        let words = match field {
            FieldPath::Text(text) => return self.intern_beside(text, base),
            FieldPath::Words(words) => words,
        };
        let key = field_path_key(&words);
        if let Some(known) = base.fields.get(&key).or_else(|| self.fields.get(&key)) {
            return *known;
        }
        let symbol = self.intern_beside(&field_path_text(&words), base);
        self.fields.insert(key, symbol);
        symbol
    }

    /// Takes over the names that were given beside these. Returns their symbols here, in turn.
    pub(crate) fn adopt(&mut self, others: &Self) -> Vec<Symbol> {
        let symbols: Vec<Symbol> = others.texts.iter().map(|text| self.intern_text(text)).collect();
        for (key, symbol) in &others.fields {
            let own = symbol.0.checked_sub(others.first).and_then(|at| symbols.get(at as usize));
            self.fields.insert(*key, own.copied().unwrap_or(*symbol));
        }
        symbols
    }

    /// Returns the symbol of `name`, if it was ever given.
    pub(crate) fn find(&self, name: &str) -> Option<Symbol> {
        if name.is_empty() {
            return Some(Symbol::EMPTY);
        }
        self.probe(name, hash::hash_bytes(name.as_bytes(), self.seed)).ok()
    }

    pub(crate) fn text(&self, symbol: Symbol) -> &str {
        self.place(symbol).and_then(|at| self.texts.get(at)).map_or("", Text::as_str)
    }

    /// Returns the shared text of `symbol`.
    pub(crate) fn shared(&self, symbol: Symbol) -> Text {
        self.place(symbol).and_then(|at| self.texts.get(at)).cloned().unwrap_or_default()
    }

    fn place(&self, symbol: Symbol) -> Option<usize> {
        symbol.0.checked_sub(self.first).map(|at| at as usize)
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
        let symbol = Symbol(self.end());
        self.texts.push(name);
        put_table_entry(&mut self.table, place, table_entry(hash, symbol));
        if self.texts.len() * 2 > self.table.len() {
            self.resize(self.table.len() * 2);
        }
        symbol
    }

    /// Makes room for `more` names.
    pub(crate) fn reserve(&mut self, more: usize) {
        let wanted = (self.texts.len() + more).saturating_mul(2).next_power_of_two();
        if wanted > self.table.len() {
            self.texts.reserve(more);
            self.resize(wanted);
        }
    }

    /// Returns how many names there are.
    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }

    /// Gives back memory for more names than there are.
    pub(crate) fn shrink(&mut self) {
        self.texts.shrink_to_fit();
        let wanted = (self.texts.len() * 2).next_power_of_two().max(2 * INITIAL_NAMES);
        if wanted < self.table.len() {
            self.resize(wanted);
        }
    }

    fn resize(&mut self, size: usize) {
        let mask = size - 1;
        let mut table = vec![0; size];
        for (name, symbol) in self.texts.iter().zip(self.first..).filter(|(name, _)| !name.is_empty()) {
            let hash = hash::hash_bytes(name.as_bytes(), self.seed);
            let mut place = hash as usize & mask;
            while table.get(place).is_some_and(|entry| *entry != 0) {
                place = (place + 1) & mask;
            }
            put_table_entry(&mut table, place, table_entry(hash, Symbol(symbol)));
        }
        self.table = table;
    }
}

/// Static words are compared by address.
fn field_path_key(words: &[(&'static str, usize); 4]) -> [u64; 6] {
    let [a, b, c, d] = words.map(|(word, _)| (word.as_ptr().addr() as u64) ^ ((word.len() as u64) << 56));
    let [p, q, r, s] = words.map(|(_, place)| place as u64);
    [a, b, c, d, p | (q << 32), r | (s << 32)]
}

fn table_entry(hash: u64, symbol: Symbol) -> u64 {
    (hash >> 32 << 32) | u64::from(symbol.0)
}

fn put_table_entry(table: &mut [u64], place: usize, entry: u64) {
    table.get_mut(place).into_iter().for_each(|free| *free = entry);
}

fn field_path_text(words: &[(&'static str, usize)]) -> String {
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
        let mut names = NameTable::new();
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
        let (base, mut names) = (NameTable::new(), NameTable::new());
        let mut field = |at| {
            let words = [("spec", NO_PLACE), ("volumes", at), ("configMap", NO_PLACE)];
            let symbol = names.field_beside(FieldPath::from(words), &base);
            (symbol, names.text(symbol).to_owned())
        };
        assert_eq!(field(1).1, "spec.volumes[1].configMap");
        assert_eq!(field(1), field(1));
        assert_eq!(field(2).1, "spec.volumes[2].configMap");
    }

    #[test]
    fn names_that_were_given_beside_others_are_taken_over() {
        let mut base = NameTable::new();
        let known = base.intern("known");
        let mut beside = base.beside();
        assert_eq!(beside.intern_beside("known", &base), known);
        let new = beside.intern_beside("new", &base);
        assert_eq!((new, beside.text(new)), (Symbol(base.end()), "new"));
        let other = base.intern("other");
        let taken = base.adopt(&beside);
        assert_eq!(taken, [base.intern("new")]);
        assert_ne!(taken, [other]);
    }
}
