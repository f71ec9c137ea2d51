//! Evaluating an expression.

use kubewright_golib::regex;
use kubewright_value::{Budget, Map, Text, Value};

use super::ast::{
    Conditional, ExprNode, InfixOperator, ObjectEntry, OperatorLink, PathExpr, PathFunction, PrefixOperator,
};
use super::fault::{PathFault, PathFaultKind};
use super::item::JsonPathItem;
use super::walk::{self, WalkTrail};
use super::{date, operators};

/// The limits of a pattern that is compiled during evaluation.
const DYNAMIC_REGEX_SIZE: usize = 256 << 10;
const DYNAMIC_REGEX_STEPS: u64 = 10_000;

/// The values of `$`, `@` and `#`.
#[derive(Debug, Clone, Copy)]
pub(super) struct PathScope<'a> {
    pub(super) root: &'a Value,
    /// `None` is undefined.
    pub(super) current: Option<&'a Value>,
    pub(super) trail: Option<&'a WalkTrail>,
}

/// Evaluates `expr`.
pub(super) fn eval_expression<'a>(
    budget: &mut Budget,
    expr: &'a PathExpr,
    scope: PathScope<'a>,
) -> Result<JsonPathItem<'a>, PathFault> {
    match &expr.node {
        // These two are most of all there is, and cost no level.
        ExprNode::Literal(value) => Ok(JsonPathItem::Ref(value)),
        ExprNode::Path(path) if !path.is_list => walk::eval_path(budget, path, scope),
        _ => {
            budget.step(1)?;
            budget.enter()?;
            let result = eval_inside(budget, expr, scope);
            budget.leave();
            result
        }
    }
}

fn eval_inside<'a>(
    budget: &mut Budget,
    expr: &'a PathExpr,
    scope: PathScope<'a>,
) -> Result<JsonPathItem<'a>, PathFault> {
    let fault = |kind| PathFault { kind, at: expr.at };
    match &expr.node {
        ExprNode::Literal(value) => Ok(JsonPathItem::Ref(value)),
        ExprNode::Path(path) => walk::eval_path(budget, path, scope),
        ExprNode::Variable(keys) => eval_variable(budget, keys, scope),
        ExprNode::Prefix(prefixes, operand) => eval_prefixed(budget, prefixes, operand, scope),
        ExprNode::Chain(first, links) => eval_chain(budget, first, links, scope),
        ExprNode::Choice(choice) => eval_conditional(budget, choice, scope),
        ExprNode::Call(function, arguments) => eval_call(budget, *function, arguments, scope, expr.at),
        ExprNode::List(items) => {
            budget.produce(items.len() * size_of::<JsonPathItem<'_>>())?;
            Ok(JsonPathItem::Many(
                items.iter().map(|item| eval_expression(budget, item, scope)).collect::<Result<_, _>>()?,
            ))
        }
        ExprNode::Object(entries) => eval_object(budget, entries, scope),
        ExprNode::Placeholder(number) => {
            let text = scope.trail.and_then(|trail| match number {
                Some(number) => walk::capture_text(trail, *number),
                None => Some(walk::all_captures_text(trail)),
            });
            text.map(|text| JsonPathItem::Own(Value::from(text)))
                .ok_or(fault(PathFaultKind::NoPlaceholder(*number)))
        }
    }
}

fn eval_prefixed<'a>(
    budget: &mut Budget,
    prefixes: &[PrefixOperator],
    operand: &'a PathExpr,
    scope: PathScope<'a>,
) -> Result<JsonPathItem<'a>, PathFault> {
    let mut item = eval_expression(budget, operand, scope)?;
    for prefix in prefixes.iter().rev() {
        budget.step(1)?;
        let value = operators::apply_prefix(*prefix, &item);
        item = JsonPathItem::Own(value.map_err(|kind| PathFault { kind, at: operand.at })?);
    }
    Ok(item)
}

/// Evaluates operators of one rank from left to right.
fn eval_chain<'a>(
    budget: &mut Budget,
    first: &'a PathExpr,
    links: &'a [OperatorLink],
    scope: PathScope<'a>,
) -> Result<JsonPathItem<'a>, PathFault> {
    let mut left = eval_expression(budget, first, scope)?;
    for link in links {
        budget.step(1)?;
        left = match link.operator {
            InfixOperator::And | InfixOperator::Or => eval_logic(budget, &left, link, scope)?,
            InfixOperator::Otherwise if !is_false(&left) => left,
            InfixOperator::Otherwise => eval_expression(budget, &link.right, scope)?,
            InfixOperator::Match | InfixOperator::NotMatch => eval_regex_match(budget, &left, link, scope)?,
            operator => {
                let right = eval_expression(budget, &link.right, scope)?;
                let value = operators::apply_infix(budget, operator, &left, &right);
                JsonPathItem::Own(value.map_err(|kind| PathFault { kind, at: link.at })?)
            }
        };
    }
    Ok(left)
}

/// Evaluates `&&` and `||`, whose sides must be booleans; the right one only if it matters.
fn eval_logic<'a>(
    budget: &mut Budget,
    left: &JsonPathItem<'a>,
    link: &'a OperatorLink,
    scope: PathScope<'a>,
) -> Result<JsonPathItem<'a>, PathFault> {
    let decides = link.operator == InfixOperator::Or;
    let left = truth_of_item(left, link.at)?;
    if left == decides {
        return Ok(JsonPathItem::Own(Value::Bool(left)));
    }
    let right = eval_expression(budget, &link.right, scope)?;
    Ok(JsonPathItem::Own(Value::Bool(truth_of_item(&right, link.right.at)?)))
}

fn truth_of_item(item: &JsonPathItem<'_>, at: u32) -> Result<bool, PathFault> {
    let truth = item.as_value().and_then(Value::as_bool);
    truth.ok_or(PathFault { kind: PathFaultKind::NotBoolean(item.what()), at })
}

fn eval_regex_match<'a>(
    budget: &mut Budget,
    left: &JsonPathItem<'a>,
    link: &'a OperatorLink,
    scope: PathScope<'a>,
) -> Result<JsonPathItem<'a>, PathFault> {
    let text = left.text(budget)?;
    let is_match = match &link.regex {
        Some(regex) => regex.is_match(&text, budget)?,
        None => {
            let pattern = eval_expression(budget, &link.right, scope)?;
            let pattern = pattern.text(budget)?;
            budget.step(DYNAMIC_REGEX_STEPS + pattern.len() as u64)?;
            let regex = regex::compile_regex_within(&pattern, DYNAMIC_REGEX_SIZE);
            let bad = |error: regex::RegexError| PathFault {
                kind: PathFaultKind::BadRegex(error.message),
                at: link.right.at,
            };
            let regex = regex.map_err(bad)?;
            budget.step(regex.compiling_cost())?;
            regex.is_match(&text, budget)?
        }
    };
    Ok(JsonPathItem::Own(Value::Bool(is_match == (link.operator == InfixOperator::Match))))
}

/// Returns whether `??` and `?` take the other side.
fn is_false(item: &JsonPathItem<'_>) -> bool {
    matches!(item.as_value(), Some(Value::Null | Value::Bool(false)))
}

fn eval_conditional<'a>(
    budget: &mut Budget,
    choice: &'a Conditional,
    scope: PathScope<'a>,
) -> Result<JsonPathItem<'a>, PathFault> {
    let condition = eval_expression(budget, &choice.condition, scope)?;
    if !is_false(&condition) {
        return eval_expression(budget, &choice.then, scope);
    }
    match &choice.otherwise {
        Some(otherwise) => eval_expression(budget, otherwise, scope),
        None => Ok(JsonPathItem::Own(Value::Null)),
    }
}

/// Looks a variable up in the root object. What is missing is null, but has no keys.
fn eval_variable<'a>(
    budget: &mut Budget,
    keys: &'a [PathExpr],
    scope: PathScope<'a>,
) -> Result<JsonPathItem<'a>, PathFault> {
    let mut value = Some(scope.root);
    for key in keys {
        budget.step(1)?;
        let item = eval_expression(budget, key, scope)?;
        let name = item.text(budget)?;
        value = match value {
            Some(Value::Object(map)) => map.get(&name),
            Some(Value::Array(items)) if name.parse().is_ok_and(|index: usize| index < items.len()) => {
                name.parse().ok().and_then(|index: usize| items.get(index))
            }
            _ => return Err(PathFault { kind: PathFaultKind::NoVariable(Text::new(name)), at: key.at }),
        };
    }
    Ok(value.map_or(JsonPathItem::Own(Value::Null), JsonPathItem::Ref))
}

fn eval_call<'a>(
    budget: &mut Budget,
    function: PathFunction,
    arguments: &'a [PathExpr],
    scope: PathScope<'a>,
    at: u32,
) -> Result<JsonPathItem<'a>, PathFault> {
    let [argument] = arguments else {
        return Err(PathFault { kind: PathFaultKind::Arguments(function), at });
    };
    let item = eval_expression(budget, argument, scope)?;
    let refused = || PathFault { kind: PathFaultKind::Argument(function, item.what()), at: argument.at };
    let value = match function {
        PathFunction::IsDefined => Value::Bool(!item.is_undefined()),
        PathFunction::IsUndefined => Value::Bool(item.is_undefined()),
        PathFunction::Length => Value::from(item_length(&item).ok_or_else(refused)?),
        // A number or boolean has no length, and is not empty.
        PathFunction::IsEmpty => Value::Bool(item_length(&item) == Some(0)),
        PathFunction::IsNotEmpty => Value::Bool(item_length(&item) != Some(0)),
        PathFunction::Date => {
            let text = item.as_value().and_then(Value::as_str).ok_or_else(refused)?;
            let date = date::parse_date(text);
            Value::from(date.ok_or_else(|| PathFault {
                kind: PathFaultKind::BadDate(Text::new(text)),
                at: argument.at,
            })?)
        }
    };
    Ok(JsonPathItem::Own(value))
}

/// Returns how long a string (in bytes), list or object is.
fn item_length(item: &JsonPathItem<'_>) -> Option<usize> {
    match item {
        JsonPathItem::Undefined => Some(0),
        JsonPathItem::Many(items) => Some(items.len()),
        item => match item.as_value()? {
            Value::Null => Some(0),
            Value::String(text) => Some(text.len()),
            Value::Array(items) => Some(items.len()),
            Value::Object(map) => Some(map.len()),
            Value::Bool(_) | Value::Number(_) => None,
        },
    }
}

fn eval_object<'a>(
    budget: &mut Budget,
    entries: &'a [ObjectEntry],
    scope: PathScope<'a>,
) -> Result<JsonPathItem<'a>, PathFault> {
    let mut map = Map::new();
    for ObjectEntry { key, value, expands } in entries {
        match &value.node {
            ExprNode::Path(path) if *expands => {
                let mut found = Vec::new();
                walk::visit_with_trail(budget, path, scope, false, &mut |place, trail| {
                    found.push((trail.clone(), place.into_item()));
                    Ok(())
                })?;
                for (trail, item) in found {
                    let scope = PathScope { root: scope.root, current: scope.current, trail: Some(&trail) };
                    let key = Text::new(eval_expression(budget, key, scope)?.text(budget)?);
                    budget.produce(key.len() + size_of::<Value>())?;
                    map.insert(key, item.into_value().unwrap_or_default());
                }
            }
            _ => {
                let value = eval_expression(budget, value, scope)?;
                let key = eval_expression(budget, key, scope)?;
                let key = Text::new(key.text(budget)?);
                budget.produce(key.len() + size_of::<Value>())?;
                map.insert(key, value.into_value().unwrap_or_default());
            }
        }
    }
    Ok(JsonPathItem::Own(Value::object(map)))
}
