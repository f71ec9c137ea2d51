//! The operators of conditions on the values at a path.
//!
//! `[*]` asks whether *some* value fits, and every negative operator is the exact opposite of its positive one:
//! `NOT_EQUALS` holds when no value equals any operand, and so for a path that gives nothing.

use std::cmp::Ordering;

use kubewright_cel::Timestamp;
use kubewright_golib::regex::Regex;
use kubewright_value::quantity::Quantity;
use kubewright_value::{Budget, Exhausted, Number, Text, Value, json};

/// The operator of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConditionOperator {
    Equals,
    NotEquals,
    Is(NumericOrder),
    Exists,
    NotExists,
    IsEmpty,
    Contains,
    NotContains,
    Matches,
    NotMatches,
    Size(NumericOrder),
}

/// The order of two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumericOrder {
    Equal,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

/// Every operator, by its name in a pattern.
pub(crate) const OPERATOR_NAMES: &[(&str, ConditionOperator)] = &[
    ("EQUALS", ConditionOperator::Equals),
    ("NOT_EQUALS", ConditionOperator::NotEquals),
    ("IN", ConditionOperator::Equals),
    ("NOT_IN", ConditionOperator::NotEquals),
    ("GREATER_THAN", ConditionOperator::Is(NumericOrder::Greater)),
    ("GREATER_OR_EQUAL", ConditionOperator::Is(NumericOrder::GreaterOrEqual)),
    ("LESS_THAN", ConditionOperator::Is(NumericOrder::Less)),
    ("LESS_OR_EQUAL", ConditionOperator::Is(NumericOrder::LessOrEqual)),
    ("EXISTS", ConditionOperator::Exists),
    ("NOT_EXISTS", ConditionOperator::NotExists),
    ("IS_EMPTY", ConditionOperator::IsEmpty),
    ("CONTAINS", ConditionOperator::Contains),
    ("NOT_CONTAINS", ConditionOperator::NotContains),
    ("MATCHES", ConditionOperator::Matches),
    ("NOT_MATCHES", ConditionOperator::NotMatches),
    ("ARRAY_SIZE_EQUALS", ConditionOperator::Size(NumericOrder::Equal)),
    ("ARRAY_SIZE_GREATER_THAN", ConditionOperator::Size(NumericOrder::Greater)),
    ("ARRAY_SIZE_GREATER_OR_EQUAL", ConditionOperator::Size(NumericOrder::GreaterOrEqual)),
    ("ARRAY_SIZE_LESS_THAN", ConditionOperator::Size(NumericOrder::Less)),
    ("ARRAY_SIZE_LESS_OR_EQUAL", ConditionOperator::Size(NumericOrder::LessOrEqual)),
];

/// One value that a condition compares with.
#[derive(Debug, Clone)]
pub(crate) struct ConditionOperand {
    /// As it was written.
    pub(crate) text: Text,
    pub(crate) number: Option<Number>,
    pub(crate) regex: Option<Regex>,
}

impl ConditionOperator {
    /// Returns whether a filter of the successor has the operator. It has no negatives: there is `matchNone`.
    pub(crate) fn is_of_successor(self) -> bool {
        matches!(self, Self::Equals | Self::Is(_) | Self::Exists | Self::IsEmpty | Self::Size(_))
    }

    /// Returns whether the operator looks at values to compare with.
    pub(crate) fn takes_values(self) -> bool {
        !matches!(self, Self::Exists | Self::NotExists | Self::IsEmpty)
    }

    /// Returns whether the operator looks at the first value only.
    pub(crate) fn takes_one(self) -> bool {
        matches!(self, Self::Is(_) | Self::Size(_))
    }

    pub(crate) fn is_regex(self) -> bool {
        matches!(self, Self::Matches | Self::NotMatches)
    }

    /// Returns whether the operator holds for `values`; `incomparable` is set if a value cannot be compared.
    pub(crate) fn holds(
        self,
        values: &[&Value],
        operands: &[ConditionOperand],
        budget: &mut Budget,
        incomparable: &mut bool,
    ) -> Result<bool, Exhausted> {
        budget.step((values.len() as u64).saturating_mul(operands.len() as u64 + 1))?;
        if matches!(self, Self::Contains) {
            // Each text is searched for each operand.
            let bytes =
                values.iter().map(|value| searched_bytes(value)).sum::<usize>() / BYTES_SEARCHED_PER_STEP;
            budget.step((bytes as u64).saturating_mul(operands.len() as u64))?;
        }
        Ok(match self {
            Self::Exists => !values.is_empty(),
            Self::NotExists => values.is_empty(),
            Self::IsEmpty => values.iter().all(|value| is_empty_value(value)),
            Self::Equals => {
                some_value(values, budget, |value| operands.iter().any(|one| scalar_equals(value, one)))?
            }
            Self::NotEquals => !Self::Equals.holds(values, operands, budget, incomparable)?,
            Self::Contains => contains_operand(values, operands, budget)?,
            Self::NotContains => !Self::Contains.holds(values, operands, budget, incomparable)?,
            Self::Matches => matches_regex(values, operands, budget)?,
            Self::NotMatches => !Self::Matches.holds(values, operands, budget, incomparable)?,
            Self::Is(order) => {
                let Some(operand) = operands.first() else { return Ok(false) };
                some_value(values, budget, |value| match compare_scalar(value, operand) {
                    Some(found) => order.admits(found),
                    None => {
                        *incomparable = true;
                        false
                    }
                })?
            }
            Self::Size(order) => {
                let size = |value: &&Value| value.as_array().map(|items| Number::from(items.len() as u64));
                let wanted = operands.first().and_then(|operand| operand.number);
                let admits = |size: Number| wanted.is_some_and(|wanted| order.admits(size.cmp(&wanted)));
                values.iter().filter_map(size).any(admits)
            }
        })
    }
}

impl NumericOrder {
    fn admits(self, found: Ordering) -> bool {
        match self {
            Self::Equal => found == Ordering::Equal,
            Self::Greater => found == Ordering::Greater,
            Self::GreaterOrEqual => found != Ordering::Less,
            Self::Less => found == Ordering::Less,
            Self::LessOrEqual => found != Ordering::Greater,
        }
    }
}

impl ConditionOperand {
    /// Returns the operand that was written as `text`.
    pub(crate) fn new(text: &str) -> Self {
        Self { text: text.into(), number: parse_decimal(text), regex: None }
    }

    /// Returns the operand that a value of an object is; objects and arrays are none.
    pub(crate) fn of(value: &Value) -> Option<Self> {
        scalar_text(value).map(|text| Self::new(&text))
    }

    /// Returns whether something can be greater or less.
    pub(crate) fn is_ordered(&self) -> bool {
        self.number.is_some() || Quantity::parse(&self.text).is_ok() || Timestamp::parse(&self.text).is_some()
    }
}

/// Returns the text of a scalar.
pub(crate) fn scalar_text(value: &Value) -> Option<Text> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(true) => Some("true".into()),
        Value::Bool(false) => Some("false".into()),
        Value::Number(number) => Some(number.to_string().into()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns the number that `text` is, without any suffix.
pub(crate) fn parse_decimal(text: &str) -> Option<Number> {
    let text = text.trim();
    // Most texts are names, and reading them as JSON only to fail is slow.
    let is_start = |byte: &u8| byte.is_ascii_digit() || b"+-.".contains(byte);
    text.as_bytes().first().filter(|byte| is_start(byte))?;
    if let Ok(Value::Number(number)) = json::parse(text) {
        return Some(number);
    }
    let is_digit = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
    let float: f64 = text.bytes().all(is_digit).then(|| text.parse().ok())??;
    float.is_finite().then_some(Number::Float(float))
}

/// Returns whether a scalar of an object equals an operand: text by its characters, a number by its value.
pub(crate) fn scalar_equals(value: &Value, operand: &ConditionOperand) -> bool {
    match value {
        Value::String(text) => *text == operand.text,
        Value::Bool(flag) => operand.text == if *flag { "true" } else { "false" },
        Value::Number(number) => operand.number.is_some_and(|wanted| *number == wanted),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

/// Returns how a scalar is to an operand: as numbers, else as quantities, else as times. Never as text.
fn compare_scalar(value: &Value, operand: &ConditionOperand) -> Option<Ordering> {
    let text = match value {
        Value::Number(number) => {
            if let Some(wanted) = operand.number {
                return Some(number.cmp(&wanted));
            }
            Text::from(number.to_string())
        }
        Value::String(text) => text.clone(),
        _ => return None,
    };
    if text.len().max(operand.text.len()) > MAX_NUMBER_BYTES {
        return None;
    }
    if let (Some(found), Some(wanted)) = (parse_decimal(&text), operand.number) {
        return Some(found.cmp(&wanted));
    }
    if let (Ok(found), Ok(wanted)) = (Quantity::parse(&text), Quantity::parse(&operand.text)) {
        return Some(found.cmp(&wanted));
    }
    let times = (Timestamp::parse(&text)?, Timestamp::parse(&operand.text)?);
    Some(times.0.nanoseconds().cmp(&times.1.nanoseconds()))
}

/// Returns how many bytes of text are searched.
fn searched_bytes(value: &Value) -> usize {
    let one = |value: &Value| value.as_str().map_or(0, str::len);
    value.as_array().map_or_else(|| one(value), |items| items.iter().map(one).sum())
}

/// How many bytes are searched in one step.
const BYTES_SEARCHED_PER_STEP: usize = 32;

/// How long a number, a quantity or a time is at most.
const MAX_NUMBER_BYTES: usize = 256;

/// Returns whether an operand finds something in one of `values`, or in an item of one.
fn matches_regex(
    values: &[&Value],
    operands: &[ConditionOperand],
    budget: &mut Budget,
) -> Result<bool, Exhausted> {
    for value in values {
        let items = value.as_array().unwrap_or(std::slice::from_ref(*value));
        budget.step(items.len() as u64)?;
        if value.as_array().is_some()
            && items.iter().any(|item| matches!(item, Value::Array(_) | Value::Object(_)))
        {
            continue;
        }
        for text in items.iter().filter_map(scalar_text) {
            for regex in operands.iter().filter_map(|operand| operand.regex.as_ref()) {
                if regex.is_match(&text, budget)? {
                    return Ok(true);
                }
            }
        }
    }
    Ok(false)
}

fn is_empty_value(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Array(_) => value.as_array().is_some_and(<[Value]>::is_empty),
        Value::Object(map) => map.is_empty(),
        Value::Null => true,
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns whether `test` holds for one of `values`, where an array of scalars counts as its elements.
fn some_value(
    values: &[&Value],
    budget: &mut Budget,
    mut test: impl FnMut(&Value) -> bool,
) -> Result<bool, Exhausted> {
    for value in values {
        let Some(items) = value.as_array() else {
            if test(value) {
                return Ok(true);
            }
            continue;
        };
        budget.step(items.len() as u64)?;
        let are_scalars = !items.iter().any(|item| matches!(item, Value::Array(_) | Value::Object(_)));
        if are_scalars && items.iter().any(&mut test) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn contains_operand(
    values: &[&Value],
    operands: &[ConditionOperand],
    budget: &mut Budget,
) -> Result<bool, Exhausted> {
    for value in values {
        let found = match value {
            Value::String(text) => operands.iter().any(|operand| text.contains(operand.text.as_str())),
            Value::Object(map) => operands.iter().any(|operand| map.contains_key(&operand.text)),
            Value::Array(_) => {
                let items = value.as_array().unwrap_or_default();
                budget.step((items.len() as u64).saturating_mul(operands.len() as u64))?;
                items.iter().any(|item| operands.iter().any(|operand| scalar_equals(item, operand)))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        };
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests;
