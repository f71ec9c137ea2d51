//! A scalar of a pattern.
//!
//! Durations, quantities and wildcards are read when the pattern is compiled; the text of an object is read only
//! where the pattern has something to compare it with. A missing value counts as null, and null as 0 where numbers,
//! quantities and durations are compared.

pub mod text;

use kubewright_golib::float;
use kubewright_value::{Budget, Exhausted, Number, Value};

use super::written::TaintedText;
use text::Alternatives;

/// A scalar of a pattern.
#[derive(Debug, Clone)]
pub enum Leaf {
    /// Null or its equivalents: 0, false and the empty text.
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Another number, or any number in an `anyPattern`.
    Float(f64),
    /// `?*`: some text, or any number or boolean.
    Some,
    /// A text with operators, ranges or wildcards.
    Text(Alternatives),
}

impl Leaf {
    pub(super) fn text(written: &TaintedText<'_>) -> Self {
        if written.is_own("?*") { Self::Some } else { Self::Text(Alternatives::parse(written)) }
    }

    /// Returns the scalar that `number` is in a pattern.
    #[must_use]
    pub fn number(number: Number, is_double: bool) -> Self {
        match number {
            Number::Int(integer) if !is_double => Self::Int(integer),
            other => Self::Float(other.as_f64()),
        }
    }

    /// Returns whether `value` matches the pattern.
    pub fn fits(&self, value: &Value, budget: &mut Budget) -> Result<bool, Exhausted> {
        Ok(match self {
            Self::Null => match value {
                Value::Null => true,
                Value::Bool(boolean) => !boolean,
                Value::Number(number) => number.as_f64() == 0.0,
                Value::String(text) => text.is_empty(),
                Value::Array(_) | Value::Object(_) => false,
            },
            Self::Bool(wanted) => value.as_bool() == Some(*wanted),
            Self::Int(wanted) => match value {
                Value::Number(number) => number.as_i64() == Some(*wanted),
                Value::String(text) => text.parse() == Ok(*wanted),
                _ => false,
            },
            Self::Float(wanted) => match value {
                Value::Number(Number::Int(integer)) => Number::Float(*wanted).as_i64() == Some(*integer),
                #[expect(clippy::float_cmp, reason = "the same double is wanted")]
                Value::Number(number) => number.as_f64() == *wanted,
                #[expect(clippy::float_cmp, reason = "the same double is wanted")]
                Value::String(text) => text.parse::<f64>().is_ok_and(|found| found == *wanted),
                _ => false,
            },
            Self::Some => match value {
                Value::String(text) => !text.is_empty(),
                Value::Number(_) | Value::Bool(_) => true,
                _ => false,
            },
            Self::Text(alternatives) => return alternatives.fit(value, budget),
        })
    }

    /// Returns the scalar as Go prints it.
    #[must_use]
    pub fn go_text(&self) -> String {
        match self {
            Self::Null => "<nil>".to_owned(),
            Self::Bool(boolean) => boolean.to_string(),
            Self::Int(integer) => integer.to_string(),
            Self::Float(float) => float::format_float(*float, 'g', None),
            Self::Some => "?*".to_owned(),
            Self::Text(alternatives) => alternatives.whole().to_owned(),
        }
    }
}
