//! Values as text, the way Go's `%v` prints them.

use std::borrow::Cow;

use kubewright_value::{Number, Value};

/// Returns `value` as text: a string as it is, `<nil>`, `[a b]`, `map[a:1 b:2]` with sorted keys.
/// Whole numbers have no exponent.
#[must_use]
pub fn text(value: &Value) -> Cow<'_, str> {
    render(value, readable_number)
}

/// Returns `value` as text with numbers exactly as Go prints a `float64`: a million is `1e+06`.
#[must_use]
pub fn text_go(value: &Value) -> Cow<'_, str> {
    render(value, |number| go_float(number.as_f64()))
}

fn render(value: &Value, number: fn(Number) -> String) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        Value::Null => Cow::Borrowed("<nil>"),
        Value::Bool(true) => Cow::Borrowed("true"),
        Value::Bool(false) => Cow::Borrowed("false"),
        Value::Number(n) => Cow::Owned(number(*n)),
        Value::Array(_) | Value::Object(_) => {
            let mut out = String::new();
            write_value(value, number, &mut out);
            Cow::Owned(out)
        }
    }
}

fn write_value(value: &Value, number: fn(Number) -> String, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(' ');
                }
                write_value(item, number, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push_str("map[");
            for (i, (key, item)) in map.sorted().into_iter().enumerate() {
                if i > 0 {
                    out.push(' ');
                }
                out.push_str(key);
                out.push(':');
                write_value(item, number, out);
            }
            out.push(']');
        }
        scalar => out.push_str(&render(scalar, number)),
    }
}

fn readable_number(number: Number) -> String {
    match number.normalized() {
        Number::Int(integer) => integer.to_string(),
        Number::UInt(integer) => integer.to_string(),
        Number::Float(float) => go_float(float),
    }
}

/// Writes a double as Go's `%v`: shortest digits, an exponent below 1e-4 and from 1e6 on.
fn go_float(float: f64) -> String {
    if float.is_nan() {
        return "NaN".to_owned();
    }
    if float.is_infinite() {
        return if float > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{float:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        return float.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// Returns `text` in double quotes, as Go quotes it.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_ascii_control() => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
