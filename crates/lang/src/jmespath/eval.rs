//! Evaluating an expression.

use std::borrow::Cow;

use kubewright_value::{Budget, Map, Text, Value};

use super::ast::{Comparison, Expr, Node, Step};
use super::function::{Argument, Failure, Function, Reference};

mod compare;
mod find;
mod project;

pub(super) use compare::{equal, weigh};
pub(super) use find::find;

type Evaluated<'a> = Result<Cow<'a, Value>, Failure>;

static NULL: Value = Value::Null;

/// Evaluates a whole expression on `root`.
pub(super) fn whole<'a>(budget: &mut Budget, expr: &'a Expr, root: &'a Value) -> Evaluated<'a> {
    let found = eval(budget, expr, root)?;
    charge_copies(budget, expr, &found)?;
    Ok(found)
}

/// Charges for the copies in a result of `expr`, if there can be many.
pub(super) fn charge_copies(budget: &mut Budget, expr: &Expr, found: &Value) -> Result<(), Failure> {
    if expr.shape.has_many_copies() {
        weigh(budget, found)?;
    }
    Ok(())
}

/// Evaluates `expr` on `current`.
pub(super) fn eval<'a>(budget: &mut Budget, expr: &'a Expr, current: &'a Value) -> Evaluated<'a> {
    match &expr.node {
        // These are most of all there is, and cost no level.
        Node::Current => Ok(Cow::Borrowed(current)),
        Node::Literal(value) => Ok(Cow::Borrowed(value)),
        _ => {
            let at = |exhausted| Failure::from(exhausted).at(expr.at);
            budget.step(1).map_err(at)?;
            budget.enter().map_err(at)?;
            let found = eval_nested(budget, expr, current);
            budget.leave();
            found.map_err(|failure| failure.at(expr.at))
        }
    }
}

fn eval_nested<'a>(budget: &mut Budget, expr: &'a Expr, current: &'a Value) -> Evaluated<'a> {
    match &expr.node {
        Node::Current => Ok(Cow::Borrowed(current)),
        Node::Literal(value) => Ok(Cow::Borrowed(value)),
        Node::Path(first, steps) => path(budget, first, steps, current),
        Node::Projection(projection) => project::project(budget, projection, current),
        Node::Pipe(parts) => {
            parts.iter().try_fold(Cow::Borrowed(current), |value, part| on(budget, part, value))
        }
        Node::Or(parts) => first_that(budget, parts, current, is_true),
        Node::And(parts) => first_that(budget, parts, current, |value| !is_true(value)),
        Node::Not(operand) => {
            let value = eval(budget, operand, current)?;
            Ok(Cow::Owned(Value::Bool(!is_true(&value))))
        }
        Node::Compare(comparison, sides) => {
            let left = eval(budget, &sides.0, current)?;
            let right = eval(budget, &sides.1, current)?;
            compare(budget, *comparison, &left, &right).map(Cow::Owned)
        }
        Node::List(members) => list(budget, members, current),
        Node::Object(members) => object(budget, members, current),
        Node::Call(function, arguments) => call(budget, function, arguments, current),
        Node::Reference(_) => Err(Failure::wrong_type("an expression is only of use to a function")),
    }
}

/// Evaluates `expr` on a value that may not live as long as the object.
fn on<'a>(budget: &mut Budget, expr: &'a Expr, value: Cow<'a, Value>) -> Evaluated<'a> {
    match value {
        Cow::Borrowed(value) => eval(budget, expr, value),
        Cow::Owned(value) => eval(budget, expr, &value).map(|found| Cow::Owned(found.into_owned())),
    }
}

/// Returns whether a condition with this result holds. Zero does, what is empty does not.
pub(super) fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(b) => *b,
        Value::Number(_) => true,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
    }
}

fn path<'a>(budget: &mut Budget, first: &'a Expr, steps: &'a [Step], current: &'a Value) -> Evaluated<'a> {
    let mut value = eval(budget, first, current)?;
    for step in steps {
        budget.step(1)?;
        value = match step {
            Step::Expr(expr) => on(budget, expr, value)?,
            Step::NeededKey(key) if value.as_object().is_some_and(|map| !map.contains_key(key)) => {
                return Ok(Cow::Borrowed(&NULL));
            }
            step => match value {
                Cow::Borrowed(value) => Cow::Borrowed(part(value, step).unwrap_or(&NULL)),
                Cow::Owned(value) => Cow::Owned(part(&value, step).cloned().unwrap_or_default()),
            },
        };
    }
    Ok(value)
}

fn part<'v>(value: &'v Value, step: &Step) -> Option<&'v Value> {
    match step {
        Step::Key(key) | Step::NeededKey(key) => value.get(key),
        Step::Index(index) => {
            let items = value.as_array()?;
            let back = || items.len().checked_sub(usize::try_from(index.unsigned_abs()).ok()?);
            let index = if *index < 0 { back()? } else { usize::try_from(*index).ok()? };
            items.get(index)
        }
        Step::Expr(_) => None,
    }
}

/// Returns the first result that `decides`, or else the last one.
fn first_that<'a>(
    budget: &mut Budget,
    parts: &'a [Expr],
    current: &'a Value,
    decides: impl Fn(&Value) -> bool,
) -> Evaluated<'a> {
    let mut last = Cow::Borrowed(&NULL);
    for part in parts {
        last = eval(budget, part, current)?;
        if decides(&last) {
            break;
        }
    }
    Ok(last)
}

/// Only numbers have an order; it is null for anything else.
fn compare(
    budget: &mut Budget,
    comparison: Comparison,
    left: &Value,
    right: &Value,
) -> Result<Value, Failure> {
    let ordered = |is: fn(std::cmp::Ordering) -> bool| match (left, right) {
        (Value::Number(left), Value::Number(right)) => Value::Bool(is(left.cmp(right))),
        _ => Value::Null,
    };
    Ok(match comparison {
        Comparison::Equal => Value::Bool(equal(budget, left, right)?),
        Comparison::NotEqual => Value::Bool(!equal(budget, left, right)?),
        Comparison::Less => ordered(std::cmp::Ordering::is_lt),
        Comparison::LessOrEqual => ordered(std::cmp::Ordering::is_le),
        Comparison::Greater => ordered(std::cmp::Ordering::is_gt),
        Comparison::GreaterOrEqual => ordered(std::cmp::Ordering::is_ge),
    })
}

fn list<'a>(budget: &mut Budget, members: &'a [Expr], current: &'a Value) -> Evaluated<'a> {
    if current.is_null() {
        return Ok(Cow::Borrowed(&NULL));
    }
    budget.produce(members.len().saturating_mul(size_of::<Value>()))?;
    let mut items = Vec::with_capacity(members.len());
    for member in members {
        budget.step(1)?;
        items.push(eval(budget, member, current)?.into_owned());
    }
    Ok(Cow::Owned(Value::array(items)))
}

fn object<'a>(budget: &mut Budget, members: &'a [(Text, Expr)], current: &'a Value) -> Evaluated<'a> {
    if current.is_null() {
        return Ok(Cow::Borrowed(&NULL));
    }
    budget.produce(members.len().saturating_mul(size_of::<(Text, Value)>()))?;
    let mut map = Map::with_capacity(members.len());
    for (key, member) in members {
        budget.step(1)?;
        map.insert(key.clone(), eval(budget, member, current)?.into_owned());
    }
    Ok(Cow::Owned(Value::object(map)))
}

fn call<'a>(
    budget: &mut Budget,
    function: &'a Function,
    arguments: &'a [Expr],
    current: &'a Value,
) -> Evaluated<'a> {
    let mut evaluated = Vec::with_capacity(arguments.len());
    for argument in arguments {
        evaluated.push(match &argument.node {
            Node::Reference(expr) => Argument::Reference(Reference(expr)),
            _ => Argument::Value(eval(budget, argument, current)?),
        });
    }
    function.call(&evaluated, budget).map(Cow::Owned).map_err(|failure| {
        match failure.argument().and_then(|index| arguments.get(index)) {
            Some(argument) => failure.at(argument.at),
            None => failure,
        }
    })
}
