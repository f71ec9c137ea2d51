//! Translates the message of a rule into CEL where it has variables.

use kubewright_jmespath::JmesPathFunctions;
use kubewright_value::Value;

use super::formula::Formula;
use super::reading;
use super::scope::{PathTarget, TranslationScope};
use super::shape::ValueShape;
use super::text::string_literal;
use kubewright_kyverno::source::RuleSource;
use kubewright_kyverno::template::VariableTemplate;

/// Replaces a variable in a message that is a plain text.
const ELLIPSIS: &str = "…";

/// Returns the message of `rule`, and the expression that makes it where it has variables that CEL can read. Where that
/// expression has no value, the message counts.
pub(super) fn translate_message(
    rule: &RuleSource,
    scope: &TranslationScope,
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
        .map(
            |(piece, is_variable)| {
                if *is_variable { message_variable(piece, scope) } else { Some(string_literal(piece)) }
            },
        )
        .collect();
    let text = match pieces.is_empty() {
        true => text,
        false => {
            pieces.iter().map(|(piece, is_variable)| if *is_variable { ELLIPSIS } else { piece }).collect()
        }
    };
    (Some(text), made.filter(|made| !made.is_empty()).map(|made| made.join(" + ")))
}

fn message_variable(text: &str, scope: &TranslationScope) -> Option<String> {
    let reading = reading::parse_path_expression(text).filter(|reading| reading.asked.is_none())?;
    let Some(PathTarget::One(one)) = scope.find(&reading) else { return None };
    let literal_default = match &reading.default {
        Some(Value::String(default)) => Some(string_literal(default)),
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
        ValueShape::Word | ValueShape::Text => Some(value),
        ValueShape::Bool | ValueShape::Int | ValueShape::Amount | ValueShape::Port | ValueShape::Any => {
            Some(format!("string({value})"))
        }
        _ => None,
    }
}
