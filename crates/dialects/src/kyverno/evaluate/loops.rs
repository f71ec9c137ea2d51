//! `foreach`: the same check for every element of a list.

use kubewright_engine::EvalError;
use kubewright_value::{Step, Value};

use super::{Body, Check, From, Judge, Subject, Verdict, failed};
use crate::kyverno::context::{Context, Sourced, Unresolved};
use crate::kyverno::gotext;
use crate::kyverno::template::Query;
use crate::kyverno::trace;
use crate::notes::Notes;

/// What it takes to put an element in place and to leave it again, however little is asked about it.
const STEPS_OF_AN_ELEMENT: u64 = 5;

/// One loop.
pub(in crate::kyverno) struct Loop {
    pub(in crate::kyverno) path: Vec<Step>,
    pub(in crate::kyverno) list: Query,
    /// The keys from the object to the list, where the list is a plain path.
    pub(in crate::kyverno) keys: Option<Vec<Step>>,
    pub(in crate::kyverno) element_scope: Option<bool>,
    pub(in crate::kyverno) body: Body,
}

impl Judge {
    /// Runs every loop until an element is found that is not as it should be.
    pub(super) fn loops<'a>(
        &'a self,
        loops: &'a [Loop],
        subject: Subject<'_>,
        context: &mut Context<'a>,
        notes: &mut Notes,
    ) -> Verdict {
        let mut applied = 0;
        let mut list_error = None;
        for one in loops {
            let elements = match context.find(&one.list) {
                Ok(found) => found,
                Err(Unresolved::Missing(_)) => continue,
                Err(unresolved) => {
                    list_error = Some(failed("failed to evaluate list", unresolved));
                    continue;
                }
            };
            let items = elements.items().unwrap_or_else(|| vec![elements.clone()]);
            if let Err(exhausted) = context.budget().step(items.len() as u64) {
                return Verdict::Error(exhausted.into());
            }
            for (index, element) in items.iter().enumerate().filter(|(_, element)| !element.value.is_null()) {
                if let Some(error) = one.misfit(&element.value) {
                    return Verdict::Error(error);
                }
                if let Err(exhausted) = context.budget().step(STEPS_OF_AN_ELEMENT) {
                    return Verdict::Error(exhausted.into());
                }
                context.checkpoint();
                notes.open();
                let verdict = self.element(one, (element, index), subject, context, notes);
                notes.close(|| trace::element(one, index, &element.value, &verdict));
                context.restore();
                match verdict {
                    Verdict::Pass(_) => applied += 1,
                    Verdict::Skip(_) | Verdict::Nothing(_) => {}
                    Verdict::Fail(mut failure) => {
                        failure.message = format!("validation failure: {}", failure.message);
                        if failure.from == From::Element {
                            let below = std::mem::take(&mut failure.path);
                            let place = one.place_of(index, &element.value, &elements.value, subject.object);
                            failure.path = place.map(|place| place.and(below)).unwrap_or_default();
                        }
                        if failure.from == From::Subject {
                            failure.from = From::Element;
                        }
                        if failure.at.is_empty() {
                            failure.at.clone_from(&one.path);
                        }
                        return Verdict::Fail(failure);
                    }
                    Verdict::Error(mut error) => {
                        error.message = format!("validation failure: {}", error.message);
                        return Verdict::Error(error);
                    }
                }
            }
        }
        match (applied, list_error) {
            (_, Some(error)) => Verdict::Error(error),
            (0, None) => Verdict::Nothing("no element was checked".into()),
            _ => Verdict::Pass("rule passed".into()),
        }
    }

    fn element<'a>(
        &'a self,
        one: &'a Loop,
        (sourced, index): (&Sourced, usize),
        subject: Subject<'_>,
        context: &mut Context<'a>,
        notes: &mut Notes,
    ) -> Verdict {
        let element = &sourced.value;
        context.enter_sourced(sourced, index, subject.nesting);
        context.declare(&one.body.entries);
        match one.body.precondition(context, notes) {
            Ok(None) => {}
            Ok(Some(skip)) => return Verdict::Skip(skip),
            // An element that cannot be asked about is left out, as its author's `||` would do.
            Err(error) if error.kind.is_final() => {
                return Verdict::Skip(error.message.into());
            }
            Err(error) => return Verdict::Error(error),
        }
        let inner = match one.is_scoped(element) {
            true => Subject { object: element, is_element: true, nesting: subject.nesting + 1 },
            false => Subject { nesting: subject.nesting + 1, ..subject },
        };
        let mut verdict = self.check(&one.body.check, inner, context, notes);
        if let (Verdict::Fail(failure), Check::Pattern(_) | Check::AnyPattern(_)) =
            (&mut verdict, &one.body.check)
            && !inner.is_same_element(element)
        {
            failure.from = From::Subject;
        }
        verdict
    }
}

impl Loop {
    /// Returns whether patterns are about the element rather than the object.
    fn is_scoped(&self, element: &Value) -> bool {
        self.element_scope.unwrap_or(element.as_object().is_some())
    }

    /// Returns the error of an element that cannot be what patterns are about.
    fn misfit(&self, element: &Value) -> Option<EvalError> {
        if self.element_scope != Some(true) || element.as_object().is_some() {
            return None;
        }
        Some(EvalError::new(format!(
            "failed to process foreach: cannot use elementScope=true foreach rules for elements that are not maps, \
             expected type=map got type={}",
            gotext::type_name(element)
        )))
    }

    /// Returns where `element` stands in `object`, as far as that can be told: an image says so itself, an object or
    /// array is found by being the same, anything else by the path of the list.
    fn place_of(&self, index: usize, element: &Value, list: &Value, object: &Value) -> Option<Place> {
        if let Some(pointer) = element.get("jsonPointer").and_then(Value::as_str) {
            return Some(Place::Instead(pointed(pointer)));
        }
        let mut path = Vec::new();
        if find_same(object, element, &mut path) {
            return Some(Place::At(path));
        }
        let index = list.as_array().map(|_| Step::Index(index));
        self.keys.as_ref().map(|keys| Place::At(keys.iter().cloned().chain(index).collect()))
    }
}

/// Where the element of a loop stands in the object.
enum Place {
    At(Vec<Step>),
    /// The element is made from what stands there, and its own parts are nowhere.
    Instead(Vec<Step>),
}

impl Place {
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
