//! `deny` and `preconditions` in CEL.
//!
//! A condition holds, does not hold, or is an error because a variable in it leads nowhere; errors count where they are
//! met, before what would have decided.

use kubewright_jmespath::JmesPathFunctions;
use kubewright_value::{Step, Value};

use super::formula::{Formula, LARGEST};
use super::operators;
use super::reading::{self, Asked};
use super::scope::{self, Found, Many, One, Scope};
use super::shape::Shape;
use crate::Inexpressible;
use kubewright_dialect_kit::fields::{Placed, child};
use kubewright_kyverno::mixed::Tainted;
use kubewright_kyverno::operator::ConditionOperator;
use kubewright_kyverno::template::VariableTemplate;

/// When conditions hold, and when they cannot be answered.
#[derive(Debug, Clone)]
pub(super) struct Conditions {
    pub(super) hold: Formula,
    pub(super) error: Formula,
}

type Made<T> = Result<T, Inexpressible>;

/// Returns what `conditions` mean in `scope`.
pub(super) fn translate(
    conditions: &Placed<Value>,
    scope: &Scope,
    functions: &JmesPathFunctions,
) -> Made<Conditions> {
    let reader = Reader { scope, functions };
    let mut all = Conditions::always(true);
    match &conditions.value {
        Value::Array(items)
            if items.iter().any(|item| item.get("any").is_some() || item.get("all").is_some()) =>
        {
            for (index, item) in items.iter().enumerate() {
                let group = reader.group(item, &child(&conditions.path, index))?;
                all = all.and(group);
            }
        }
        Value::Array(items) => all = reader.all(items, &conditions.path)?,
        group @ Value::Object(_) => all = reader.group(group, &conditions.path)?,
        _ => {}
    }
    if all.hold.size() > LARGEST || all.error.size() > LARGEST {
        let why = "the conditions make an expression that is too long".to_owned();
        return Err(Inexpressible { why, path: conditions.path.clone() });
    }
    Ok(all)
}

impl Conditions {
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
enum Side {
    Constant(Value),
    Found(Box<Variable>),
}

struct Variable {
    found: Found,
    default: Option<Value>,
    is_sure: bool,
}

struct Reader<'s> {
    scope: &'s Scope,
    functions: &'s JmesPathFunctions,
}

impl Reader<'_> {
    fn group(&self, value: &Value, at: &[Step]) -> Made<Conditions> {
        let list = |key: &str| value.get(key).and_then(Value::as_array);
        let any = match list("any") {
            None => Conditions::always(true),
            Some(items) => {
                let mut any = Conditions::always(false);
                let at = child(at, "any");
                for (index, item) in items.iter().enumerate().rev() {
                    any = self.condition(item, &child(&at, index))?.or(any);
                }
                any
            }
        };
        let all = self.all(list("all").unwrap_or_default(), &child(at, "all"))?;
        // The second is looked at even where the first does not hold.
        Ok(Conditions { error: any.error.or(all.error), hold: any.hold.and(all.hold) })
    }

    fn all(&self, items: &[Value], at: &[Step]) -> Made<Conditions> {
        let mut all = Conditions::always(true);
        for (index, item) in items.iter().enumerate().rev() {
            all = self.condition(item, &child(at, index))?.and(all);
        }
        Ok(all)
    }

    fn condition(&self, item: &Value, at: &[Step]) -> Made<Conditions> {
        let field = |name: &str| item.get(name).cloned().unwrap_or_default();
        let key = self.side(&field("key"), &child(at, "key"))?;
        let value = self.side(&field("value"), &child(at, "value"))?;
        let because = |why: String| Inexpressible { why, path: at.to_vec() };
        let written = field("operator");
        let operator = written
            .as_str()
            .and_then(ConditionOperator::named)
            .ok_or_else(|| because("a condition has an unknown operator".to_owned()))?;
        match (key, value) {
            (Side::Constant(key), Side::Constant(value)) => {
                Ok(Conditions::always(operators::constants(operator, &Tainted::Own(key), &value)))
            }
            (Side::Found(key), Side::Constant(value)) => compared(operator, &key, &value).map_err(because),
            (Side::Constant(key), Side::Found(value)) => contained(operator, &key, &value).map_err(because),
            (Side::Found(key), Side::Found(value)) => both_found(operator, &key, &value).map_err(because),
        }
    }

    fn side(&self, value: &Value, at: &[Step]) -> Made<Side> {
        let because = |why: String| Err(Inexpressible { why, path: at.to_vec() });
        let (template, problems) = VariableTemplate::parse(value, self.functions);
        if let Some(constant) = template.constant() {
            return Ok(Side::Constant(constant.clone()));
        }
        let pieces = template.pieces().filter(|_| problems.is_empty());
        let Some([(text, true)]) = pieces.as_deref() else {
            return because("a condition has variables within a longer text or list".to_owned());
        };
        let Some(reading) = reading::read(text) else {
            return because(format!("`{{{{ {text} }}}}` is more than a path in the request"));
        };
        let Some(found) = self.scope.find(&reading) else {
            return because(format!("`{{{{ {text} }}}}` leads through lists or values of unknown type"));
        };
        let (found, default) = match &reading.asked {
            None => (found, reading.default.clone()),
            Some(asked) => match answered(found, asked, reading.default.as_ref()) {
                Some(found) => (found, None),
                None => {
                    return because(format!(
                        "`{{{{ {text} }}}}` asks something about a value of unknown type"
                    ));
                }
            },
        };
        let is_sure = scope::is_sure(&reading);
        Ok(Side::Found(Box::new(Variable { found, default: default.filter(|_| !is_sure), is_sure })))
    }
}

/// Returns the answer to what is asked about a value. Where nothing is there and no default counts, it is an error.
fn answered(found: Found, asked: &Asked, default: Option<&Value>) -> Option<Found> {
    let one = match found {
        Found::One(one) => one,
        Found::Many(many) => many.counted().filter(|_| *asked == Asked::Length)?,
    };
    let of_default = match (asked, default) {
        (_, None) => None,
        (Asked::Length, Some(Value::Array(items))) if items.is_empty() => Some("[]".to_owned()),
        (Asked::Length, Some(Value::String(text))) if text.is_empty() => Some("[]".to_owned()),
        (Asked::Matches(_), Some(Value::String(text))) => Some(super::text::literal(text)),
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
        Some(default) if matches!(one.shape, Shape::Word | Shape::Text) => {
            let is_full = truth(&one).ok()?.written().replace('\n', " ");
            (format!("({is_full} ? {} : {default})", one.value), Formula::True)
        }
        Some(_) => return None,
    };
    let (value, shape) = match (asked, one.shape) {
        (Asked::Length, Shape::List(_)) => (format!("size({value})"), Shape::Int),
        (Asked::Contains(text), Shape::List(Shape::Word | Shape::Text)) => {
            (format!("({} in {value})", super::text::literal(text)), Shape::Bool)
        }
        (Asked::Contains(text), Shape::Word | Shape::Text) => {
            (format!("{value}.contains({})", super::text::literal(text)), Shape::Bool)
        }
        (Asked::Matches(expression), Shape::Word | Shape::Text) => {
            (format!("{value}.matches({})", super::text::literal(expression)), Shape::Bool)
        }
        _ => return None,
    };
    let missing = there.clone().not();
    Some(Found::One(One { value, shape, there, missing, optional: None }))
}

/// A value of the request against a constant.
fn compared(operator: ConditionOperator, key: &Variable, value: &Value) -> Result<Conditions, String> {
    match &key.found {
        Found::One(one) => one_compared(operator, one, key, value),
        Found::Many(many) => many_compared(operator, many, key.default.as_ref(), value),
    }
}

fn one_compared(
    operator: ConditionOperator,
    one: &One,
    key: &Variable,
    value: &Value,
) -> Result<Conditions, String> {
    let holds = |text: &str| {
        let formula = operators::holds(operator, text, one.shape, value)?;
        // Of null nothing holds.
        Ok::<Formula, String>(match one.shape {
            Shape::Any => Formula::compare(text, "!=", "null").and(formula),
            _ => formula,
        })
    };
    let Some(default) = &key.default else {
        let hold = one.there.clone().and(holds(&one.value)?);
        let error = if key.is_sure { Formula::False } else { one.missing.clone() };
        return Ok(Conditions { hold, error });
    };
    let of_default = operators::constants(operator, &Tainted::Own(default.clone()), value);
    let is_text = matches!(one.shape, Shape::Word | Shape::Text);
    let of_empty = || operators::constants(operator, &Tainted::Foreign(Value::from("")), value);
    if let (true, Some(optional), Value::String(_), Some(literal)) =
        (is_text, &one.optional, default, scope::constant(default))
        && of_default == of_empty()
    {
        let text = if scope::is_optional(optional) {
            format!("{optional}.orValue({literal})")
        } else {
            optional.clone()
        };
        let formula = holds(&text)?;
        if matches!(formula, Formula::Atom(_)) {
            return Ok(Conditions { hold: formula, error: Formula::False });
        }
    }
    let is_true = truth(one)?;
    let of_value = is_true.clone().and(holds(&one.value)?);
    let hold = match of_default {
        true => is_true.not().or(of_value),
        false => of_value,
    };
    Ok(Conditions { hold, error: Formula::False })
}

/// Returns whether something is there that is not empty, so that no default counts.
fn truth(one: &One) -> Result<Formula, String> {
    let is_full = match one.shape {
        Shape::Word | Shape::Text => Formula::compare(&one.value, "!=", "\"\""),
        Shape::Int | Shape::Amount => Formula::True,
        Shape::Bool => Formula::compare(&one.value, "==", "true"),
        Shape::List(_) | Shape::Map(_) | Shape::MapOf(_) | Shape::Required(_) => {
            Formula::compare(&format!("size({})", one.value), "!=", "0")
        }
        Shape::Port => Formula::compare(&one.value, "!=", "\"\""),
        Shape::Any => {
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

fn many_compared(
    operator: ConditionOperator,
    many: &Many,
    default: Option<&Value>,
    value: &Value,
) -> Result<Conditions, String> {
    if !matches!(operator, ConditionOperator::AnyIn | ConditionOperator::AnyNotIn) {
        return Err("a condition compares all elements of lists in lists".to_owned());
    }
    if !matches!(many.shape, Shape::Word | Shape::Text | Shape::Int | Shape::Bool) {
        return Err("a condition compares elements of unknown type".to_owned());
    }
    let hold = match operators::item_is_in(operator, &many.item, many.shape, value)? {
        None => Formula::False,
        Some(is_in) if operator == ConditionOperator::AnyIn => many.exists(is_in),
        Some(is_in) => many.exists(is_in.not()),
    };
    let of_default =
        default.is_some_and(|default| operators::constants(operator, &Tainted::Own(default.clone()), value));
    let hold = match of_default {
        true => many.exists(Formula::True).not().or(hold),
        false => hold,
    };
    Ok(Conditions { hold, error: Formula::False })
}

/// Two values of the request, of which neither has wildcards.
fn both_found(operator: ConditionOperator, key: &Variable, value: &Variable) -> Result<Conditions, String> {
    let refused = || "a condition compares two values of the request".to_owned();
    let is_equality = match operator {
        ConditionOperator::Equals => true,
        ConditionOperator::NotEquals => false,
        _ => return Err(refused()),
    };
    let (Found::One(left), Found::One(right)) = (&key.found, &value.found) else { return Err(refused()) };
    if key.default.is_some() || value.default.is_some() {
        return Err(refused());
    }
    let same = match (left.shape, right.shape) {
        (Shape::Word, Shape::Word) | (Shape::Text, Shape::Text) => {
            operators::same_texts(&left.value, &right.value)
        }
        (Shape::Bool, Shape::Bool) | (Shape::Int, Shape::Int) => {
            Formula::compare(&left.value, "==", &right.value)
        }
        _ => return Err(refused()),
    };
    // Without a value on the right nothing is the same, and without a key nothing is another.
    let same = right.there.clone().and(same);
    let hold = left.there.clone().and(if is_equality { same } else { same.not() });
    let error = left.missing.clone().or(right.missing.clone());
    Ok(Conditions { hold: error.clone().not().and(hold), error })
}

/// A constant in a list of the request.
fn contained(operator: ConditionOperator, key: &Value, value: &Variable) -> Result<Conditions, String> {
    let Found::One(one) = &value.found else {
        return Err("a condition looks for a text in lists of lists".to_owned());
    };
    let Value::String(wanted) = key else {
        return Err("a condition looks for something else than a text in a list of the request".to_owned());
    };
    let Shape::List(Shape::Word | Shape::Text) = one.shape else {
        return Err("a condition compares a constant with a value of the request that is no list".to_owned());
    };
    let is_positive = match operator {
        ConditionOperator::AnyIn | ConditionOperator::AllIn => true,
        ConditionOperator::AnyNotIn | ConditionOperator::AllNotIn => false,
        _ => return Err("a condition compares a text with a list".to_owned()),
    };
    if is_positive && one.shape.element() == Shape::Text {
        return Err("in a condition with `AnyIn` or `AllIn` wildcards of the object count too".to_owned());
    }
    if wanted.contains(['*', '?']) {
        return Err("a condition looks for wildcards in a list of the request".to_owned());
    }
    let is_in = Formula::compare(&super::text::literal(wanted), "in", &one.value);
    let of_value = if is_positive { is_in } else { is_in.not() };
    Ok(match &value.default {
        None => Conditions { hold: one.there.clone().and(of_value), error: one.missing.clone() },
        Some(default) => {
            let (key, value) = (Tainted::Own(key.clone()), default);
            let is_true = truth(one)?;
            let hold = match operators::constants(operator, &key, value) {
                true => is_true.not().or(of_value),
                false => is_true.and(of_value),
            };
            Conditions { hold, error: Formula::False }
        }
    })
}
