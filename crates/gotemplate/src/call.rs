//! What a function may use while it runs, and how it fails.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use kubewright_golib::inputs::Inputs;
use kubewright_golib::regex::{self, Regex, RegexError};
use kubewright_value::{Budget, Exhausted, Map, Text, Value};

use super::context::Context;
use super::item::{Dict, Item, Of};
use super::print::Printer;

/// Why a function failed.
#[derive(Debug)]
pub(super) enum Failure {
    Message(String),
    Exhausted(Exhausted),
}

impl From<Exhausted> for Failure {
    fn from(exhausted: Exhausted) -> Self {
        Self::Exhausted(exhausted)
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self::Message(message)
    }
}

impl From<&str> for Failure {
    fn from(message: &str) -> Self {
        Self::Message(message.to_owned())
    }
}

/// What a function returns.
pub(super) type Outcome = Result<Item, Failure>;

/// Regular expressions by their pattern; what is wrong with those that are none.
///
/// Shared, because a clone of an expression starts without the memory its searches have gathered.
pub(super) type Regexes = HashMap<Text, Result<Arc<Regex>, String>>;

/// How many patterns that are not constant one rendering remembers.
const MAX_REGEXES: usize = 64;

/// What compiling a pattern that is not constant is charged, in steps.
const COMPILING: u64 = 50_000;

/// How large a compiled pattern that is not constant may be.
const MAX_DYNAMIC_REGEX_BYTES: usize = 256 << 10;

/// Everything that a function may read or charge.
pub(super) struct Call<'a> {
    pub budget: &'a mut Budget,
    pub context: &'a Context,
    pub inputs: &'a Inputs,
    pub constants: &'a Regexes,
    pub regexes: Regexes,
    pub random: u64,
    /// How many streams of bytes keys were made of.
    pub streams: u64,
    // INVARIANT: every dictionary that was ever changed, so that cycles can be broken at the end.
    changed: Vec<Rc<Dict>>,
    overlays: Vec<(Arc<Map>, Rc<Dict>)>,
}

/// What a list takes that holds nothing.
const LIST_BYTES: usize = 64;

/// What a dictionary takes with its first entry: a node of its tree has room for eleven.
const DICT_BYTES: usize = 64 + 11 * (size_of::<Text>() + size_of::<Item>());

impl<'a> Call<'a> {
    pub(super) fn new(
        budget: &'a mut Budget,
        context: &'a Context,
        inputs: &'a Inputs,
        constants: &'a Regexes,
    ) -> Self {
        Self {
            budget,
            context,
            inputs,
            constants,
            regexes: Regexes::new(),
            random: inputs.random_seed.unwrap_or_default(),
            streams: 0,
            changed: Vec::new(),
            overlays: Vec::new(),
        }
    }

    /// Charges for a list of `length` items before it is made.
    pub(super) fn charge_list(&mut self, length: usize) -> Result<(), Failure> {
        self.budget.step(length as u64)?;
        self.budget.produce(length.saturating_mul(size_of::<Item>()))?;
        Ok(())
    }

    /// Charges for one list or dictionary, besides what it holds.
    pub(super) fn charge_container(&mut self, item: &Item) -> Result<(), Failure> {
        let bytes = match item {
            Item::Dict(_) => DICT_BYTES,
            Item::List(_) => LIST_BYTES,
            _ => 0,
        };
        Ok(self.budget.produce(bytes)?)
    }

    /// Charges for text before it is made.
    pub(super) fn charge(&mut self, bytes: usize) -> Result<(), Failure> {
        Ok(self.budget.produce(bytes)?)
    }

    /// Prints with Go's rules.
    pub(super) fn print(
        &mut self,
        print: impl FnOnce(&mut Printer<'_>) -> Result<(), Exhausted>,
    ) -> Result<String, Failure> {
        let mut printer = Printer { out: String::new(), budget: self.budget, context: self.context };
        print(&mut printer)?;
        Ok(printer.out)
    }

    /// Returns the item as Sprig's `strval` makes it text.
    pub(super) fn text_of(&mut self, item: &Item) -> Result<Text, Failure> {
        match item {
            Item::Text(text) => Ok(text.clone()),
            other => Ok(Text::from(self.print(|printer| printer.plain(other))?)),
        }
    }

    /// Returns the expression with this pattern, compiled once.
    pub(super) fn regex(&mut self, pattern: &Text) -> Result<Result<Arc<Regex>, String>, Exhausted> {
        if let Some(known) = self.constants.get(pattern).or_else(|| self.regexes.get(pattern)) {
            return Ok(known.clone());
        }
        self.budget.step(COMPILING)?;
        let compiled = compiled(regex::compile_within(pattern, MAX_DYNAMIC_REGEX_BYTES));
        self.budget.step(compiled.as_ref().map_or(COMPILING, |regex| regex.compiling_cost()))?;
        if self.regexes.len() < MAX_REGEXES {
            self.regexes.insert(pattern.clone(), compiled.clone());
        }
        Ok(compiled)
    }

    /// Returns the dictionary that changes to `item` go to.
    ///
    /// An object of the context is copied first; from then on the template sees the copy in its place.
    pub(super) fn changeable(&mut self, item: &Item) -> Result<Rc<Dict>, Failure> {
        let dict = match item {
            Item::Dict(dict) => Rc::clone(dict),
            Item::Object(map) => {
                if let Some(dict) = self.overlay(map) {
                    return Ok(dict);
                }
                self.charge_list(map.len())?;
                let entries: BTreeMap<Text, Item> =
                    map.iter().map(|(key, value)| (key.clone(), Item::json(value))).collect();
                let dict = Rc::new(Dict::new(Of::Any, entries)?);
                self.overlays.push((Arc::clone(map), Rc::clone(&dict)));
                dict
            }
            _ => return Err("assignment to entry in nil map".into()),
        };
        if !self.changed.iter().any(|known| Rc::ptr_eq(known, &dict)) {
            self.budget.step(self.changed.len() as u64)?;
            self.changed.push(Rc::clone(&dict));
        }
        Ok(dict)
    }

    /// Returns whether objects of the context were changed.
    pub(super) fn has_overlays(&self) -> bool {
        !self.overlays.is_empty()
    }

    /// Returns `item` with the changes that the template made to objects of the context.
    pub(super) fn settle(&mut self, item: Item) -> Result<Item, Failure> {
        if self.overlays.is_empty() {
            return Ok(item);
        }
        let changed = match &item {
            Item::Object(map) => self.settle_object(map)?,
            Item::Array(items) => self.settle_array(items)?,
            _ => None,
        };
        Ok(changed.unwrap_or(item))
    }

    /// Returns the object's copy if it, or something in it, was changed.
    fn settle_object(&mut self, map: &Arc<Map>) -> Result<Option<Item>, Failure> {
        self.budget.step(self.overlays.len() as u64 / 16)?;
        if let Some(dict) = self.overlay(map) {
            return Ok(Some(Item::Dict(dict)));
        }
        let mut changed = None;
        for (key, value) in map.iter() {
            if let Some(item) = self.settle_value(value)? {
                let dict = match &changed {
                    Some(dict) => Rc::clone(dict),
                    None => self.changeable(&Item::Object(Arc::clone(map)))?,
                };
                dict.entries.borrow_mut().insert(key.clone(), item);
                changed = Some(dict);
            }
        }
        Ok(changed.map(Item::Dict))
    }

    fn settle_array(&mut self, items: &Arc<Vec<Value>>) -> Result<Option<Item>, Failure> {
        let mut changed: Option<Vec<Item>> = None;
        for (index, value) in items.iter().enumerate() {
            if let Some(item) = self.settle_value(value)? {
                let copy = changed.get_or_insert_with(|| items.iter().map(Item::json).collect());
                if let Some(place) = copy.get_mut(index) {
                    *place = item;
                }
            }
        }
        Ok(changed.map(Item::list).transpose()?)
    }

    fn settle_value(&mut self, value: &Value) -> Result<Option<Item>, Failure> {
        self.budget.step(1)?;
        match value {
            Value::Object(map) => self.settle_object(map),
            Value::Array(items) => self.settle_array(items),
            _ => Ok(None),
        }
    }

    fn overlay(&self, map: &Arc<Map>) -> Option<Rc<Dict>> {
        self.overlays.iter().find(|(known, _)| Arc::ptr_eq(known, map)).map(|(_, dict)| Rc::clone(dict))
    }
}

/// Breaks the cycles that `set` can make, and keeps the drop of long chains from recursing.
impl Drop for Call<'_> {
    fn drop(&mut self) {
        for dict in &self.changed {
            dict.entries.take();
        }
    }
}

/// Returns a compiled pattern, or Go's message about it.
pub(super) fn compiled(compiled: Result<Regex, RegexError>) -> Result<Arc<Regex>, String> {
    compiled.map(Arc::new).map_err(|error| format!("error parsing regexp: {error}"))
}
