//! The mutating phase of an image rule: verifies images, pins digests and records the results.

use kubewright_engine::{Applies, Effect, EvalError, Evaluation, RuleProgram};
use kubewright_patch as patch;
use kubewright_value::{Budget, Limits, Value};

use super::{CheckVerdict, ValidateCheck, ValidateRule, matching_exceptions};
use crate::context::VariableContext;
use crate::verify_images::{ImagePhase, RecordKey, forget};
use kubewright_dialect_kit::notes::TraceNotes;

/// The program of the mutating phase. That of the validating phase is the rule itself.
pub(crate) struct ImageMutation(pub(crate) ValidateRule);

impl RuleProgram for ImageMutation {
    fn applies(&self, object: &Value, evaluation: &mut Evaluation<'_>) -> Result<Applies, EvalError> {
        self.0.applies(object, evaluation)
    }

    fn evaluate(&self, object: &mut Value, evaluation: &mut Evaluation<'_>) -> Result<Effect, EvalError> {
        let before = object.clone();
        let mut notes = TraceNotes::of(evaluation.tracer);
        let phase = self.0.verify_images(object, evaluation, &mut notes);
        kubewright_dialect_kit::trace::emit_notes(&mut notes, evaluation.tracer, &self.0.document);
        let verdict = match phase {
            ImagePhase::Nothing => return Ok(Effect::ReportedLater),
            ImagePhase::Skip => {
                // What is left out needs no record, and an object that no rule is about stays as it is. The validating phase
                // names the images.
                self.restore(object, before, evaluation)?;
                return Ok(Effect::ReportedLater);
            }
            ImagePhase::Pass(message) => {
                return Ok(Effect::Patch { operations: patch::diff_values(&before, object), message });
            }
            ImagePhase::Fail(violation) => CheckVerdict::Fail(violation),
            ImagePhase::Error(error) => {
                self.restore(object, before, evaluation)?;
                CheckVerdict::Error(error)
            }
        };
        self.0.effect(verdict, evaluation).map_err(|error| self.0.tolerated(error, evaluation))
    }
}

impl ImageMutation {
    /// Takes back what was changed. A record that this phase did not write must not be believed by the next one.
    fn restore(
        &self,
        object: &mut Value,
        before: Value,
        evaluation: &Evaluation<'_>,
    ) -> Result<(), EvalError> {
        *object = before;
        if !evaluation.request.is_admission() {
            return Ok(());
        }
        forget(object, self.0.record_key(), &mut Budget::new(Limits::default()))
    }
}

impl ValidateRule {
    fn record_key(&self) -> RecordKey<'_> {
        RecordKey { policy: &self.id.policy, rule: &self.id.rule }
    }

    fn verify_images(
        &self,
        object: &mut Value,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> ImagePhase {
        let ValidateCheck::Images(images) = &self.body.check else { return ImagePhase::Nothing };
        let excepted = match self.excepted(object, evaluation, notes) {
            Ok(excepted) => excepted,
            Err(error) => return ImagePhase::Error(error),
        };
        let subject = self.subject(object, evaluation);
        let mut context = VariableContext::new(evaluation, &subject, &self.id);
        context.declare(&self.body.entries);
        match self.body.precondition(&mut context, notes) {
            Ok(None) => {}
            // The validating phase reports it.
            Ok(Some(_)) => return ImagePhase::Nothing,
            Err(error) => return ImagePhase::Error(error),
        }
        if !matching_exceptions(&excepted, &mut context, notes).is_empty() {
            return ImagePhase::Nothing;
        }
        images.verify(object, self.record_key(), &mut context, notes)
    }
}
