//! `foreach` in CEL.

use kubewright_jmespath::JmesPathFunctions;

use super::conditions;
use super::formula::Formula;
use super::reading;
use super::scope::{ListElements, PathTarget, TranslationScope};
use super::{CheckFormulas, any_pattern_formulas, lookup_refusal, pattern_formulas};
use crate::ConversionRefusal;
use kubewright_kyverno::source::{Foreach, Method};

/// Returns the formulas of all `loops`: an element that fails fails the rule; without a checked element the rule is
/// skipped.
pub(super) fn translate_loops(
    loops: &[Foreach],
    scope: &TranslationScope,
    functions: &JmesPathFunctions,
) -> Result<CheckFormulas, ConversionRefusal> {
    let (mut pass, mut applied) = (Formula::True, Formula::False);
    for one in loops {
        let because = |why: &str| ConversionRefusal { why: why.to_owned(), path: one.list.path.clone() };
        if let Some(first) = one.context.first() {
            return Err(ConversionRefusal { why: lookup_refusal(&first.from), path: first.path.clone() });
        }
        let elements = loop_elements(one, scope).map_err(|why| because(&why))?;
        let inner = scope.with_element(&elements);
        let element = element_formulas(one, &elements, &inner, functions)?;
        pass = pass.and(elements.all(element.skip.clone().or(element.pass.clone())));
        // An element that fails ends the loop, and the rule applies.
        applied = applied.or(elements.exists(element.skip.not()));
    }
    Ok(CheckFormulas { pass, skip: applied.not() })
}

fn loop_elements(one: &Foreach, scope: &TranslationScope) -> Result<ListElements, String> {
    let list = &one.list.value;
    let reading = reading::parse_path_expression(list)
        .filter(|reading| reading.default.is_none() && reading.asked.is_none())
        .ok_or_else(|| format!("the list `{list}` of a loop is more than a path in the object"))?;
    match scope.find(&reading) {
        Some(PathTarget::Many(many)) => Ok(many),
        Some(PathTarget::One(list)) if list.shape.is_list() => Ok(list.into()),
        _ => Err(format!("the list `{list}` of a loop may be of any type")),
    }
}

/// Returns the formulas of one element.
fn element_formulas(
    one: &Foreach,
    elements: &ListElements,
    scope: &TranslationScope,
    functions: &JmesPathFunctions,
) -> Result<CheckFormulas, ConversionRefusal> {
    let because = |why: &str| ConversionRefusal { why: why.to_owned(), path: one.path.clone() };
    let mut skip = Formula::False;
    if let Some(written) = &one.preconditions {
        let conditions = conditions::translate_conditions(written, scope, functions)?;
        skip = conditions.error.or(conditions.hold.not());
    }
    let is_scoped = one.element_scope != Some(false) && elements.shape.is_map();
    let checked = match &one.method {
        Method::Deny(None) => CheckFormulas { pass: Formula::False, skip: Formula::False },
        Method::Deny(Some(written)) => {
            let denied = conditions::translate_conditions(written, scope, functions)?;
            CheckFormulas { pass: denied.error.or(denied.hold).not(), skip: Formula::False }
        }
        Method::Pattern(_) | Method::AnyPattern(_) if !is_scoped => {
            return Err(because("a loop compares the whole object with a pattern"));
        }
        Method::Pattern(pattern) => {
            pattern_formulas(pattern, false, &elements.item, elements.shape, functions)?
        }
        Method::AnyPattern(patterns) => {
            any_pattern_formulas(patterns, &elements.item, elements.shape, functions)?
        }
        Method::Foreach(_) => return Err(because("a loop is inside a loop")),
        _ => return Err(because("a loop checks something that CEL cannot")),
    };
    Ok(CheckFormulas { skip: skip.or(checked.skip), pass: checked.pass })
}
