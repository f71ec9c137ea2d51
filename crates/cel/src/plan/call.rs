//! Calls of functions.

use std::sync::Arc;

use kubewright_golib::regex;
use kubewright_value::Text;
use kubewright_value::suggest::nearest_word;

use super::{CelPlan, PlannedCall, Planner};
use crate::ast::{CelExpr, CelSpan};
use crate::environment::CelType;
use crate::error::CelCompileErrorKind;
use crate::function::CelOverload;
use crate::val::{CelKind, Val};

impl Planner<'_> {
    pub(super) fn call(
        &mut self,
        expr: &CelExpr,
        target: Option<&CelExpr>,
        name: &Text,
        arguments: &[CelExpr],
    ) -> (CelPlan, CelType) {
        if let Some(made) = self.expand(expr, target, name, arguments) {
            return made;
        }
        if let Some((full, overloads)) = self.function(target, name) {
            return self.calling(&full, &overloads, arguments.iter(), expr.span);
        }
        let Some(target) = target else { return self.unknown_function(name, false, expr.span) };
        let overloads = self.overloads(name, true);
        if overloads.is_empty() {
            // The receiver is planned only to report its errors.
            let _ = self.expr(target);
            return self.unknown_function(name, true, expr.span);
        }
        self.calling(name, &overloads, std::iter::once(target).chain(arguments), expr.span)
    }

    /// Returns the overloads of a call without receiver: `f(a)`, or `a.f(b)` where `a.f` is the function's name.
    fn function(&self, target: Option<&CelExpr>, name: &Text) -> Option<(Text, Vec<Arc<CelOverload>>)> {
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

    fn overloads(&self, name: &str, is_method: bool) -> Vec<Arc<CelOverload>> {
        let all = self.environment.functions().named(name).iter();
        all.filter(|overload| overload.is_method() == is_method).cloned().collect()
    }

    fn calling<'x>(
        &mut self,
        name: &Text,
        overloads: &[Arc<CelOverload>],
        arguments: impl Iterator<Item = &'x CelExpr>,
        span: CelSpan,
    ) -> (CelPlan, CelType) {
        let was_formatting = self.is_formatting;
        self.is_formatting |= name == "format";
        let (plans, kinds): (Vec<CelPlan>, Vec<CelType>) =
            arguments.map(|argument| self.expr(argument)).unzip();
        self.is_formatting = was_formatting;
        let taking = overloads.iter().filter(|overload| overload.takes(plans.len()));
        let taking: Vec<_> = taking.cloned().collect();
        if taking.is_empty() {
            let message =
                format!("wrong number of arguments for {}", list_signatures(overloads, kinds.first()));
            return self.unknown(message, span, CelCompileErrorKind::Arity);
        }
        let item = kinds.first().map_or(CelType::ANY, CelType::elements);
        let value = kinds.last().map_or(CelKind::Any, |kind| kind.elements().kind);
        let accepts = |overload: &&Arc<CelOverload>| {
            overload.accepts(kinds.iter().map(|kind| kind.kind))
                && overload.accepts_items(item.kind)
                && overload.accepts_values(value)
        };
        let mut fitting: Vec<_> = taking.iter().filter(accepts).cloned().collect();
        if kinds.iter().all(|kind| kind.kind != CelKind::Any) {
            // Of several overloads that accept these types, the first is called.
            fitting.truncate(1);
        }
        let Some(first) = fitting.first() else {
            let found: Vec<String> = kinds.iter().map(|kind| format!("`{kind}`")).collect();
            let message = format!(
                "`{name}` does not take {}; it is {}",
                found.join(", "),
                list_signatures(&taking, kinds.first())
            );
            return self.unknown(message, span, CelCompileErrorKind::Type);
        };
        let result = match fitting.iter().all(|overload| overload.result() == first.result()) {
            true if first.gives_item() => item,
            true => CelType::of(first.result()),
            false => CelType::ANY,
        };
        let regex = match self.pattern(&plans, first, span) {
            Ok(regex) => regex,
            Err(failed) => return failed,
        };
        let calling = PlannedCall {
            name: name.clone(),
            overloads: fitting.into(),
            arguments: plans.into(),
            regex: regex.map(Arc::new),
            at: span.start,
        };
        let plan = self.folded(CelPlan::Call(Box::new(calling)));
        self.converted(&plan, span);
        (plan, result)
    }

    /// Reports a constant that cannot be converted, such as `duration('x')`.
    fn converted(&mut self, plan: &CelPlan, span: CelSpan) {
        let CelPlan::Call(calling) = plan else { return };
        let is_constant = matches!(&*calling.arguments, [CelPlan::Constant(..)]);
        if !is_constant || !is_conversion(&calling.name) {
            return;
        }
        if let Err(failure) = super::constant::compute_constant(plan, self.environment) {
            self.error(failure.message().to_owned(), span, CelCompileErrorKind::Value);
        }
    }

    /// Compiles the regular expression of a call, if it is a constant.
    fn pattern(
        &mut self,
        plans: &[CelPlan],
        overload: &CelOverload,
        span: CelSpan,
    ) -> Result<Option<regex::Regex>, (CelPlan, CelType)> {
        let argument = overload.pattern_index().and_then(|index| plans.get(index));
        let Some(CelPlan::Constant(Val::String(pattern), _)) = argument else { return Ok(None) };
        if let Some(known) = self.regexes.iter().find(|regex| *regex.as_str() == **pattern) {
            return Ok(Some(known.clone()));
        }
        let compiled = regex::compile_regex(pattern).map_err(|error| {
            self.unknown(format!("invalid regex `{pattern}`: {error}"), span, CelCompileErrorKind::Value)
        })?;
        self.regexes.push(compiled.clone());
        Ok(Some(compiled))
    }

    fn unknown_function(&mut self, name: &Text, is_method: bool, span: CelSpan) -> (CelPlan, CelType) {
        self.suggestions += 1;
        let most = if self.suggestions > super::MAX_COMPILE_ERRORS { 0 } else { usize::MAX };
        let names = self.environment.functions().names().take(most);
        let what = if is_method { "method" } else { "function" };
        let message =
            match nearest_word(name, names.filter(|known| !self.overloads(known, is_method).is_empty())) {
                Some(near) => format!("unknown {what} `{name}`; did you mean `{near}`?"),
                None => format!("unknown {what} `{name}`"),
            };
        self.unknown(message, span, CelCompileErrorKind::UnknownFunction)
    }
}

/// Returns whether a function is a type conversion, which the API server computes at compile time where it can.
pub(super) fn is_conversion(name: &str) -> bool {
    ["bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"]
        .contains(&name)
}

/// Returns the signatures of the overloads that take `first`, or of all if none does.
fn list_signatures(overloads: &[Arc<CelOverload>], first: Option<&CelType>) -> String {
    let takes = |overload: &&Arc<CelOverload>| overload.accepts(first.map(|first| first.kind).into_iter());
    let signatures = |overloads: &mut dyn Iterator<Item = &Arc<CelOverload>>| -> Vec<String> {
        overloads.map(|overload| format!("`{}`", overload.signature())).collect()
    };
    let mut found = signatures(&mut overloads.iter().filter(takes));
    if found.is_empty() {
        found = signatures(&mut overloads.iter());
    }
    found.join(" or ")
}

impl Planner<'_> {
    /// Returns the type of the elements that a macro iterates over.
    pub(super) fn element_types(range: &CelType) -> (CelType, CelType) {
        match range.kind {
            CelKind::List => (CelType::of(CelKind::Int), range.elements()),
            CelKind::Map => (CelType::ANY, range.elements()),
            _ => (CelType::ANY, CelType::ANY),
        }
    }
}
