//! Expressions that mean something else than they seem to.

use std::fmt;

use kubewright_value::Value;

use super::analyse::{children, step_children};
use super::ast::{ExprNode, InfixOperator, OperatorLink, ParsedPath, ParsedStepKind, PathExpr, PathFunction};

/// A part of an expression that is valid but probably a mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonPathLint {
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

impl fmt::Display for JsonPathLint {
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
pub(super) fn lints(expr: &PathExpr) -> Vec<(JsonPathLint, u32)> {
    let mut found = Vec::new();
    lint_expression(expr, &mut found);
    found
}

/// Returns what is suspicious in `path`.
pub(super) fn path_lints(path: &ParsedPath) -> Vec<(JsonPathLint, u32)> {
    let mut found = Vec::new();
    lint_path(path, &mut found);
    found
}

fn lint_expression(expr: &PathExpr, found: &mut Vec<(JsonPathLint, u32)>) {
    match &expr.node {
        ExprNode::Path(path) => return lint_path(path, found),
        ExprNode::Chain(first, links) => lint_links(first, links, found),
        ExprNode::Call(PathFunction::IsDefined | PathFunction::IsUndefined, arguments)
            if arguments.iter().any(is_list) =>
        {
            found.push((JsonPathLint::AlwaysDefined, expr.at));
        }
        _ => {}
    }
    children(expr).into_iter().for_each(|child| lint_expression(child, found));
}

fn lint_path(path: &ParsedPath, found: &mut Vec<(JsonPathLint, u32)>) {
    for step in &path.steps {
        if let ParsedStepKind::Filter(PathExpr { node: ExprNode::Path(filter), .. }) = &step.kind {
            let lint = if filter.is_list { JsonPathLint::ListFilter } else { JsonPathLint::PresenceFilter };
            found.push((lint, step.at));
        }
        step_children(step).into_iter().for_each(|child| lint_expression(child, found));
    }
}

fn lint_links(first: &PathExpr, links: &[OperatorLink], found: &mut Vec<(JsonPathLint, u32)>) {
    let mut left = Some(first);
    for link in links {
        let before = left.take();
        let lint = match link.operator {
            InfixOperator::Subtract => {
                let key = before.is_some_and(|left| matches!(left.node, ExprNode::Path(_)));
                (key && matches!(link.right.node, ExprNode::Variable(_)))
                    .then_some(JsonPathLint::HyphenatedKey)
            }
            InfixOperator::Match | InfixOperator::NotMatch => {
                before.is_some_and(is_list).then_some(JsonPathLint::ListSearched)
            }
            InfixOperator::Equal
            | InfixOperator::NotEqual
            | InfixOperator::StrictEqual
            | InfixOperator::StrictNotEqual
                if [before, Some(&link.right)].into_iter().flatten().any(is_undefined) =>
            {
                Some(JsonPathLint::UndefinedCompared)
            }
            InfixOperator::Equal
            | InfixOperator::NotEqual
            | InfixOperator::StrictEqual
            | InfixOperator::StrictNotEqual => {
                let compared = |a: &PathExpr, b: &PathExpr| is_list(a) && is_scalar_literal(b);
                let both =
                    before.is_some_and(|left| compared(left, &link.right) || compared(&link.right, left));
                both.then_some(JsonPathLint::ListCompared)
            }
            _ => None,
        };
        found.extend(lint.map(|lint| (lint, link.at)));
    }
}

fn is_list(expr: &PathExpr) -> bool {
    matches!(&expr.node, ExprNode::Path(path) if path.is_list)
}

/// Returns whether this is the word `undefined`, which is not a value of the language.
fn is_undefined(expr: &PathExpr) -> bool {
    let ExprNode::Variable(keys) = &expr.node else { return false };
    matches!(keys.as_slice(), [PathExpr { node: ExprNode::Literal(Value::String(name)), .. }] if name == "undefined")
}

fn is_scalar_literal(expr: &PathExpr) -> bool {
    matches!(&expr.node, ExprNode::Literal(literal) if !matches!(literal, Value::Array(_) | Value::Object(_)))
}
