//! `foreach`: the same check for every element of a list.

use kubewright_engine::EvalError;
use kubewright_value::{Budget, Step, Value};

use super::{CheckVerdict, CheckedObject, PathOrigin, RuleBody, ValidateCheck, ValidateRule, step_error};
use crate::conditions::QuickInput;
use crate::context::{Sourced, Unresolved, VariableContext, search_object};
use crate::gotext;
use crate::template::VariableQuery;
use crate::trace;
use kubewright_dialect_kit::notes::TraceNotes;

/// The cost of entering and leaving an element, besides its checks.
const STEPS_OF_AN_ELEMENT: u64 = 5;

/// One loop.
pub(crate) struct ForeachLoop {
    pub(crate) path: Vec<Step>,
    pub(crate) list: VariableQuery,
    /// The keys from the object to the list, where the list is a plain path.
    pub(crate) keys: Option<Vec<Step>>,
    pub(crate) element_scope: Option<bool>,
    pub(crate) body: RuleBody,
}

impl ValidateRule {
    /// Runs every loop until an element is found that is not as it should be.
    pub(super) fn loops<'a>(
        &'a self,
        loops: &'a [ForeachLoop],
        subject: CheckedObject<'_>,
        context: &mut VariableContext<'a>,
        notes: &mut TraceNotes,
    ) -> CheckVerdict {
        let mut applied = 0;
        let mut list_error = None;
        for one in loops {
            let elements = match context.find(&one.list) {
                Ok(found) => found,
                Err(Unresolved::Missing(_)) => {
                    notes.say(|| trace::empty_loop_note(one, "not set"));
                    continue;
                }
                Err(unresolved) => {
                    list_error = Some(step_error("failed to evaluate list", unresolved));
                    continue;
                }
            };
            let items = elements.items().unwrap_or_else(|| vec![elements.clone()]);
            if items.iter().all(|element| element.value.is_null()) {
                notes.say(|| trace::empty_loop_note(one, if items.is_empty() { "empty" } else { "null" }));
            }
            if let Err(exhausted) = context.budget().step(items.len() as u64) {
                return CheckVerdict::Error(exhausted.into());
            }
            for (index, element) in items.iter().enumerate().filter(|(_, element)| !element.value.is_null()) {
                if let Some(error) = one.misfit(&element.value) {
                    return CheckVerdict::Error(error);
                }
                if let Err(exhausted) = context.budget().step(STEPS_OF_AN_ELEMENT) {
                    return CheckVerdict::Error(exhausted.into());
                }
                context.checkpoint();
                notes.open();
                let verdict = self.element(one, (element, index), subject, context, notes);
                if notes.is_on() && one.is_scoped(&element.value) && one.body.check.is_pattern() {
                    let place = one.place_of(index, &element.value, &elements.value, subject.object);
                    let place = place.map(|place| place.and(Vec::new())).unwrap_or_default();
                    notes.rebase_subjects(&place);
                }
                notes.close(|| {
                    let place = one.place_of(index, &element.value, &elements.value, subject.object);
                    let place = place.map(|place| place.and(Vec::new())).unwrap_or_default();
                    trace::foreach_element_note(one, index, (&element.value, place), &verdict)
                });
                context.restore();
                match verdict {
                    CheckVerdict::Pass(_) => applied += 1,
                    CheckVerdict::Skip(_) | CheckVerdict::Nothing(_) => {}
                    CheckVerdict::Fail(mut failure) => {
                        failure.message = format!("validation failure: {}", failure.message);
                        if failure.from == PathOrigin::Element && context.wants_places {
                            let below = std::mem::take(&mut failure.path);
                            let place = one.place_of(index, &element.value, &elements.value, subject.object);
                            failure.path = place.map(|place| place.and(below)).unwrap_or_default();
                        }
                        if failure.from == PathOrigin::Subject {
                            failure.from = PathOrigin::Element;
                        }
                        if failure.at.is_empty() && context.wants_places {
                            failure.at.clone_from(&one.path);
                        }
                        return CheckVerdict::Fail(failure);
                    }
                    CheckVerdict::Error(mut error) => {
                        error.message = format!("validation failure: {}", error.message);
                        return CheckVerdict::Error(error);
                    }
                }
            }
        }
        match (applied, list_error) {
            (_, Some(error)) => CheckVerdict::Error(error),
            (0, None) => CheckVerdict::Nothing("its loop has no element to check".into()),
            _ => CheckVerdict::Pass("rule passed".into()),
        }
    }

    fn element<'a>(
        &'a self,
        one: &'a ForeachLoop,
        (sourced, index): (&Sourced, usize),
        subject: CheckedObject<'_>,
        context: &mut VariableContext<'a>,
        notes: &mut TraceNotes,
    ) -> CheckVerdict {
        let element = &sourced.value;
        context.enter_sourced(sourced, index, subject.nesting);
        context.declare(&one.body.entries);
        match one.body.precondition(context, notes) {
            Ok(None) => {}
            Ok(Some(skip)) => return CheckVerdict::Skip(skip),
            // An element that cannot be evaluated is left out, as its author's `||` would do.
            Err(error) if error.kind.is_final() => {
                return CheckVerdict::Skip(error.message.into());
            }
            Err(error) => return CheckVerdict::Error(error),
        }
        let inner = match one.is_scoped(element) {
            true => CheckedObject {
                object: element,
                is_element: true,
                nesting: subject.nesting + 1,
                may_not_fit: false,
            },
            false => CheckedObject { nesting: subject.nesting + 1, ..subject },
        };
        let mut verdict = self.check(&one.body.check, inner, context, notes);
        if let (CheckVerdict::Fail(failure), ValidateCheck::Pattern(_) | ValidateCheck::AnyPattern(_)) =
            (&mut verdict, &one.body.check)
            && !inner.is_same_element(element)
        {
            failure.from = PathOrigin::Subject;
        }
        verdict
    }
}

/// Returns whether `loops` surely have elements to check in `input` and all of these pass, if that is sure.
pub(super) fn surely_pass(loops: &[ForeachLoop], input: QuickInput<'_>, budget: &mut Budget) -> Option<bool> {
    let mut has_applied = false;
    for one in loops {
        let query = one.list.fixed_query()?;
        let found =
            search_object(query.on_object()?, query.shared_number, input.object, input.derived, budget);
        let list = match found {
            Ok(found) => found,
            Err(Unresolved::Missing(_)) => continue,
            Err(Unresolved::Error(_)) => return None,
        };
        let items = list.value.as_array().unwrap_or(std::slice::from_ref(&list.value));
        budget.step(items.len() as u64).ok()?;
        for element in items.iter().filter(|element| !element.is_null()) {
            if one.misfit(element).is_some() {
                return None;
            }
            budget.step(STEPS_OF_AN_ELEMENT).ok()?;
            let input = QuickInput { element: Some((element, list.is_foreign)), ..input };
            has_applied |= one.body.surely_passes(input, budget)?;
        }
    }
    Some(has_applied)
}

impl ForeachLoop {
    /// Returns whether patterns apply to the element rather than the object.
    fn is_scoped(&self, element: &Value) -> bool {
        self.element_scope.unwrap_or(element.as_object().is_some())
    }

    /// Returns the error of an element to which patterns cannot apply.
    fn misfit(&self, element: &Value) -> Option<EvalError> {
        if self.element_scope != Some(true) || element.as_object().is_some() {
            return None;
        }
        Some(EvalError::new(format!(
            "failed to process foreach: cannot use elementScope=true foreach rules for elements that are not maps, \
             expected type=map got type={}",
            gotext::go_type_name(element)
        )))
    }

    /// Returns the path of `element` in `object`, as far as it is known: an image carries it, an object or array is
    /// found by identity, anything else by the path of the list.
    fn place_of(&self, index: usize, element: &Value, list: &Value, object: &Value) -> Option<ElementPath> {
        if let Some(pointer) = element.get("jsonPointer").and_then(Value::as_str) {
            return Some(ElementPath::Instead(pointed(pointer)));
        }
        let mut path = Vec::new();
        if find_same(object, element, &mut path) {
            return Some(ElementPath::At(path));
        }
        let index = list.as_array().map(|_| Step::Index(index));
        self.keys.as_ref().map(|keys| ElementPath::At(keys.iter().cloned().chain(index).collect()))
    }
}

/// The path of a loop's element in the object.
enum ElementPath {
    At(Vec<Step>),
    /// The element is derived from the value at this path, and its parts have no paths.
    Instead(Vec<Step>),
}

impl ElementPath {
    fn and(self, mut below: Vec<Step>) -> Vec<Step> {
        match self {
            Self::Instead(path) => path,
            Self::At(mut path) => {
                path.append(&mut below);
                path
            }
        }
    }
}

/// Returns the steps of a JSON pointer.
fn pointed(pointer: &str) -> Vec<Step> {
    let parts = pointer.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~"));
    parts.map(|part| part.parse().map_or_else(|_| Step::from(part.as_str()), Step::Index)).collect()
}

/// Finds the part of `value` that is the same allocation as `wanted`.
fn find_same(value: &Value, wanted: &Value, path: &mut Vec<Step>) -> bool {
    if value.is_same(wanted) {
        return true;
    }
    let mut try_one = |step: Step, part: &Value| {
        path.push(step);
        let is_found = find_same(part, wanted, path);
        if !is_found {
            path.pop();
        }
        is_found
    };
    match value {
        Value::Array(items) => {
            items.iter().enumerate().any(|(index, item)| try_one(Step::Index(index), item))
        }
        Value::Object(map) => map.iter().any(|(key, item)| try_one(Step::Key(key.clone()), item)),
        _ => false,
    }
}
