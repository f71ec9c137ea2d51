//! Paths, and where they end because a key is missing.
//!
//! What is missing is told only where a path at the end of an expression runs into it. An `||`, a pipe,
//! a comparison, a projection, a function and a `[…]` or `{…}` make null of it.

use std::borrow::Cow;

use kubewright_value::{Budget, Text, Value};

use super::super::Found;
use super::super::ast::{Expr, Node, Step};
use super::super::function::Failure;
use super::{Evaluated, NULL, eval, is_true};

/// What a path leads to, or the key that an object does not have.
enum Reached<'e, 'v> {
    Value(Cow<'v, Value>),
    Missing(&'e Text),
}

/// Which keys must be there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needed {
    All,
    /// Those of [`Step::NeededKey`].
    Marked,
}

/// Evaluates `expr` on `current`, or returns the key that is missing.
pub(in super::super) fn find<'a>(
    budget: &mut Budget,
    expr: &'a Expr,
    current: &'a Value,
) -> Result<Found<'a>, Failure> {
    Ok(match reach(budget, expr, current, Needed::All)? {
        Reached::Value(value) => Found::Value(value),
        Reached::Missing(key) => Found::Missing(key.clone()),
    })
}

/// Follows `steps` from what `first` finds; null where the path ends early.
pub(super) fn value<'a>(
    budget: &mut Budget,
    first: &'a Expr,
    steps: &'a [Step],
    current: &'a Value,
) -> Evaluated<'a> {
    Ok(match path(budget, first, steps, current, Needed::Marked)? {
        Reached::Value(value) => value,
        Reached::Missing(_) => Cow::Borrowed(&NULL),
    })
}

fn reach<'e: 'v, 'v>(
    budget: &mut Budget,
    expr: &'e Expr,
    current: &'v Value,
    needed: Needed,
) -> Result<Reached<'e, 'v>, Failure> {
    if !matches!(expr.node, Node::Path(..) | Node::And(_)) {
        return eval(budget, expr, current).map(Reached::Value);
    }
    let at = |exhausted| Failure::from(exhausted).at(expr.at);
    budget.step(1).map_err(at)?;
    budget.enter().map_err(at)?;
    let reached = match &expr.node {
        Node::Path(first, steps) => path(budget, first, steps, current, needed),
        Node::And(parts) => all(budget, parts, current, needed),
        _ => Ok(Reached::Value(Cow::Borrowed(&NULL))),
    };
    budget.leave();
    reached.map_err(|failure| failure.at(expr.at))
}

fn path<'e: 'v, 'v>(
    budget: &mut Budget,
    first: &'e Expr,
    steps: &'e [Step],
    current: &'v Value,
    needed: Needed,
) -> Result<Reached<'e, 'v>, Failure> {
    budget.step(steps.len() as u64)?;
    match &first.node {
        Node::Current => follow(budget, steps, current, needed),
        _ => match reach(budget, first, current, needed)? {
            Reached::Value(value) => follow_from(budget, steps, value, needed),
            missing @ Reached::Missing(_) => Ok(missing),
        },
    }
}

/// Takes `steps` from a value that may not live as long as the object.
fn follow_from<'e: 'v, 'v>(
    budget: &mut Budget,
    steps: &'e [Step],
    value: Cow<'v, Value>,
    needed: Needed,
) -> Result<Reached<'e, 'v>, Failure> {
    match value {
        Cow::Borrowed(value) => follow(budget, steps, value, needed),
        Cow::Owned(value) if steps.is_empty() => Ok(Reached::Value(Cow::Owned(value))),
        Cow::Owned(value) => Ok(match follow(budget, steps, &value, needed)? {
            Reached::Value(value) => Reached::Value(Cow::Owned(value.into_owned())),
            Reached::Missing(key) => Reached::Missing(key),
        }),
    }
}

fn follow<'e: 'v, 'v>(
    budget: &mut Budget,
    steps: &'e [Step],
    mut value: &'v Value,
    needed: Needed,
) -> Result<Reached<'e, 'v>, Failure> {
    let mut steps = steps.iter();
    while let Some(step) = steps.next() {
        let part = match step {
            Step::Key(key) | Step::NeededKey(key) => match value {
                Value::Object(map) => match map.get(key) {
                    None if needed == Needed::All || matches!(step, Step::NeededKey(_)) => {
                        return Ok(Reached::Missing(key));
                    }
                    found => found,
                },
                _ => None,
            },
            Step::Index(index) => item(value, *index),
            // What it makes is gone through by the steps that are left. Each adds levels to the value,
            // of which an expression cannot have many, so this does not go deep.
            Step::Expr(expr) => {
                return match reach(budget, expr, value, needed)? {
                    Reached::Value(value) => follow_from(budget, steps.as_slice(), value, needed),
                    missing @ Reached::Missing(_) => Ok(missing),
                };
            }
        };
        value = part.unwrap_or(&NULL);
    }
    Ok(Reached::Value(Cow::Borrowed(value)))
}

fn item(value: &Value, index: i64) -> Option<&Value> {
    let items = value.as_array()?;
    let back = || items.len().checked_sub(usize::try_from(index.unsigned_abs()).ok()?);
    let index = if index < 0 { back()? } else { usize::try_from(index).ok()? };
    items.get(index)
}

/// Only what is missing on the very right is told.
fn all<'e: 'v, 'v>(
    budget: &mut Budget,
    parts: &'e [Expr],
    current: &'v Value,
    needed: Needed,
) -> Result<Reached<'e, 'v>, Failure> {
    let Some((last, before)) = parts.split_last() else { return Ok(Reached::Value(Cow::Borrowed(&NULL))) };
    for part in before {
        let value = eval(budget, part, current)?;
        if !is_true(&value) {
            return Ok(Reached::Value(value));
        }
    }
    reach(budget, last, current, needed)
}
