//! The values in constraints: by the type of the field, with or without quotes.

use kubewright_value::{Number, Value, json};

use super::super::node::SchemaType;

/// Reads a value of type `kind`; the error is the reason.
pub(super) fn parse_typed_value(text: &str, kind: Option<SchemaType>) -> Result<Value, String> {
    match kind {
        Some(SchemaType::String) => unquote_text(text).map(Value::from),
        Some(SchemaType::Integer) => parse_integer_value(&unquote_text(text)?).map(Value::from),
        Some(SchemaType::Number) => parse_number_value(&unquote_text(text)?).map(Value::from),
        Some(SchemaType::Boolean) => parse_boolean_value(&unquote_text(text)?).map(Value::Bool),
        Some(SchemaType::Array) if text.is_empty() => Ok(Value::array(Vec::new())),
        Some(SchemaType::Object) if text.is_empty() => Ok(Value::object(kubewright_value::Map::new())),
        Some(SchemaType::Array | SchemaType::Object) => parse_json_value(text),
        None => parse_json_value(text).or_else(|_| unquote_text(text).map(Value::from)),
    }
}

/// Reads a value of any type: JSON, or text.
pub(super) fn parse_any_value(text: &str, kind: Option<SchemaType>) -> Result<Value, String> {
    match kind {
        Some(SchemaType::String) => unquote_text(text).map(Value::from),
        _ if text.starts_with(['{', '[']) => parse_json_value(text),
        _ => json::parse(text).or_else(|_| unquote_text(text).map(Value::from)),
    }
}

pub(super) fn parse_integer_value(text: &str) -> Result<i64, String> {
    match text {
        "" => Err("empty integer value".to_owned()),
        _ => text.parse().map_err(|_| "expected a whole number".to_owned()),
    }
}

/// A length or a number of items.
pub(super) fn parse_count(text: &str) -> Result<i64, String> {
    match parse_integer_value(text)? {
        count if count < 0 => Err("expected at least 0".to_owned()),
        count => Ok(count),
    }
}

pub(super) fn parse_number_value(text: &str) -> Result<Number, String> {
    if text.is_empty() {
        return Err("empty number value".to_owned());
    }
    if let Ok(integer) = text.parse::<i64>() {
        return Ok(Number::Int(integer));
    }
    // `inf` and `nan` are not numbers in JSON.
    let float = text.parse::<f64>().ok().filter(|float| float.is_finite());
    float.map(|float| Number::Float(float).normalized()).ok_or_else(|| "expected a number".to_owned())
}

pub(super) fn parse_boolean_value(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(false),
        _ => Err("expected true or false".to_owned()),
    }
}

fn parse_json_value(text: &str) -> Result<Value, String> {
    json::parse(text).map_err(|error| format!("not JSON: {}", error.message))
}

/// Returns the text in `'…'`, in which `''` is a quote, or in `"…"` with escapes, or the text itself.
pub(super) fn unquote_text(text: &str) -> Result<String, String> {
    let inside = |quote: char| {
        let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
        (text.len() >= 2).then_some(inner)
    };
    if let Some(inner) = inside('\'') {
        return Ok(inner.replace("''", "'"));
    }
    match inside('"') {
        Some(inner) => unescape_go_text(inner),
        None => Ok(text.to_owned()),
    }
}

/// Returns whether the whole of `text` is one text in quotes.
pub(super) fn is_quoted(text: &str) -> bool {
    let mut characters = text.chars();
    let Some(quote @ ('"' | '\'')) = characters.next() else { return false };
    let Some(inner) = text.get(1..).and_then(|rest| rest.strip_suffix(quote)) else { return false };
    match quote {
        '"' => unescape_go_text(inner).is_ok(),
        _ => !inner.replace("''", "").contains('\''),
    }
}

/// Reads the escapes of Go's text in double quotes.
fn unescape_go_text(inner: &str) -> Result<String, String> {
    let mut text = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' | '\n' => return Err("a quote or a line break inside of double quotes".to_owned()),
            '\\' => text.push(read_go_escape(&mut characters)?),
            other => text.push(other),
        }
    }
    Ok(text)
}

fn read_go_escape(characters: &mut std::str::Chars<'_>) -> Result<char, String> {
    let unknown = |written: &str| {
        Err(format!(
            "`\\{written}` is not an escape in double quotes; in single quotes a backslash is a backslash"
        ))
    };
    let Some(character) = characters.next() else { return unknown("") };
    let mut coded = |radix: u32, first: Option<char>, digits: usize| {
        let digits: String = first.into_iter().chain(characters.take(digits)).collect();
        let code = u32::from_str_radix(&digits, radix).ok().filter(|_| !digits.starts_with('+'));
        // A byte above 127 on its own is not text.
        let is_character = |code: &u32| radix == 16 && digits.len() > 2 || *code < 128;
        code.filter(is_character).and_then(char::from_u32).map_or_else(|| unknown(&digits), Ok)
    };
    match character {
        'a' => Ok('\u{7}'),
        'b' => Ok('\u{8}'),
        'f' => Ok('\u{c}'),
        'n' => Ok('\n'),
        'r' => Ok('\r'),
        't' => Ok('\t'),
        'v' => Ok('\u{b}'),
        '\\' | '"' => Ok(character),
        'x' => coded(16, None, 2),
        'u' => coded(16, None, 4),
        'U' => coded(16, None, 8),
        '0'..='7' => coded(8, Some(character), 2),
        other => unknown(&other.to_string()),
    }
}
