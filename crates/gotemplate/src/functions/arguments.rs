//! Taking arguments out of the checked list.

use std::sync::LazyLock;

use kubewright_value::{Number, Text};

use super::super::item::TemplateItem;
use super::super::literal::{parse_float, parse_integer};

static EMPTY: LazyLock<Text> = LazyLock::new(Text::default);

/// Returns the string at `index`.
pub(super) fn text_argument(arguments: &[TemplateItem], index: usize) -> &Text {
    arguments.get(index).and_then(TemplateItem::as_text).unwrap_or(&EMPTY)
}

/// Returns the bytes of the string at `index`.
pub(super) fn bytes_argument(arguments: &[TemplateItem], index: usize) -> &[u8] {
    arguments.get(index).and_then(TemplateItem::as_bytes).unwrap_or_default()
}

/// Returns the `int` at `index`.
pub(super) fn int_argument(arguments: &[TemplateItem], index: usize) -> i64 {
    match arguments.get(index) {
        Some(TemplateItem::Int(_, value)) => *value,
        _ => 0,
    }
}

/// Returns the argument at `index`, nil when it is missing.
pub(super) fn argument_or_nil(arguments: &[TemplateItem], index: usize) -> &TemplateItem {
    arguments.get(index).unwrap_or(&TemplateItem::Nil)
}

/// Returns the arguments from `index` on.
pub(super) fn arguments_from(arguments: &[TemplateItem], index: usize) -> &[TemplateItem] {
    arguments.get(index..).unwrap_or_default()
}

/// Converts to `int64` as Sprig does: text that is not a number is 0.
pub(super) fn item_to_int(item: &TemplateItem) -> i64 {
    match item {
        TemplateItem::Int(_, value) => *value,
        TemplateItem::Float(value) => truncate_as_go(*value),
        TemplateItem::Number(Number::Int(value)) => *value,
        TemplateItem::Number(number) => truncate_as_go(number.as_f64()),
        TemplateItem::Bool(value) => i64::from(*value),
        TemplateItem::Text(text) => parse_integer(text, 0).unwrap_or(0),
        _ => 0,
    }
}

/// Converts to `float64` as Sprig does: text that is not a number is 0.
pub(super) fn item_to_float(item: &TemplateItem) -> f64 {
    match item {
        TemplateItem::Int(_, value) => *value as f64,
        TemplateItem::Float(value) => *value,
        TemplateItem::Number(number) => number.as_f64(),
        TemplateItem::Bool(value) => f64::from(u8::from(*value)),
        TemplateItem::Text(text) => parse_float(text).unwrap_or(0.0),
        _ => 0.0,
    }
}

/// As Go on amd64: what does not fit becomes the smallest integer.
fn truncate_as_go(value: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&value) { value as i64 } else { i64::MIN }
}
