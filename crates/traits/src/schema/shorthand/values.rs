//! The values in constraints: by the type of the field, with or without quotes.

use kubewright_value::{Number, Value, json};

use super::super::node::Type;

/// Reads a value of type `kind`; says why it is none.
pub(super) fn parse(text: &str, kind: Option<Type>) -> Result<Value, String> {
    match kind {
        Some(Type::String) => unquoted(text).map(Value::from),
        Some(Type::Integer) => integer(&unquoted(text)?).map(Value::from),
        Some(Type::Number) => number(&unquoted(text)?).map(Value::from),
        Some(Type::Boolean) => boolean(&unquoted(text)?).map(Value::Bool),
        Some(Type::Array) if text.is_empty() => Ok(Value::array(Vec::new())),
        Some(Type::Object) if text.is_empty() => Ok(Value::object(kubewright_value::Map::new())),
        Some(Type::Array | Type::Object) => parsed(text),
        None => parsed(text).or_else(|_| unquoted(text).map(Value::from)),
    }
}

/// Reads a value whose type does not matter: JSON, or text.
pub(super) fn any(text: &str, kind: Option<Type>) -> Result<Value, String> {
    match kind {
        Some(Type::String) => unquoted(text).map(Value::from),
        _ if text.starts_with(['{', '[']) => parsed(text),
        _ => json::parse(text).or_else(|_| unquoted(text).map(Value::from)),
    }
}

pub(super) fn integer(text: &str) -> Result<i64, String> {
    match text {
        "" => Err("empty integer value".to_owned()),
        _ => text.parse().map_err(|_| "expected a whole number".to_owned()),
    }
}

/// A length or a number of items.
pub(super) fn count(text: &str) -> Result<i64, String> {
    match integer(text)? {
        count if count < 0 => Err("expected at least 0".to_owned()),
        count => Ok(count),
    }
}

pub(super) fn number(text: &str) -> Result<Number, String> {
    if text.is_empty() {
        return Err("empty number value".to_owned());
    }
    if let Ok(integer) = text.parse::<i64>() {
        return Ok(Number::Int(integer));
    }
    // `inf` and `nan` are no numbers in JSON.
    let float = text.parse::<f64>().ok().filter(|float| float.is_finite());
    float.map(|float| Number::Float(float).normalized()).ok_or_else(|| "expected a number".to_owned())
}

pub(super) fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(false),
        _ => Err("expected true or false".to_owned()),
    }
}

fn parsed(text: &str) -> Result<Value, String> {
    json::parse(text).map_err(|error| format!("not JSON: {}", error.message))
}

/// Returns the text in `'…'`, in which `''` is a quote, or in `"…"` with escapes, or the text itself.
pub(super) fn unquoted(text: &str) -> Result<String, String> {
    let inside = |quote: char| {
        let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
        (text.len() >= 2).then_some(inner)
    };
    if let Some(inner) = inside('\'') {
        return Ok(inner.replace("''", "'"));
    }
    match inside('"') {
        Some(inner) => unescaped(inner),
        None => Ok(text.to_owned()),
    }
}

/// Returns whether the whole of `text` is one text in quotes.
pub(super) fn is_quoted(text: &str) -> bool {
    let mut characters = text.chars();
    let Some(quote @ ('"' | '\'')) = characters.next() else { return false };
    let Some(inner) = text.get(1..).and_then(|rest| rest.strip_suffix(quote)) else { return false };
    match quote {
        '"' => unescaped(inner).is_ok(),
        _ => !inner.replace("''", "").contains('\''),
    }
}

/// Reads the escapes of Go's text in double quotes.
fn unescaped(inner: &str) -> Result<String, String> {
    let mut text = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' | '\n' => return Err("a quote or a line break inside of double quotes".to_owned()),
            '\\' => text.push(escape(&mut characters)?),
            other => text.push(other),
        }
    }
    Ok(text)
}

fn escape(characters: &mut std::str::Chars<'_>) -> Result<char, String> {
    let unknown = |written: &str| {
        Err(format!(
            "`\\{written}` is no escape in double quotes; in single quotes a backslash is a backslash"
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
