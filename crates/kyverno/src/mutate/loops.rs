//! `foreach`: the same patch for every element of a list.
//!
//! The patches of one loop accumulate, while its expressions see the object as it was when the loop began; the next loop
//! sees the result.

use kubewright_engine::{EvalError, TraceNode, TraceVerdict};
use kubewright_value::{Step, Value};

use super::{MutationPatch, PatchedObject};
use crate::conditions::ConditionSet;
use crate::context::{CompiledContextEntry, Sourced, Unresolved, VariableContext};
use crate::evaluate::Rooted;
use crate::source::ElementOrder;
use crate::template::VariableQuery;
use kubewright_dialect_kit::notes::{TraceNote, TraceNotes};

/// The cost of entering and leaving an element, besides its patch.
const STEPS_OF_AN_ELEMENT: u64 = 5;

/// One loop.
pub(crate) struct MutationLoop {
    pub(crate) path: Vec<Step>,
    pub(crate) list: VariableQuery,
    pub(crate) entries: Vec<CompiledContextEntry>,
    pub(crate) preconditions: Option<Rooted<ConditionSet>>,
    pub(crate) order: ElementOrder,
    pub(crate) patch: MutationPatch,
}

/// Runs every loop, `nesting` loops deep, and returns the changed form of `object`.
pub(super) fn run_loops<'a>(
    loops: &'a [MutationLoop],
    object: &Value,
    context: &mut VariableContext<'a>,
    notes: &mut TraceNotes,
    nesting: usize,
) -> Result<PatchedObject, EvalError> {
    let mut object = object.clone();
    let mut is_fitting = false;
    for (place, one) in loops.iter().enumerate() {
        if nesting == 0 && place > 0 {
            context.set_object(&object);
        }
        let elements = context.find(&one.list).map_err(|unresolved| one.list_error(unresolved))?;
        let items = elements.items().unwrap_or_else(|| vec![elements.clone()]);
        context.budget().step(items.len() as u64)?;
        let mut indices: Vec<usize> = (0..items.len()).collect();
        if one.order == ElementOrder::Descending {
            indices.reverse();
        }
        for index in indices {
            let Some(element) = items.get(index).filter(|element| !element.value.is_null()) else { continue };
            context.budget().step(STEPS_OF_AN_ELEMENT)?;
            context.checkpoint();
            notes.open();
            let changed = one.element((element, index), &object, context, notes, nesting);
            notes.close(|| one.note(index, element, &changed));
            context.restore();
            if let Some(changed) = changed.map_err(|error| element_error(error, nesting))? {
                object = changed.object;
                is_fitting |= changed.is_fitting;
            }
        }
    }
    Ok(PatchedObject { object, is_fitting })
}

impl MutationLoop {
    /// Returns the form of `object` after one element; nothing where its preconditions are not met.
    fn element<'a>(
        &'a self,
        (element, index): (&Sourced, usize),
        object: &Value,
        context: &mut VariableContext<'a>,
        notes: &mut TraceNotes,
        nesting: usize,
    ) -> Result<Option<PatchedObject>, EvalError> {
        context.enter_sourced(element, index, nesting);
        context.declare(&self.entries);
        if let Some(conditions) = &self.preconditions {
            let mark = notes.mark();
            notes.open();
            let result = conditions.value.evaluate(context, notes);
            notes.close(|| crate::trace::conditions_note("preconditions", &result));
            notes.rebase(mark, &conditions.path);
            let step = format!("failed to evaluate mutate.foreach[{index}].preconditions: ");
            let verdict = result.map_err(|unresolved| EvalError::from(unresolved.within(&step)))?;
            if !verdict.holds {
                return Ok(None);
            }
        }
        self.patch.apply(object, context, notes, nesting + 1).map(Some)
    }

    /// Returns the error of a list, which Kyverno tells twice.
    fn list_error(&self, unresolved: Unresolved) -> EvalError {
        let error = EvalError::from(unresolved);
        let message =
            format!("failed to evaluate list {}: {}: {}", self.list.text(), error.message, error.message);
        EvalError { message, ..error }
    }

    fn note(
        &self,
        index: usize,
        element: &Sourced,
        changed: &Result<Option<PatchedObject>, EvalError>,
    ) -> TraceNote {
        let (wanted, verdict) = match changed {
            Ok(Some(_)) => (String::new(), TraceVerdict::Yes),
            Ok(None) => ("preconditions not met".to_owned(), TraceVerdict::No),
            Err(error) => (error.message.clone(), TraceVerdict::Error),
        };
        TraceNote {
            what: format!("element {index} of {}", self.list.text()),
            found: TraceNode::show(&element.value),
            wanted,
            verdict,
            at: self.path.clone(),
            ..TraceNote::default()
        }
    }
}

/// Returns the error of an element; that of an inner loop is told by the outermost.
fn element_error(error: EvalError, nesting: usize) -> EvalError {
    match nesting {
        0 => EvalError { message: format!("failed to mutate elements: {}", error.message), ..error },
        _ => error,
    }
}
