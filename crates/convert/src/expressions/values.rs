//! Values with variables in them, and the conditions of a rule that changes objects, in CEL.
//!
//! A variable without a value is an error of the rule, and reading a missing field is one in CEL.

use kubewright_jmespath::JmesPathFunctions;
use kubewright_value::{Step, Text, Value};

use super::conditions;
use super::formula::Formula;
use super::reading;
use super::scope::{PathTarget, TranslationScope, is_optional};
use super::shape::ValueShape;
use super::text::string_literal;
use super::{lookup_refusal, match_filters, shape};
use crate::{ConversionResult, refuse_conversion};
use kubewright_dialect_kit::fields::{Located, child_path};
use kubewright_kyverno::source::{ContextEntry, RuleSource};
use kubewright_kyverno::template::VariableTemplate;

/// Returns the scope of the expressions of `rule`, outside of loops.
///
/// # Errors
/// When the rule looks something up.
pub(crate) fn rule_scope(rule: &RuleSource) -> ConversionResult<TranslationScope> {
    if let Some(first) = rule.context.first() {
        return refuse_conversion(&lookup_refusal(&first.from), &first.path);
    }
    let kinds = match_filters(rule).flat_map(|filter| &filter.kinds).map(|kind| kind.value.as_str());
    Ok(TranslationScope::new("object", shape::shape_of_kinds(kinds)))
}

/// Returns the preconditions of a rule that changes objects, by name.
///
/// # Errors
/// When they have no equivalent, or may end in an error.
pub(crate) fn translate_preconditions(
    rule: &RuleSource,
    functions: &JmesPathFunctions,
) -> ConversionResult<Vec<(Text, String)>> {
    let scope = rule_scope(rule)?;
    let Some(written) = &rule.preconditions else { return Ok(Vec::new()) };
    let formula = sure_conditions(written, &scope, functions)?;
    Ok(match formula {
        Formula::True => Vec::new(),
        formula => vec![(Text::new_static("preconditions"), formula.written())],
    })
}

/// Returns when the conditions of a cleanup policy about `kinds` hold, which reads `context`; nothing where they always do.
///
/// # Errors
/// When they have no equivalent, or may end in an error.
pub(crate) fn translate_cleanup_conditions(
    written: &Located<Value>,
    context: &[ContextEntry],
    (kinds, functions): (&[&str], &JmesPathFunctions),
) -> ConversionResult<Option<String>> {
    if let Some(first) = context.first() {
        return refuse_conversion(&lookup_refusal(&first.from), &first.path);
    }
    let scope = TranslationScope::new("object", shape::shape_of_kinds(kinds.iter().copied()));
    Ok(match sure_conditions(written, &scope, functions)? {
        Formula::True => None,
        formula => Some(formula.written()),
    })
}

/// Returns when `written` holds.
///
/// # Errors
/// When it may end in an error, which a condition in CEL would not pass on in the same way.
pub(super) fn sure_conditions(
    written: &Located<Value>,
    scope: &TranslationScope,
    functions: &JmesPathFunctions,
) -> ConversionResult<Formula> {
    let conditions = conditions::translate_conditions(written, scope, functions)?;
    match conditions.error.simplified() {
        Formula::False => Ok(conditions.hold.simplified()),
        _ => refuse_conversion("a precondition may end in an error", &written.path),
    }
}

/// Writes values as CEL.
pub(super) struct ValueTranslator<'s> {
    pub(super) scope: &'s TranslationScope,
    pub(super) functions: &'s JmesPathFunctions,
}

impl ValueTranslator<'_> {
    /// Returns `value`, which is at `at` in the document.
    pub(super) fn value(&self, value: &Value, at: &[Step]) -> ConversionResult<String> {
        Ok(match value {
            Value::Null => "null".to_owned(),
            Value::Bool(boolean) => boolean.to_string(),
            Value::Number(number) => match number.as_i64() {
                Some(number) => number.to_string(),
                None => format!("{:?}", number.as_f64()),
            },
            Value::String(text) => self.text(text, at)?,
            Value::Array(items) => {
                let items = items.iter().enumerate();
                let parts = items.map(|(index, item)| self.item(item, &child_path(at, index), value));
                format!("[{}]", parts.collect::<ConversionResult<Vec<_>>>()?.join(", "))
            }
            Value::Object(map) => {
                let entry = |(key, item): (&Text, &Value)| {
                    let path = child_path(at, key.as_str());
                    if key.contains("{{") || key.contains("$(") {
                        return refuse_conversion("a key has variables in it", &path);
                    }
                    Ok(format!("{}: {}", string_literal(key), self.item(item, &path, value)?))
                };
                let entries: Vec<String> = map.iter().map(entry).collect::<ConversionResult<_>>()?;
                format!("{{{}}}", entries.join(", "))
            }
        })
    }

    /// Returns a member of `whole`. Members of different types have no type in common.
    fn item(&self, item: &Value, at: &[Step], whole: &Value) -> ConversionResult<String> {
        let text = self.value(item, at)?;
        Ok(if has_texts_alone(whole) { text } else { format!("dyn({text})") })
    }

    /// Returns a text; a text that is one variable has the type of its value.
    pub(super) fn text(&self, text: &str, at: &[Step]) -> ConversionResult<String> {
        let (template, _) = VariableTemplate::parse(&Value::from(text), self.functions);
        if let Some(constant) = template.constant() {
            return match constant {
                Value::String(text) => Ok(string_literal(text)),
                _ => refuse_conversion("a text that stands for another value", at),
            };
        }
        let pieces = template.pieces().unwrap_or_default();
        match pieces.as_slice() {
            [] => refuse_conversion("a text with references in it", at),
            [(variable, true)] => self.variable(variable, at, false),
            pieces => {
                let piece = |(piece, is_variable): &(&str, bool)| match is_variable {
                    true => self.variable(piece, at, true),
                    false => Ok(string_literal(piece)),
                };
                Ok(pieces.iter().map(piece).collect::<ConversionResult<Vec<_>>>()?.join(" + "))
            }
        }
    }

    fn variable(&self, text: &str, at: &[Step], is_within: bool) -> ConversionResult<String> {
        let refuse = |why: &str| refuse_conversion(&format!("`{}` {why}", text.trim()), at);
        let Some(reading) = reading::parse_path_expression(text).filter(|reading| reading.asked.is_none())
        else {
            return refuse("is more than a path in the request");
        };
        let Some(PathTarget::One(one)) = self.scope.find(&reading) else {
            return refuse("leads through lists or values of unknown type");
        };
        let value = match (&reading.default, one.optional) {
            (None, _) => one.value,
            (Some(Value::String(default)), Some(optional))
                if default.is_empty() && is_optional(&optional) =>
            {
                format!("{optional}.orValue(\"\")")
            }
            (Some(_), _) => return refuse("has a default that also replaces what is empty"),
        };
        match (one.shape, is_within) {
            (ValueShape::Word | ValueShape::Text, _) => Ok(value),
            (ValueShape::Bool | ValueShape::Int, true) => Ok(format!("string({value})")),
            (_, true) => refuse("may be of any type"),
            (_, false) => Ok(value),
        }
    }
}

/// Returns whether all members of a list or a map are texts without variables.
fn has_texts_alone(whole: &Value) -> bool {
    let is_text =
        |value: &Value| value.as_str().is_some_and(|text| !text.contains("{{") && !text.contains("$("));
    match whole {
        Value::Array(items) => items.iter().all(is_text),
        Value::Object(map) => map.iter().all(|(_, value)| is_text(value)),
        _ => false,
    }
}
