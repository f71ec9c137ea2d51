//! `deny` and `preconditions` in CEL.
//!
//! A condition holds, does not hold, or is an error because a variable in it has no value; an error counts where it is
//! met, before later conditions can decide.

use kubewright_jmespath::JmesPathFunctions;
use kubewright_value::{Step, Value};

use super::formula::{Formula, MAX_FORMULA_SIZE};
use super::operators;
use super::reading::{self, ValueQuestion};
use super::scope::{self, ListElements, PathTarget, SingleValue, TranslationScope};
use super::shape::ValueShape;
use crate::{ConversionRefusal, ConversionResult};
use kubewright_dialect_kit::fields::{Located, child_path};
use kubewright_kyverno::operator::ConditionOperator;
use kubewright_kyverno::tainted::Tainted;
use kubewright_kyverno::template::VariableTemplate;

/// When conditions hold, and when they cannot be answered.
#[derive(Debug, Clone)]
pub(super) struct ConditionFormulas {
    pub(super) hold: Formula,
    pub(super) error: Formula,
}

/// Returns the formulas of `conditions` in `scope`.
pub(super) fn translate_conditions(
    conditions: &Located<Value>,
    scope: &TranslationScope,
    functions: &JmesPathFunctions,
) -> ConversionResult<ConditionFormulas> {
    let reader = ConditionsTranslator { scope, functions };
    let mut all = ConditionFormulas::always(true);
    match &conditions.value {
        Value::Array(items)
            if items.iter().any(|item| item.get("any").is_some() || item.get("all").is_some()) =>
        {
            for (index, item) in items.iter().enumerate() {
                let group = reader.group(item, &child_path(&conditions.path, index))?;
                all = all.and(group);
            }
        }
        Value::Array(items) => all = reader.all(items, &conditions.path)?,
        group @ Value::Object(_) => all = reader.group(group, &conditions.path)?,
        _ => {}
    }
    if all.hold.size() > MAX_FORMULA_SIZE || all.error.size() > MAX_FORMULA_SIZE {
        let why = "the conditions make an expression that is too long".to_owned();
        return Err(ConversionRefusal { why, path: conditions.path.clone() });
    }
    Ok(all)
}

impl ConditionFormulas {
    fn always(hold: bool) -> Self {
        Self { hold: Formula::constant(hold), error: Formula::False }
    }

    /// Returns both, the other only where this holds.
    fn and(self, other: Self) -> Self {
        Self { error: self.error.or(self.hold.clone().and(other.error)), hold: self.hold.and(other.hold) }
    }

    /// Returns one of both, the other only where this does not hold.
    fn or(self, other: Self) -> Self {
        let no = self.hold.clone().not().and(self.error.clone().not());
        let hold = match &self.error {
            Formula::False => self.hold.or(other.hold),
            error => self.hold.or(error.clone().not().and(other.hold)),
        };
        Self {
            hold,
            error: self.error.or(match other.error {
                Formula::False => Formula::False,
                error => no.and(error),
            }),
        }
    }
}

/// One side of a condition.
enum ConditionSide {
    Constant(Value),
    Found(Box<VariableOperand>),
}

struct VariableOperand {
    found: PathTarget,
    default: Option<Value>,
    is_sure: bool,
}

struct ConditionsTranslator<'s> {
    scope: &'s TranslationScope,
    functions: &'s JmesPathFunctions,
}

impl ConditionsTranslator<'_> {
    fn group(&self, value: &Value, at: &[Step]) -> ConversionResult<ConditionFormulas> {
        let list = |key: &str| value.get(key).and_then(Value::as_array);
        let any = match list("any") {
            None => ConditionFormulas::always(true),
            Some(items) => {
                let mut any = ConditionFormulas::always(false);
                let at = child_path(at, "any");
                for (index, item) in items.iter().enumerate().rev() {
                    any = self.condition(item, &child_path(&at, index))?.or(any);
                }
                any
            }
        };
        let all = self.all(list("all").unwrap_or_default(), &child_path(at, "all"))?;
        // The second is looked at even where the first does not hold.
        Ok(ConditionFormulas { error: any.error.or(all.error), hold: any.hold.and(all.hold) })
    }

    fn all(&self, items: &[Value], at: &[Step]) -> ConversionResult<ConditionFormulas> {
        let mut all = ConditionFormulas::always(true);
        for (index, item) in items.iter().enumerate().rev() {
            all = self.condition(item, &child_path(at, index))?.and(all);
        }
        Ok(all)
    }

    fn condition(&self, item: &Value, at: &[Step]) -> ConversionResult<ConditionFormulas> {
        let field = |name: &str| item.get(name).cloned().unwrap_or_default();
        let key = self.side(&field("key"), &child_path(at, "key"))?;
        let value = self.side(&field("value"), &child_path(at, "value"))?;
        let because = |why: String| ConversionRefusal { why, path: at.to_vec() };
        let written = field("operator");
        let operator = written
            .as_str()
            .and_then(ConditionOperator::named)
            .ok_or_else(|| because("a condition has an unknown operator".to_owned()))?;
        match (key, value) {
            (ConditionSide::Constant(key), ConditionSide::Constant(value)) => Ok(ConditionFormulas::always(
                operators::compare_constants(operator, &Tainted::Trusted(key), &value),
            )),
            (ConditionSide::Found(key), ConditionSide::Constant(value)) => {
                compare_with_constant(operator, &key, &value).map_err(because)
            }
            (ConditionSide::Constant(key), ConditionSide::Found(value)) => {
                constant_in_variable(operator, &key, &value).map_err(because)
            }
            (ConditionSide::Found(key), ConditionSide::Found(value)) => {
                compare_variables(operator, &key, &value).map_err(because)
            }
        }
    }

    fn side(&self, value: &Value, at: &[Step]) -> ConversionResult<ConditionSide> {
        let because = |why: String| Err(ConversionRefusal { why, path: at.to_vec() });
        let (template, problems) = VariableTemplate::parse(value, self.functions);
        if let Some(constant) = template.constant() {
            return Ok(ConditionSide::Constant(constant.clone()));
        }
        let pieces = template.pieces().filter(|_| problems.is_empty());
        let Some([(text, true)]) = pieces.as_deref() else {
            return because("a condition has variables within a longer text or list".to_owned());
        };
        let Some(reading) = reading::parse_path_expression(text) else {
            return because(format!("`{{{{ {text} }}}}` is more than a path in the request"));
        };
        let Some(found) = self.scope.find(&reading) else {
            return because(format!("`{{{{ {text} }}}}` leads through lists or values of unknown type"));
        };
        let (found, default) = match &reading.asked {
            None => (found, reading.default.clone()),
            Some(asked) => match answer_question(found, asked, reading.default.as_ref()) {
                Some(found) => (found, None),
                None => {
                    return because(format!("`{{{{ {text} }}}}` tests a value of unknown type"));
                }
            },
        };
        let is_sure = scope::is_always_present(&reading);
        Ok(ConditionSide::Found(Box::new(VariableOperand {
            found,
            default: default.filter(|_| !is_sure),
            is_sure,
        })))
    }
}

/// Returns the answer to a question about a value. A missing value without a default is an error.
fn answer_question(found: PathTarget, asked: &ValueQuestion, default: Option<&Value>) -> Option<PathTarget> {
    let one = match found {
        PathTarget::One(one) => one,
        PathTarget::Many(many) => many.counted().filter(|_| *asked == ValueQuestion::Length)?,
    };
    let of_default = match (asked, default) {
        (_, None) => None,
        (ValueQuestion::Length, Some(Value::Array(items))) if items.is_empty() => Some("[]".to_owned()),
        (ValueQuestion::Length, Some(Value::String(text))) if text.is_empty() => Some("[]".to_owned()),
        (ValueQuestion::Matches(_), Some(Value::String(text))) => Some(super::text::string_literal(text)),
        _ => return None,
    };
    let is_list = one.shape.is_list();
    let (value, there) = match of_default {
        None => (one.value.clone(), one.there.clone()),
        Some(_) if is_list && one.there == Formula::True => (one.value.clone(), Formula::True),
        Some(default) if is_list => {
            let optional = one.optional.as_deref().filter(|optional| scope::is_optional(optional))?;
            (format!("{optional}.orValue({default})"), Formula::True)
        }
        Some(default) if matches!(one.shape, ValueShape::Word | ValueShape::Text) => {
            let is_full = non_empty_formula(&one).ok()?.written().replace('\n', " ");
            (format!("({is_full} ? {} : {default})", one.value), Formula::True)
        }
        Some(_) => return None,
    };
    let (value, shape) = match (asked, one.shape) {
        (ValueQuestion::Length, ValueShape::List(_)) => (format!("size({value})"), ValueShape::Int),
        (ValueQuestion::Contains(text), ValueShape::List(ValueShape::Word | ValueShape::Text)) => {
            (format!("({} in {value})", super::text::string_literal(text)), ValueShape::Bool)
        }
        (ValueQuestion::Contains(text), ValueShape::Word | ValueShape::Text) => {
            (format!("{value}.contains({})", super::text::string_literal(text)), ValueShape::Bool)
        }
        (ValueQuestion::Matches(expression), ValueShape::Word | ValueShape::Text) => {
            (format!("{value}.matches({})", super::text::string_literal(expression)), ValueShape::Bool)
        }
        _ => return None,
    };
    let missing = there.clone().not();
    Some(PathTarget::One(SingleValue { value, shape, there, missing, optional: None }))
}

/// A value of the request against a constant.
fn compare_with_constant(
    operator: ConditionOperator,
    key: &VariableOperand,
    value: &Value,
) -> Result<ConditionFormulas, String> {
    match &key.found {
        PathTarget::One(one) => compare_one(operator, one, key, value),
        PathTarget::Many(many) => compare_many(operator, many, key.default.as_ref(), value),
    }
}

fn compare_one(
    operator: ConditionOperator,
    one: &SingleValue,
    key: &VariableOperand,
    value: &Value,
) -> Result<ConditionFormulas, String> {
    let holds = |text: &str| {
        let formula = operators::operator_formula(operator, text, one.shape, value)?;
        // Of null nothing holds.
        Ok::<Formula, String>(match one.shape {
            ValueShape::Any => Formula::compare(text, "!=", "null").and(formula),
            _ => formula,
        })
    };
    let Some(default) = &key.default else {
        let hold = one.there.clone().and(holds(&one.value)?);
        let error = if key.is_sure { Formula::False } else { one.missing.clone() };
        return Ok(ConditionFormulas { hold, error });
    };
    let of_default = operators::compare_constants(operator, &Tainted::Trusted(default.clone()), value);
    let is_text = matches!(one.shape, ValueShape::Word | ValueShape::Text);
    let of_empty = || operators::compare_constants(operator, &Tainted::Untrusted(Value::from("")), value);
    if let (true, Some(optional), Value::String(_), Some(literal)) =
        (is_text, &one.optional, default, scope::constant_literal(default))
        && of_default == of_empty()
    {
        let text = if scope::is_optional(optional) {
            format!("{optional}.orValue({literal})")
        } else {
            optional.clone()
        };
        let formula = holds(&text)?;
        if matches!(formula, Formula::Atom(_)) {
            return Ok(ConditionFormulas { hold: formula, error: Formula::False });
        }
    }
    let is_true = non_empty_formula(one)?;
    let of_value = is_true.clone().and(holds(&one.value)?);
    let hold = match of_default {
        true => is_true.not().or(of_value),
        false => of_value,
    };
    Ok(ConditionFormulas { hold, error: Formula::False })
}

/// Returns whether something is there that is not empty, so that no default counts.
fn non_empty_formula(one: &SingleValue) -> Result<Formula, String> {
    let is_full = match one.shape {
        ValueShape::Word | ValueShape::Text => Formula::compare(&one.value, "!=", "\"\""),
        ValueShape::Int | ValueShape::Amount => Formula::True,
        ValueShape::Bool => Formula::compare(&one.value, "==", "true"),
        ValueShape::List(_) | ValueShape::Map(_) | ValueShape::MapOf(_) | ValueShape::Required(_) => {
            Formula::compare(&format!("size({})", one.value), "!=", "0")
        }
        ValueShape::Port => Formula::compare(&one.value, "!=", "\"\""),
        ValueShape::Any => {
            let type_of = format!("type({})", one.value);
            let is_sized = |name: &str| Formula::compare(&type_of, "!=", name);
            let is_full = || Formula::compare(&format!("size({})", one.value), "!=", "0");
            Formula::all_of([
                Formula::compare(&one.value, "!=", "null"),
                Formula::compare(&one.value, "!=", "false"),
                Formula::compare(&one.value, "!=", "\"\""),
                is_sized("list").or(is_full()),
                is_sized("map").or(is_full()),
            ])
        }
    };
    Ok(one.there.clone().and(is_full))
}

fn compare_many(
    operator: ConditionOperator,
    many: &ListElements,
    default: Option<&Value>,
    value: &Value,
) -> Result<ConditionFormulas, String> {
    if !matches!(operator, ConditionOperator::AnyIn | ConditionOperator::AnyNotIn) {
        return Err("a condition compares all elements of lists in lists".to_owned());
    }
    if !matches!(many.shape, ValueShape::Word | ValueShape::Text | ValueShape::Int | ValueShape::Bool) {
        return Err("a condition compares elements of unknown type".to_owned());
    }
    let hold = match operators::item_is_in(operator, &many.item, many.shape, value)? {
        None => Formula::False,
        Some(is_in) if operator == ConditionOperator::AnyIn => many.exists(is_in),
        Some(is_in) => many.exists(is_in.not()),
    };
    let of_default = default.is_some_and(|default| {
        operators::compare_constants(operator, &Tainted::Trusted(default.clone()), value)
    });
    let hold = match of_default {
        true => many.exists(Formula::True).not().or(hold),
        false => hold,
    };
    Ok(ConditionFormulas { hold, error: Formula::False })
}

/// Two values of the request, of which neither has wildcards.
fn compare_variables(
    operator: ConditionOperator,
    key: &VariableOperand,
    value: &VariableOperand,
) -> Result<ConditionFormulas, String> {
    let refused = || "a condition compares two values of the request".to_owned();
    let is_equality = match operator {
        ConditionOperator::Equals => true,
        ConditionOperator::NotEquals => false,
        _ => return Err(refused()),
    };
    let (PathTarget::One(left), PathTarget::One(right)) = (&key.found, &value.found) else {
        return Err(refused());
    };
    if key.default.is_some() || value.default.is_some() {
        return Err(refused());
    }
    let same = match (left.shape, right.shape) {
        (ValueShape::Word, ValueShape::Word) | (ValueShape::Text, ValueShape::Text) => {
            operators::same_texts(&left.value, &right.value)
        }
        (ValueShape::Bool, ValueShape::Bool) | (ValueShape::Int, ValueShape::Int) => {
            Formula::compare(&left.value, "==", &right.value)
        }
        _ => return Err(refused()),
    };
    // Without a value on the right nothing is the same, and without a key nothing is another.
    let same = right.there.clone().and(same);
    let hold = left.there.clone().and(if is_equality { same } else { same.not() });
    let error = left.missing.clone().or(right.missing.clone());
    Ok(ConditionFormulas { hold: error.clone().not().and(hold), error })
}

/// A constant in a list of the request.
fn constant_in_variable(
    operator: ConditionOperator,
    key: &Value,
    value: &VariableOperand,
) -> Result<ConditionFormulas, String> {
    let PathTarget::One(one) = &value.found else {
        return Err("a condition looks for a text in lists of lists".to_owned());
    };
    let Value::String(wanted) = key else {
        return Err("a condition looks for something else than a text in a list of the request".to_owned());
    };
    let ValueShape::List(ValueShape::Word | ValueShape::Text) = one.shape else {
        return Err(
            "a condition compares a constant with a value of the request that is not a list".to_owned()
        );
    };
    let is_positive = match operator {
        ConditionOperator::AnyIn | ConditionOperator::AllIn => true,
        ConditionOperator::AnyNotIn | ConditionOperator::AllNotIn => false,
        _ => return Err("a condition compares a text with a list".to_owned()),
    };
    if is_positive && one.shape.element() == ValueShape::Text {
        return Err("in a condition with `AnyIn` or `AllIn` wildcards of the object count too".to_owned());
    }
    if wanted.contains(['*', '?']) {
        return Err("a condition looks for wildcards in a list of the request".to_owned());
    }
    let is_in = Formula::compare(&super::text::string_literal(wanted), "in", &one.value);
    let of_value = if is_positive { is_in } else { is_in.not() };
    Ok(match &value.default {
        None => ConditionFormulas { hold: one.there.clone().and(of_value), error: one.missing.clone() },
        Some(default) => {
            let (key, value) = (Tainted::Trusted(key.clone()), default);
            let is_true = non_empty_formula(one)?;
            let hold = match operators::compare_constants(operator, &key, value) {
                true => is_true.not().or(of_value),
                false => is_true.and(of_value),
            };
            ConditionFormulas { hold, error: Formula::False }
        }
    })
}
