//! What a rule checks, in CEL that decides exactly the same.

mod formula;
mod leaf;
mod pattern;
mod shape;
mod text;

use kubewright_lang::jmespath::Functions;
use kubewright_value::{Step, Value};

use super::{Expressions, Inexpressible, Validation};
use crate::fields::{Placed, child};
use crate::kyverno::mixed::Mixed;
use crate::kyverno::pattern::Pattern;
use crate::kyverno::source::{Method, Rule};
use formula::Formula;
use shape::Shape;

/// Returns what `rule` checks.
///
/// # Errors
/// When there is no CEL that decides the same for every object.
pub(crate) fn expressions(rule: &Rule, _functions: &Functions) -> Result<Expressions, Inexpressible> {
    let mut made = Expressions::default();
    if let Some(first) = rule.context.first() {
        return Err(Inexpressible { why: "the rule looks things up in its `context`".into(), path: first.path.clone() });
    }
    if let Some(conditions) = &rule.preconditions {
        return Err(Inexpressible { why: "preconditions".into(), path: conditions.path.clone() });
    }
    let about = &rule.matching;
    let filters = about.any.iter().chain(&about.all).chain(&about.flat);
    let shape = shape::of_kinds(filters.flat_map(|filter| &filter.kinds).map(|kind| kind.value.as_str()));
    let outcome = match &rule.validate.method {
        Method::Pattern(pattern) => one_pattern(pattern, false, shape)?,
        Method::AnyPattern(patterns) => any_pattern(patterns, shape)?,
        _ => return Err(Inexpressible { why: "method".into(), path: rule.validate.path.clone() }),
    };
    let applies = outcome.skip.not().simplified();
    if applies != Formula::True {
        made.conditions.push((pattern::condition_name(), applies.written()));
    }
    made.validations.push(Validation {
        expression: outcome.pass.given(&applies).written(),
        message: rule.validate.message.as_ref().map(|message| message.value.to_string()),
        message_expression: None,
    });
    Ok(made)
}

/// When a check passes, and when it says nothing.
struct Checked {
    /// Where it is not skipped.
    pass: Formula,
    skip: Formula,
}

fn one_pattern(pattern: &Placed<Value>, is_entry: bool, shape: Shape) -> Result<Checked, Inexpressible> {
    let mixed = Mixed::Own(pattern.value.clone());
    let compiled = if is_entry { Pattern::compile_entry(&mixed) } else { Pattern::compile(&mixed) };
    let outcome = pattern::translate(&compiled.node, "object", shape).map_err(|inexpressible| Inexpressible {
        path: [pattern.path.as_slice(), &inexpressible.path].concat(),
        ..inexpressible
    })?;
    let skip = outcome.skip().simplified();
    let (pass, okay) = (outcome.pass.simplified(), outcome.okay.simplified());
    let is_shorter = okay.written().len() < pass.written().len();
    Ok(Checked { pass: if is_shorter && skip != Formula::False { okay } else { pass }, skip })
}

fn any_pattern(patterns: &Placed<Value>, shape: Shape) -> Result<Checked, Inexpressible> {
    let items = patterns.value.as_array().unwrap_or_default();
    let (mut pass, mut skip) = (Formula::False, Formula::constant(!items.is_empty()));
    for (index, item) in items.iter().enumerate() {
        let path: Vec<Step> = child(&patterns.path, index);
        let one = one_pattern(&Placed { value: item.clone(), path }, true, shape)?;
        // Where it does not skip it says whether it fits; where it skips, it does not fit.
        pass = pass.or(one.skip.clone().not().and(one.pass));
        skip = skip.and(one.skip);
    }
    if items.is_empty() {
        pass = Formula::True;
    }
    Ok(Checked { pass, skip })
}

#[cfg(test)]
mod tests;
