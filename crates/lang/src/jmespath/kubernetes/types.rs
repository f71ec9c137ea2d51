//! Numbers and texts of each other as Go reads and writes them, where the specification has it otherwise.

use kubewright_value::{Budget, Number, Value, json};

use super::super::eval;
use super::super::function::{Accepts, Argument, Builtin, Failure, builtin};

const ANY: &[Accepts] = &[Accepts::ANY];

pub(super) const TABLE: &[Builtin] = &[
    builtin("to_number", ANY, "number", "the number a string says; null if it is none", |arguments, _| {
        Ok(arguments.first().map(|argument| to_number(argument.value())).unwrap_or_default())
    }),
    builtin("to_string", ANY, "string", "the string itself, or the value as JSON", to_string),
];

fn to_number(value: &Value) -> Value {
    match value {
        Value::Number(_) => value.clone(),
        Value::String(text) => number(text).map(Value::from).unwrap_or_default(),
        _ => Value::Null,
    }
}

/// More forms than JSON has are numbers: `+5`, `.5`, `5.`, `007` and `1_000`.
fn number(text: &str) -> Option<Number> {
    // What is left are `inf` and `nan`, which no JSON can hold.
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !digits.starts_with(|c: char| c == '.' || c.is_ascii_digit()) {
        return None;
    }
    let is_digit = |part: &str, at: usize| part.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    let parts: Vec<&str> = text.split('_').collect();
    let is_separated = parts.windows(2).all(|pair| match pair {
        [left, right] => {
            left.len().checked_sub(1).is_some_and(|last| is_digit(left, last)) && is_digit(right, 0)
        }
        _ => false,
    });
    let plain = is_separated.then(|| parts.concat())?;
    let double = || plain.parse().ok().filter(|double: &f64| double.is_finite());
    plain
        .parse()
        .ok()
        .map(|int: i64| Number::from(int))
        .or_else(|| double().map(|double| Number::Float(double).normalized()))
}

fn to_string(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    let Some(value) = arguments.first().map(Argument::value) else { return Ok(Value::Null) };
    if value.as_str().is_some() {
        return Ok(value.clone());
    }
    eval::weigh(budget, value)?;
    let mut out = String::new();
    write(&mut out, value, budget)?;
    Ok(Value::from(out))
}

/// Keys are sorted, and what could be read as HTML is escaped.
fn write(out: &mut String, value: &Value, budget: &mut Budget) -> Result<(), Failure> {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i == 0 { "" } else { "," });
                write(out, item, budget)?;
            }
            out.push(']');
        }
        Value::Object(map) => {
            budget.step(map.len() as u64 * 4)?;
            out.push('{');
            for (i, (key, item)) in map.sorted().into_iter().enumerate() {
                out.push_str(if i == 0 { "" } else { "," });
                escape(out, key);
                out.push(':');
                write(out, item, budget)?;
            }
            out.push('}');
        }
        Value::String(text) => escape(out, text),
        scalar => json::write(out, scalar),
    }
    Ok(())
}

fn escape(out: &mut String, text: &str) {
    let quoted = json::quote(text);
    if !quoted.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        out.push_str(&quoted);
        return;
    }
    for c in quoted.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
}
