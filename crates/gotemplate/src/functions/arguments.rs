//! Taking arguments out of the checked list.

use std::sync::LazyLock;

use kubewright_value::{Number, Text};

use super::super::item::Item;
use super::super::literal::{parse_float, parse_integer};

static EMPTY: LazyLock<Text> = LazyLock::new(Text::default);

/// Returns the string at `index`.
pub(super) fn text(arguments: &[Item], index: usize) -> &Text {
    arguments.get(index).and_then(Item::as_text).unwrap_or(&EMPTY)
}

/// Returns the bytes of the string at `index`.
pub(super) fn bytes(arguments: &[Item], index: usize) -> &[u8] {
    arguments.get(index).and_then(Item::as_bytes).unwrap_or_default()
}

/// Returns the `int` at `index`.
pub(super) fn int(arguments: &[Item], index: usize) -> i64 {
    match arguments.get(index) {
        Some(Item::Int(_, value)) => *value,
        _ => 0,
    }
}

/// Returns the argument at `index`, nil when there is none.
pub(super) fn any(arguments: &[Item], index: usize) -> &Item {
    arguments.get(index).unwrap_or(&Item::Nil)
}

/// Returns the arguments from `index` on.
pub(super) fn from(arguments: &[Item], index: usize) -> &[Item] {
    arguments.get(index..).unwrap_or_default()
}

/// Converts to `int64` as Sprig does: text that is no number is 0.
pub(super) fn to_int(item: &Item) -> i64 {
    match item {
        Item::Int(_, value) => *value,
        Item::Float(value) => truncate(*value),
        Item::Number(Number::Int(value)) => *value,
        Item::Number(number) => truncate(number.as_f64()),
        Item::Bool(value) => i64::from(*value),
        Item::Text(text) => parse_integer(text, 0).unwrap_or(0),
        _ => 0,
    }
}

/// Converts to `float64` as Sprig does: text that is no number is 0.
pub(super) fn to_float(item: &Item) -> f64 {
    match item {
        Item::Int(_, value) => *value as f64,
        Item::Float(value) => *value,
        Item::Number(number) => number.as_f64(),
        Item::Bool(value) => f64::from(u8::from(*value)),
        Item::Text(text) => parse_float(text).unwrap_or(0.0),
        _ => 0.0,
    }
}

/// As Go on amd64: what does not fit becomes the smallest integer.
fn truncate(value: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&value) { value as i64 } else { i64::MIN }
}
