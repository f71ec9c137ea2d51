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

/// More forms than JSON has are numbers: `+5`, `.5`, `5.` and `007`.
fn to_number(value: &Value) -> Value {
    match value {
        Value::Number(_) => value.clone(),
        Value::String(text) => {
            let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
            // What is left are `inf` and `nan`, which no JSON can hold.
            let is_number = digits.starts_with(|c: char| c == '.' || c.is_ascii_digit());
            let exact = || text.parse().ok().map(|int: i64| Number::from(int));
            let double = || text.parse().ok().filter(|double: &f64| double.is_finite());
            match is_number.then(|| exact().or_else(|| double().map(|double| Number::Float(double).normalized()))) {
                Some(Some(number)) => Value::from(number),
                _ => Value::Null,
            }
        }
        _ => Value::Null,
    }
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
