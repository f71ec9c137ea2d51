//! Every name once: namespaces, kinds, names, label keys and the fields that edges come from.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use kubewright_value::Text;

/// A name as a number. Its order says nothing: it depends on who came first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Symbol(u32);

impl Symbol {
    /// The empty name.
    pub(crate) const EMPTY: Self = Self(0);
    /// No name at all: stands for every namespace, where one is expected.
    pub(crate) const ANY: Self = Self(u32::MAX);
}

/// All names that were ever given.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    texts: Vec<Text>,
    symbols: HashMap<Text, Symbol>,
}

impl Names {
    pub(crate) fn new() -> Self {
        Self { texts: vec![Text::default()], symbols: HashMap::from([(Text::default(), Symbol::EMPTY)]) }
    }

    /// Returns the symbol of `name`, a new one if it was never given.
    pub(crate) fn intern(&mut self, name: &str) -> Symbol {
        if let Some(known) = self.symbols.get(name) {
            return *known;
        }
        // One below ANY; four billion names do not fit into memory.
        let symbol = Symbol(u32::try_from(self.texts.len()).unwrap_or(u32::MAX - 1));
        let text = Text::new(name);
        self.texts.push(text.clone());
        self.symbols.insert(text, symbol);
        symbol
    }

    /// Returns the symbol of `name`, if it was ever given.
    pub(crate) fn find(&self, name: &str) -> Option<Symbol> {
        self.symbols.get(name).copied()
    }

    pub(crate) fn text(&self, symbol: Symbol) -> &str {
        usize::try_from(symbol.0).ok().and_then(|at| self.texts.get(at)).map_or("", Text::as_str)
    }

    /// Returns the shared text of `symbol`.
    pub(crate) fn shared(&self, symbol: Symbol) -> Text {
        usize::try_from(symbol.0).ok().and_then(|at| self.texts.get(at)).cloned().unwrap_or_default()
    }
}

/// A map whose keys are made of symbols. Symbols are given in turn, so nobody can choose those that collide.
pub(crate) type SymbolMap<K, V> = HashMap<K, V, BuildHasherDefault<SymbolHasher>>;

/// Mixes a few small numbers quickly.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SymbolHasher(u64);

impl Hasher for SymbolHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(u64::from(number));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number.cast_unsigned() as u64);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }
}
