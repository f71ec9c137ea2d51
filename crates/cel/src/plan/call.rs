//! Calls of functions.

use std::sync::Arc;

use kubewright_golib::regex;
use kubewright_value::Text;
use kubewright_value::suggest::nearest_word;

use super::{Calling, Plan, Planner};
use crate::ast::{Expr, Span};
use crate::environment::Type;
use crate::error::CompileErrorKind;
use crate::function::Overload;
use crate::val::{Kind, Val};

impl Planner<'_> {
    pub(super) fn call(
        &mut self,
        expr: &Expr,
        target: Option<&Expr>,
        name: &Text,
        arguments: &[Expr],
    ) -> (Plan, Type) {
        if let Some(made) = self.expand(expr, target, name, arguments) {
            return made;
        }
        if let Some((full, overloads)) = self.function(target, name) {
            return self.calling(&full, &overloads, arguments.iter(), expr.span);
        }
        let Some(target) = target else { return self.unknown_function(name, false, expr.span) };
        let overloads = self.overloads(name, true);
        if overloads.is_empty() {
            // The receiver may have mistakes of its own.
            let _ = self.expr(target);
            return self.unknown_function(name, true, expr.span);
        }
        self.calling(name, &overloads, std::iter::once(target).chain(arguments), expr.span)
    }

    /// Returns the function that is called without a receiver: `f(a)`, or `a.f(b)` where `a.f` is its name.
    fn function(&self, target: Option<&Expr>, name: &Text) -> Option<(Text, Vec<Arc<Overload>>)> {
        let full = match target {
            Some(target) => Text::from(format!("{}.{name}", self.qualified(target)?)),
            None => name.clone(),
        };
        let mut candidates = self.environment.candidates(&full).into_iter();
        candidates.find_map(|candidate| {
            let overloads = self.overloads(&candidate, false);
            (!overloads.is_empty()).then_some((candidate, overloads))
        })
    }

    fn overloads(&self, name: &str, is_method: bool) -> Vec<Arc<Overload>> {
        let all = self.environment.functions().named(name).iter();
        all.filter(|overload| overload.is_method() == is_method).cloned().collect()
    }

    fn calling<'x>(
        &mut self,
        name: &Text,
        overloads: &[Arc<Overload>],
        arguments: impl Iterator<Item = &'x Expr>,
        span: Span,
    ) -> (Plan, Type) {
        let was_formatting = self.is_formatting;
        self.is_formatting |= name == "format";
        let (plans, kinds): (Vec<Plan>, Vec<Type>) = arguments.map(|argument| self.expr(argument)).unzip();
        self.is_formatting = was_formatting;
        let taking = overloads.iter().filter(|overload| overload.takes(plans.len()));
        let taking: Vec<_> = taking.cloned().collect();
        if taking.is_empty() {
            let message = format!("wrong number of arguments for {}", choices(overloads, kinds.first()));
            return self.unknown(message, span, CompileErrorKind::Arity);
        }
        let item = kinds.first().map_or(Type::ANY, Type::elements);
        let value = kinds.last().map_or(Kind::Any, |kind| kind.elements().kind);
        let accepts = |overload: &&Arc<Overload>| {
            overload.accepts(kinds.iter().map(|kind| kind.kind))
                && overload.accepts_items(item.kind)
                && overload.accepts_values(value)
        };
        let mut fitting: Vec<_> = taking.iter().filter(accepts).cloned().collect();
        if kinds.iter().all(|kind| kind.kind != Kind::Any) {
            // Of those that take values of these types, the first is called.
            fitting.truncate(1);
        }
        let Some(first) = fitting.first() else {
            let found: Vec<String> = kinds.iter().map(|kind| format!("`{kind}`")).collect();
            let message = format!(
                "`{name}` does not take {}; it is {}",
                found.join(", "),
                choices(&taking, kinds.first())
            );
            return self.unknown(message, span, CompileErrorKind::Type);
        };
        let result = match fitting.iter().all(|overload| overload.result() == first.result()) {
            true if first.gives_item() => item,
            true => Type::of(first.result()),
            false => Type::ANY,
        };
        let regex = match self.pattern(&plans, first, span) {
            Ok(regex) => regex,
            Err(failed) => return failed,
        };
        let calling = Calling {
            name: name.clone(),
            overloads: fitting.into(),
            arguments: plans.into(),
            regex: regex.map(Arc::new),
            at: span.start,
        };
        let plan = self.folded(Plan::Call(Box::new(calling)));
        self.converted(&plan, span);
        (plan, result)
    }

    /// Reports a constant that cannot be converted, such as `duration('x')`.
    fn converted(&mut self, plan: &Plan, span: Span) {
        let Plan::Call(calling) = plan else { return };
        let is_constant = matches!(&*calling.arguments, [Plan::Constant(..)]);
        if !is_constant || !is_conversion(&calling.name) {
            return;
        }
        if let Err(failure) = super::constant::compute(plan, self.environment) {
            self.error(failure.message().to_owned(), span, CompileErrorKind::Value);
        }
    }

    /// Compiles the pattern of a call, if it is a constant.
    fn pattern(
        &mut self,
        plans: &[Plan],
        overload: &Overload,
        span: Span,
    ) -> Result<Option<regex::Regex>, (Plan, Type)> {
        let argument = overload.pattern_index().and_then(|index| plans.get(index));
        let Some(Plan::Constant(Val::String(pattern), _)) = argument else { return Ok(None) };
        regex::compile_regex(pattern).map(Some).map_err(|error| {
            self.unknown(format!("invalid regex `{pattern}`: {error}"), span, CompileErrorKind::Value)
        })
    }

    fn unknown_function(&mut self, name: &Text, is_method: bool, span: Span) -> (Plan, Type) {
        self.suggestions += 1;
        let most = if self.suggestions > super::MOST_ERRORS { 0 } else { usize::MAX };
        let names = self.environment.functions().names().take(most);
        let what = if is_method { "method" } else { "function" };
        let message =
            match nearest_word(name, names.filter(|known| !self.overloads(known, is_method).is_empty())) {
                Some(near) => format!("unknown {what} `{name}`; did you mean `{near}`?"),
                None => format!("unknown {what} `{name}`"),
            };
        self.unknown(message, span, CompileErrorKind::UnknownFunction)
    }
}

/// Returns whether a function only converts, which the API server does beforehand where it can.
pub(super) fn is_conversion(name: &str) -> bool {
    ["bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"]
        .contains(&name)
}

/// Returns the signatures of those that take `first`, or of all if none does.
fn choices(overloads: &[Arc<Overload>], first: Option<&Type>) -> String {
    let takes = |overload: &&Arc<Overload>| overload.accepts(first.map(|first| first.kind).into_iter());
    let signatures = |overloads: &mut dyn Iterator<Item = &Arc<Overload>>| -> Vec<String> {
        overloads.map(|overload| format!("`{}`", overload.signature())).collect()
    };
    let mut found = signatures(&mut overloads.iter().filter(takes));
    if found.is_empty() {
        found = signatures(&mut overloads.iter());
    }
    found.join(" or ")
}

impl Planner<'_> {
    /// Returns the type of what a macro goes over has as its elements.
    pub(super) fn element_types(range: &Type) -> (Type, Type) {
        match range.kind {
            Kind::List => (Type::of(Kind::Int), range.elements()),
            Kind::Map => (Type::ANY, range.elements()),
            _ => (Type::ANY, Type::ANY),
        }
    }
}
