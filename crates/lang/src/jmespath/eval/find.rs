//! Evaluating for a caller to whom a missing key is not the same as null.
//!
//! What is missing is told only where a path at the end of the expression runs into it. An `||`,
//! a pipe, a comparison, a projection, a function and a `[…]` or `{…}` make null of it, as always.

use std::borrow::Cow;

use kubewright_value::{Budget, Value};

use super::super::Found;
use super::super::ast::{Expr, Node, Step};
use super::super::function::Failure;
use super::{NULL, eval, is_true, part};

/// Evaluates `expr` on `current`, or returns the key that is missing.
pub(in super::super) fn find<'a>(
    budget: &mut Budget,
    expr: &'a Expr,
    current: &'a Value,
) -> Result<Found<'a>, Failure> {
    let at = |exhausted| Failure::from(exhausted).at(expr.at);
    budget.step(1).map_err(at)?;
    budget.enter().map_err(at)?;
    let found = match &expr.node {
        Node::Path(first, steps) => path(budget, first, steps, current),
        Node::And(parts) => all(budget, parts, current),
        _ => eval(budget, expr, current).map(Found::Value),
    };
    budget.leave();
    found.map_err(|failure| failure.at(expr.at))
}

fn path<'a>(
    budget: &mut Budget,
    first: &'a Expr,
    steps: &'a [Step],
    current: &'a Value,
) -> Result<Found<'a>, Failure> {
    let mut found = find(budget, first, current)?;
    for step in steps {
        budget.step(1)?;
        found = match found {
            Found::Missing(key) => return Ok(Found::Missing(key)),
            Found::Value(Cow::Borrowed(value)) => next(budget, step, value)?,
            Found::Value(Cow::Owned(value)) => match next(budget, step, &value)? {
                Found::Value(value) => Found::Value(Cow::Owned(value.into_owned())),
                Found::Missing(key) => Found::Missing(key),
            },
        };
    }
    Ok(found)
}

fn next<'a>(budget: &mut Budget, step: &'a Step, value: &'a Value) -> Result<Found<'a>, Failure> {
    match (step, part(value, step)) {
        (Step::Expr(expr), _) => find(budget, expr, value),
        (Step::Key(key) | Step::NeededKey(key), None) if value.as_object().is_some() => {
            Ok(Found::Missing(key.clone()))
        }
        (_, part) => Ok(Found::Value(Cow::Borrowed(part.unwrap_or(&NULL)))),
    }
}

/// Only what is missing on the very right is told.
fn all<'a>(budget: &mut Budget, parts: &'a [Expr], current: &'a Value) -> Result<Found<'a>, Failure> {
    let Some((last, before)) = parts.split_last() else { return Ok(Found::Value(Cow::Borrowed(&NULL))) };
    for part in before {
        let value = eval(budget, part, current)?;
        if !is_true(&value) {
            return Ok(Found::Value(value));
        }
    }
    find(budget, last, current)
}
