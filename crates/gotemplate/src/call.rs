//! The context of a function call, and its errors.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use kubewright_golib::inputs::Inputs;
use kubewright_golib::regex::{self, Regex, RegexError};
use kubewright_value::{Budget, Exhausted, Map, Text, Value};

use super::context::TemplateContext;
use super::item::{ElementType, ItemDict, TemplateItem};
use super::print::Printer;

/// The reason why a function failed.
#[derive(Debug)]
pub(super) enum CallFailure {
    Message(String),
    Exhausted(Exhausted),
}

impl From<Exhausted> for CallFailure {
    fn from(exhausted: Exhausted) -> Self {
        Self::Exhausted(exhausted)
    }
}

impl From<String> for CallFailure {
    fn from(message: String) -> Self {
        Self::Message(message)
    }
}

impl From<&str> for CallFailure {
    fn from(message: &str) -> Self {
        Self::Message(message.to_owned())
    }
}

/// The result of a function.
pub(super) type CallResult = Result<TemplateItem, CallFailure>;

/// Regular expressions by their pattern; what is wrong with those that are none.
///
/// Shared, because a clone of an expression starts without the memory its searches have gathered.
pub(super) type RegexCache = HashMap<Text, Result<Arc<Regex>, String>>;

/// The number of patterns that are not constant that one rendering caches.
const MAX_REGEXES: usize = 64;

/// The steps charged for compiling a pattern that is not constant.
const COMPILE_STEPS: u64 = 50_000;

/// The maximum size of a compiled pattern that is not constant.
const MAX_DYNAMIC_REGEX_BYTES: usize = 256 << 10;

/// Everything that a function may read or charge.
pub(super) struct FunctionCall<'a> {
    pub budget: &'a mut Budget,
    pub context: &'a TemplateContext,
    pub inputs: &'a Inputs,
    pub constants: &'a RegexCache,
    pub regexes: RegexCache,
    pub random: u64,
    /// The number of byte streams that keys were made of.
    pub streams: u64,
    // INVARIANT: every dictionary that was ever changed, so that cycles can be broken at the end.
    changed: Vec<Rc<ItemDict>>,
    overlays: Vec<(Arc<Map>, Rc<ItemDict>)>,
}

/// The size of an empty list.
const LIST_BYTES: usize = 64;

/// The size of a dictionary with one entry: a node of its tree has room for eleven.
const DICT_BYTES: usize = 64 + 11 * (size_of::<Text>() + size_of::<TemplateItem>());

impl<'a> FunctionCall<'a> {
    pub(super) fn new(
        budget: &'a mut Budget,
        context: &'a TemplateContext,
        inputs: &'a Inputs,
        constants: &'a RegexCache,
    ) -> Self {
        Self {
            budget,
            context,
            inputs,
            constants,
            regexes: RegexCache::new(),
            random: inputs.random_seed.unwrap_or_default(),
            streams: 0,
            changed: Vec::new(),
            overlays: Vec::new(),
        }
    }

    /// Charges for a list of `length` items before it is made.
    pub(super) fn charge_list(&mut self, length: usize) -> Result<(), CallFailure> {
        self.budget.step(length as u64)?;
        self.budget.produce(length.saturating_mul(size_of::<TemplateItem>()))?;
        Ok(())
    }

    /// Charges for one list or dictionary, besides what it holds.
    pub(super) fn charge_container(&mut self, item: &TemplateItem) -> Result<(), CallFailure> {
        let bytes = match item {
            TemplateItem::Dict(_) => DICT_BYTES,
            TemplateItem::List(_) => LIST_BYTES,
            _ => 0,
        };
        Ok(self.budget.produce(bytes)?)
    }

    /// Charges for text before it is made.
    pub(super) fn charge(&mut self, bytes: usize) -> Result<(), CallFailure> {
        Ok(self.budget.produce(bytes)?)
    }

    /// Prints with Go's rules.
    pub(super) fn print(
        &mut self,
        print: impl FnOnce(&mut Printer<'_>) -> Result<(), Exhausted>,
    ) -> Result<String, CallFailure> {
        let mut printer = Printer { out: String::new(), budget: self.budget, context: self.context };
        print(&mut printer)?;
        Ok(printer.out)
    }

    /// Returns the item as Sprig's `strval` makes it text.
    pub(super) fn text_of(&mut self, item: &TemplateItem) -> Result<Text, CallFailure> {
        match item {
            TemplateItem::Text(text) => Ok(text.clone()),
            other => Ok(Text::from(self.print(|printer| printer.plain(other))?)),
        }
    }

    /// Returns the expression with this pattern, compiled once.
    pub(super) fn regex(&mut self, pattern: &Text) -> Result<Result<Arc<Regex>, String>, Exhausted> {
        if let Some(known) = self.constants.get(pattern).or_else(|| self.regexes.get(pattern)) {
            return Ok(known.clone());
        }
        self.budget.step(COMPILE_STEPS)?;
        let compiled = compile_or_message(regex::compile_regex_within(pattern, MAX_DYNAMIC_REGEX_BYTES));
        self.budget.step(compiled.as_ref().map_or(COMPILE_STEPS, |regex| regex.compiling_cost()))?;
        if self.regexes.len() < MAX_REGEXES {
            self.regexes.insert(pattern.clone(), compiled.clone());
        }
        Ok(compiled)
    }

    /// Returns the dictionary that changes to `item` go to.
    ///
    /// An object of the context is copied first; from then on the template sees the copy in its place.
    pub(super) fn changeable(&mut self, item: &TemplateItem) -> Result<Rc<ItemDict>, CallFailure> {
        let dict = match item {
            TemplateItem::Dict(dict) => Rc::clone(dict),
            TemplateItem::Object(map) => {
                if let Some(dict) = self.overlay(map) {
                    return Ok(dict);
                }
                self.charge_list(map.len())?;
                let entries: BTreeMap<Text, TemplateItem> =
                    map.iter().map(|(key, value)| (key.clone(), TemplateItem::json(value))).collect();
                let dict = Rc::new(ItemDict::new(ElementType::Any, entries)?);
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
    pub(super) fn settle(&mut self, item: TemplateItem) -> Result<TemplateItem, CallFailure> {
        if self.overlays.is_empty() {
            return Ok(item);
        }
        let changed = match &item {
            TemplateItem::Object(map) => self.settle_object(map)?,
            TemplateItem::Array(items) => self.settle_array(items)?,
            _ => None,
        };
        Ok(changed.unwrap_or(item))
    }

    /// Returns the object's copy if it, or something in it, was changed.
    fn settle_object(&mut self, map: &Arc<Map>) -> Result<Option<TemplateItem>, CallFailure> {
        self.budget.step(self.overlays.len() as u64 / 16)?;
        if let Some(dict) = self.overlay(map) {
            return Ok(Some(TemplateItem::Dict(dict)));
        }
        let mut changed = None;
        for (key, value) in map.iter() {
            if let Some(item) = self.settle_value(value)? {
                let dict = match &changed {
                    Some(dict) => Rc::clone(dict),
                    None => self.changeable(&TemplateItem::Object(Arc::clone(map)))?,
                };
                dict.entries.borrow_mut().insert(key.clone(), item);
                changed = Some(dict);
            }
        }
        Ok(changed.map(TemplateItem::Dict))
    }

    fn settle_array(&mut self, items: &Arc<Vec<Value>>) -> Result<Option<TemplateItem>, CallFailure> {
        let mut changed: Option<Vec<TemplateItem>> = None;
        for (index, value) in items.iter().enumerate() {
            if let Some(item) = self.settle_value(value)? {
                let copy = changed.get_or_insert_with(|| items.iter().map(TemplateItem::json).collect());
                if let Some(place) = copy.get_mut(index) {
                    *place = item;
                }
            }
        }
        Ok(changed.map(TemplateItem::list).transpose()?)
    }

    fn settle_value(&mut self, value: &Value) -> Result<Option<TemplateItem>, CallFailure> {
        self.budget.step(1)?;
        match value {
            Value::Object(map) => self.settle_object(map),
            Value::Array(items) => self.settle_array(items),
            _ => Ok(None),
        }
    }

    fn overlay(&self, map: &Arc<Map>) -> Option<Rc<ItemDict>> {
        self.overlays.iter().find(|(known, _)| Arc::ptr_eq(known, map)).map(|(_, dict)| Rc::clone(dict))
    }
}

/// Breaks the cycles that `set` can make, and keeps the drop of long chains from recursing.
impl Drop for FunctionCall<'_> {
    fn drop(&mut self) {
        for dict in &self.changed {
            dict.entries.take();
        }
    }
}

/// Returns a compiled pattern, or Go's message about it.
pub(super) fn compile_or_message(compiled: Result<Regex, RegexError>) -> Result<Arc<Regex>, String> {
    compiled.map(Arc::new).map_err(|error| format!("error parsing regexp: {error}"))
}
