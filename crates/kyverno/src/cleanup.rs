//! CleanupPolicy and ClusterCleanupPolicy: stored objects that are deleted by schedule, and the label that says when a
//! single object is to go.

mod compile;
pub mod ttl;

pub(super) use compile::compile_cleanup_policy;

use std::sync::Arc;

use kubewright_engine::{
    Applies, Effect, EvalError, Evaluation, ObjectWrite, RuleBranch, RuleId, RuleProgram, WriteVerb,
};
use kubewright_k8s::Operation;
use kubewright_value::{Document, Step, Text, Value};

use super::conditions::ConditionSet;
use super::context::{CompiledContextEntry, VariableContext};
use super::evaluate::{Rooted, step_error};
use super::matching::MatchExclude;
use super::trace;
use kubewright_dialect_kit::notes::TraceNotes;

/// The kinds of these policies.
pub(super) const KINDS: [&str; 2] = ["CleanupPolicy", "ClusterCleanupPolicy"];

/// A compiled policy.
struct CleanupRule {
    id: Arc<RuleId>,
    /// The document of the policy, for locations.
    document: Arc<Document>,
    matcher: MatchExclude,
    entries: Vec<CompiledContextEntry>,
    conditions: Option<Rooted<ConditionSet>>,
    /// Why it cannot run.
    broken: Option<Text>,
}

impl RuleProgram for CleanupRule {
    fn applies(&self, object: &Value, evaluation: &mut Evaluation<'_>) -> Result<Applies, EvalError> {
        let mut notes = TraceNotes::of(evaluation.tracer);
        // Stored objects are looked at, whatever was done to them last.
        let reason = self.matcher.matches(object, Operation::Create, evaluation, &mut notes);
        kubewright_dialect_kit::trace::emit_notes(&mut notes, evaluation.tracer, &self.document);
        Ok(match reason? {
            None => Applies::Yes,
            Some(reason) => Applies::OutOfScope(reason),
        })
    }

    fn evaluate(&self, object: &mut Value, evaluation: &mut Evaluation<'_>) -> Result<Effect, EvalError> {
        if let Some(broken) = &self.broken {
            return Err(EvalError::new(broken.as_str()));
        }
        let mut notes = TraceNotes::of(evaluation.tracer);
        let is_met = self.is_met(object, evaluation, &mut notes);
        kubewright_dialect_kit::trace::emit_notes(&mut notes, evaluation.tracer, &self.document);
        Ok(match is_met? {
            true => Effect::Write {
                writes: vec![ObjectWrite::new(WriteVerb::Delete, object.clone())],
                message: "resource matched".into(),
            },
            false => Effect::Fail {
                is_refusal: false,
                location: self.conditions.as_ref().map(|conditions| self.document.locate(&conditions.path)),
                message: "resource did not match".to_owned(),
                template: "resource did not match".into(),
                path: Vec::new(),
                denial: None,
            },
        })
    }

    fn branches(&self) -> Vec<RuleBranch> {
        let branch =
            |(what, path): (String, Vec<Step>)| RuleBranch { what, location: self.document.locate(&path) };
        self.conditions.iter().flat_map(Rooted::branches).map(branch).collect()
    }
}

impl CleanupRule {
    fn is_met(
        &self,
        object: &Value,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<bool, EvalError> {
        let Some(conditions) = &self.conditions else { return Ok(true) };
        let mut context = VariableContext::of_target(evaluation, object, &self.id);
        context.declare(&self.entries);
        let mark = notes.mark();
        notes.open();
        let result = conditions.value.evaluate(&mut context, notes);
        notes.close(|| trace::conditions_note("conditions", &result));
        notes.rebase(mark, &conditions.path);
        let verdict = result.map_err(|unresolved| step_error("failed to evaluate conditions", unresolved))?;
        Ok(verdict.holds)
    }
}

#[cfg(test)]
mod tests;
