//! Conditions: `preconditions`, `deny.conditions` and those of exceptions.

use kubewright_engine::{Operation, nearest};
use kubewright_value::{Step, Text, Value};

use super::{Findings, code, pattern, variables};
use crate::fields::{Placed, article, child};

/// Where conditions stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Of a rule itself, where everything must be there.
    Rule,
    /// Of a loop or an exception, where Kyverno lets one without key or value be, which then never holds.
    Loop,
}

/// The operators, by what they compare.
const EQUAL: [&str; 4] = ["Equals", "NotEquals", "Equal", "NotEqual"];
const IN: [&str; 6] = ["AnyIn", "AllIn", "AnyNotIn", "AllNotIn", "In", "NotIn"];
const ORDER: [&str; 8] = [
    "GreaterThan",
    "GreaterThanOrEquals",
    "LessThan",
    "LessThanOrEquals",
    "DurationGreaterThan",
    "DurationGreaterThanOrEquals",
    "DurationLessThan",
    "DurationLessThanOrEquals",
];

/// Checks conditions as they are written: `{any, all}` or a list.
pub(super) fn check(findings: &mut Findings<'_>, found: &Placed<Value>, place: Place) {
    match &found.value {
        Value::Array(items) => list(findings, items, &found.path, place),
        Value::Object(map) => {
            for (key, value) in map.iter() {
                let path = child(&found.path, key.as_str());
                match value {
                    _ if key != "any" && key != "all" => ignored(findings, key, &path, &["any", "all"]),
                    Value::Null => {}
                    Value::Array(items) if items.is_empty() && key == "any" => {
                        let message = "none of no conditions holds";
                        findings.at_key(&code::CONSTANT_CONDITION, &path, message, "remove the empty `any`");
                    }
                    Value::Array(items) => list(findings, items, &path, place),
                    other => {
                        let message =
                            format!("`{key}` is {}, expected a list of conditions", article(other.kind()));
                        findings.at(&code::WRONG_TYPE, &path, message, "");
                    }
                }
            }
        }
        _ => {}
    }
}

fn list(findings: &mut Findings<'_>, items: &[Value], path: &[Step], place: Place) {
    for (index, item) in items.iter().enumerate() {
        let path = child(path, index);
        match item {
            Value::Object(_) => one(findings, item, &path, place),
            other => {
                let message = format!(
                    "a condition is {}, expected `key`, `operator` and `value`",
                    article(other.kind())
                );
                findings.at(&code::WRONG_TYPE, &path, message, "");
            }
        }
    }
}

fn one(findings: &mut Findings<'_>, condition: &Value, path: &[Step], place: Place) {
    let known = ["key", "operator", "value", "message"];
    for key in condition.as_object().into_iter().flat_map(|map| map.keys()) {
        if !known.contains(&key.as_str()) {
            ignored(findings, key, &child(path, key.as_str()), &known);
        }
    }
    let field = |name: &str| condition.get(name).filter(|value| !value.is_null());
    for name in ["key", "operator", "value"].into_iter().filter(|name| field(name).is_none()) {
        if place == Place::Rule || name == "operator" {
            let help = "a condition compares a `key` with a `value`; for what is missing use `|| ''`";
            findings.at(&code::INCOMPLETE_CONDITION, path, format!("the condition has no `{name}`"), help);
        } else {
            let message = format!("a condition without `{name}` never holds");
            findings.at(&code::CONSTANT_CONDITION, path, message, "");
        }
    }
    let Some(operator) = field("operator").and_then(Value::as_str) else { return };
    if !operator_of(findings, operator, &child(path, "operator")) {
        return;
    }
    let (Some(key), Some(value)) = (field("key"), field("value")) else { return };
    if place == Place::Rule && key.as_str().is_some_and(|key| key.replace(' ', "") == "{{request.operation}}")
    {
        operations(findings, value, &child(path, "value"));
    }
    if key.as_str().is_some_and(|key| key.contains("image")) {
        variables::each_text(value, &mut child(path, "value"), &mut |path, text| {
            pattern::registry(findings, text, path);
        });
    }
    if is_constant(key) && is_constant(value) {
        let message = "the condition has no variable, and always has the same result";
        findings.at(&code::CONSTANT_CONDITION, &child(path, "key"), message, "a variable stands in `{{ }}`");
    } else if is_constant(value) {
        fitting(findings, operator, value, &child(path, "value"));
    }
}

/// Reports a field that Kyverno passes over: conditions are the one place where it does not look for unknown ones.
fn ignored(findings: &mut Findings<'_>, key: &str, path: &[Step], known: &[&str]) {
    let help = match nearest(key, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known here: {}", known.join(", ")),
    };
    findings.at_key(&code::IGNORED_FIELD, path, format!("unknown field `{key}`, which is ignored"), help);
}

/// Returns whether there is such an operator.
fn operator_of(findings: &mut Findings<'_>, operator: &str, path: &[Step]) -> bool {
    let known = || EQUAL.iter().chain(&IN).chain(&ORDER).copied();
    if !known().any(|name| name == operator) {
        let help = match nearest(operator, known()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "use `Equals`, `NotEquals`, `AnyIn`, `AllIn`, `AnyNotIn`, `AllNotIn`, `GreaterThan`, \
                     `GreaterThanOrEquals`, `LessThan` or `LessThanOrEquals`"
                .to_owned(),
        };
        findings.at(&code::UNKNOWN_OPERATOR, path, format!("unknown operator `{operator}`"), help);
        return false;
    }
    let instead = match operator {
        "In" => "`AnyIn` or `AllIn`",
        "NotIn" => "`AnyNotIn` or `AllNotIn`",
        "Equal" => "`Equals`",
        "NotEqual" => "`NotEquals`",
        _ => match operator.strip_prefix("Duration") {
            Some("GreaterThan") => "`GreaterThan`",
            Some("GreaterThanOrEquals") => "`GreaterThanOrEquals`",
            Some("LessThan") => "`LessThan`",
            Some(_) => "`LessThanOrEquals`",
            None => return true,
        },
    };
    let message = format!("operator `{operator}` is deprecated");
    findings.at(&code::DEPRECATED_OPERATOR, path, message, format!("use {instead}"));
    true
}

/// What `request.operation` is compared with must be operations.
fn operations(findings: &mut Findings<'_>, value: &Value, path: &[Step]) {
    let help = "use `CREATE`, `UPDATE`, `DELETE`, `CONNECT`";
    match value {
        Value::String(text) => operation(findings, text, path),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                operation(
                    findings,
                    &item.as_str().map_or_else(|| item.to_string().into(), Text::new),
                    &child(path, index),
                );
            }
        }
        other => {
            let message = format!("`{other}` is no operation");
            findings.at(&code::UNKNOWN_OPERATION, path, message, help);
        }
    }
}

fn operation(findings: &mut Findings<'_>, text: &str, path: &[Step]) {
    let is_variable = text.starts_with("{{") && text.ends_with("}}");
    if !is_variable && Operation::named(text).is_none() {
        let help = "use `CREATE`, `UPDATE`, `DELETE`, `CONNECT`";
        findings.at(&code::UNKNOWN_OPERATION, path, format!("`{text}` is no operation"), help);
    }
}

/// Reports values that an operator can never be true for.
fn fitting(findings: &mut Findings<'_>, operator: &str, value: &Value, path: &[Step]) {
    let message = match value {
        Value::Object(_) if IN.contains(&operator) => "a list or text",
        Value::Number(_) if IN.contains(&operator) => "a list or text",
        Value::Object(_) | Value::Array(_) | Value::Bool(_) if ORDER.contains(&operator) => {
            "a number, a duration, a quantity or a version"
        }
        Value::String(text) if ORDER.contains(&operator) && !text.contains(|c: char| c.is_ascii_digit()) => {
            "a number, a duration, a quantity or a version"
        }
        _ => return,
    };
    let message = format!("`{operator}` compares with {message}, and never with `{value}`");
    findings.at(&code::OPERATOR_TYPE, path, message, "");
}

/// Returns whether nothing is put into a value; as deep as the document is.
fn is_constant(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.contains("{{") && !text.contains("$("),
        Value::Array(items) => items.iter().all(is_constant),
        Value::Object(map) => map.iter().all(|(key, value)| !key.contains("{{") && is_constant(value)),
        _ => true,
    }
}
