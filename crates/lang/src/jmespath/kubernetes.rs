//! The functions that policy engines add for Kubernetes objects, by theme.
//!
//! Texts follow Go: case by single characters, regular expressions as RE2. A number where a text is
//! allowed is written as a double of 32 bits, because policies were written against that.

use kubewright_value::Value;

use super::function::{Argument, Failure, Functions};

mod arithmetic;
mod encoding;
mod images;
mod objects;
mod operand;
mod patterns;
mod text;
mod times;

/// Returns `functions` with all of them added.
pub(super) fn add_to(functions: Functions) -> Functions {
    let functions = text::add_to(patterns::add_to(functions));
    let functions = encoding::add_to(objects::add_to(functions));
    images::add_to(times::add_to(arithmetic::add_to(functions)))
}

/// Returns a string, number or boolean as text.
fn plain_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.to_string()),
        #[expect(clippy::cast_possible_truncation, reason = "32 bits are what is wanted")]
        Value::Number(number) => Some((number.as_f64() as f32).to_string()),
        Value::Bool(is_true) => Some(is_true.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
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
