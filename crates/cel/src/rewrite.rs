//! Rewriting of the paths of an expression.

use std::cell::Cell;
use std::sync::Arc;

use kubewright_value::Text;

use super::ast::{CelElement, CelExpr, CelNode, CelSpan};
use super::val::Val;
use super::{CelProgram, plan};

/// The change of a path: how many of its first keys are replaced, and by which; nothing for no change.
pub type CelPathChange = Option<(usize, Vec<Text>)>;

impl CelProgram {
    /// Returns the expression with the first keys of its paths replaced, or nothing when no path changes.
    ///
    /// `change` gets the variable that a path starts with and the fields behind it, up to the first index
    /// that is not a string, or call. Macro variables are not changed. The text of the expression stays as
    /// it was, since positions are places in it.
    #[must_use]
    pub fn rewritten(&self, change: &dyn Fn(&[&str]) -> CelPathChange) -> Option<Self> {
        let mut rewriter = CelRewriter { change, has_changed: Cell::new(false), locals: Vec::new() };
        let root = rewriter.expr(&self.root);
        if !rewriter.has_changed.get() || root.is_too_high() {
            return None;
        }
        let regexes = self.planned.regexes.clone();
        let planned = plan::plan_program(&root, &self.source, &self.environment, regexes).ok()?;
        Some(Self { root: Arc::new(root), planned: Arc::new(planned), ..self.clone() })
    }
}

struct CelRewriter<'c> {
    change: &'c dyn Fn(&[&str]) -> CelPathChange,
    has_changed: Cell<bool>,
    /// The variables of macros.
    locals: Vec<Text>,
}

/// One link of a path, outermost last.
struct RewriteLink<'x> {
    expr: &'x CelExpr,
    key: Option<&'x str>,
    is_optional: bool,
}

impl CelRewriter<'_> {
    fn expr(&mut self, expr: &CelExpr) -> CelExpr {
        if let Some(changed) = self.path(expr) {
            return changed;
        }
        let element = |this: &mut Self, element: &CelElement| CelElement {
            expr: this.expr(&element.expr),
            is_optional: element.is_optional,
        };
        let node = match &expr.node {
            CelNode::Literal(_) | CelNode::Identifier { .. } => return expr.clone(),
            CelNode::Select { operand, field, is_optional } => CelNode::Select {
                operand: Box::new(self.expr(operand)),
                field: field.clone(),
                is_optional: *is_optional,
            },
            CelNode::Index { operand, index, is_optional } => CelNode::Index {
                operand: Box::new(self.expr(operand)),
                index: Box::new(self.expr(index)),
                is_optional: *is_optional,
            },
            CelNode::Call { target, name, arguments } => self.call(target.as_deref(), name, arguments),
            CelNode::List(elements) => CelNode::List(elements.iter().map(|e| element(self, e)).collect()),
            CelNode::Map(entries) => CelNode::Map(
                entries.iter().map(|(key, value)| (self.expr(key), element(self, value))).collect(),
            ),
            CelNode::Struct { name, fields } => CelNode::Struct {
                name: name.clone(),
                fields: fields.iter().map(|(field, value)| (field.clone(), element(self, value))).collect(),
            },
            CelNode::And(parts) => CelNode::And(parts.iter().map(|part| self.expr(part)).collect()),
            CelNode::Or(parts) => CelNode::Or(parts.iter().map(|part| self.expr(part)).collect()),
            CelNode::Not(operand) => CelNode::Not(Box::new(self.expr(operand))),
            CelNode::Negate(operand) => CelNode::Negate(Box::new(self.expr(operand))),
            CelNode::Chain(first, rest) => CelNode::Chain(
                Box::new(self.expr(first)),
                rest.iter().map(|(operator, operand, span)| (*operator, self.expr(operand), *span)).collect(),
            ),
            CelNode::Conditional(parts) => CelNode::Conditional(Box::new((
                self.expr(&parts.0),
                self.expr(&parts.1),
                self.expr(&parts.2),
            ))),
        };
        CelExpr::new(node, expr.span)
    }

    /// A call may be a macro, whose variables shadow outer names.
    fn call(&mut self, target: Option<&CelExpr>, name: &Text, arguments: &[CelExpr]) -> CelNode {
        let target = target.map(|target| Box::new(self.expr(target)));
        let variables = match (name.as_str(), arguments.len()) {
            (
                "all" | "exists" | "exists_one" | "existsOne" | "filter" | "map" | "optMap" | "optFlatMap",
                2,
            )
            | ("map" | "bind", 3) => 1,
            ("all" | "exists" | "exists_one" | "existsOne", 3)
            | ("transformList" | "transformMap" | "transformMapEntry", 3 | 4) => 2,
            _ => 0,
        };
        let variables = if target.is_some() { variables } else { 0 };
        let before = self.locals.len();
        let names = arguments.iter().take(variables).filter_map(CelExpr::as_name);
        let names: Vec<Text> = names.cloned().collect();
        let mut made = Vec::with_capacity(arguments.len());
        for (index, argument) in arguments.iter().enumerate() {
            // The value of `cel.bind` is evaluated outside the scope of its variable.
            if index == variables + usize::from(name == "bind") {
                self.locals.extend(names.iter().cloned());
            }
            made.push(if index < variables { argument.clone() } else { self.expr(argument) });
        }
        self.locals.truncate(before);
        CelNode::Call { target, name: name.clone(), arguments: made }
    }

    /// Returns the path, rewritten if needed; nothing when `expr` is not a path.
    fn path(&mut self, expr: &CelExpr) -> Option<CelExpr> {
        let (name, is_absolute, span, links) = unfold_rewrite_path(expr)?;
        if !is_absolute && self.locals.iter().any(|local| local == name) {
            return None;
        }
        let mut keys = vec![name.as_str()];
        keys.extend(links.iter().map_while(|link| link.key));
        let change =
            (self.change)(&keys).filter(|(count, replacement)| *count > 0 && !replacement.is_empty());
        let Some((count, replacement)) = change else {
            // The paths in its indexes may still change.
            let root = CelExpr::new(CelNode::Identifier { name: name.clone(), is_absolute }, span);
            return Some(links.iter().fold(root, |made, link| self.relinked(made, link.expr)));
        };
        let replaced = links.get(..count.saturating_sub(1)).unwrap_or_default();
        let (first, rest) = replacement.split_first()?;
        self.has_changed.set(true);
        let span = replaced.last().map_or(span, |link| link.expr.span);
        // The keys before an optional key may be missing too.
        let is_optional = links.iter().take(replaced.len() + 1).any(|link| link.is_optional);
        let mut made = CelExpr::new(CelNode::Identifier { name: first.clone(), is_absolute }, span);
        for key in rest {
            made = make_select(made, key, is_optional, span);
        }
        for link in links.iter().skip(replaced.len()) {
            made = self.relinked(made, link.expr);
        }
        Some(made)
    }

    /// Returns the link `expr` with another operand.
    fn relinked(&mut self, operand: CelExpr, expr: &CelExpr) -> CelExpr {
        let operand = Box::new(operand);
        let node = match &expr.node {
            CelNode::Select { field, is_optional, .. } => {
                CelNode::Select { operand, field: field.clone(), is_optional: *is_optional }
            }
            CelNode::Index { index, is_optional, .. } => {
                CelNode::Index { operand, index: Box::new(self.expr(index)), is_optional: *is_optional }
            }
            _ => return *operand,
        };
        CelExpr::new(node, expr.span)
    }
}

fn make_select(operand: CelExpr, key: &Text, is_optional: bool, span: CelSpan) -> CelExpr {
    let node = CelNode::Select { operand: Box::new(operand), field: key.clone(), is_optional };
    CelExpr::new(node, span)
}

/// Returns the variable that a path starts with, and its links.
fn unfold_rewrite_path(expr: &CelExpr) -> Option<(&Text, bool, CelSpan, Vec<RewriteLink<'_>>)> {
    let mut links = Vec::new();
    let mut current = expr;
    loop {
        match &current.node {
            CelNode::Identifier { name, is_absolute } => {
                links.reverse();
                return Some((name, *is_absolute, current.span, links));
            }
            CelNode::Select { operand, field, is_optional } => {
                links.push(RewriteLink { expr: current, key: Some(field), is_optional: *is_optional });
                current = operand;
            }
            CelNode::Index { operand, index, is_optional } => {
                let key = match &index.node {
                    CelNode::Literal(Val::String(text)) => Some(text.as_str()),
                    _ => None,
                };
                links.push(RewriteLink { expr: current, key, is_optional: *is_optional });
                current = operand;
            }
            _ => return None,
        }
    }
}
