//! Whole values within a budget: their text, their equality, their size.
//!
//! Parts of a value are shared, so a value that takes a few kilobytes of memory can be gigabytes of text. Code that
//! walks a whole value while a rule is evaluated does it through here: each node is a step, and each byte of text
//! is charged before it is made. [`json::to_string`] charges nothing and is for output.

use std::fmt::{self, Write as _};

use crate::json::writer::{self, TextSink};
use crate::json::{self, JsonError};
use crate::yaml::{self, YamlError};
use crate::{Budget, Exhausted, Map, Text, Value};

/// Text that is charged as it is written.
#[derive(Debug)]
pub struct BoundedText<'b> {
    text: String,
    budget: &'b mut Budget,
}

impl<'b> BoundedText<'b> {
    /// Returns an empty text, for which `budget` pays.
    #[must_use]
    pub fn new(budget: &'b mut Budget) -> Self {
        Self { text: String::new(), budget }
    }

    /// Appends `part`.
    ///
    /// # Errors
    /// When fewer bytes are left; then nothing is appended.
    #[inline]
    pub fn push_str(&mut self, part: &str) -> Result<(), Exhausted> {
        self.budget.produce(part.len())?;
        self.text.push_str(part);
        Ok(())
    }

    /// Appends `value` as compact JSON.
    ///
    /// # Errors
    /// When the budget is used up.
    pub fn push_json(&mut self, value: &Value) -> Result<(), Exhausted> {
        writer::write_to(self, value)
    }

    /// Appends `text` as a JSON string.
    ///
    /// # Errors
    /// When the budget is used up.
    pub fn push_quoted(&mut self, text: &str) -> Result<(), Exhausted> {
        writer::string_to(self, text)
    }

    /// Appends `text` escaped for use between the quotes of a JSON string.
    ///
    /// # Errors
    /// When the budget is used up.
    pub fn push_escaped(&mut self, text: &str) -> Result<(), Exhausted> {
        writer::escaped_to(self, text)
    }

    /// Charges for looking at one node of a value and goes one level deeper; [`BoundedText::leave`] comes back up.
    ///
    /// # Errors
    /// When the budget is used up.
    pub fn enter(&mut self) -> Result<(), Exhausted> {
        TextSink::enter(self)
    }

    /// Comes back from the level that [`BoundedText::enter`] went to.
    pub fn leave(&mut self) {
        self.budget.leave();
    }

    /// Returns what was written so far.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the budget that pays.
    pub fn budget(&mut self) -> &mut Budget {
        self.budget
    }

    /// Returns the text.
    #[must_use]
    pub fn into_string(self) -> String {
        self.text
    }
}

impl TextSink for BoundedText<'_> {
    type Full = Exhausted;

    fn push(&mut self, part: &str) -> Result<(), Exhausted> {
        self.push_str(part)
    }

    fn enter(&mut self) -> Result<(), Exhausted> {
        self.budget.step(1)?;
        self.budget.enter()
    }

    fn leave(&mut self) {
        self.budget.leave();
    }
}

/// Returns `value` as compact JSON, charged before it is made.
///
/// # Errors
/// When the budget is used up.
pub fn to_json(value: &Value, budget: &mut Budget) -> Result<String, Exhausted> {
    let mut text = BoundedText::new(budget);
    text.push_json(value)?;
    Ok(text.into_string())
}

/// Returns the first `characters` of `value` as compact JSON, with `…` behind them if there are more. What is not
/// shown is not walked either, so this needs no budget.
#[must_use]
pub fn shortened_json(value: &Value, characters: usize) -> String {
    let mut short = Shortened { text: String::new(), left: characters };
    if writer::write_to(&mut short, value).is_err() {
        short.text.push('…');
    }
    short.text
}

/// Returns the first `characters` of what `value` is formatted as, with `…` behind them if there are more.
#[must_use]
pub fn shortened_debug(value: &impl fmt::Debug, characters: usize) -> String {
    let mut short = Shortened { text: String::new(), left: characters };
    if write!(short, "{value:?}").is_err() {
        short.text.push('…');
    }
    short.text
}

/// Returns `text`, if it has at most `bytes`; otherwise as many whole characters of it, and how much was left out.
#[must_use]
pub fn shortened_text(text: &str, bytes: usize) -> Option<String> {
    if text.len() <= bytes {
        return None;
    }
    let end = (0..=bytes).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    let mut short = text.get(..end).unwrap_or_default().to_owned();
    // Writing to a string cannot fail.
    let _ = write!(short, "… ({} more bytes)", text.len() - end);
    Some(short)
}

/// A text of so many characters at most.
struct Shortened {
    text: String,
    left: usize,
}

/// There is more text than fits.
struct Full;

impl TextSink for Shortened {
    type Full = Full;

    fn push(&mut self, part: &str) -> Result<(), Full> {
        match part.char_indices().nth(self.left) {
            None => {
                self.left -= part.chars().count();
                self.text.push_str(part);
                Ok(())
            }
            Some((end, _)) => {
                self.left = 0;
                self.text.push_str(part.get(..end).unwrap_or_default());
                Err(Full)
            }
        }
    }
}

impl fmt::Write for Shortened {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        TextSink::push(self, part).map_err(|_| fmt::Error)
    }
}

/// Returns whether both are equal; numbers by value, objects regardless of key order.
///
/// # Errors
/// When the budget is used up.
pub fn bounded_equal(left: &Value, right: &Value, budget: &mut Budget) -> Result<bool, Exhausted> {
    budget.step(1)?;
    match (left, right) {
        _ if left.is_same(right) => Ok(true),
        (Value::String(a), Value::String(b)) => {
            budget.step(a.len().min(b.len()) as u64 / 64)?;
            Ok(a == b)
        }
        (Value::Array(a), Value::Array(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            charge_nested(budget, |budget| {
                for (a, b) in a.iter().zip(b.iter()) {
                    if !bounded_equal(a, b, budget)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            })
        }
        (Value::Object(a), Value::Object(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            charge_nested(budget, |budget| {
                for (key, a) in a.iter() {
                    let Some(b) = b.get(key) else { return Ok(false) };
                    if !bounded_equal(a, b, budget)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            })
        }
        _ => Ok(left == right),
    }
}

/// Charges what `value` would be if it were written out, a step for each node and its text, without making it.
///
/// # Errors
/// When the budget is used up.
pub fn charge_text(value: &Value, budget: &mut Budget) -> Result<(), Exhausted> {
    budget.step(1)?;
    match value {
        Value::Null | Value::Bool(_) => budget.produce(5),
        Value::Number(_) => budget.produce(20),
        Value::String(text) => budget.produce(text.len() + 2),
        Value::Array(items) => charge_nested(budget, |budget| {
            budget.produce(2 + items.len())?;
            items.iter().try_for_each(|item| charge_text(item, budget))
        }),
        Value::Object(map) => charge_nested(budget, |budget| {
            map.iter().try_for_each(|(key, value)| {
                budget.produce(key.len() + 4)?;
                charge_text(value, budget)
            })
        }),
    }
}

/// Charges what `value` would take in memory if nothing in it were shared: `node_bytes` for each node, and its texts
/// `text_copies` times.
///
/// # Errors
/// When the budget is used up.
pub fn charge_tree(
    value: &Value,
    node_bytes: usize,
    text_copies: usize,
    budget: &mut Budget,
) -> Result<(), Exhausted> {
    budget.step(1)?;
    budget.produce(node_bytes)?;
    match value {
        Value::String(text) => budget.produce(text.len().saturating_mul(text_copies)),
        Value::Array(items) => charge_nested(budget, |budget| {
            items.iter().try_for_each(|item| charge_tree(item, node_bytes, text_copies, budget))
        }),
        Value::Object(map) => charge_nested(budget, |budget| {
            map.iter().try_for_each(|(key, item)| {
                budget.produce(key.len().saturating_mul(text_copies))?;
                charge_tree(item, node_bytes, text_copies, budget)
            })
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

/// Reads a JSON text, whose values are charged before they are made.
///
/// # Errors
/// When the budget is used up; inside of that, when the text is not JSON.
pub fn parse_bounded_json(text: &str, budget: &mut Budget) -> Result<Result<Value, JsonError>, Exhausted> {
    charge_reading(text, Quotes::HideSyntax, budget)?;
    Ok(json::parse(text))
}

/// Reads a YAML text, whose values are charged before they are made; a single word, which is short, once it is.
///
/// # Errors
/// When the budget is used up; inside of that, when the text is not YAML.
pub fn parse_bounded_yaml(text: &str, budget: &mut Budget) -> Result<Result<Value, YamlError>, Exhausted> {
    if let Some(value) = yaml::read_word(text) {
        budget.step(text.len() as u64 / 8)?;
        budget.produce(text.len())?;
        return Ok(Ok(value));
    }
    charge_reading(text, Quotes::Ignored, budget)?;
    Ok(yaml::parse(text))
}

/// Whether text in double quotes can begin a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quotes {
    HideSyntax,
    Ignored,
}

/// What values take in memory at most, by the character that each of them needs in the text. Lists and objects have
/// room for four when they have one, and up to twice as much as they need when they grow.
const BYTES_PER_OBJECT: usize = size_of::<Map>() + 4 * size_of::<(Text, Value)>() + 32;
const BYTES_PER_ARRAY: usize = 5 * size_of::<Value>() + 32;
const BYTES_PER_ENTRY: usize = 2 * size_of::<(Text, Value)>() + 64;
const BYTES_PER_ITEM: usize = 2 * size_of::<Value>();

/// Charges what the value that a text says takes at most.
fn charge_reading(text: &str, quotes: Quotes, budget: &mut Budget) -> Result<(), Exhausted> {
    budget.step(text.len() as u64 / 8)?;
    let mut bytes = text.len();
    let mut is_quoted = false;
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes = bytes.saturating_add(match byte {
            b'"' => {
                is_quoted = !is_quoted && quotes == Quotes::HideSyntax;
                0
            }
            b'\\' if is_quoted => {
                rest.next();
                0
            }
            _ if is_quoted => 0,
            b'{' => BYTES_PER_OBJECT,
            b'[' => BYTES_PER_ARRAY,
            b':' => BYTES_PER_ENTRY,
            b',' => BYTES_PER_ITEM,
            // A line of YAML may begin a list or an object.
            b'\n' if quotes == Quotes::Ignored => BYTES_PER_ARRAY,
            _ => 0,
        });
    }
    budget.produce(bytes)
}

fn charge_nested<T>(
    budget: &mut Budget,
    walk: impl FnOnce(&mut Budget) -> Result<T, Exhausted>,
) -> Result<T, Exhausted> {
    budget.enter()?;
    let walked = walk(budget);
    budget.leave();
    walked
}

#[cfg(test)]
mod tests;
