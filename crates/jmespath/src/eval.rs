//! Evaluation of an expression.

use std::borrow::Cow;

use kubewright_value::{Budget, Map, Text, Value};

use super::ast::{JmesPathComparison, JmesPathExpr, JmesPathNode};
use super::function::{ExpressionReference, JmesPathArgument, JmesPathCall, JmesPathFailure};

mod compare;
mod path;
mod project;

pub(super) use compare::{charge_written_value, equal_within_budget};
pub(super) use path::lookup_expr;

type JmesPathResult<'a> = Result<Cow<'a, Value>, JmesPathFailure>;

static NULL: Value = Value::Null;

/// Evaluates a whole expression on `root`.
pub(super) fn evaluate_root<'a>(
    budget: &mut Budget,
    expr: &'a JmesPathExpr,
    root: &'a Value,
) -> JmesPathResult<'a> {
    let found = evaluate_expr(budget, expr, root)?;
    charge_copies(budget, expr, &found)?;
    Ok(found)
}

/// Charges for the copies in a result of `expr`, if there can be many.
pub(super) fn charge_copies(
    budget: &mut Budget,
    expr: &JmesPathExpr,
    found: &Value,
) -> Result<(), JmesPathFailure> {
    if expr.shape.has_many_copies() {
        charge_written_value(budget, found)?;
    }
    Ok(())
}

/// Evaluates `expr` on `current`.
pub(super) fn evaluate_expr<'a>(
    budget: &mut Budget,
    expr: &'a JmesPathExpr,
    current: &'a Value,
) -> JmesPathResult<'a> {
    match &expr.node {
        // The most common nodes, which need no level of nesting.
        JmesPathNode::Current => Ok(Cow::Borrowed(current)),
        JmesPathNode::Literal(value) => Ok(Cow::Borrowed(value)),
        JmesPathNode::Path(first, steps) => {
            path::follow_path(budget, first, steps, current).map_err(|failure| failure.at(expr.at))
        }
        _ => {
            let at = |exhausted| JmesPathFailure::from(exhausted).at(expr.at);
            budget.step(1).map_err(at)?;
            budget.enter().map_err(at)?;
            let found = evaluate_nested(budget, expr, current);
            budget.leave();
            found.map_err(|failure| failure.at(expr.at))
        }
    }
}

fn evaluate_nested<'a>(
    budget: &mut Budget,
    expr: &'a JmesPathExpr,
    current: &'a Value,
) -> JmesPathResult<'a> {
    match &expr.node {
        // Filled before it is evaluated.
        JmesPathNode::Slot(_) => Ok(Cow::Owned(Value::Null)),
        JmesPathNode::Current | JmesPathNode::Literal(_) | JmesPathNode::Path(..) => {
            evaluate_expr(budget, expr, current)
        }
        JmesPathNode::Projection(projection) => project::evaluate_projection(budget, projection, current),
        JmesPathNode::Pipe(parts) => {
            parts.iter().try_fold(Cow::Borrowed(current), |value, part| evaluate_on(budget, part, value))
        }
        JmesPathNode::Or(parts) => first_deciding_part(budget, parts, current, is_truthy_value),
        JmesPathNode::And(parts) => {
            first_deciding_part(budget, parts, current, |value| !is_truthy_value(value))
        }
        JmesPathNode::Not(operand) => {
            let value = evaluate_expr(budget, operand, current)?;
            Ok(Cow::Owned(Value::Bool(!is_truthy_value(&value))))
        }
        JmesPathNode::Compare(comparison, sides) => {
            let left = evaluate_expr(budget, &sides.0, current)?;
            let right = evaluate_expr(budget, &sides.1, current)?;
            compare_values(budget, *comparison, &left, &right).map(Cow::Owned)
        }
        JmesPathNode::List(members) => evaluate_list(budget, members, current),
        JmesPathNode::Object(members) => evaluate_object(budget, members, current),
        JmesPathNode::Call(function, arguments) => call_function(budget, function, arguments, current),
        JmesPathNode::Reference(_) => Err(JmesPathFailure::wrong_type(
            "an expression reference is only valid as an argument of a function",
        )),
    }
}

/// Evaluates `expr` on a value that may be temporary.
fn evaluate_on<'a>(budget: &mut Budget, expr: &'a JmesPathExpr, value: Cow<'a, Value>) -> JmesPathResult<'a> {
    match value {
        Cow::Borrowed(value) => evaluate_expr(budget, expr, value),
        Cow::Owned(value) => evaluate_expr(budget, expr, &value).map(|found| Cow::Owned(found.into_owned())),
    }
}

/// Returns whether a condition with this result holds: null, false and empty values do not, zero does.
pub(super) fn is_truthy_value(value: &Value) -> bool {
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
fn first_deciding_part<'a>(
    budget: &mut Budget,
    parts: &'a [JmesPathExpr],
    current: &'a Value,
    decides: impl Fn(&Value) -> bool,
) -> JmesPathResult<'a> {
    let mut last = Cow::Borrowed(&NULL);
    for part in parts {
        last = evaluate_expr(budget, part, current)?;
        if decides(&last) {
            break;
        }
    }
    Ok(last)
}

/// Compares two values. Only numbers have an order; for other types `<` and its like are null.
fn compare_values(
    budget: &mut Budget,
    comparison: JmesPathComparison,
    left: &Value,
    right: &Value,
) -> Result<Value, JmesPathFailure> {
    let ordered = |is: fn(std::cmp::Ordering) -> bool| match (left, right) {
        (Value::Number(left), Value::Number(right)) => Value::Bool(is(left.cmp(right))),
        _ => Value::Null,
    };
    Ok(match comparison {
        JmesPathComparison::Equal => Value::Bool(equal_within_budget(budget, left, right)?),
        JmesPathComparison::NotEqual => Value::Bool(!equal_within_budget(budget, left, right)?),
        JmesPathComparison::Less => ordered(std::cmp::Ordering::is_lt),
        JmesPathComparison::LessOrEqual => ordered(std::cmp::Ordering::is_le),
        JmesPathComparison::Greater => ordered(std::cmp::Ordering::is_gt),
        JmesPathComparison::GreaterOrEqual => ordered(std::cmp::Ordering::is_ge),
    })
}

fn evaluate_list<'a>(
    budget: &mut Budget,
    members: &'a [JmesPathExpr],
    current: &'a Value,
) -> JmesPathResult<'a> {
    if current.is_null() {
        return Ok(Cow::Borrowed(&NULL));
    }
    let items = evaluate_members(budget, members, current)?;
    Ok(Cow::Owned(Value::array(items.into_iter().map(Cow::into_owned).collect())))
}

/// Returns the members of `[a, b]` without building a list.
fn evaluate_members<'a>(
    budget: &mut Budget,
    members: &'a [JmesPathExpr],
    current: &'a Value,
) -> Result<Vec<Cow<'a, Value>>, JmesPathFailure> {
    charge_members(budget, members)?;
    let mut items = Vec::with_capacity(members.len());
    for member in members {
        items.push(evaluate_expr(budget, member, current)?);
    }
    Ok(items)
}

/// Charges for the members of `[a, b]`.
fn charge_members(budget: &mut Budget, members: &[JmesPathExpr]) -> Result<(), JmesPathFailure> {
    budget.step(members.len() as u64)?;
    Ok(budget.produce(members.len().saturating_mul(size_of::<Value>()))?)
}

fn evaluate_object<'a>(
    budget: &mut Budget,
    members: &'a [(Text, JmesPathExpr)],
    current: &'a Value,
) -> JmesPathResult<'a> {
    if current.is_null() {
        return Ok(Cow::Borrowed(&NULL));
    }
    budget.produce(members.len().saturating_mul(size_of::<(Text, Value)>()))?;
    let mut map = Map::with_capacity(members.len());
    for (key, member) in members {
        budget.step(1)?;
        map.insert(key.clone(), evaluate_expr(budget, member, current)?.into_owned());
    }
    Ok(Cow::Owned(Value::object(map)))
}

fn call_function<'a>(
    budget: &mut Budget,
    called: &'a JmesPathCall,
    arguments: &'a [JmesPathExpr],
    current: &'a Value,
) -> JmesPathResult<'a> {
    let mut evaluate = |argument: &'a JmesPathExpr| {
        Ok(match &argument.node {
            JmesPathNode::Reference(expr) => JmesPathArgument::Reference(ExpressionReference(expr)),
            _ => JmesPathArgument::Value(evaluate_expr(budget, argument, current)?),
        })
    };
    // Most calls have one or two arguments, which need no allocation.
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
            let evaluated = many.iter().map(evaluate).collect::<Result<Vec<_>, JmesPathFailure>>()?;
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
