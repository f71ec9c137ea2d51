//! Names, and the fields and indexes behind them.

use kubewright_value::Text;

use super::{Path, Plan, Planner, Step, StepKind};
use crate::ast::{Expr, Node, Span};
use crate::environment::Type;
use crate::error::CompileErrorKind;
use crate::val::{Kind, Val};

/// One `.a` or `[a]` of a path.
enum Link<'x> {
    Field(&'x Text, bool, Span),
    Index(&'x Expr, bool, Span),
}

impl Planner<'_> {
    /// Plans a name and everything that is selected from it.
    pub(super) fn path(&mut self, expr: &Expr) -> (Plan, Type) {
        let (root, links) = unfold(expr);
        let (plan, kind, used) = match &root.node {
            Node::Identifier { name, is_absolute } => self.named(name, *is_absolute, &links, root.span),
            _ => {
                let (plan, kind) = self.expr(root);
                (plan, kind, 0)
            }
        };
        let links = links.get(used..).unwrap_or_default();
        if links.is_empty() {
            return (plan, kind);
        }
        let (steps, kind) = self.steps(links, kind);
        let (root, mut all) = match plan {
            // A path behind a path is one path.
            Plan::Path(path) => (path.root, path.steps.into_vec()),
            plan => (plan, Vec::new()),
        };
        all.extend(steps);
        (self.folded(Plan::Path(Box::new(Path { root, steps: all.into() }))), kind)
    }

    fn steps(&mut self, links: &[Link<'_>], mut kind: Type) -> (Vec<Step>, Type) {
        let mut steps = Vec::with_capacity(links.len());
        for link in links {
            let (what, is_optional, span) = match link {
                Link::Field(name, is_optional, span) => {
                    (StepKind::Field((*name).clone()), *is_optional, *span)
                }
                Link::Index(index, is_optional, span) => match &index.node {
                    Node::Literal(Val::String(text)) => (
                        StepKind::Index(Plan::Constant(Val::text(text.as_ref().clone()), 0)),
                        *is_optional,
                        *span,
                    ),
                    _ => (StepKind::Index(self.expr(index).0), *is_optional, *span),
                },
            };
            kind = self.step_type(&kind, &what, is_optional, span);
            steps.push(Step::new(what, is_optional, span.start));
        }
        (steps, kind)
    }

    fn step_type(&mut self, kind: &Type, what: &StepKind, is_optional: bool, span: Span) -> Type {
        let inner = match kind.kind {
            Kind::Optional => &kind.elements(),
            _ => kind,
        };
        let found = match (inner.kind, what) {
            (Kind::Any | Kind::Map, StepKind::Field(name)) => inner.field(name),
            (Kind::Any, _) => Type::ANY,
            (Kind::Map, _) | (Kind::List, StepKind::Index(_)) => inner.elements(),
            (Kind::Opaque(object), StepKind::Field(name)) if self.environment.has_field(object, name) => {
                self.environment.field_type(object, name)
            }
            (_, StepKind::Field(name)) => {
                let message = format!("a value of type `{inner}` has no field `{name}`");
                self.error(message, span, CompileErrorKind::Type);
                Type::ANY
            }
            (_, StepKind::Index(_)) => {
                self.error(format!("a value of type `{inner}` has no index"), span, CompileErrorKind::Type);
                Type::ANY
            }
        };
        if is_optional || kind.kind == Kind::Optional { Type::with(Kind::Optional, found) } else { found }
    }

    /// Finds what `name` and as many fields behind it as possible stand for; returns how many were used.
    fn named(
        &mut self,
        name: &Text,
        is_absolute: bool,
        links: &[Link<'_>],
        span: Span,
    ) -> (Plan, Type, usize) {
        if !is_absolute && let Some(local) = self.scope.iter().rev().find(|local| local.name == *name) {
            return (Plan::Local(local.slot), local.kind.clone(), 0);
        }
        let fields: Vec<&str> = links
            .iter()
            .map_while(|link| match link {
                Link::Field(field, false, _) => Some(field.as_str()),
                _ => None,
            })
            .collect();
        let dot = if is_absolute { "." } else { "" };
        for used in (0..=fields.len()).rev() {
            let behind = fields.get(..used).unwrap_or_default();
            let full =
                std::iter::once(name.as_str()).chain(behind.iter().copied()).collect::<Vec<_>>().join(".");
            for candidate in self.environment.candidates(&format!("{dot}{full}")) {
                if let Some(kind) = self.environment.variable_type(&candidate) {
                    return (self.variable(candidate, span), kind.clone(), used);
                }
                if let Some(value) = self.environment.constant_named(&candidate) {
                    return (Plan::Constant(value.clone(), 1), Type::of(value.kind()), used);
                }
                if let Some(name) = self.environment.type_named(&candidate) {
                    return (Plan::Constant(Val::Type(name.clone()), 0), Type::of(Kind::Type), used);
                }
            }
        }
        if self.environment.is_checked() {
            let (plan, kind) = self.unknown_name(name, span);
            return (plan, kind, links.len());
        }
        (self.variable(name.clone(), span), Type::ANY, 0)
    }

    fn variable(&mut self, name: Text, span: Span) -> Plan {
        let known = self.variables.iter().position(|known| *known == name);
        let index = known.unwrap_or_else(|| {
            self.variables.push(name);
            self.variables.len() - 1
        });
        Plan::Variable(u32::try_from(index).unwrap_or(u32::MAX), span.start)
    }

    fn unknown_name(&mut self, name: &Text, span: Span) -> (Plan, Type) {
        self.suggestions += 1;
        let locals = self.scope.iter().map(|local| local.name.as_str());
        let near = match self.suggestions > super::MOST_ERRORS {
            true => None,
            false => kubewright_value::suggest::nearest_word(
                name,
                self.environment.variables().into_iter().chain(locals),
            ),
        };
        let message = match near {
            Some(near) => format!("unknown name `{name}`; did you mean `{near}`?"),
            None => format!("unknown name `{name}`"),
        };
        self.unknown(message, span, CompileErrorKind::UnknownName)
    }

    /// Returns `a.b` as one name, if the expression is that and no variable of a macro.
    pub(super) fn qualified(&self, expr: &Expr) -> Option<String> {
        let (root, links) = unfold(expr);
        let Node::Identifier { name, is_absolute } = &root.node else { return None };
        if !is_absolute && self.scope.iter().any(|local| local.name == *name) {
            return None;
        }
        let mut full = if *is_absolute { format!(".{name}") } else { name.to_string() };
        for link in &links {
            let Link::Field(field, false, _) = link else { return None };
            full.push('.');
            full.push_str(field);
        }
        Some(full)
    }
}

/// Returns what a path starts with, and the links of it in order.
fn unfold(expr: &Expr) -> (&Expr, Vec<Link<'_>>) {
    let mut links = Vec::new();
    let mut current = expr;
    loop {
        current = match &current.node {
            Node::Select { operand, field, is_optional } => {
                links.push(Link::Field(field, *is_optional, current.span));
                operand
            }
            Node::Index { operand, index, is_optional } => {
                links.push(Link::Index(index, *is_optional, current.span));
                operand
            }
            _ => break,
        };
    }
    links.reverse();
    (current, links)
}
