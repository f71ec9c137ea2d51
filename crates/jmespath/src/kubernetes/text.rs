//! String functions.

use std::cmp::Ordering;

use kubewright_value::{Budget, Value};

use super::super::function::{
    ArgumentTypes, JmesPathArgument, JmesPathBuiltin, JmesPathFailure, define_builtin,
};

const ONE_STRING: &[ArgumentTypes] = &[ArgumentTypes::STRING];
const TWO_STRINGS: &[ArgumentTypes] = &[ArgumentTypes::STRING, ArgumentTypes::STRING];
const THREE_STRINGS: &[ArgumentTypes] =
    &[ArgumentTypes::STRING, ArgumentTypes::STRING, ArgumentTypes::STRING];

pub(super) const TABLE: &[JmesPathBuiltin] = &[
    define_builtin(
        "compare",
        TWO_STRINGS,
        "number",
        "-1, 0 or 1: the first string is less, the same or greater",
        |arguments, _| apply_to_two_texts(arguments, |a, b| ordering_to_number(a.cmp(b))),
    ),
    define_builtin(
        "equal_fold",
        TWO_STRINGS,
        "boolean",
        "whether the strings are the same but for case",
        call_equal_fold,
    ),
    define_builtin(
        "replace",
        &[ArgumentTypes::STRING, ArgumentTypes::STRING, ArgumentTypes::STRING, ArgumentTypes::NUMBER],
        "string",
        "the first string with the second replaced by the third so many times; everywhere if negative",
        call_replace,
    ),
    define_builtin(
        "replace_all",
        THREE_STRINGS,
        "string",
        "the first string with every occurrence of the second replaced by the third",
        |arguments, budget| replace_occurrences(arguments, usize::MAX, budget),
    ),
    define_builtin("to_upper", ONE_STRING, "string", "the string in upper case", |arguments, budget| {
        map_characters(arguments, budget, upper_case_character)
    }),
    define_builtin("to_lower", ONE_STRING, "string", "the string in lower case", |arguments, budget| {
        map_characters(arguments, budget, lower_case_character)
    }),
    define_builtin(
        "trim",
        TWO_STRINGS,
        "string",
        "the first string without characters of the second at its ends",
        |arguments, _| {
            apply_to_two_texts(arguments, |text, cut| text.trim_matches(|c| cut.contains(c)).into())
        },
    ),
    define_builtin(
        "trim_prefix",
        TWO_STRINGS,
        "string",
        "the first string without the second at its start",
        |arguments, _| {
            apply_to_two_texts(arguments, |text, prefix| text.strip_prefix(prefix).unwrap_or(text).into())
        },
    ),
    define_builtin(
        "split",
        TWO_STRINGS,
        "array[string]",
        "the parts of the first string between occurrences of the second",
        call_split,
    ),
    define_builtin(
        "truncate",
        &[ArgumentTypes::STRING, ArgumentTypes::NUMBER],
        "string",
        "the string cut after so many characters",
        call_truncate,
    ),
    define_builtin(
        "to_boolean",
        ONE_STRING,
        "boolean",
        "the boolean of `true` or `false`, in any case",
        call_to_boolean,
    ),
    define_builtin(
        "path_canonicalize",
        ONE_STRING,
        "string",
        "the path without `.`, `..` and double slashes",
        call_path_canonicalize,
    ),
];

fn apply_to_two_texts(
    arguments: &[JmesPathArgument<'_>],
    of: impl Fn(&str, &str) -> Value,
) -> Result<Value, JmesPathFailure> {
    let [first, second] = arguments else { return Ok(Value::Null) };
    Ok(of(first.text(), second.text()))
}

fn first_text<'a>(arguments: &'a [JmesPathArgument<'_>]) -> &'a str {
    arguments.first().map_or("", JmesPathArgument::text)
}

fn ordering_to_number(ordering: Ordering) -> Value {
    Value::from(ordering as i64)
}

fn call_equal_fold(
    arguments: &[JmesPathArgument<'_>],
    budget: &mut Budget,
) -> Result<Value, JmesPathFailure> {
    let [first, second] = arguments else { return Ok(Value::Null) };
    budget.step(first.text().len().min(second.text().len()) as u64 / 8)?;
    Ok(Value::Bool(first.text().chars().map(fold_case).eq(second.text().chars().map(fold_case))))
}

/// Folds the case of a character. The Turkish dotted and dotless i fold to themselves, as in Go.
fn fold_case(c: char) -> char {
    if matches!(c, 'İ' | 'ı') { c } else { lower_case_character(upper_case_character(c)) }
}

fn call_replace(arguments: &[JmesPathArgument<'_>], budget: &mut Budget) -> Result<Value, JmesPathFailure> {
    let count = arguments.get(3).map_or(0.0, |count| count.number().as_f64());
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is not negative, and saturates"
    )]
    let count = if count <= -1.0 { usize::MAX } else { count as usize };
    replace_occurrences(arguments, count, budget)
}

fn replace_occurrences(
    arguments: &[JmesPathArgument<'_>],
    count: usize,
    budget: &mut Budget,
) -> Result<Value, JmesPathFailure> {
    let [text, old, new, ..] = arguments else { return Ok(Value::Null) };
    let (text, old, new) = (text.text(), old.text(), new.text());
    budget.step(text.len() as u64 / 8)?;
    let found = text.matches(old).take(count).count();
    budget.produce(found.saturating_mul(new.len()).saturating_add(text.len()))?;
    Ok(Value::from(text.replacen(old, new, count)))
}

fn map_characters(
    arguments: &[JmesPathArgument<'_>],
    budget: &mut Budget,
    map: fn(char) -> char,
) -> Result<Value, JmesPathFailure> {
    let text = first_text(arguments);
    budget.step(text.len() as u64 / 8)?;
    budget.produce(text.len())?;
    Ok(Value::from(text.chars().map(map).collect::<String>()))
}

/// Returns the upper case of a character; a character whose upper case is several characters is unchanged.
fn upper_case_character(c: char) -> char {
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(upper), None) => upper,
        _ => c,
    }
}

fn lower_case_character(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

/// Splits a string. An empty separator splits between all characters.
fn call_split(arguments: &[JmesPathArgument<'_>], budget: &mut Budget) -> Result<Value, JmesPathFailure> {
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

fn call_truncate(arguments: &[JmesPathArgument<'_>], budget: &mut Budget) -> Result<Value, JmesPathFailure> {
    let [text, length] = arguments else { return Ok(Value::Null) };
    budget.step(text.text().len() as u64 / 8)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, as intended")]
    let length = length.number().as_f64() as usize;
    let end = text.text().char_indices().nth(length).map_or(text.text().len(), |(end, _)| end);
    Ok(Value::from(text.text().get(..end).unwrap_or_default()))
}

fn call_to_boolean(arguments: &[JmesPathArgument<'_>], _: &mut Budget) -> Result<Value, JmesPathFailure> {
    let text = first_text(arguments);
    match text {
        _ if text.eq_ignore_ascii_case("true") => Ok(Value::Bool(true)),
        _ if text.eq_ignore_ascii_case("false") => Ok(Value::Bool(false)),
        _ => {
            Err(JmesPathFailure::wrong_value(format!("expected `true` or `false`, found `{text}`")).about(0))
        }
    }
}

/// Returns the shortest equivalent path; an empty one stays empty.
fn call_path_canonicalize(
    arguments: &[JmesPathArgument<'_>],
    budget: &mut Budget,
) -> Result<Value, JmesPathFailure> {
    let path = first_text(arguments);
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
