//! Macros: calls that are expanded at compile time.

use kubewright_value::Text;

use super::{
    CelPlan, FoldKind, MAX_NESTED_LOOPS, MacroVariable, PlannedBinding, PlannedFold, PlannedPath,
    PlannedStepKind, Planner,
};
use crate::ast::{CelExpr, CelNode, CelSpan};
use crate::environment::{CelType, ShorthandArguments};
use crate::error::CelCompileErrorKind;
use crate::explain::expression_text;
use crate::val::{CelKind, Val};

impl Planner<'_> {
    /// Expands the macro `name`; nothing when it is an ordinary call.
    pub(super) fn expand(
        &mut self,
        expr: &CelExpr,
        target: Option<&CelExpr>,
        name: &Text,
        arguments: &[CelExpr],
    ) -> Option<(CelPlan, CelType)> {
        if let Some(made) = self.shorthand(expr, target, name, arguments) {
            return Some(made);
        }
        let macros = self.environment.macros();
        match (target, name.as_str(), arguments) {
            (None, "has", [field]) => Some(self.has(field)),
            (Some(target), "bind", [variable, value, body])
                if macros.bindings && target.as_name().is_some_and(|name| name == "cel") =>
            {
                Some(self.bind(variable, value, body))
            }
            (Some(target), "optMap" | "optFlatMap", [variable, body]) if macros.optionals => {
                Some(self.optional_map(target, variable, body, name == "optFlatMap", expr.span))
            }
            (Some(target), "or" | "orValue", [other]) if macros.optionals => {
                Some(self.optional_or(target, other, name == "orValue", expr.span))
            }
            (Some(target), _, _) => self.fold(target, name, arguments, expr.span),
            _ => None,
        }
    }

    /// Expands a [`Shorthand`](crate::Shorthand) to the field that it is an alias of.
    fn shorthand(
        &mut self,
        expr: &CelExpr,
        target: Option<&CelExpr>,
        name: &Text,
        arguments: &[CelExpr],
    ) -> Option<(CelPlan, CelType)> {
        let target = target.filter(|_| self.environment.has_shorthands())?;
        let call = format!("{}.{name}", self.qualified(target)?);
        let shorthand = self.environment.shorthand_named(&call)?;
        let span = expr.span;
        let mut names = shorthand.path.split('.').map(Text::new_static);
        let root = CelNode::Identifier { name: names.next().unwrap_or_default(), is_absolute: true };
        let field = names.fold(CelExpr::new(root, span), |operand, field| {
            CelExpr::new(CelNode::Select { operand: Box::new(operand), field, is_optional: false }, span)
        });
        let made = match (shorthand.takes, arguments) {
            (_, []) if shorthand.takes != ShorthandArguments::Key => field,
            (ShorthandArguments::Anything, [_]) => field,
            (ShorthandArguments::Key, [key]) => {
                let (operand, index) = (Box::new(field), Box::new(key.clone()));
                CelExpr::new(CelNode::Index { operand, index, is_optional: true }, span)
            }
            _ => {
                let wanted = match shorthand.takes {
                    ShorthandArguments::Nothing => "no argument",
                    ShorthandArguments::Anything => "at most one argument",
                    ShorthandArguments::Key => "one argument",
                };
                let message = format!("`{call}` takes {wanted}, not {}", arguments.len());
                return Some(self.unknown(message, span, CelCompileErrorKind::Arity));
            }
        };
        Some(self.expr(&made))
    }

    fn has(&mut self, field: &CelExpr) -> (CelPlan, CelType) {
        let CelNode::Select { operand, field: name, is_optional } = &field.node else {
            let failed = self.unknown(
                "`has` needs a field, such as `has(a.b)`".to_owned(),
                field.span,
                CelCompileErrorKind::Syntax,
            );
            if let (CelNode::Index { operand, index, .. }, Some(error)) =
                (&field.node, self.errors.last_mut())
            {
                let [key, map] = [index, operand].map(|part| expression_text(part, true));
                error.help = format!("write `{key} in {map}`");
            }
            return failed;
        };
        if self.is_field_of_nothing(operand)
            && self.qualified(field).is_some_and(|full| self.is_variable(&full))
        {
            // `variables.a` is a name by itself, and what is declared is there.
            return (CelPlan::Constant(Val::Bool(true), 1), CelType::of(CelKind::Bool));
        }
        // The operand is planned by itself: `has(a.b)` tests a field even if there is a variable `a.b`.
        let (plan, kind) = self.expr(operand);
        let step =
            super::PlannedStep::new(PlannedStepKind::Field(name.clone()), *is_optional, field.span.start);
        let known = [CelKind::Any, CelKind::Map, CelKind::Optional];
        if !known.contains(&kind.kind) && !self.environment.has_field(kind.kind.name(), name) {
            let message = format!("a value of type `{kind}` has no field `{name}`");
            self.error(message, field.span, CelCompileErrorKind::Type);
        }
        let (root, mut steps) = match plan {
            CelPlan::Path(path) => (path.root, path.steps.into_vec()),
            plan => (plan, Vec::new()),
        };
        steps.push(step);
        (CelPlan::Has(Box::new(PlannedPath { root, steps: steps.into() })), CelType::of(CelKind::Bool))
    }

    /// Returns whether `operand` is a name that nothing has.
    fn is_field_of_nothing(&self, operand: &CelExpr) -> bool {
        matches!(&operand.node, CelNode::Identifier { .. })
            && self.qualified(operand).is_some_and(|name| !self.is_variable(&name))
    }

    fn is_variable(&self, name: &str) -> bool {
        self.environment.candidates(name).iter().any(|one| self.environment.variable_type(one).is_some())
    }

    fn bind(&mut self, variable: &CelExpr, value: &CelExpr, body: &CelExpr) -> (CelPlan, CelType) {
        let name = match self.variable_name(variable, "cel.bind") {
            Ok(name) => name,
            Err(failed) => return failed,
        };
        let (value, kind) = self.expr(value);
        let slot = self.enter(name, kind);
        let (body, kind) = self.expr(body);
        self.scope.pop();
        (CelPlan::Bind(Box::new(PlannedBinding { slot, value, body, at: variable.span.start })), kind)
    }

    fn optional_map(
        &mut self,
        target: &CelExpr,
        variable: &CelExpr,
        body: &CelExpr,
        is_flat: bool,
        span: CelSpan,
    ) -> (CelPlan, CelType) {
        let name = match self.variable_name(variable, "optMap") {
            Ok(name) => name,
            Err(failed) => return failed,
        };
        let (value, kind) = self.expr(target);
        self.require(&[CelKind::Optional], &kind, "optMap", span);
        let slot = self.enter(name, kind.elements());
        let (body, body_kind) = self.expr(body);
        self.scope.pop();
        if is_flat {
            self.require(&[CelKind::Optional], &body_kind, "optFlatMap", span);
        }
        let kind = if is_flat { body_kind } else { CelType::with(CelKind::Optional, body_kind) };
        (CelPlan::OptionalMap(Box::new(PlannedBinding { slot, value, body, at: span.start }), is_flat), kind)
    }

    fn optional_or(
        &mut self,
        target: &CelExpr,
        other: &CelExpr,
        is_value: bool,
        span: CelSpan,
    ) -> (CelPlan, CelType) {
        let (value, kind) = self.expr(target);
        if is_value && self.environment.has_plain_or_value() {
            let (other, other_kind) = self.expr(other);
            let inner = if kind.kind == CelKind::Optional { kind.elements() } else { kind };
            let kind = super::types::join_types(&inner, &other_kind);
            return (CelPlan::PlainOrValue(Box::new((value, other))), kind);
        }
        self.require(&[CelKind::Optional], &kind, if is_value { "orValue" } else { "or" }, span);
        let (other, other_kind) = self.expr(other);
        if is_value {
            let inner = kind.elements();
            if !super::types::are_compatible_types(&inner, &other_kind) {
                let message = format!("`orValue` needs `{inner}`, found `{other_kind}`");
                self.error(message, span, CelCompileErrorKind::Type);
            }
            let kind = super::types::join_types(&inner, &other_kind);
            return (CelPlan::OptionalOrValue(Box::new((value, other)), span.start), kind);
        }
        self.require(&[CelKind::Optional], &other_kind, "or", span);
        let kind = super::types::join_types(&kind, &other_kind);
        (CelPlan::OptionalOr(Box::new((value, other)), span.start), kind)
    }

    fn fold(
        &mut self,
        target: &CelExpr,
        name: &str,
        arguments: &[CelExpr],
        span: CelSpan,
    ) -> Option<(CelPlan, CelType)> {
        let has_two = self.environment.macros().two_variables;
        let (kind, variables, filter, body) = match (name, arguments) {
            ("all", [x, body]) => (FoldKind::All, [x, x], None, body),
            ("exists", [x, body]) => (FoldKind::Exists, [x, x], None, body),
            ("exists_one" | "existsOne", [x, body]) => (FoldKind::ExistsOne, [x, x], None, body),
            ("filter", [x, body]) => (FoldKind::Filter, [x, x], None, body),
            ("map", [x, body]) => (FoldKind::Map, [x, x], None, body),
            ("map", [x, filter, body]) => (FoldKind::Map, [x, x], Some(filter), body),
            ("all", [x, y, body]) if has_two => (FoldKind::All, [x, y], None, body),
            ("exists", [x, y, body]) if has_two => (FoldKind::Exists, [x, y], None, body),
            ("exists_one" | "existsOne", [x, y, body]) if has_two => {
                (FoldKind::ExistsOne, [x, y], None, body)
            }
            ("sortBy", [x, body]) if self.environment.macros().sorting => {
                (FoldKind::SortBy, [x, x], None, body)
            }
            ("transformList", [x, y, body]) if has_two => (FoldKind::Map, [x, y], None, body),
            ("transformList", [x, y, filter, body]) if has_two => (FoldKind::Map, [x, y], Some(filter), body),
            ("transformMap", [x, y, body]) if has_two => (FoldKind::TransformMap, [x, y], None, body),
            ("transformMap", [x, y, filter, body]) if has_two => {
                (FoldKind::TransformMap, [x, y], Some(filter), body)
            }
            ("transformMapEntry", [x, y, body]) if has_two => {
                (FoldKind::TransformMapEntry, [x, y], None, body)
            }
            ("transformMapEntry", [x, y, filter, body]) if has_two => {
                (FoldKind::TransformMapEntry, [x, y], Some(filter), body)
            }
            _ => return None,
        };
        let [first, second] = variables;
        let second = (!std::ptr::eq(first, second)).then_some(second);
        Some(self.folding(kind, (target, first, second), filter, body, span))
    }

    fn folding(
        &mut self,
        kind: FoldKind,
        (target, first, second): (&CelExpr, &CelExpr, Option<&CelExpr>),
        filter: Option<&CelExpr>,
        body: &CelExpr,
        span: CelSpan,
    ) -> (CelPlan, CelType) {
        let names =
            (self.variable_name(first, "the macro"), second.map(|e| self.variable_name(e, "the macro")));
        let (first_name, second_name) = match names {
            (Err(failed), _) | (_, Some(Err(failed))) => return failed,
            (Ok(first), Some(Ok(second))) => (first, Some(second)),
            (Ok(first), None) => (first, None),
        };
        if second_name.as_ref() == Some(&first_name) {
            let message = format!("both variables are called `{first_name}`");
            return self.unknown(message, second.map_or(span, |e| e.span), CelCompileErrorKind::Syntax);
        }
        if self.loops == MAX_NESTED_LOOPS {
            let message = format!("macros nest at most {MAX_NESTED_LOOPS} levels deep");
            return self.unknown(message, span, CelCompileErrorKind::Syntax);
        }
        let (range, range_kind) = self.expr(target);
        if ![CelKind::Any, CelKind::List, CelKind::Map].contains(&range_kind.kind) {
            let message = format!("a value of type `{range_kind}` cannot be iterated over");
            self.error(message, target.span, CelCompileErrorKind::Type);
        }
        let (key, element) = Self::element_types(&range_kind);
        let depth = self.scope.len();
        let (first, second) = match second_name {
            Some(second_name) => {
                (self.enter(first_name, key), Some(self.enter(second_name, element.clone())))
            }
            None if range_kind.kind == CelKind::List => (self.enter(first_name, element.clone()), None),
            None => (self.enter(first_name, CelType::ANY), None),
        };
        self.loops += 1;
        let filter = filter.map(|filter| {
            let (plan, kind) = self.expr(filter);
            self.require(&[CelKind::Bool], &kind, "the filter", filter.span);
            plan
        });
        let body_span = body.span;
        let (body, body_kind) = self.expr(body);
        self.loops -= 1;
        self.scope.truncate(depth);
        let result = match kind {
            FoldKind::All | FoldKind::Exists | FoldKind::ExistsOne => CelType::of(CelKind::Bool),
            FoldKind::Filter | FoldKind::SortBy => match range_kind.kind {
                CelKind::List => CelType::with(CelKind::List, element),
                _ => CelType::of(CelKind::List),
            },
            FoldKind::Map => CelType::with(CelKind::List, body_kind.clone()),
            FoldKind::TransformMap => CelType::with(CelKind::Map, body_kind.clone()),
            FoldKind::TransformMapEntry => CelType::of(CelKind::Map),
        };
        match kind {
            FoldKind::Map | FoldKind::TransformMap | FoldKind::SortBy => {}
            FoldKind::TransformMapEntry => {
                self.require(&[CelKind::Map], &body_kind, "transformMapEntry", body_span);
            }
            _ => self.require(&[CelKind::Bool], &body_kind, "the macro", body_span),
        }
        (
            CelPlan::Fold(Box::new(PlannedFold { kind, range, first, second, filter, body, at: span.start })),
            result,
        )
    }

    fn variable_name(&mut self, expr: &CelExpr, what: &str) -> Result<Text, (CelPlan, CelType)> {
        match expr.as_name() {
            Some(name) => Ok(name.clone()),
            None => {
                let message = format!("`{what}` needs the name of a variable here");
                Err(self.unknown(message, expr.span, CelCompileErrorKind::Syntax))
            }
        }
    }

    /// Adds a macro variable to the scope and returns its slot.
    fn enter(&mut self, name: Text, kind: CelType) -> u32 {
        let slot = u32::try_from(self.scope.len()).unwrap_or(u32::MAX);
        self.scope.push(MacroVariable { name, slot, kind });
        self.slots = self.slots.max(slot + 1);
        slot
    }
}
