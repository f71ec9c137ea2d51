//! `foreach` in CEL.

use kubewright_jmespath::JmesPathFunctions;

use super::conditions;
use super::formula::Formula;
use super::reading;
use super::scope::{Found, Many, Scope};
use super::{Checked, looked_up, one_pattern_in, patterns_in};
use crate::Inexpressible;
use kubewright_kyverno::source::{Foreach, Method};

/// Returns what all `loops` come to: an element that fails fails the rule, and where nothing was checked there is
/// nothing to say.
pub(super) fn translate(
    loops: &[Foreach],
    scope: &Scope,
    functions: &JmesPathFunctions,
) -> Result<Checked, Inexpressible> {
    let (mut pass, mut applied) = (Formula::True, Formula::False);
    for one in loops {
        let because = |why: &str| Inexpressible { why: why.to_owned(), path: one.list.path.clone() };
        if let Some(first) = one.context.first() {
            return Err(Inexpressible { why: looked_up(&first.from), path: first.path.clone() });
        }
        let elements = elements(one, scope).map_err(|why| because(&why))?;
        let inner = scope.with_element(&elements);
        let element = element(one, &elements, &inner, functions)?;
        pass = pass.and(elements.all(element.skip.clone().or(element.pass.clone())));
        // An element that fails ends the loop, and the rule has something to say.
        applied = applied.or(elements.exists(element.skip.not()));
    }
    Ok(Checked { pass, skip: applied.not() })
}

fn elements(one: &Foreach, scope: &Scope) -> Result<Many, String> {
    let list = &one.list.value;
    let reading = reading::read(list)
        .filter(|reading| reading.default.is_none() && reading.asked.is_none())
        .ok_or_else(|| format!("the list `{list}` of a loop is more than a path in the object"))?;
    match scope.find(&reading) {
        Some(Found::Many(many)) => Ok(many),
        Some(Found::One(list)) if list.shape.is_list() => Ok(list.into()),
        _ => Err(format!("the list `{list}` of a loop may be of any type")),
    }
}

/// Returns what comes of one element, where it is skipped or not.
fn element(
    one: &Foreach,
    elements: &Many,
    scope: &Scope,
    functions: &JmesPathFunctions,
) -> Result<Checked, Inexpressible> {
    let because = |why: &str| Inexpressible { why: why.to_owned(), path: one.path.clone() };
    let mut skip = Formula::False;
    if let Some(written) = &one.preconditions {
        let conditions = conditions::translate(written, scope, functions)?;
        skip = conditions.error.or(conditions.hold.not());
    }
    let is_scoped = one.element_scope != Some(false) && elements.shape.is_map();
    let checked = match &one.method {
        Method::Deny(None) => Checked { pass: Formula::False, skip: Formula::False },
        Method::Deny(Some(written)) => {
            let denied = conditions::translate(written, scope, functions)?;
            Checked { pass: denied.error.or(denied.hold).not(), skip: Formula::False }
        }
        Method::Pattern(_) | Method::AnyPattern(_) if !is_scoped => {
            return Err(because("a loop compares the whole object with a pattern"));
        }
        Method::Pattern(pattern) => {
            one_pattern_in(pattern, false, &elements.item, elements.shape, functions)?
        }
        Method::AnyPattern(patterns) => patterns_in(patterns, &elements.item, elements.shape, functions)?,
        Method::Foreach(_) => return Err(because("a loop stands in a loop")),
        _ => return Err(because("a loop checks something that CEL cannot")),
    };
    Ok(Checked { skip: skip.or(checked.skip), pass: checked.pass })
}
