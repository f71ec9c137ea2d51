//! Texts cut, replaced and compared.

use std::cmp::Ordering;

use kubewright_value::{Budget, Value};

use super::super::function::{Accepts, Argument, Builtin, Failure, builtin};

const ONE: &[Accepts] = &[Accepts::STRING];
const TWO: &[Accepts] = &[Accepts::STRING, Accepts::STRING];
const THREE: &[Accepts] = &[Accepts::STRING, Accepts::STRING, Accepts::STRING];

pub(super) const TABLE: &[Builtin] = &[
    builtin(
        "compare",
        TWO,
        "number",
        "-1, 0 or 1: the first string is less, the same or greater",
        |arguments, _| two(arguments, |a, b| ordering(a.cmp(b))),
    ),
    builtin("equal_fold", TWO, "boolean", "whether the strings are the same but for case", equal_fold),
    builtin(
        "replace",
        &[Accepts::STRING, Accepts::STRING, Accepts::STRING, Accepts::NUMBER],
        "string",
        "the first string with so many of the second replaced by the third; all if negative",
        replace,
    ),
    builtin(
        "replace_all",
        THREE,
        "string",
        "the first string with every second one replaced by the third",
        |arguments, budget| replaced(arguments, usize::MAX, budget),
    ),
    builtin("to_upper", ONE, "string", "the string in upper case", |arguments, budget| {
        mapped(arguments, budget, upper)
    }),
    builtin("to_lower", ONE, "string", "the string in lower case", |arguments, budget| {
        mapped(arguments, budget, lower)
    }),
    builtin(
        "trim",
        TWO,
        "string",
        "the first string without characters of the second at its ends",
        |arguments, _| two(arguments, |text, cut| text.trim_matches(|c| cut.contains(c)).into()),
    ),
    builtin(
        "trim_prefix",
        TWO,
        "string",
        "the first string without the second at its start",
        |arguments, _| two(arguments, |text, prefix| text.strip_prefix(prefix).unwrap_or(text).into()),
    ),
    builtin("split", TWO, "array[string]", "the parts of the first string between the second ones", split),
    builtin(
        "truncate",
        &[Accepts::STRING, Accepts::NUMBER],
        "string",
        "the string cut after so many characters",
        truncate,
    ),
    builtin("to_boolean", ONE, "boolean", "what `true` or `false` in any case says", to_boolean),
    builtin(
        "path_canonicalize",
        ONE,
        "string",
        "the path without `.`, `..` and double slashes",
        path_canonicalize,
    ),
];

fn two(arguments: &[Argument<'_>], of: impl Fn(&str, &str) -> Value) -> Result<Value, Failure> {
    let [first, second] = arguments else { return Ok(Value::Null) };
    Ok(of(first.text(), second.text()))
}

fn one<'a>(arguments: &'a [Argument<'_>]) -> &'a str {
    arguments.first().map_or("", Argument::text)
}

fn ordering(ordering: Ordering) -> Value {
    Value::from(ordering as i64)
}

fn equal_fold(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    let [first, second] = arguments else { return Ok(Value::Null) };
    budget.step(first.text().len().min(second.text().len()) as u64 / 8)?;
    Ok(Value::Bool(first.text().chars().map(folded).eq(second.text().chars().map(folded))))
}

/// The Turkish ones are the same as no other.
fn folded(c: char) -> char {
    if matches!(c, 'İ' | 'ı') { c } else { lower(upper(c)) }
}

fn replace(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    let count = arguments.get(3).map_or(0.0, |count| count.number().as_f64());
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is not negative, and saturates"
    )]
    let count = if count <= -1.0 { usize::MAX } else { count as usize };
    replaced(arguments, count, budget)
}

fn replaced(arguments: &[Argument<'_>], count: usize, budget: &mut Budget) -> Result<Value, Failure> {
    let [text, old, new, ..] = arguments else { return Ok(Value::Null) };
    let (text, old, new) = (text.text(), old.text(), new.text());
    budget.step(text.len() as u64 / 8)?;
    let found = text.matches(old).take(count).count();
    budget.produce(found.saturating_mul(new.len()).saturating_add(text.len()))?;
    Ok(Value::from(text.replacen(old, new, count)))
}

fn mapped(arguments: &[Argument<'_>], budget: &mut Budget, map: fn(char) -> char) -> Result<Value, Failure> {
    let text = one(arguments);
    budget.step(text.len() as u64 / 8)?;
    budget.produce(text.len())?;
    Ok(Value::from(text.chars().map(map).collect::<String>()))
}

/// A character whose upper case is more than one keeps its own.
fn upper(c: char) -> char {
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(upper), None) => upper,
        _ => c,
    }
}

fn lower(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

/// An empty separator parts all characters.
fn split(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    let [text, separator] = arguments else { return Ok(Value::Null) };
    let (text, separator) = (text.text(), separator.text());
    let count = if separator.is_empty() { text.len() } else { text.matches(separator).count() + 1 };
    budget.step(text.len() as u64 / 8 + count as u64)?;
    budget.produce(count.saturating_mul(size_of::<Value>()).saturating_add(text.len()))?;
    let parts = if separator.is_empty() {
        text.chars().map(|c| Value::from(c.encode_utf8(&mut [0; 4]) as &str)).collect()
    } else {
        text.split(separator).map(Value::from).collect()
    };
    Ok(Value::array(parts))
}

fn truncate(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    let [text, length] = arguments else { return Ok(Value::Null) };
    budget.step(text.text().len() as u64 / 8)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturates, which is what is wanted"
    )]
    let length = length.number().as_f64() as usize;
    let end = text.text().char_indices().nth(length).map_or(text.text().len(), |(end, _)| end);
    Ok(Value::from(text.text().get(..end).unwrap_or_default()))
}

fn to_boolean(arguments: &[Argument<'_>], _: &mut Budget) -> Result<Value, Failure> {
    let text = one(arguments);
    match text {
        _ if text.eq_ignore_ascii_case("true") => Ok(Value::Bool(true)),
        _ if text.eq_ignore_ascii_case("false") => Ok(Value::Bool(false)),
        _ => Err(Failure::wrong_value(format!("expected `true` or `false`, found `{text}`")).about(0)),
    }
}

/// Returns the shortest path that means the same; an empty one stays empty.
fn path_canonicalize(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    let path = one(arguments);
    budget.step(path.len() as u64 / 8)?;
    let is_rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match (part, parts.last()) {
            ("" | ".", _) => {}
            ("..", None | Some(&"..")) if !is_rooted => parts.push(part),
            ("..", _) => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    Ok(Value::from(match (path.is_empty(), is_rooted, parts.is_empty()) {
        (true, ..) => String::new(),
        (_, true, _) => format!("/{}", parts.join("/")),
        (_, false, true) => ".".to_owned(),
        (_, false, false) => parts.join("/"),
    }))
}
