//! The functions that policies add to JMESPath for Kubernetes objects.
//!
//! String functions follow Go: case mapping by single characters, RE2 regular expressions. A number where a string is
//! allowed is written as a double of 32 bits, because policies were written against that.

use std::borrow::Cow;

use kubewright_golib::float;
use kubewright_value::Value;

use super::Inputs;
use super::function::{JmesPathArgument, JmesPathBuiltin, JmesPathFailure, JmesPathFunctions};

mod arithmetic;
mod certificates;
mod encoding;
mod images;
mod objects;
mod operand;
mod patterns;
mod random;
mod text;
mod times;
mod types;
mod urls;

/// The tables of all functions. They replace standard functions of the same name.
pub(super) const KUBERNETES_TABLES: &[&[JmesPathBuiltin]] = &[
    arithmetic::TABLE,
    certificates::TABLE,
    encoding::TABLE,
    images::TABLE,
    objects::TABLE,
    patterns::TABLE,
    random::TABLE,
    text::TABLE,
    times::TABLE,
    types::TABLE,
    urls::TABLE,
];

/// Returns `functions` with the current time and the seed of `inputs`.
pub(super) fn add_inputs(functions: JmesPathFunctions, inputs: Inputs) -> JmesPathFunctions {
    let functions = match inputs.now {
        Some(now) => times::add_clock(functions, now),
        None => functions,
    };
    match inputs.random_seed {
        Some(seed) => random::add_seed(functions, seed),
        None => functions,
    }
}

/// Returns a string, number or boolean as text.
fn scalar_to_text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        #[expect(clippy::cast_possible_truncation, reason = "32 bits are what is wanted")]
        Value::Number(number) => Some(Cow::Owned(format_number(number.as_f64() as f32))),
        Value::Bool(is_true) => Some(Cow::Borrowed(if *is_true { "true" } else { "false" })),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns the argument at `index` as text; empty for an array, an object or null.
fn text_or_empty<'a>(arguments: &'a [JmesPathArgument<'_>], index: usize) -> Cow<'a, str> {
    arguments.get(index).and_then(|argument| scalar_to_text(argument.value())).unwrap_or_default()
}

/// Returns a number as Go formats it without an exponent.
fn format_number(number: f32) -> String {
    if number.is_finite() { number.to_string() } else { float::format_float(number.into(), 'f', None) }
}

/// Returns the argument as an integer.
fn integer_argument(
    arguments: &[JmesPathArgument<'_>],
    index: usize,
    what: &str,
) -> Result<i64, JmesPathFailure> {
    let number = arguments.get(index).map(JmesPathArgument::number);
    number.and_then(kubewright_value::Number::as_i64).ok_or_else(|| {
        let shown = number.map_or_else(String::new, |number| number.to_string());
        JmesPathFailure::wrong_value(format!("{what} must be an integer, not `{shown}`")).about(index)
    })
}

#[cfg(test)]
mod tests;
