//! Evaluates one DeletingPolicy for one stored object: constraints, exceptions, then conditions.

use std::cell::Cell;
use std::sync::Arc;

use kubewright_cel::Inputs;
use kubewright_engine::{
    Applies, Effect, EvalError, Evaluation, ObjectWrite, RuleBranch, RuleProgram, WriteVerb,
};
use kubewright_value::{Document, Text, Value};

use crate::evaluate::{located_branches, with_cost, with_notes};
use crate::matching::{ConstraintsMatcher, applies_within};
use crate::vpol::CompiledPolicyException;
use crate::vpol::exceptions::{ExceptionEffect, apply_exceptions};
use kubewright_cel_rules::{CelChecks, CheckResult, ExpressionSubject, ObjectForm, SpentCost};
use kubewright_dialect_kit::notes::TraceNotes;

/// The names of the two lists in traces.
const LIST_NAMES: (&str, &str) = ("conditions", "");

/// A compiled policy.
pub(super) struct DeletingProgram {
    /// The document of the policy, for locations.
    pub(super) document: Arc<Document>,
    /// `None` for a policy about documents that are of no kind.
    pub(super) matcher: Option<ConstraintsMatcher>,
    /// Conditions and variables.
    pub(super) checks: CelChecks,
    pub(super) exceptions: Vec<CompiledPolicyException>,
    pub(super) inputs: Inputs,
    /// Why it cannot run.
    pub(super) broken: Option<Text>,
}

impl RuleProgram for DeletingProgram {
    fn applies(&self, object: &Value, evaluation: &mut Evaluation<'_>) -> Result<Applies, EvalError> {
        if self.matcher.is_none() && is_payload(object) {
            return Ok(Applies::Yes);
        }
        applies_within(self.matcher.as_ref(), None, object, evaluation)
    }

    fn evaluate(&self, object: &mut Value, evaluation: &mut Evaluation<'_>) -> Result<Effect, EvalError> {
        if let Some(broken) = &self.broken {
            return Err(EvalError::new(broken.as_str()));
        }
        with_notes(&self.document, evaluation, |evaluation, notes| {
            with_cost(evaluation, |spent, evaluation| self.run(object, spent, evaluation, notes))
        })
    }

    fn branches(&self) -> Vec<RuleBranch> {
        located_branches(&self.document, self.checks.branches(LIST_NAMES.0, LIST_NAMES.1))
    }
}

impl DeletingProgram {
    fn run(
        &self,
        object: &Value,
        spent: &Cell<SpentCost>,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<Effect, EvalError> {
        let form = if is_payload(object) { ObjectForm::Payload } else { ObjectForm::Plain };
        let subject = ExpressionSubject { form, ..ExpressionSubject::of(object, LIST_NAMES, spent) };
        let allowed = match apply_exceptions(&self.exceptions, false, &subject, evaluation, notes)? {
            ExceptionEffect::Wholly(_) => return Ok(kept()),
            ExceptionEffect::Partly(allowed) => allowed,
        };
        let subject = ExpressionSubject { exceptions: &allowed, inputs: self.inputs, ..subject };
        match self.checks.judge(&subject, evaluation, notes) {
            CheckResult::Holds => {
                let writes = vec![ObjectWrite::new(WriteVerb::Delete, object.clone())];
                Ok(Effect::Write { writes, message: "resource matched".into() })
            }
            CheckResult::NotAsked | CheckResult::Violated(_) => Ok(kept()),
            CheckResult::Failed(violation) | CheckResult::Unsaid(violation) => {
                Err(EvalError::new(violation.message).at(self.document.locate(&violation.at)))
            }
            CheckResult::Error(error) => Err(error),
        }
    }
}

/// Returns that the object stays.
fn kept() -> Effect {
    Effect::Fail {
        is_refusal: false,
        location: None,
        message: "resource did not match".to_owned(),
        template: "resource did not match".into(),
        path: Vec::new(),
        denial: None,
    }
}

fn is_payload(object: &Value) -> bool {
    object.get("kind").is_none()
}
