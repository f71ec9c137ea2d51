//! Paths, and the keys that are missing in them.
//!
//! A missing key is reported only by a path at the end of an expression. An `||`, a pipe,
//! a comparison, a projection, a function and a `[…]` or `{…}` turn it into null.

use std::borrow::Cow;

use kubewright_value::{Budget, Text, Value};

use super::super::JmesPathLookup;
use super::super::ast::{JmesPathExpr, JmesPathNode, JmesPathStep};
use super::super::function::JmesPathFailure;
use super::{JmesPathResult, NULL, evaluate_expr, is_truthy_value};

/// The value at the end of a path, or the key that is missing.
enum PathResult<'e, 'v> {
    Value(Cow<'v, Value>),
    Missing(&'e Text),
}

/// The keys whose absence ends a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RequiredKeys {
    All,
    /// Those of [`JmesPathStep::RequiredKey`].
    Marked,
}

/// Evaluates `expr` on `current`, or returns the key that is missing.
pub(in super::super) fn lookup_expr<'a>(
    budget: &mut Budget,
    expr: &'a JmesPathExpr,
    current: &'a Value,
) -> Result<JmesPathLookup<'a>, JmesPathFailure> {
    Ok(match resolve_expr(budget, expr, current, RequiredKeys::All)? {
        PathResult::Value(value) => JmesPathLookup::Value(value),
        PathResult::Missing(key) => JmesPathLookup::Missing(key.clone()),
    })
}

/// Follows `steps` from the result of `first`; null where a key is missing.
pub(super) fn follow_path<'a>(
    budget: &mut Budget,
    first: &'a JmesPathExpr,
    steps: &'a [JmesPathStep],
    current: &'a Value,
) -> JmesPathResult<'a> {
    Ok(match resolve_path_expr(budget, first, steps, current, RequiredKeys::Marked)? {
        PathResult::Value(value) => value,
        PathResult::Missing(_) => Cow::Borrowed(&NULL),
    })
}

fn resolve_expr<'e: 'v, 'v>(
    budget: &mut Budget,
    expr: &'e JmesPathExpr,
    current: &'v Value,
    needed: RequiredKeys,
) -> Result<PathResult<'e, 'v>, JmesPathFailure> {
    if !matches!(expr.node, JmesPathNode::Path(..) | JmesPathNode::And(_)) {
        return evaluate_expr(budget, expr, current).map(PathResult::Value);
    }
    let at = |exhausted| JmesPathFailure::from(exhausted).at(expr.at);
    budget.step(1).map_err(at)?;
    budget.enter().map_err(at)?;
    let reached = match &expr.node {
        JmesPathNode::Path(first, steps) => resolve_path_expr(budget, first, steps, current, needed),
        JmesPathNode::And(parts) => resolve_and(budget, parts, current, needed),
        _ => Ok(PathResult::Value(Cow::Borrowed(&NULL))),
    };
    budget.leave();
    reached.map_err(|failure| failure.at(expr.at))
}

fn resolve_path_expr<'e: 'v, 'v>(
    budget: &mut Budget,
    first: &'e JmesPathExpr,
    steps: &'e [JmesPathStep],
    current: &'v Value,
    needed: RequiredKeys,
) -> Result<PathResult<'e, 'v>, JmesPathFailure> {
    budget.step(steps.len() as u64)?;
    match &first.node {
        JmesPathNode::Current => follow_steps(budget, steps, current, needed),
        _ => match resolve_expr(budget, first, current, needed)? {
            PathResult::Value(value) => follow_steps_from(budget, steps, value, needed),
            missing @ PathResult::Missing(_) => Ok(missing),
        },
    }
}

/// Follows `steps` from a value that may be temporary.
fn follow_steps_from<'e: 'v, 'v>(
    budget: &mut Budget,
    steps: &'e [JmesPathStep],
    value: Cow<'v, Value>,
    needed: RequiredKeys,
) -> Result<PathResult<'e, 'v>, JmesPathFailure> {
    match value {
        Cow::Borrowed(value) => follow_steps(budget, steps, value, needed),
        Cow::Owned(value) if steps.is_empty() => Ok(PathResult::Value(Cow::Owned(value))),
        Cow::Owned(value) => Ok(match follow_steps(budget, steps, &value, needed)? {
            PathResult::Value(value) => PathResult::Value(Cow::Owned(value.into_owned())),
            PathResult::Missing(key) => PathResult::Missing(key),
        }),
    }
}

fn follow_steps<'e: 'v, 'v>(
    budget: &mut Budget,
    steps: &'e [JmesPathStep],
    mut value: &'v Value,
    needed: RequiredKeys,
) -> Result<PathResult<'e, 'v>, JmesPathFailure> {
    let mut steps = steps.iter();
    while let Some(step) = steps.next() {
        let part = match step {
            JmesPathStep::Key(key) | JmesPathStep::RequiredKey(key) => match value {
                Value::Object(map) => match key.value_in(map) {
                    None if needed == RequiredKeys::All || matches!(step, JmesPathStep::RequiredKey(_)) => {
                        return Ok(PathResult::Missing(&key.name));
                    }
                    found => found,
                },
                _ => None,
            },
            JmesPathStep::Index(index) => array_item(value, *index),
            // Filled before it is evaluated.
            JmesPathStep::Slot { .. } => None,
            // The remaining steps recurse on the result. Each such step adds levels to the value,
            // whose number is limited, so the recursion is not deep.
            JmesPathStep::Expr(expr) => {
                return match resolve_expr(budget, expr, value, needed)? {
                    PathResult::Value(value) => follow_steps_from(budget, steps.as_slice(), value, needed),
                    missing @ PathResult::Missing(_) => Ok(missing),
                };
            }
        };
        value = part.unwrap_or(&NULL);
    }
    Ok(PathResult::Value(Cow::Borrowed(value)))
}

fn array_item(value: &Value, index: i64) -> Option<&Value> {
    let items = value.as_array()?;
    let back = || items.len().checked_sub(usize::try_from(index.unsigned_abs()).ok()?);
    let index = if index < 0 { back()? } else { usize::try_from(index).ok()? };
    items.get(index)
}

/// Resolves `a && b`. Only a key that is missing in the last part is reported.
fn resolve_and<'e: 'v, 'v>(
    budget: &mut Budget,
    parts: &'e [JmesPathExpr],
    current: &'v Value,
    needed: RequiredKeys,
) -> Result<PathResult<'e, 'v>, JmesPathFailure> {
    let Some((last, before)) = parts.split_last() else { return Ok(PathResult::Value(Cow::Borrowed(&NULL))) };
    for part in before {
        let value = evaluate_expr(budget, part, current)?;
        if !is_truthy_value(&value) {
            return Ok(PathResult::Value(value));
        }
    }
    resolve_expr(budget, last, current, needed)
}
