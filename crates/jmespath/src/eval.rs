//! Evaluating an expression.

use std::borrow::Cow;

use kubewright_value::{Budget, Map, Text, Value};

use super::ast::{Comparison, Expr, Node};
use super::function::{Argument, Call, Failure, Reference};

mod compare;
mod path;
mod project;

pub(super) use compare::{equal, weigh};
pub(super) use path::find;

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
        Node::Path(first, steps) => {
            path::value(budget, first, steps, current).map_err(|failure| failure.at(expr.at))
        }
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
        Node::Current | Node::Literal(_) | Node::Path(..) => eval(budget, expr, current),
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
    let items = list_members(budget, members, current)?;
    Ok(Cow::Owned(Value::array(items.into_iter().map(Cow::into_owned).collect())))
}

/// Returns the members of `[a, b]` before they are put into a list.
fn list_members<'a>(
    budget: &mut Budget,
    members: &'a [Expr],
    current: &'a Value,
) -> Result<Vec<Cow<'a, Value>>, Failure> {
    budget.step(members.len() as u64)?;
    budget.produce(members.len().saturating_mul(size_of::<Value>()))?;
    let mut items = Vec::with_capacity(members.len());
    for member in members {
        items.push(eval(budget, member, current)?);
    }
    Ok(items)
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
    called: &'a Call,
    arguments: &'a [Expr],
    current: &'a Value,
) -> Evaluated<'a> {
    let mut evaluate = |argument: &'a Expr| {
        Ok(match &argument.node {
            Node::Reference(expr) => Argument::Reference(Reference(expr)),
            _ => Argument::Value(eval(budget, argument, current)?),
        })
    };
    // Most calls have one argument or two, which need no list.
    let result = match arguments {
        [one] => {
            let evaluated = [evaluate(one)?];
            called.call(&evaluated, budget)
        }
        [one, two] => {
            let evaluated = [evaluate(one)?, evaluate(two)?];
            called.call(&evaluated, budget)
        }
        many => {
            let evaluated = many.iter().map(evaluate).collect::<Result<Vec<_>, Failure>>()?;
            called.call(&evaluated, budget)
        }
    };
    result.map(Cow::Owned).map_err(|failure| {
        match failure.argument().and_then(|index| arguments.get(index)) {
            Some(argument) => failure.at(argument.at),
            None => failure,
        }
    })
}
