//! The functions that policy engines add for Kubernetes objects, by theme.
//!
//! Texts follow Go: case by single characters, regular expressions as RE2. A number where a text is
//! allowed is written as a double of 32 bits, because policies were written against that.

use std::borrow::Cow;

use kubewright_golib::float;
use kubewright_value::Value;

use super::Inputs;
use super::function::{Argument, Builtin, Failure, Functions};

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

/// All of them. Those that the specification has too are to be used instead of its.
pub(super) const TABLES: &[&[Builtin]] = &[
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

/// Returns `functions` where those that need `inputs` have them.
pub(super) fn with_inputs(functions: Functions, inputs: Inputs) -> Functions {
    let functions = match inputs.now {
        Some(now) => times::with_now(functions, now),
        None => functions,
    };
    match inputs.random_seed {
        Some(seed) => random::with_seed(functions, seed),
        None => functions,
    }
}

/// Returns a string, number or boolean as text.
fn plain_text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        #[expect(clippy::cast_possible_truncation, reason = "32 bits are what is wanted")]
        Value::Number(number) => Some(Cow::Owned(shown(number.as_f64() as f32))),
        Value::Bool(is_true) => Some(Cow::Borrowed(if *is_true { "true" } else { "false" })),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns the argument at `index` as text; empty if it has none.
fn text<'a>(arguments: &'a [Argument<'_>], index: usize) -> Cow<'a, str> {
    arguments.get(index).and_then(|argument| plain_text(argument.value())).unwrap_or_default()
}

/// Returns a number without an exponent, as Go writes it.
fn shown(number: f32) -> String {
    if number.is_finite() { number.to_string() } else { float::format_float(number.into(), 'f', None) }
}

/// Returns the argument as an integer.
fn integer(arguments: &[Argument<'_>], index: usize, what: &str) -> Result<i64, Failure> {
    let number = arguments.get(index).map(Argument::number);
    number.and_then(kubewright_value::Number::as_i64).ok_or_else(|| {
        let shown = number.map_or_else(String::new, |number| number.to_string());
        Failure::wrong_value(format!("{what} must be an integer, not `{shown}`")).about(index)
    })
}

#[cfg(test)]
mod tests;
