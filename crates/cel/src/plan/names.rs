//! Resolving names, and the fields and indexes behind them.

use kubewright_value::Text;

use super::{CelPlan, PlannedPath, PlannedStep, PlannedStepKind, Planner};
use crate::ast::{CelExpr, CelNode, CelSpan};
use crate::environment::CelType;
use crate::error::CelCompileErrorKind;
use crate::val::{CelKind, Val};

/// One `.a` or `[a]` of a path.
enum PathLink<'x> {
    Field(&'x Text, bool, CelSpan),
    Index(&'x CelExpr, bool, CelSpan),
}

/// What a name stands for.
enum NamedPlan {
    Variable(Text, CelType),
    Constant(CelPlan, CelType),
}

impl Planner<'_> {
    /// Plans a name and everything that is selected from it.
    pub(super) fn path(&mut self, expr: &CelExpr) -> (CelPlan, CelType) {
        let (root, links) = unfold_plan_path(expr);
        let (plan, kind, used) = match &root.node {
            CelNode::Identifier { name, is_absolute } => self.named(name, *is_absolute, &links, root.span),
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
            // A path on a path is merged into one.
            CelPlan::Path(path) => (path.root, path.steps.into_vec()),
            plan => (plan, Vec::new()),
        };
        all.extend(steps);
        (self.folded(CelPlan::Path(Box::new(PlannedPath { root, steps: all.into() }))), kind)
    }

    fn steps(&mut self, links: &[PathLink<'_>], mut kind: CelType) -> (Vec<PlannedStep>, CelType) {
        let mut steps = Vec::with_capacity(links.len());
        for link in links {
            let (what, is_optional, span) = match link {
                PathLink::Field(name, is_optional, span) => {
                    (PlannedStepKind::Field((*name).clone()), *is_optional, *span)
                }
                PathLink::Index(index, is_optional, span) => match &index.node {
                    CelNode::Literal(Val::String(text)) => (
                        PlannedStepKind::Index(CelPlan::Constant(Val::text(text.as_ref().clone()), 0)),
                        *is_optional,
                        *span,
                    ),
                    _ => (PlannedStepKind::Index(self.expr(index).0), *is_optional, *span),
                },
            };
            kind = self.step_type(&kind, &what, is_optional, span);
            steps.push(PlannedStep::new(what, is_optional, span.start));
        }
        (steps, kind)
    }

    fn step_type(
        &mut self,
        kind: &CelType,
        what: &PlannedStepKind,
        is_optional: bool,
        span: CelSpan,
    ) -> CelType {
        let inner = match kind.kind {
            CelKind::Optional => &kind.elements(),
            _ => kind,
        };
        let found = match (inner.kind, what) {
            (CelKind::Any | CelKind::Map, PlannedStepKind::Field(name)) => inner.field(name),
            (CelKind::Any, _) => CelType::ANY,
            (CelKind::Map, _) | (CelKind::List, PlannedStepKind::Index(_)) => inner.elements(),
            (CelKind::Opaque(object), PlannedStepKind::Field(name))
                if self.environment.has_field(object, name) =>
            {
                self.environment.field_type(object, name)
            }
            (_, PlannedStepKind::Field(name)) => {
                let message = format!("a value of type `{inner}` has no field `{name}`");
                self.error(message, span, CelCompileErrorKind::Type);
                CelType::ANY
            }
            (_, PlannedStepKind::Index(_)) => {
                self.error(
                    format!("a value of type `{inner}` has no index"),
                    span,
                    CelCompileErrorKind::Type,
                );
                CelType::ANY
            }
        };
        if is_optional || kind.kind == CelKind::Optional {
            CelType::with(CelKind::Optional, found)
        } else {
            found
        }
    }

    /// Resolves `name` with as many of its fields as possible (`a.b` may be one variable); returns how many were used.
    fn named(
        &mut self,
        name: &Text,
        is_absolute: bool,
        links: &[PathLink<'_>],
        span: CelSpan,
    ) -> (CelPlan, CelType, usize) {
        if !is_absolute && let Some(local) = self.scope.iter().rev().find(|local| local.name == *name) {
            return (CelPlan::Local(local.slot), local.kind.clone(), 0);
        }
        let mut full = if is_absolute { [".", name.as_str()].concat() } else { name.to_string() };
        let mut ends = vec![full.len()];
        for link in links {
            let PathLink::Field(field, false, _) = link else { break };
            full.push('.');
            full.push_str(field);
            ends.push(full.len());
        }
        let environment = self.environment;
        for (used, end) in ends.into_iter().enumerate().rev() {
            full.truncate(end);
            let found = environment.first_candidate(&full, |candidate| {
                let variable = |kind: &CelType| NamedPlan::Variable(candidate.into(), kind.clone());
                let constant = |value: &Val<'static>, cost| {
                    NamedPlan::Constant(CelPlan::Constant(value.clone(), cost), CelType::of(value.kind()))
                };
                let declared = environment.variable_type(candidate).map(variable);
                let declared = declared
                    .or_else(|| environment.constant_named(candidate).map(|value| constant(value, 1)));
                declared.or_else(|| {
                    environment.type_named(candidate).map(|name| constant(&Val::Type(name.clone()), 0))
                })
            });
            match found {
                Some(NamedPlan::Variable(name, kind)) => return (self.variable(name, span), kind, used),
                Some(NamedPlan::Constant(plan, kind)) => return (plan, kind, used),
                None => {}
            }
        }
        if self.environment.is_checked() {
            let (plan, kind) = self.unknown_name(name, span);
            return (plan, kind, links.len());
        }
        (self.variable(name.clone(), span), CelType::ANY, 0)
    }

    fn variable(&mut self, name: Text, span: CelSpan) -> CelPlan {
        let known = self.variables.iter().position(|known| *known == name);
        let index = known.unwrap_or_else(|| {
            self.variables.push(name);
            self.variables.len() - 1
        });
        CelPlan::Variable(u32::try_from(index).unwrap_or(u32::MAX), span.start)
    }

    fn unknown_name(&mut self, name: &Text, span: CelSpan) -> (CelPlan, CelType) {
        self.suggestions += 1;
        let locals = self.scope.iter().map(|local| local.name.as_str());
        let near = match self.suggestions > super::MAX_COMPILE_ERRORS {
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
        self.unknown(message, span, CelCompileErrorKind::UnknownName)
    }

    /// Returns the qualified name `a.b`, if the expression is one and does not start with a macro variable.
    pub(super) fn qualified(&self, expr: &CelExpr) -> Option<String> {
        let (root, links) = unfold_plan_path(expr);
        let CelNode::Identifier { name, is_absolute } = &root.node else { return None };
        if !is_absolute && self.scope.iter().any(|local| local.name == *name) {
            return None;
        }
        let mut full = if *is_absolute { format!(".{name}") } else { name.to_string() };
        for link in &links {
            let PathLink::Field(field, false, _) = link else { return None };
            full.push('.');
            full.push_str(field);
        }
        Some(full)
    }
}

/// Returns the expression that a path starts with, and its links in order.
fn unfold_plan_path(expr: &CelExpr) -> (&CelExpr, Vec<PathLink<'_>>) {
    let mut links = Vec::new();
    let mut current = expr;
    loop {
        current = match &current.node {
            CelNode::Select { operand, field, is_optional } => {
                links.push(PathLink::Field(field, *is_optional, current.span));
                operand
            }
            CelNode::Index { operand, index, is_optional } => {
                links.push(PathLink::Index(index, *is_optional, current.span));
                operand
            }
            _ => break,
        };
    }
    links.reverse();
    (current, links)
}
