//! Scalars of patterns: what fits them, and values that would.
//!
//! This is a simpler reading than that of the rule language: what is proposed is judged by the rule itself.

use kubewright_value::{Number, Value, json};

/// Returns whether `value` fits a scalar of a pattern.
pub(crate) fn fits_leaf(pattern: &Value, value: Option<&Value>) -> bool {
    match (pattern, value) {
        (Value::Null, value) => value.is_none_or(Value::is_null),
        (Value::String(pattern), Some(value)) => {
            pattern.split('|').any(|one| one.split('&').all(|part| fits_part(part.trim(), value)))
        }
        (pattern, Some(value)) => text_of(pattern) == text_of(value),
        (_, None) => false,
    }
}

/// Returns values that fit a scalar of a pattern, the best first; nothing stands for the absence of the field.
pub(crate) fn fitting_values(pattern: &Value, current: Option<&Value>, key: &str) -> Vec<Option<Value>> {
    let Value::String(text) = pattern else {
        return vec![if pattern.is_null() { None } else { Some(pattern.clone()) }];
    };
    let alternatives = text.split('|').map(str::trim);
    alternatives.flat_map(|alternative| alternative_values(alternative, current, key)).collect()
}

fn alternative_values(alternative: &str, current: Option<&Value>, key: &str) -> Vec<Option<Value>> {
    let parts: Vec<&str> = alternative.split('&').map(str::trim).collect();
    let is_literal = |part: &&&str| !part.contains(['*', '?']) && !part.starts_with(['!', '<', '>']);
    if let Some(literal) = parts.iter().find(is_literal) {
        return vec![Some(literal_value(literal))];
    }
    for part in &parts {
        if let Some(number) = part.strip_prefix(">=").or_else(|| part.strip_prefix("<=")) {
            return vec![Some(literal_value(number.trim()))];
        }
        if let Some(number) = part.strip_prefix('>') {
            return next_number(number.trim(), 1, key);
        }
        if let Some(number) = part.strip_prefix('<') {
            return next_number(number.trim(), -1, key);
        }
    }
    match (current, parts.as_slice()) {
        // Anything but a word: nothing at all is something else.
        (Some(Value::Bool(current)), [part]) if part.starts_with('!') => vec![Some((!current).into()), None],
        (Some(_), [part]) if part.starts_with('!') => vec![None],
        (None, ["?*" | "*"]) => usual_value(key).into_iter().map(Some).collect(),
        _ => Vec::new(),
    }
}

/// Returns a value that is a fair start for a field of which the rule only says that it must be there.
fn usual_value(key: &str) -> Option<Value> {
    match key {
        "memory" => Some("128Mi".into()),
        "cpu" => Some("100m".into()),
        "ephemeral-storage" => Some("1Gi".into()),
        _ => None,
    }
}

/// The usual id of a user or group that is not the superuser.
const USUAL_ID: i64 = 1000;

fn next_number(text: &str, step: i64, key: &str) -> Vec<Option<Value>> {
    let Ok(number) = text.parse::<i64>() else { return Vec::new() };
    let is_id = ["runAsUser", "runAsGroup", "fsGroup"].contains(&key);
    let next = if is_id && step > 0 { (number + step).max(USUAL_ID) } else { number + step };
    vec![Some(next.into())]
}

/// Returns the value that a literal of a pattern is usually written as.
fn literal_value(text: &str) -> Value {
    match text {
        "true" => true.into(),
        "false" => false.into(),
        _ => text.parse::<i64>().map_or_else(|_| text.into(), Into::into),
    }
}

fn fits_part(part: &str, value: &Value) -> bool {
    let text = text_of(value);
    if let Some(rest) = part.strip_prefix('!') {
        return !fits_wildcard(rest.trim(), &text);
    }
    for (sign, fits) in COMPARISONS {
        if let Some(bound) = part.strip_prefix(sign) {
            return compare(&text, bound.trim()).is_some_and(fits);
        }
    }
    fits_wildcard(part, &text)
}

type FitsOrdering = fn(std::cmp::Ordering) -> bool;

const COMPARISONS: [(&str, FitsOrdering); 4] = [
    (">=", |order| order.is_ge()),
    ("<=", |order| order.is_le()),
    (">", |order| order.is_gt()),
    ("<", |order| order.is_lt()),
];

fn compare(text: &str, bound: &str) -> Option<std::cmp::Ordering> {
    let number = |text: &str| text.parse::<f64>().ok();
    number(text)?.partial_cmp(&number(bound)?)
}

/// Returns whether `text` fits `pattern`, in which `*` and `?` are wildcards.
pub(crate) fn fits_wildcard(pattern: &str, text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    // Row by row: which lengths of the text the pattern so far can cover.
    let mut covers = vec![false; text.len() + 1];
    if let Some(first) = covers.first_mut() {
        *first = true;
    }
    for sign in pattern.chars() {
        let mut next = vec![false; text.len() + 1];
        for (length, _) in covers.iter().enumerate().filter(|(_, is)| **is) {
            match sign {
                '*' => next.iter_mut().skip(length).for_each(|place| *place = true),
                sign if sign == '?' || text.get(length) == Some(&sign) => {
                    if let Some(place) = next.get_mut(length + 1) {
                        *place = true;
                    }
                }
                _ => {}
            }
        }
        covers = next;
    }
    covers.last().copied().unwrap_or(false)
}

pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        Value::Number(number) => number_text(*number),
        other => json::to_string(other),
    }
}

fn number_text(number: Number) -> String {
    json::to_string(&Value::Number(number))
}
