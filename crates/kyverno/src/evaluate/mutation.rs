//! A rule that changes the object, or others because of it.

use kubewright_engine::{Effect, EvalError, Evaluation};
use kubewright_value::Value;

use super::{ValidateRule, evaluate_preconditions, matching_exceptions};
use crate::context::VariableContext;
use crate::mutate::{Mutation, mutated_message};
use kubewright_dialect_kit::notes::TraceNotes;

impl ValidateRule {
    /// Changes `object`, which expressions see as `subject`. After an error it is as it was.
    pub(super) fn mutate(
        &self,
        mutation: &Mutation,
        object: &mut Value,
        subject: &Value,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<Effect, EvalError> {
        let excepted = self.excepted(subject, evaluation, notes)?;
        let mut context = VariableContext::new(evaluation, subject, &self.id);
        context.declare(&self.body.entries);
        if let Some(message) = evaluate_preconditions(self.body.preconditions.as_ref(), &mut context, notes)?
        {
            return Ok(Effect::Skip { message, exceptions: Vec::new() });
        }
        let exceptions = matching_exceptions(&excepted, &mut context, notes);
        if !exceptions.is_empty() {
            return Ok(super::exception_effect("rule is skipped due to policy exceptions", &exceptions));
        }
        if !mutation.targets.is_empty() {
            let effects = mutation.change_targets(&mut context, notes);
            let placed = effects.into_iter().map(|effect| effect.map_err(|error| self.placed(error)));
            return Ok(Effect::Each(placed.collect()));
        }
        let patched = mutation.apply(object, &mut context, notes)?;
        if patched.object == *object {
            return Ok(mutation.unchanged(&patched, false));
        }
        let changed = patched.object;
        let operations = kubewright_patch::diff_values(object, &changed);
        let message = mutated_message(&changed);
        *object = changed;
        Ok(Effect::Patch { operations, message })
    }
}
