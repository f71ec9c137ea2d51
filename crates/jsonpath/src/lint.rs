//! Expressions that mean something else than they seem to.

use std::fmt;

use kubewright_value::Value;

use super::analyse::{children, step_children};
use super::ast::{Expr, Function, Infix, Link, Node, Path, StepKind};

/// A part of an expression that is allowed but hardly meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lint {
    /// `[?@.x]`
    PresenceFilter,
    /// `[?@.x[*]]`
    ListFilter,
    /// `$.my-key`
    HyphenatedKey,
    /// `isDefined($.x[*])`
    AlwaysDefined,
    /// `$.x[*] == 1`
    ListCompared,
    /// `$.x[*] =~ "a"`
    ListSearched,
    /// `$.x == undefined`
    UndefinedCompared,
}

impl fmt::Display for Lint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PresenceFilter => {
                "this filter asks whether the value is true, not whether it is there; use `isDefined`"
            }
            Self::ListFilter => {
                "a list is neither true nor false, so this filter drops everything; use `isNotEmpty`"
            }
            Self::HyphenatedKey => "this subtracts; a key with a hyphen is written `[\"my-key\"]`",
            Self::AlwaysDefined => {
                "a path with wildcards is always defined, even when it finds nothing; use `isEmpty`"
            }
            Self::ListCompared => {
                "a path with wildcards finds a list, which never equals a single value; use a filter"
            }
            Self::ListSearched => {
                "a path with wildcards finds a list, which is searched as one text; use a filter"
            }
            Self::UndefinedCompared => {
                "whatever is compared with undefined, the answer is false; use `isDefined` or `isUndefined`"
            }
        })
    }
}

/// Returns what is suspicious in `expr`, with its place in bytes.
pub(super) fn lints(expr: &Expr) -> Vec<(Lint, u32)> {
    let mut found = Vec::new();
    look(expr, &mut found);
    found
}

/// Returns what is suspicious in `path`.
pub(super) fn path_lints(path: &Path) -> Vec<(Lint, u32)> {
    let mut found = Vec::new();
    look_at_path(path, &mut found);
    found
}

fn look(expr: &Expr, found: &mut Vec<(Lint, u32)>) {
    match &expr.node {
        Node::Path(path) => return look_at_path(path, found),
        Node::Chain(first, links) => look_at_links(first, links, found),
        Node::Call(Function::IsDefined | Function::IsUndefined, arguments)
            if arguments.iter().any(is_list) =>
        {
            found.push((Lint::AlwaysDefined, expr.at));
        }
        _ => {}
    }
    children(expr).into_iter().for_each(|child| look(child, found));
}

fn look_at_path(path: &Path, found: &mut Vec<(Lint, u32)>) {
    for step in &path.steps {
        if let StepKind::Filter(Expr { node: Node::Path(filter), .. }) = &step.kind {
            let lint = if filter.is_list { Lint::ListFilter } else { Lint::PresenceFilter };
            found.push((lint, step.at));
        }
        step_children(step).into_iter().for_each(|child| look(child, found));
    }
}

fn look_at_links(first: &Expr, links: &[Link], found: &mut Vec<(Lint, u32)>) {
    let mut left = Some(first);
    for link in links {
        let before = left.take();
        let lint = match link.operator {
            Infix::Subtract => {
                let key = before.is_some_and(|left| matches!(left.node, Node::Path(_)));
                (key && matches!(link.right.node, Node::Variable(_))).then_some(Lint::HyphenatedKey)
            }
            Infix::Match | Infix::NotMatch => before.is_some_and(is_list).then_some(Lint::ListSearched),
            Infix::Equal | Infix::NotEqual | Infix::StrictEqual | Infix::StrictNotEqual
                if [before, Some(&link.right)].into_iter().flatten().any(is_undefined) =>
            {
                Some(Lint::UndefinedCompared)
            }
            Infix::Equal | Infix::NotEqual | Infix::StrictEqual | Infix::StrictNotEqual => {
                let compared = |a: &Expr, b: &Expr| is_list(a) && is_scalar(b);
                let both =
                    before.is_some_and(|left| compared(left, &link.right) || compared(&link.right, left));
                both.then_some(Lint::ListCompared)
            }
            _ => None,
        };
        found.extend(lint.map(|lint| (lint, link.at)));
    }
}

fn is_list(expr: &Expr) -> bool {
    matches!(&expr.node, Node::Path(path) if path.is_list)
}

/// Returns whether this is the word `undefined`, which is no value of the language.
fn is_undefined(expr: &Expr) -> bool {
    let Node::Variable(keys) = &expr.node else { return false };
    matches!(keys.as_slice(), [Expr { node: Node::Literal(Value::String(name)), .. }] if name == "undefined")
}

fn is_scalar(expr: &Expr) -> bool {
    matches!(&expr.node, Node::Literal(literal) if !matches!(literal, Value::Array(_) | Value::Object(_)))
}
