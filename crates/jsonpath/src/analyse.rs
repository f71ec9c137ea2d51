//! What can be said about an expression without an object.
//!
//! The answers steer which rules are looked at and what is warned about, so each errs
//! on the safe side: a pinned value must hold, a key that may be read is read.

use kubewright_value::{Step, Value};

use super::ast::{Expr, Function, Infix, Node, Origin, Path, PathStep, Prefix, StepKind};
use super::convert;

/// Returns the steps of a path of constant keys from the root.
pub(super) fn plain_path(expr: &Expr) -> Option<Vec<Step>> {
    let Node::Path(Path { origin: Origin::Root, steps, .. }) = &expr.node else { return None };
    let step = |step: &PathStep| match &step.kind {
        StepKind::Key(key) if key.is_number => usize::try_from(key.index?).ok().map(Step::Index),
        // A name that is a number would be an index to an array.
        StepKind::Key(key) if key.index.is_none() => Some(Step::Key(key.name.clone())),
        _ => None,
    };
    steps.iter().map(step).collect()
}

/// Returns the constants that must stand at certain paths for `expr` to be true.
pub(super) fn pinned(expr: &Expr) -> Vec<(Vec<Step>, Value)> {
    let mut pins = Vec::new();
    collect_pins(expr, &mut pins);
    pins
}

fn collect_pins(expr: &Expr, pins: &mut Vec<(Vec<Step>, Value)>) {
    let Node::Chain(first, links) = &expr.node else { return };
    if links.iter().all(|link| link.operator == Infix::And) {
        collect_pins(first, pins);
        links.iter().for_each(|link| collect_pins(&link.right, pins));
    } else if let [link] = links.as_slice()
        && matches!(link.operator, Infix::Equal | Infix::StrictEqual)
    {
        pins.extend(pin(first, &link.right).or_else(|| pin(&link.right, first)));
    }
}

fn pin(path: &Expr, literal: &Expr) -> Option<(Vec<Step>, Value)> {
    let Node::Literal(literal) = &literal.node else { return None };
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

pub(super) fn reads_root_key(expr: &Expr, key: &str) -> bool {
    match &expr.node {
        Node::Variable(keys) => {
            let named =
                |first: &Expr| matches!(&first.node, Node::Literal(Value::String(name)) if name == key);
            keys.first().is_some_and(named) || keys.iter().any(|part| reads_root_key(part, key))
        }
        Node::Path(path) => path_reads_root_key(path, key),
        _ => children(expr).into_iter().any(|child| reads_root_key(child, key)),
    }
}

pub(super) fn path_reads_root_key(path: &Path, key: &str) -> bool {
    let direct = path.origin == Origin::Root
        && match path.steps.first().map(|step| &step.kind) {
            Some(StepKind::Key(first)) => first.name == key,
            _ => true,
        };
    direct || path.steps.iter().flat_map(step_children).any(|child| reads_root_key(child, key))
}

/// Returns whether every result of `expr` is a boolean.
pub(super) fn is_boolean(expr: &Expr) -> bool {
    match &expr.node {
        Node::Literal(value) => matches!(value, Value::Bool(_)),
        Node::Prefix(prefixes, _) => prefixes.first() == Some(&Prefix::Not),
        Node::Chain(_, links) => links.last().is_some_and(|link| {
            link.operator.is_comparison() || matches!(link.operator, Infix::And | Infix::Or)
        }),
        Node::Call(function, _) => !matches!(function, Function::Length | Function::Date),
        Node::Choice(choice) => is_boolean(&choice.then) && choice.otherwise.as_ref().is_some_and(is_boolean),
        _ => false,
    }
}

/// Returns the least and the largest number of keys that a path captures.
pub(super) fn captures(path: &Path) -> (usize, Option<usize>) {
    let descends = path.steps.iter().any(|step| matches!(step.kind, StepKind::Descend));
    let single = |step: &&PathStep| step.is_ambiguous() && !matches!(step.kind, StepKind::Descend);
    let least = path.steps.iter().filter(single).count();
    (least, (!descends).then_some(least))
}

/// Returns the expressions that `expr` is made of.
pub(super) fn children(expr: &Expr) -> Vec<&Expr> {
    match &expr.node {
        Node::Literal(_) | Node::Placeholder(_) => Vec::new(),
        Node::Path(path) => path.steps.iter().flat_map(step_children).collect(),
        Node::Prefix(_, operand) => vec![operand],
        Node::Chain(first, links) => {
            std::iter::once(&**first).chain(links.iter().map(|link| &link.right)).collect()
        }
        Node::Choice(choice) => {
            [&choice.condition, &choice.then].into_iter().chain(&choice.otherwise).collect()
        }
        Node::Variable(items) | Node::Call(_, items) | Node::List(items) => items.iter().collect(),
        Node::Object(entries) => entries.iter().flat_map(|entry| [&entry.key, &entry.value]).collect(),
    }
}

/// Returns the expressions in a step.
pub(super) fn step_children(step: &PathStep) -> Vec<&Expr> {
    match &step.kind {
        StepKind::Key(_) | StepKind::Wildcard | StepKind::Descend => Vec::new(),
        StepKind::Computed(expr) | StepKind::Script(expr) | StepKind::Filter(expr) => vec![expr],
        StepKind::Union(keys) => keys.iter().collect(),
        StepKind::Range(bounds) => bounds.iter().flatten().collect(),
    }
}
