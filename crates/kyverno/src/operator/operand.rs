//! One side of a condition, with the possible readings of its text.
//!
//! A value of the policy is parsed at compile time; a value of an object is parsed when it is needed.

use std::borrow::Cow;
use std::collections::HashSet;

use kubewright_golib::glob::{self, WildcardPattern, has_wildcard};
use kubewright_value::bounded::{self, BoundedText};
use kubewright_value::duration::Duration;
use kubewright_value::quantity::Quantity;
use kubewright_value::semver::Version;
use kubewright_value::{Budget, Exhausted, Number, Text, Value};

use super::range::ValueRange;
use crate::tainted::{Tainted, TaintedPart, join_parts};

/// One side of a condition.
#[derive(Debug, Clone)]
pub struct ComparedOperand {
    pub(super) shape: OperandShape,
}

#[derive(Debug, Clone)]
pub(super) enum OperandShape {
    Null,
    Bool(bool),
    Number(Number),
    Text(ParsedText),
    List(OperandList),
    Map(Tainted),
}

/// A text, with its parsed form if it was parsed already.
#[derive(Debug, Clone)]
pub(super) struct ParsedText {
    pub(super) item: OperandItem,
    author: Author,
    readings: Option<Box<Readings>>,
}

/// A text that is looked for or looked through, perhaps with wildcards.
#[derive(Debug, Clone)]
pub(super) struct OperandItem {
    pub(super) text: Text,
    pub(super) glob: Option<WildcardPattern>,
    /// Whether it was a text before it was one of these.
    pub(super) is_text: bool,
}

#[derive(Debug, Clone)]
pub(super) struct OperandList {
    source: Tainted,
    items: Option<OperandItems>,
}

/// The items of a list.
#[derive(Debug, Clone, Default)]
pub(super) struct OperandItems {
    pub(super) list: Vec<OperandItem>,
    has_wildcards: bool,
    // The texts of a long list.
    index: Option<HashSet<Text>>,
}

/// The result of reading a text as JSON.
#[derive(Debug, Clone)]
pub(super) enum Array {
    NotJson,
    /// JSON, and no array of texts.
    Other,
    Texts(OperandItems),
}

#[derive(Debug, Clone)]
enum Author {
    Own,
    Foreign,
    Both(Vec<TaintedPart>),
}

#[derive(Debug, Clone)]
struct Readings {
    duration: Option<Duration>,
    quantity: Option<Quantity>,
    float: Option<f64>,
    version: Option<Version>,
    range: Option<ValueRange>,
    array: Array,
}

/// From how many items on a list of the policy is looked up by hash.
const INDEXED: usize = 9;

/// The memory of an item, with its place in the index of a long list.
const INDEXED_ITEM_BYTES: usize = 2 * size_of::<OperandItem>() + 2 * size_of::<Text>();

/// How deep a value inside a list is printed.
const PRINTED_DEPTH: usize = 32;

impl ComparedOperand {
    /// Returns the operand that `value` is, reading everything in it that can be read.
    pub fn compile(value: &Tainted) -> Self {
        let mut operand = Self::of(value.clone());
        match &mut operand.shape {
            OperandShape::Text(words) => {
                words.readings = words.read(&mut Budget::default()).ok().map(Box::new);
            }
            // What the policy says is as large as its file: a value that is too large for the budget of a rule is
            // compared anew each time, and that is where it fails.
            OperandShape::List(list) => {
                list.items =
                    OperandItems::of(&list.source, &mut Budget::default()).ok().map(OperandItems::indexed);
            }
            _ => {}
        }
        operand
    }

    /// Returns the operand that `value` is, for use once.
    #[must_use]
    pub fn of(value: Tainted) -> Self {
        let shape = match value {
            Tainted::Trusted(Value::Null) | Tainted::Untrusted(Value::Null) => OperandShape::Null,
            Tainted::Trusted(Value::Bool(bool)) | Tainted::Untrusted(Value::Bool(bool)) => {
                OperandShape::Bool(bool)
            }
            Tainted::Trusted(Value::Number(number)) | Tainted::Untrusted(Value::Number(number)) => {
                OperandShape::Number(number)
            }
            Tainted::Trusted(Value::String(text)) => {
                OperandShape::Text(ParsedText::new(OperandItem::own(&text), Author::Own))
            }
            Tainted::Untrusted(Value::String(text)) => {
                OperandShape::Text(ParsedText::new(OperandItem::foreign(text), Author::Foreign))
            }
            Tainted::Text(parts) => {
                OperandShape::Text(ParsedText::new(OperandItem::of_parts(&parts), Author::Both(parts)))
            }
            Tainted::Trusted(Value::Array(_)) | Tainted::Untrusted(Value::Array(_)) | Tainted::List(_) => {
                OperandShape::List(OperandList { source: value, items: None })
            }
            Tainted::Trusted(Value::Object(_)) | Tainted::Untrusted(Value::Object(_)) | Tainted::Map(_) => {
                OperandShape::Map(value)
            }
        };
        Self { shape }
    }

    /// Returns how many steps it takes to read this.
    pub(super) fn size(&self) -> u64 {
        match &self.shape {
            OperandShape::Text(words) if words.readings.is_none() => words.text().len() as u64 / 16,
            OperandShape::List(list) if list.items.is_none() => match &list.source {
                Tainted::List(items) => items.len() as u64,
                source => source.plain().as_array().map_or(0, |items| items.len() as u64),
            },
            _ => 0,
        }
    }

    /// Returns whether the value is missing.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self.shape, OperandShape::Null)
    }
}

impl ParsedText {
    fn new(item: OperandItem, author: Author) -> Self {
        Self { item, author, readings: None }
    }

    pub(super) fn text(&self) -> &str {
        &self.item.text
    }

    pub(super) fn duration(&self) -> Option<Duration> {
        match &self.readings {
            Some(readings) => readings.duration,
            None => Duration::parse(self.text()).ok(),
        }
    }

    pub(super) fn quantity(&self) -> Option<Cow<'_, Quantity>> {
        match &self.readings {
            Some(readings) => readings.quantity.as_ref().map(Cow::Borrowed),
            None => Quantity::parse(self.text()).ok().map(Cow::Owned),
        }
    }

    pub(super) fn float(&self) -> Option<f64> {
        match &self.readings {
            Some(readings) => readings.float,
            None => parse_go_float(self.text()),
        }
    }

    pub(super) fn version(&self) -> Option<Cow<'_, Version>> {
        match &self.readings {
            Some(readings) => readings.version.as_ref().map(Cow::Borrowed),
            None => Version::parse(self.text()).ok().map(Cow::Owned),
        }
    }

    /// Returns the range that the author wrote.
    pub(super) fn range(&self) -> Option<Cow<'_, ValueRange>> {
        match &self.readings {
            Some(readings) => readings.range.as_ref().map(Cow::Borrowed),
            None => self.read_range().map(Cow::Owned),
        }
    }

    pub(super) fn array(&self, budget: &mut Budget) -> Result<Cow<'_, Array>, Exhausted> {
        match &self.readings {
            Some(readings) => Ok(Cow::Borrowed(&readings.array)),
            // It is dropped when it has been looked through.
            None => budget.transient(|budget| self.read_array(budget)).map(Cow::Owned),
        }
    }

    /// Returns whether it can be larger or smaller than something.
    pub(super) fn is_comparable(&self) -> bool {
        self.duration().is_some()
            || self.quantity().is_some()
            || self.float().is_some()
            || self.version().is_some()
    }

    fn read(&self, budget: &mut Budget) -> Result<Readings, Exhausted> {
        Ok(Readings {
            duration: self.duration(),
            quantity: self.quantity().map(Cow::into_owned),
            float: self.float(),
            version: self.version().map(Cow::into_owned),
            range: self.read_range(),
            array: self.read_array(budget)?,
        })
    }

    fn read_range(&self) -> Option<ValueRange> {
        let range = ValueRange::parse(self.text())?;
        let is_own = match &self.author {
            Author::Own => true,
            Author::Foreign => false,
            Author::Both(parts) => is_own_at(parts, range.hyphen),
        };
        is_own.then_some(range)
    }

    fn read_array(&self, budget: &mut Budget) -> Result<Array, Exhausted> {
        let is_plausible = self
            .text()
            .trim_start_matches([' ', '\t', '\n', '\r'])
            .starts_with(|c: char| c.is_ascii_digit() || "[{\"-tfn".contains(c));
        if !is_plausible {
            return Ok(Array::NotJson);
        }
        let Ok(value) = bounded::parse_bounded_json(self.text(), budget)? else { return Ok(Array::NotJson) };
        let values = match &value {
            Value::Null => return Ok(Array::Texts(OperandItems::default())),
            Value::Array(values) => values,
            _ => return Ok(Array::Other),
        };
        budget.produce(values.len().saturating_mul(INDEXED_ITEM_BYTES))?;
        let text = |value: &Value| match (value, &self.author) {
            (Value::String(text), Author::Own) => Some(OperandItem::own(text)),
            (Value::String(text), _) => Some(OperandItem::foreign(text.clone())),
            (Value::Null, _) => Some(OperandItem::foreign(Text::default())),
            _ => None,
        };
        Ok(match values.iter().map(text).collect() {
            Some(list) => Array::Texts(OperandItems::new(list).indexed()),
            None => Array::Other,
        })
    }
}

impl OperandItem {
    /// Returns a text of the author, in which wildcards count.
    fn own(text: &Text) -> Self {
        let glob = has_wildcard(text).then(|| WildcardPattern::parse(text));
        Self { text: text.clone(), glob, is_text: true }
    }

    /// Returns a text without wildcards.
    fn foreign(text: Text) -> Self {
        Self { text, glob: None, is_text: true }
    }

    fn of_parts(parts: &[TaintedPart]) -> Self {
        let is_wild = parts.iter().any(|part| part.is_own && has_wildcard(&part.text));
        let glob = is_wild
            .then(|| WildcardPattern::of_parts(parts.iter().map(|part| (part.text.as_str(), part.is_own))));
        Self { text: join_parts(parts), glob, is_text: true }
    }

    fn of(value: &Value, is_own: bool, budget: &mut Budget) -> Result<Self, Exhausted> {
        Ok(match value {
            Value::String(text) if is_own => Self::own(text),
            Value::String(text) => Self::foreign(text.clone()),
            other => Self { text: operand_text(other, budget)?, glob: None, is_text: false },
        })
    }

    /// Returns the text of a boolean or a number.
    fn of_plain(text: &impl ToString) -> Self {
        Self { text: text.to_string().into(), glob: None, is_text: false }
    }

    /// Returns a scalar as the text that it is looked for by; nothing for lists, objects and null.
    pub(super) fn of_scalar(operand: &ComparedOperand) -> Option<Cow<'_, Self>> {
        match &operand.shape {
            OperandShape::Text(words) => Some(Cow::Borrowed(&words.item)),
            OperandShape::Bool(bool) => Some(Cow::Owned(Self::of_plain(bool))),
            OperandShape::Number(number) => Some(Cow::Owned(Self::of_plain(number))),
            OperandShape::Null | OperandShape::List(_) | OperandShape::Map(_) => None,
        }
    }

    /// Returns whether `self`, perhaps with wildcards, fits the whole of `text`.
    pub(super) fn fits(&self, text: &str, budget: &mut Budget) -> Result<bool, Exhausted> {
        match &self.glob {
            Some(glob) => glob.matches(text, budget),
            None => Ok(self.text == text),
        }
    }
}

impl OperandList {
    pub(super) fn items(&self, budget: &mut Budget) -> Result<Cow<'_, OperandItems>, Exhausted> {
        if let Some(items) = &self.items {
            return Ok(Cow::Borrowed(items));
        }
        // They are dropped when they have been compared.
        budget.transient(|budget| OperandItems::of(&self.source, budget)).map(Cow::Owned)
    }

    pub(super) fn plain(&self) -> Cow<'_, Value> {
        self.source.plain()
    }
}

impl OperandItems {
    fn of(source: &Tainted, budget: &mut Budget) -> Result<Self, Exhausted> {
        let (values, is_own) = match source {
            Tainted::Trusted(Value::Array(values)) => (values, true),
            Tainted::Untrusted(Value::Array(values)) => (values, false),
            Tainted::List(values) => return Self::of_mixed(values, budget),
            _ => return Ok(Self::default()),
        };
        budget.produce(values.len().saturating_mul(INDEXED_ITEM_BYTES))?;
        let items = values.iter().map(|value| OperandItem::of(value, is_own, budget));
        Ok(Self::new(items.collect::<Result<_, _>>()?))
    }

    fn of_mixed(values: &[Tainted], budget: &mut Budget) -> Result<Self, Exhausted> {
        budget.produce(values.len().saturating_mul(INDEXED_ITEM_BYTES))?;
        let items = values.iter().map(|value| match value {
            Tainted::Trusted(value) => OperandItem::of(value, true, budget),
            Tainted::Untrusted(value) => OperandItem::of(value, false, budget),
            Tainted::Text(parts) => Ok(OperandItem::of_parts(parts)),
            Tainted::List(_) | Tainted::Map(_) => OperandItem::of(&value.plain(), false, budget),
        });
        Ok(Self::new(items.collect::<Result<_, _>>()?))
    }

    fn new(list: Vec<OperandItem>) -> Self {
        Self { has_wildcards: list.iter().any(|item| has_wildcard(&item.text)), list, index: None }
    }

    pub(super) fn one(item: OperandItem) -> Self {
        Self::new(vec![item])
    }

    fn indexed(mut self) -> Self {
        if self.list.len() >= INDEXED {
            self.index = Some(self.list.iter().map(|item| item.text.clone()).collect());
        }
        self
    }

    /// Returns whether one of the items is `text` to the letter.
    pub(super) fn has(&self, text: &Text, budget: &mut Budget) -> Result<bool, Exhausted> {
        match &self.index {
            Some(index) => {
                budget.step(1)?;
                Ok(index.contains(text))
            }
            None => {
                budget.step(self.list.len() as u64)?;
                Ok(self.list.iter().any(|item| item.text == *text))
            }
        }
    }

    /// Returns whether one of the items fits `wanted`, or `wanted` fits one of them. Wildcards count that the author
    /// wrote, and under [`Wildcards::All`] also those of an object.
    pub(super) fn has_fitting(
        &self,
        wanted: &OperandItem,
        wildcards: Wildcards,
        budget: &mut Budget,
    ) -> Result<bool, Exhausted> {
        if self.has(&wanted.text, budget)? {
            return Ok(true);
        }
        if !self.has_wildcards && !has_wildcard(&wanted.text) {
            return Ok(false);
        }
        for item in &self.list {
            budget.step(1)?;
            if item.covers(&wanted.text, wildcards, budget)?
                || wanted.covers(&item.text, wildcards, budget)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whose wildcards count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wildcards {
    /// Those of the author.
    Own,
    /// The wildcards of an object too: its `*` matches everything.
    All,
}

impl OperandItem {
    fn covers(&self, text: &str, wildcards: Wildcards, budget: &mut Budget) -> Result<bool, Exhausted> {
        match &self.glob {
            Some(glob) => glob.matches(text, budget),
            None if wildcards == Wildcards::All => glob::matches_wildcard(&self.text, text, budget),
            None => Ok(false),
        }
    }
}

/// Returns whether the author wrote byte `at` of the text that `parts` make.
fn is_own_at(parts: &[TaintedPart], at: usize) -> bool {
    let mut end = 0;
    parts
        .iter()
        .find(|part| {
            end += part.text.len();
            at < end
        })
        .is_some_and(|part| part.is_own)
}

/// Returns the number in `text`. Unlike in JSON, it may be infinite.
fn parse_go_float(text: &str) -> Option<f64> {
    let number: f64 = text.parse().ok()?;
    let says_so = text.trim_start_matches(['+', '-']).starts_with(['i', 'I']);
    (number.is_finite() || number.is_nan() || says_so).then_some(number)
}

/// Returns `value` as text, lists and objects as Go prints them.
fn operand_text(value: &Value, budget: &mut Budget) -> Result<Text, Exhausted> {
    let mut out = BoundedText::new(budget);
    write_operand(value, 0, &mut out)?;
    Ok(out.into_string().into())
}

fn write_operand(value: &Value, depth: usize, out: &mut BoundedText<'_>) -> Result<(), Exhausted> {
    out.budget().step(1)?;
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => out.push_str(&number.to_string()),
        Value::String(text) => out.push_str(text),
        Value::Array(_) | Value::Object(_) if depth >= PRINTED_DEPTH => out.push_str("..."),
        Value::Array(items) => {
            out.push_str("[")?;
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i > 0 { " " } else { "" })?;
                write_operand(item, depth + 1, out)?;
            }
            out.push_str("]")
        }
        Value::Object(map) => {
            out.push_str("map[")?;
            for (i, (key, item)) in map.sorted().into_iter().enumerate() {
                out.push_str(if i > 0 { " " } else { "" })?;
                out.push_str(key)?;
                out.push_str(":")?;
                write_operand(item, depth + 1, out)?;
            }
            out.push_str("]")
        }
    }
}
