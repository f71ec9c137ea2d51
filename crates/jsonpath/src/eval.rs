//! Evaluating an expression.

use kubewright_golib::regex;
use kubewright_value::{Budget, Map, Text, Value};

use super::ast::{Choice, Entry, Expr, Function, Infix, Link, Node, Prefix};
use super::fault::{Fault, FaultKind};
use super::item::Item;
use super::walk::{self, Trail};
use super::{date, operators};

/// What a pattern that is made during evaluation may cost.
const DYNAMIC_REGEX_SIZE: usize = 256 << 10;
const DYNAMIC_REGEX_STEPS: u64 = 10_000;

/// What `$`, `@` and `#` mean.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) root: &'a Value,
    /// `None` is undefined.
    pub(super) current: Option<&'a Value>,
    pub(super) trail: Option<&'a Trail>,
}

/// Evaluates `expr`.
pub(super) fn eval<'a>(budget: &mut Budget, expr: &'a Expr, scope: Scope<'a>) -> Result<Item<'a>, Fault> {
    match &expr.node {
        // These two are most of all there is, and cost no level.
        Node::Literal(value) => Ok(Item::Ref(value)),
        Node::Path(path) if !path.is_list => walk::path(budget, path, scope),
        _ => {
            budget.step(1)?;
            budget.enter()?;
            let result = eval_nested(budget, expr, scope);
            budget.leave();
            result
        }
    }
}

fn eval_nested<'a>(budget: &mut Budget, expr: &'a Expr, scope: Scope<'a>) -> Result<Item<'a>, Fault> {
    let fault = |kind| Fault { kind, at: expr.at };
    match &expr.node {
        Node::Literal(value) => Ok(Item::Ref(value)),
        Node::Path(path) => walk::path(budget, path, scope),
        Node::Variable(keys) => variable(budget, keys, scope),
        Node::Prefix(prefixes, operand) => prefixed(budget, prefixes, operand, scope),
        Node::Chain(first, links) => chain(budget, first, links, scope),
        Node::Choice(choice) => choose(budget, choice, scope),
        Node::Call(function, arguments) => call(budget, *function, arguments, scope, expr.at),
        Node::List(items) => {
            budget.produce(items.len() * size_of::<Item<'_>>())?;
            Ok(Item::Many(items.iter().map(|item| eval(budget, item, scope)).collect::<Result<_, _>>()?))
        }
        Node::Object(entries) => object(budget, entries, scope),
        Node::Placeholder(number) => {
            let text = scope.trail.and_then(|trail| match number {
                Some(number) => walk::capture_text(trail, *number),
                None => Some(walk::all_captures_text(trail)),
            });
            text.map(|text| Item::Own(Value::from(text))).ok_or(fault(FaultKind::NoPlaceholder(*number)))
        }
    }
}

fn prefixed<'a>(
    budget: &mut Budget,
    prefixes: &[Prefix],
    operand: &'a Expr,
    scope: Scope<'a>,
) -> Result<Item<'a>, Fault> {
    let mut item = eval(budget, operand, scope)?;
    for prefix in prefixes.iter().rev() {
        budget.step(1)?;
        let value = operators::prefix(*prefix, &item);
        item = Item::Own(value.map_err(|kind| Fault { kind, at: operand.at })?);
    }
    Ok(item)
}

/// Evaluates operators of one rank from left to right.
fn chain<'a>(
    budget: &mut Budget,
    first: &'a Expr,
    links: &'a [Link],
    scope: Scope<'a>,
) -> Result<Item<'a>, Fault> {
    let mut left = eval(budget, first, scope)?;
    for link in links {
        budget.step(1)?;
        left = match link.operator {
            Infix::And | Infix::Or => logic(budget, &left, link, scope)?,
            Infix::Otherwise if !is_false(&left) => left,
            Infix::Otherwise => eval(budget, &link.right, scope)?,
            Infix::Match | Infix::NotMatch => matched(budget, &left, link, scope)?,
            operator => {
                let right = eval(budget, &link.right, scope)?;
                let value = operators::infix(budget, operator, &left, &right);
                Item::Own(value.map_err(|kind| Fault { kind, at: link.at })?)
            }
        };
    }
    Ok(left)
}

/// Evaluates `&&` and `||`, whose sides must be booleans; the right one only if it matters.
fn logic<'a>(
    budget: &mut Budget,
    left: &Item<'a>,
    link: &'a Link,
    scope: Scope<'a>,
) -> Result<Item<'a>, Fault> {
    let decides = link.operator == Infix::Or;
    let left = truth(left, link.at)?;
    if left == decides {
        return Ok(Item::Own(Value::Bool(left)));
    }
    let right = eval(budget, &link.right, scope)?;
    Ok(Item::Own(Value::Bool(truth(&right, link.right.at)?)))
}

fn truth(item: &Item<'_>, at: u32) -> Result<bool, Fault> {
    let truth = item.as_value().and_then(Value::as_bool);
    truth.ok_or(Fault { kind: FaultKind::NotBoolean(item.what()), at })
}

fn matched<'a>(
    budget: &mut Budget,
    left: &Item<'a>,
    link: &'a Link,
    scope: Scope<'a>,
) -> Result<Item<'a>, Fault> {
    let text = left.text(budget)?;
    let is_match = match &link.regex {
        Some(regex) => regex.is_match(&text, budget)?,
        None => {
            let pattern = eval(budget, &link.right, scope)?;
            let pattern = pattern.text(budget)?;
            budget.step(DYNAMIC_REGEX_STEPS + pattern.len() as u64)?;
            let regex = regex::compile_within(&pattern, DYNAMIC_REGEX_SIZE);
            let bad = |error: regex::RegexError| Fault {
                kind: FaultKind::BadRegex(error.message),
                at: link.right.at,
            };
            let regex = regex.map_err(bad)?;
            budget.step(regex.compiling_cost())?;
            regex.is_match(&text, budget)?
        }
    };
    Ok(Item::Own(Value::Bool(is_match == (link.operator == Infix::Match))))
}

/// Returns whether `??` and `?` take the other side.
fn is_false(item: &Item<'_>) -> bool {
    matches!(item.as_value(), Some(Value::Null | Value::Bool(false)))
}

fn choose<'a>(budget: &mut Budget, choice: &'a Choice, scope: Scope<'a>) -> Result<Item<'a>, Fault> {
    let condition = eval(budget, &choice.condition, scope)?;
    if !is_false(&condition) {
        return eval(budget, &choice.then, scope);
    }
    match &choice.otherwise {
        Some(otherwise) => eval(budget, otherwise, scope),
        None => Ok(Item::Own(Value::Null)),
    }
}

/// Looks a variable up in the root object. What is missing is null, but has no keys.
fn variable<'a>(budget: &mut Budget, keys: &'a [Expr], scope: Scope<'a>) -> Result<Item<'a>, Fault> {
    let mut value = Some(scope.root);
    for key in keys {
        budget.step(1)?;
        let item = eval(budget, key, scope)?;
        let name = item.text(budget)?;
        value = match value {
            Some(Value::Object(map)) => map.get(&name),
            Some(Value::Array(items)) if name.parse().is_ok_and(|index: usize| index < items.len()) => {
                name.parse().ok().and_then(|index: usize| items.get(index))
            }
            _ => return Err(Fault { kind: FaultKind::NoVariable(Text::new(name)), at: key.at }),
        };
    }
    Ok(value.map_or(Item::Own(Value::Null), Item::Ref))
}

fn call<'a>(
    budget: &mut Budget,
    function: Function,
    arguments: &'a [Expr],
    scope: Scope<'a>,
    at: u32,
) -> Result<Item<'a>, Fault> {
    let [argument] = arguments else { return Err(Fault { kind: FaultKind::Arguments(function), at }) };
    let item = eval(budget, argument, scope)?;
    let refused = || Fault { kind: FaultKind::Argument(function, item.what()), at: argument.at };
    let value = match function {
        Function::IsDefined => Value::Bool(!item.is_undefined()),
        Function::IsUndefined => Value::Bool(item.is_undefined()),
        Function::Length => Value::from(length(&item).ok_or_else(refused)?),
        // A number or boolean has no length, and is not empty.
        Function::IsEmpty => Value::Bool(length(&item) == Some(0)),
        Function::IsNotEmpty => Value::Bool(length(&item) != Some(0)),
        Function::Date => {
            let text = item.as_value().and_then(Value::as_str).ok_or_else(refused)?;
            let date = date::parse(text);
            Value::from(
                date.ok_or_else(|| Fault { kind: FaultKind::BadDate(Text::new(text)), at: argument.at })?,
            )
        }
    };
    Ok(Item::Own(value))
}

/// Returns how long a string (in bytes), list or object is.
fn length(item: &Item<'_>) -> Option<usize> {
    match item {
        Item::Undefined => Some(0),
        Item::Many(items) => Some(items.len()),
        item => match item.as_value()? {
            Value::Null => Some(0),
            Value::String(text) => Some(text.len()),
            Value::Array(items) => Some(items.len()),
            Value::Object(map) => Some(map.len()),
            Value::Bool(_) | Value::Number(_) => None,
        },
    }
}

fn object<'a>(budget: &mut Budget, entries: &'a [Entry], scope: Scope<'a>) -> Result<Item<'a>, Fault> {
    let mut map = Map::new();
    for Entry { key, value, expands } in entries {
        match &value.node {
            Node::Path(path) if *expands => {
                let mut found = Vec::new();
                walk::visit_with_trail(budget, path, scope, false, &mut |place, trail| {
                    found.push((trail.clone(), place.into_item()));
                    Ok(())
                })?;
                for (trail, item) in found {
                    let scope = Scope { root: scope.root, current: scope.current, trail: Some(&trail) };
                    let key = Text::new(eval(budget, key, scope)?.text(budget)?);
                    budget.produce(key.len() + size_of::<Value>())?;
                    map.insert(key, item.into_value().unwrap_or_default());
                }
            }
            _ => {
                let value = eval(budget, value, scope)?;
                let key = eval(budget, key, scope)?;
                let key = Text::new(key.text(budget)?);
                budget.produce(key.len() + size_of::<Value>())?;
                map.insert(key, value.into_value().unwrap_or_default());
            }
        }
    }
    Ok(Item::Own(Value::object(map)))
}
