//! What a rule says, in CEL where it has variables.

use kubewright_jmespath::JmesPathFunctions;
use kubewright_value::Value;

use super::formula::Formula;
use super::reading;
use super::scope::{Found, Scope};
use super::shape::Shape;
use super::text::literal;
use kubewright_kyverno::source::RuleSource;
use kubewright_kyverno::template::VariableTemplate;

/// What stands for a variable in a message that is no expression.
const ELLIPSIS: &str = "…";

/// Returns the message of `rule`, and the expression that makes it where it has variables that CEL can read. Where that
/// expression has no value, the message counts.
pub(super) fn of(
    rule: &RuleSource,
    scope: &Scope,
    functions: &JmesPathFunctions,
) -> (Option<String>, Option<String>) {
    let Some(message) = &rule.validate.message else { return (None, None) };
    let text = message.value.trim().to_owned();
    let (template, _) = VariableTemplate::parse(&Value::from(text.as_str()), functions);
    if let Some(constant) = template.constant() {
        return (constant.as_str().map(str::to_owned), None);
    }
    let pieces = template.pieces().unwrap_or_default();
    let made: Option<Vec<String>> = pieces
        .iter()
        .map(|(piece, is_variable)| if *is_variable { variable(piece, scope) } else { Some(literal(piece)) })
        .collect();
    let text = match pieces.is_empty() {
        true => text,
        false => {
            pieces.iter().map(|(piece, is_variable)| if *is_variable { ELLIPSIS } else { piece }).collect()
        }
    };
    (Some(text), made.filter(|made| !made.is_empty()).map(|made| made.join(" + ")))
}

fn variable(text: &str, scope: &Scope) -> Option<String> {
    let reading = reading::read(text).filter(|reading| reading.asked.is_none())?;
    let Some(Found::One(one)) = scope.find(&reading) else { return None };
    let literal_default = match &reading.default {
        Some(Value::String(default)) => Some(literal(default)),
        Some(_) => return None,
        None => None,
    };
    let value = match (literal_default, one.optional) {
        (Some(default), Some(optional)) if super::scope::is_optional(&optional) => {
            format!("{optional}.orValue({default})")
        }
        _ if one.there == Formula::True || reading.default.is_none() => one.value,
        _ => return None,
    };
    match one.shape {
        Shape::Word | Shape::Text => Some(value),
        Shape::Bool | Shape::Int | Shape::Amount | Shape::Port | Shape::Any => {
            Some(format!("string({value})"))
        }
        _ => None,
    }
}
