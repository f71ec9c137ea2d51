//! The operators of conditions in CEL: a value of an object against a constant of the policy.

use kubewright_value::duration::Duration;
use kubewright_value::quantity::Quantity;
use kubewright_value::{Budget, Number, Value, json};

use super::formula::Formula;
use super::leaf::{DURATION_PATTERN, LeafResult, NUMBER_PATTERN, wildcard_formula};
use super::shape::ValueShape;
use super::text::{double_literal, string_literal};
use kubewright_kyverno::operator::{ComparedOperand, ConditionOperator, OrderOperator};
use kubewright_kyverno::tainted::Tainted;

/// Returns whether the constant `key` compares with the constant `value` under `operator`.
pub(super) fn compare_constants(operator: ConditionOperator, key: &Tainted, value: &Value) -> bool {
    let (key, value) =
        (ComparedOperand::compile(key), ComparedOperand::compile(&Tainted::Trusted(value.clone())));
    operator.holds(&key, &value, &mut Budget::default()).unwrap_or(false)
}

/// Returns whether `key`, which exists and is not null, compares with `value` under `operator`.
pub(super) fn operator_formula(
    operator: ConditionOperator,
    key: &str,
    shape: ValueShape,
    value: &Value,
) -> LeafResult<Formula> {
    match operator {
        ConditionOperator::Equals => equals_formula(key, shape, value),
        ConditionOperator::NotEquals => equals_formula(key, shape, value).map(Formula::not),
        ConditionOperator::AnyIn
        | ConditionOperator::AllIn
        | ConditionOperator::AnyNotIn
        | ConditionOperator::AllNotIn => membership_formula(operator, key, shape, value),
        ConditionOperator::Compare(order) => order_formula(order, key, shape, value),
        ConditionOperator::In => Err("the operator `In` is deprecated; write `AllIn` or `AnyIn`".to_owned()),
        ConditionOperator::NotIn => {
            Err("the operator `NotIn` is deprecated; write `AllNotIn` or `AnyNotIn`".to_owned())
        }
        ConditionOperator::CompareDuration(_) => {
            Err("the operators for durations are deprecated; write `GreaterThan` or `LessThan`".to_owned())
        }
    }
}

fn equals_formula(key: &str, shape: ValueShape, value: &Value) -> LeafResult<Formula> {
    Ok(match shape {
        ValueShape::Bool => match value {
            Value::Bool(wanted) if key.ends_with(')') => {
                let call = Formula::call(key);
                if *wanted { call } else { call.not() }
            }
            Value::Bool(wanted) => Formula::compare(key, "==", &wanted.to_string()),
            _ => Formula::False,
        },
        ValueShape::Int => match number_literal(value) {
            Some(wanted) if wanted.contains(['.', 'e']) => Formula::False,
            Some(wanted) => Formula::compare(key, "==", &wanted),
            None => Formula::False,
        },
        ValueShape::Word | ValueShape::Text | ValueShape::Amount => text_equals(key, shape, value)?,
        ValueShape::List(_) | ValueShape::Map(_) | ValueShape::MapOf(_) | ValueShape::Required(_) => {
            match value {
                Value::Array(items) if items.is_empty() && shape.is_list() => {
                    Formula::compare(&format!("size({key})"), "==", "0")
                }
                Value::Array(_) | Value::Object(_) => {
                    return Err("a condition compares whole lists or objects".to_owned());
                }
                _ => Formula::False,
            }
        }
        ValueShape::Port | ValueShape::Any => {
            let text = text_equals(key, ValueShape::Any, value)?;
            let text = if is_plain_comparison(&text) { text } else { guarded_operand("string", key, text) };
            let bool = equals_formula(key, ValueShape::Bool, value)?;
            let number = match number_literal(value) {
                Some(wanted) => Formula::compare(key, "==", &wanted),
                None => Formula::False,
            };
            if shape.is_any() && matches!(value, Value::Array(_) | Value::Object(_)) {
                return Err("a condition compares whole lists or objects".to_owned());
            }
            Formula::any_of([text, bool, number])
        }
    })
}

/// Returns whether `formula` is a comparison that is simply false for other types.
fn is_plain_comparison(formula: &Formula) -> bool {
    matches!(formula, Formula::False) || matches!(formula, Formula::Atom(atom) if atom.is_equality())
}

fn guarded_operand(type_name: &str, value: &str, formula: Formula) -> Formula {
    match formula {
        Formula::False => Formula::False,
        formula => Formula::compare(&format!("type({value})"), "==", type_name).and(formula),
    }
}

/// Returns the number that a constant is to a number.
fn number_literal(value: &Value) -> Option<String> {
    match value {
        Value::Number(Number::Int(integer)) => Some(integer.to_string()),
        Value::Number(number) => Some(double_literal(number.as_f64())),
        Value::String(text) => {
            text.parse::<f64>().ok().filter(|number| number.is_finite()).map(double_literal)
        }
        _ => None,
    }
}

fn text_equals(key: &str, shape: ValueShape, value: &Value) -> LeafResult<Formula> {
    let text = match value {
        Value::String(text) => text.as_str(),
        Value::Number(number) => {
            let Some(seconds) = number.as_i64() else {
                return Err("a condition compares durations with a fraction of a second".to_owned());
            };
            return Ok(match shape {
                ValueShape::Amount => Formula::False,
                _ => is_duration(key).and(Formula::compare(key, "!=", "\"0\"")).and(duration_comparison(
                    key,
                    "==",
                    &format!("{seconds}s"),
                )),
            });
        }
        _ => return Ok(Formula::False),
    };
    let duration = Duration::parse(text).ok().filter(|_| text != "0");
    let is_quantity = Quantity::parse(text).is_ok();
    if shape == ValueShape::Amount && is_quantity {
        return Ok(Formula::compare(&format!("quantity(string({key}))"), "==", &quantity_call(text)));
    }
    if duration == Some(Duration::ZERO) {
        return Err(format!("a condition compares with the duration `{text}`"));
    }
    let as_quantity = match is_quantity {
        true => Formula::call(format!("isQuantity({key})")).and(Formula::compare(
            &format!("quantity({key})"),
            "==",
            &quantity_call(text),
        )),
        false => Formula::False,
    };
    if duration.is_some() {
        let other = is_duration(key).not().and(as_quantity);
        return Ok(is_duration(key).and(duration_comparison(key, "==", text)).or(other));
    }
    if is_quantity {
        return Ok(as_quantity);
    }
    let fits = wildcard_formula(text, key, shape);
    let could_be_quantity = text.contains(['*', '?'])
        && text.chars().all(|c| c.is_ascii_digit() || "*?+-.eEinumkKMGTP".contains(c));
    Ok(match could_be_quantity {
        true => Formula::call(format!("isQuantity({key})")).not().and(fits),
        false => fits,
    })
}

/// Returns whether two texts are the same, as durations if both are some, else as quantities.
pub(super) fn same_texts(key: &str, value: &str) -> Formula {
    let call = |function: &str, text: &str| format!("{function}({text})");
    let compared = |function: &str| Formula::compare(&call(function, key), "==", &call(function, value));
    let not_zero = |text: &str| Formula::compare(text, "!=", "\"0\"");
    let durations =
        [is_duration(key), not_zero(key), is_duration(value), not_zero(value), compared("duration")];
    let quantities = ["isQuantity", "isQuantity"].iter().zip([key, value]);
    let quantities = quantities.map(|(function, text)| Formula::call(call(function, text)));
    let quantities = Formula::all_of(quantities.chain([compared("quantity")]));
    Formula::any_of([Formula::compare(key, "==", value), Formula::all_of(durations), quantities])
}

fn is_duration(key: &str) -> Formula {
    Formula::call(format!("{key}.matches({})", string_literal(DURATION_PATTERN)))
}

fn duration_comparison(key: &str, sign: &str, wanted: &str) -> Formula {
    Formula::compare(&format!("duration({key})"), sign, &format!("duration({})", string_literal(wanted)))
}

fn quantity_call(text: &str) -> String {
    format!("quantity({})", string_literal(text))
}

fn membership_formula(
    operator: ConditionOperator,
    key: &str,
    shape: ValueShape,
    value: &Value,
) -> LeafResult<Formula> {
    let is_positive = matches!(operator, ConditionOperator::AnyIn | ConditionOperator::AllIn);
    if shape.is_list() {
        let Some(is_in) = item_is_in(operator, "item", shape.element(), value)? else {
            return Ok(Formula::False);
        };
        return Ok(match operator {
            ConditionOperator::AnyIn => Formula::exists(key, "item", is_in),
            ConditionOperator::AllIn => Formula::all(key, "item", is_in),
            ConditionOperator::AnyNotIn => Formula::exists(key, "item", is_in.not()),
            _ => Formula::all(key, "item", is_in.not()),
        });
    }
    if shape.is_map() {
        return Ok(Formula::False);
    }
    if matches!(shape, ValueShape::Any | ValueShape::Port) {
        return Err("a condition looks for a value of unknown type in a list".to_owned());
    }
    let Some(items) = membership_texts(value)? else { return Ok(Formula::False) };
    let is_in = scalar_is_one_of(key, shape, &items, is_positive)?;
    Ok(if is_positive { is_in } else { is_in.not() })
}

/// Returns whether `item`, one of a list, is in `value`; nothing when nothing can be looked for in it.
pub(super) fn item_is_in(
    operator: ConditionOperator,
    item: &str,
    shape: ValueShape,
    value: &Value,
) -> LeafResult<Option<Formula>> {
    let items = match value {
        Value::Number(_) | Value::Bool(_)
            if matches!(operator, ConditionOperator::AnyIn | ConditionOperator::AnyNotIn) =>
        {
            Some(vec![(printed_scalar(value), false)])
        }
        value => membership_texts(value)?,
    };
    let is_positive = matches!(operator, ConditionOperator::AnyIn | ConditionOperator::AllIn);
    items.map(|items| scalar_is_one_of(item, shape, &items, is_positive)).transpose()
}

/// Returns the texts that a constant is looked through for, each with whether it may have wildcards.
fn membership_texts(value: &Value) -> LeafResult<Option<Vec<(String, bool)>>> {
    Ok(match value {
        Value::Array(items) => {
            Some(items.iter().map(|item| (printed_scalar(item), item.as_str().is_some())).collect())
        }
        Value::String(text) => {
            let is_range = text.bytes().any(|byte| byte == b'-')
                && text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+');
            if is_range {
                return Err(format!("a condition looks for a value in `{text}`, which may be a range"));
            }
            match json::parse(text) {
                Ok(_) => return Err(format!("a condition looks for a value in the JSON `{text}`")),
                Err(_) => Some(vec![(text.to_string(), true)]),
            }
        }
        _ => None,
    })
}

/// Returns a scalar as the text that it is looked for by.
fn printed_scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Bool(boolean) => boolean.to_string(),
        // Lists, objects and null are printed as texts that no scalar in an object has.
        other => json::to_string(other),
    }
}

/// Returns whether the scalar `key` is one of `items`.
fn scalar_is_one_of(
    key: &str,
    shape: ValueShape,
    items: &[(String, bool)],
    is_positive: bool,
) -> LeafResult<Formula> {
    let text = match shape {
        ValueShape::Word => key.to_owned(),
        ValueShape::Text | ValueShape::Amount if !is_positive => key.to_owned(),
        ValueShape::Int | ValueShape::Bool => format!("string({key})"),
        ValueShape::Text | ValueShape::Amount => {
            return Err("in a condition with `AnyIn` or `AllIn` wildcards of the object count too".to_owned());
        }
        _ => return Err("a condition looks for a value of unknown type in a list".to_owned()),
    };
    let is_wild = |(text, may_be): &(String, bool)| *may_be && text.contains(['*', '?']);
    let words: Vec<String> =
        items.iter().filter(|item| !is_wild(item)).map(|(text, _)| string_literal(text)).collect();
    let globs =
        items.iter().filter(|item| is_wild(item)).map(|(glob, _)| wildcard_formula(glob, &text, shape));
    let among = match words.as_slice() {
        [] => Formula::False,
        [only] => Formula::compare(&text, "==", only),
        _ => Formula::compare(&text, "in", &format!("[{}]", words.join(", "))),
    };
    Ok(among.or(Formula::any_of(globs)))
}

fn order_formula(order: OrderOperator, key: &str, shape: ValueShape, value: &Value) -> LeafResult<Formula> {
    let sign = match order {
        OrderOperator::GreaterThan => ">",
        OrderOperator::GreaterThanOrEquals => ">=",
        OrderOperator::LessThan => "<",
        OrderOperator::LessThanOrEquals => "<=",
    };
    let duration = match value {
        Value::String(text) => Duration::parse(text).ok().filter(|_| text != "0"),
        _ => None,
    };
    let seconds = || {
        let nanoseconds = duration.map(Duration::nanoseconds).unwrap_or_default();
        match nanoseconds % 1_000_000_000 {
            0 => Ok((nanoseconds / 1_000_000_000).to_string()),
            _ => Err("a condition compares with a fraction of a second".to_owned()),
        }
    };
    Ok(match shape {
        ValueShape::Int => match (duration, number_literal(value)) {
            (Some(_), _) => Formula::compare(key, sign, &seconds()?),
            (None, Some(wanted)) => Formula::compare(key, sign, &wanted),
            (None, None) => Formula::False,
        },
        ValueShape::Amount => match value {
            Value::String(text) if Quantity::parse(text).is_ok() => Formula::compare(
                &format!("quantity(string({key})).compareTo({})", quantity_call(text)),
                sign,
                "0",
            ),
            _ => return Err("a condition compares a quantity with something else".to_owned()),
        },
        ValueShape::Word | ValueShape::Text => {
            compare_texts_in_order(key, sign, value, duration.is_some(), seconds)?
        }
        ValueShape::Bool
        | ValueShape::Map(_)
        | ValueShape::MapOf(_)
        | ValueShape::List(_)
        | ValueShape::Required(_) => Formula::False,
        ValueShape::Any | ValueShape::Port => {
            return Err("a condition compares a value of unknown type".to_owned());
        }
    })
}

fn compare_texts_in_order(
    key: &str,
    sign: &str,
    value: &Value,
    is_duration_wanted: bool,
    seconds: impl Fn() -> LeafResult<String>,
) -> LeafResult<Formula> {
    let is_number = || Formula::call(format!("{key}.matches({})", string_literal(NUMBER_PATTERN)));
    Ok(match value {
        Value::String(text) if is_duration_wanted => {
            if Quantity::parse(text).is_ok() {
                return Err(format!("`{text}` in a condition is a duration and a quantity"));
            }
            let counted = Formula::compare(&format!("int(double({key}))"), sign, &seconds()?);
            is_duration(key)
                .and(duration_comparison(key, sign, text))
                .or(is_duration(key).not().and(is_number()).and(counted))
        }
        Value::String(text) if Quantity::parse(text).is_ok() => {
            let compared =
                Formula::compare(&format!("quantity({key}).compareTo({})", quantity_call(text)), sign, "0");
            Formula::call(format!("isQuantity({key})")).and(compared)
        }
        Value::String(text) => {
            return Err(format!("a condition compares with `{text}`, which is not a number"));
        }
        Value::Number(wanted) => {
            let Some(seconds) = wanted.as_i64() else {
                return Err("a condition compares texts with a number that is not whole".to_owned());
            };
            let as_duration = is_duration(key)
                .and(Formula::compare(key, "!=", "\"0\""))
                .and(duration_comparison(key, sign, &format!("{seconds}s")));
            let as_number =
                is_number().and(Formula::compare(&format!("double({key})"), sign, &format!("{seconds}.0")));
            as_duration.or(as_number)
        }
        _ => Formula::False,
    })
}
