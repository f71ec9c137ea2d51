//! What can be said about an expression without an object.
//!
//! The answers steer which rules are looked at and what is warned about, so each errs
//! on the safe side: a pinned value must hold, a key that may be read is read.

use kubewright_value::{Step, Value};

use super::ast::{
    ExprNode, InfixOperator, ParsedPath, ParsedStep, ParsedStepKind, PathExpr, PathFunction, PrefixOperator,
    RootOrCurrent,
};
use super::convert;

/// Returns the steps of a path of constant keys from the root.
pub(super) fn plain_path(expr: &PathExpr) -> Option<Vec<Step>> {
    let ExprNode::Path(ParsedPath { origin: RootOrCurrent::Root, steps, .. }) = &expr.node else {
        return None;
    };
    let step = |step: &ParsedStep| match &step.kind {
        ParsedStepKind::Key(key) if key.is_number => usize::try_from(key.index?).ok().map(Step::Index),
        // A name that is a number would be an index to an array.
        ParsedStepKind::Key(key) if key.index.is_none() => Some(Step::Key(key.name.clone())),
        _ => None,
    };
    steps.iter().map(step).collect()
}

/// Returns the constants that certain paths must have for `expr` to be true.
pub(super) fn pinned(expr: &PathExpr) -> Vec<(Vec<Step>, Value)> {
    let mut pins = Vec::new();
    collect_pins(expr, &mut pins);
    pins
}

fn collect_pins(expr: &PathExpr, pins: &mut Vec<(Vec<Step>, Value)>) {
    let ExprNode::Chain(first, links) = &expr.node else { return };
    if links.iter().all(|link| link.operator == InfixOperator::And) {
        collect_pins(first, pins);
        links.iter().for_each(|link| collect_pins(&link.right, pins));
    } else if let [link] = links.as_slice()
        && matches!(link.operator, InfixOperator::Equal | InfixOperator::StrictEqual)
    {
        pins.extend(pin(first, &link.right).or_else(|| pin(&link.right, first)));
    }
}

fn pin(path: &PathExpr, literal: &PathExpr) -> Option<(Vec<Step>, Value)> {
    let ExprNode::Literal(literal) = &literal.node else { return None };
    // A number equals the text that spells it, so neither pins anything down.
    let strict = match literal {
        Value::String(text) => convert::number_from_text(text).is_none(),
        Value::Bool(_) => true,
        _ => false,
    };
    let steps = plain_path(path).filter(|_| strict)?;
    let named = steps.iter().all(|step| matches!(step, Step::Key(_)));
    named.then(|| (steps, literal.clone()))
}

pub(super) fn reads_root_key(expr: &PathExpr, key: &str) -> bool {
    match &expr.node {
        ExprNode::Variable(keys) => {
            let named = |first: &PathExpr| matches!(&first.node, ExprNode::Literal(Value::String(name)) if name == key);
            keys.first().is_some_and(named) || keys.iter().any(|part| reads_root_key(part, key))
        }
        ExprNode::Path(path) => path_reads_root_key(path, key),
        _ => children(expr).into_iter().any(|child| reads_root_key(child, key)),
    }
}

pub(super) fn path_reads_root_key(path: &ParsedPath, key: &str) -> bool {
    let direct = path.origin == RootOrCurrent::Root
        && match path.steps.first().map(|step| &step.kind) {
            Some(ParsedStepKind::Key(first)) => first.name == key,
            _ => true,
        };
    direct || path.steps.iter().flat_map(step_children).any(|child| reads_root_key(child, key))
}

/// Returns whether every result of `expr` is a boolean.
pub(super) fn is_boolean(expr: &PathExpr) -> bool {
    match &expr.node {
        ExprNode::Literal(value) => matches!(value, Value::Bool(_)),
        ExprNode::Prefix(prefixes, _) => prefixes.first() == Some(&PrefixOperator::Not),
        ExprNode::Chain(_, links) => links.last().is_some_and(|link| {
            link.operator.is_comparison() || matches!(link.operator, InfixOperator::And | InfixOperator::Or)
        }),
        ExprNode::Call(function, _) => !matches!(function, PathFunction::Length | PathFunction::Date),
        ExprNode::Choice(choice) => {
            is_boolean(&choice.then) && choice.otherwise.as_ref().is_some_and(is_boolean)
        }
        _ => false,
    }
}

/// Returns the least and the largest number of keys that a path captures.
pub(super) fn captures(path: &ParsedPath) -> (usize, Option<usize>) {
    let descends = path.steps.iter().any(|step| matches!(step.kind, ParsedStepKind::Descend));
    let single = |step: &&ParsedStep| step.is_ambiguous() && !matches!(step.kind, ParsedStepKind::Descend);
    let least = path.steps.iter().filter(single).count();
    (least, (!descends).then_some(least))
}

/// Returns the expressions that `expr` is made of.
pub(super) fn children(expr: &PathExpr) -> Vec<&PathExpr> {
    match &expr.node {
        ExprNode::Literal(_) | ExprNode::Placeholder(_) => Vec::new(),
        ExprNode::Path(path) => path.steps.iter().flat_map(step_children).collect(),
        ExprNode::Prefix(_, operand) => vec![operand],
        ExprNode::Chain(first, links) => {
            std::iter::once(&**first).chain(links.iter().map(|link| &link.right)).collect()
        }
        ExprNode::Choice(choice) => {
            [&choice.condition, &choice.then].into_iter().chain(&choice.otherwise).collect()
        }
        ExprNode::Variable(items) | ExprNode::Call(_, items) | ExprNode::List(items) => {
            items.iter().collect()
        }
        ExprNode::Object(entries) => entries.iter().flat_map(|entry| [&entry.key, &entry.value]).collect(),
    }
}

/// Returns the expressions in a step.
pub(super) fn step_children(step: &ParsedStep) -> Vec<&PathExpr> {
    match &step.kind {
        ParsedStepKind::Key(_) | ParsedStepKind::Wildcard | ParsedStepKind::Descend => Vec::new(),
        ParsedStepKind::Computed(expr) | ParsedStepKind::Script(expr) | ParsedStepKind::Filter(expr) => {
            vec![expr]
        }
        ParsedStepKind::Union(keys) => keys.iter().collect(),
        ParsedStepKind::Range(bounds) => bounds.iter().flatten().collect(),
    }
}
