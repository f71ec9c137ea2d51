//! Conditions: `preconditions`, `deny.conditions` and those of exceptions.

use kubewright_engine::nearest_word;
use kubewright_k8s::Operation;
use kubewright_value::suggest::did_you_mean;
use kubewright_value::{Step, Text, Value};

use super::super::operator::ConditionOperator;
use super::{PolicyChecks, code, pattern};
use kubewright_dialect_kit::fields::{Located, article, child_path};

/// The field that conditions belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConditionPlace {
    /// Of a rule itself, where everything must be there.
    Rule,
    /// Of a loop or an exception, where Kyverno lets one without key or value be, which then never holds.
    Loop,
}

/// Checks conditions as they are written: `{any, all}` or a list.
pub(super) fn check_conditions(
    findings: &mut PolicyChecks<'_>,
    found: &Located<Value>,
    place: ConditionPlace,
) {
    match &found.value {
        Value::Array(items) => check_condition_list(findings, items, &found.path, place),
        Value::Object(map) => {
            for (key, value) in map.iter() {
                let path = child_path(&found.path, key.as_str());
                match value {
                    _ if key != "any" && key != "all" => ignored(findings, key, &path, &["any", "all"]),
                    Value::Null => {}
                    Value::Array(items) => check_condition_list(findings, items, &path, place),
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

fn check_condition_list(
    findings: &mut PolicyChecks<'_>,
    items: &[Value],
    path: &[Step],
    place: ConditionPlace,
) {
    for (index, item) in items.iter().enumerate() {
        let path = child_path(path, index);
        match item {
            Value::Object(_) => check_condition(findings, item, &path, place),
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

fn check_condition(findings: &mut PolicyChecks<'_>, condition: &Value, path: &[Step], place: ConditionPlace) {
    let known = ["key", "operator", "value", "message"];
    for key in condition.as_object().into_iter().flat_map(|map| map.keys()) {
        if !known.contains(&key.as_str()) {
            ignored(findings, key, &child_path(path, key.as_str()), &known);
        }
    }
    let field = |name: &str| condition.get(name).filter(|value| !value.is_null());
    for name in ["key", "operator", "value"].into_iter().filter(|name| field(name).is_none()) {
        if place == ConditionPlace::Rule || name == "operator" {
            let help = "a condition compares a `key` with a `value`; for what is missing use `|| ''`";
            findings.at(&code::INCOMPLETE_CONDITION, path, format!("the condition has no `{name}`"), help);
        } else {
            let message = format!("a condition without `{name}` never holds");
            findings.at(&code::CONSTANT_CONDITION, path, message, "");
        }
    }
    let Some(operator) = field("operator").and_then(Value::as_str) else { return };
    operator_of(findings, operator, &child_path(path, "operator"));
    let (Some(key), Some(value)) = (field("key"), field("value")) else { return };
    if place == ConditionPlace::Rule
        && key.as_str().is_some_and(|key| key.replace(' ', "") == "{{request.operation}}")
    {
        check_operation_values(findings, value, &child_path(path, "value"));
    }
    if key.as_str().is_some_and(|key| key.contains("image")) {
        pattern::images(findings, value, &child_path(path, "value"));
    }
}

/// Reports a field that Kyverno passes over: conditions are the one place where it does not look for unknown ones.
fn ignored(findings: &mut PolicyChecks<'_>, key: &str, path: &[Step], known: &[&str]) {
    let help = match nearest_word(key, known.iter().copied()) {
        Some(near) => did_you_mean(near),
        None => format!("known here: {}", known.join(", ")),
    };
    findings.at_key(&code::IGNORED_FIELD, path, format!("unknown field `{key}`, which is ignored"), help);
}

fn operator_of(findings: &mut PolicyChecks<'_>, operator: &str, path: &[Step]) {
    if ConditionOperator::names().any(|name| name == operator) {
        return;
    }
    let help = match nearest_word(operator, ConditionOperator::names()) {
        Some(near) => did_you_mean(near),
        None => "use `Equals`, `NotEquals`, `AnyIn`, `AllIn`, `AnyNotIn`, `AllNotIn`, `GreaterThan`, \
                 `GreaterThanOrEquals`, `LessThan` or `LessThanOrEquals`"
            .to_owned(),
    };
    findings.at(&code::UNKNOWN_OPERATOR, path, format!("unknown operator `{operator}`"), help);
    findings.add_upstream_words("entered value of `operator` is invalid".to_owned());
}

/// `request.operation` must be compared with operations.
fn check_operation_values(findings: &mut PolicyChecks<'_>, value: &Value, path: &[Step]) {
    let help = "use `CREATE`, `UPDATE`, `DELETE`, `CONNECT`";
    match value {
        Value::String(text) => check_operation_value(findings, text, path),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                check_operation_value(
                    findings,
                    &item.as_str().map_or_else(|| item.to_string().into(), Text::new),
                    &child_path(path, index),
                );
            }
        }
        other => {
            let message = format!("`{other}` is not an operation");
            findings.at(&code::UNKNOWN_OPERATION, path, message, help);
        }
    }
}

fn check_operation_value(findings: &mut PolicyChecks<'_>, text: &str, path: &[Step]) {
    let is_variable = text.starts_with("{{") && text.ends_with("}}");
    if !is_variable && Operation::named(text).is_none() {
        let help = "use `CREATE`, `UPDATE`, `DELETE`, `CONNECT`";
        findings.at(&code::UNKNOWN_OPERATION, path, format!("`{text}` is not an operation"), help);
    }
}
