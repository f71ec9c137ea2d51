//! Evaluates one GeneratingPolicy for one object: constraints, exceptions, conditions, then what is made.

use std::cell::Cell;
use std::sync::Arc;

use kubewright_cel::Inputs;
use kubewright_engine::{
    Applies, Effect, EvalError, Evaluation, ObjectWrite, RuleBranch, RuleProgram, WriteVerb,
};
use kubewright_k8s::{GroupVersionKind, is_api_version, is_cluster_scoped};
use kubewright_value::{Document, Text, Value};

use crate::evaluate::{exception_effect, located_branches, with_cost, with_notes};
use crate::matching::{ConstraintsMatcher, applies_within};
use crate::vpol::CompiledPolicyException;
use crate::vpol::exceptions::{ExceptionEffect, apply_exceptions};
use kubewright_cel_rules::{
    CelChecks, DownstreamOrigin, DownstreamTrigger, ExpressionSubject, GenerateResult, GenerateStep,
    GeneratedObject, Leniency, SpentCost, drop_own_metadata, put_downstream_labels,
};
use kubewright_dialect_kit::notes::TraceNotes;

/// The names of the two lists in traces.
const LIST_NAMES: (&str, &str) = ("matchConditions", "generate");

/// The user that Kyverno's own background controller is.
const BACKGROUND_USER: &str = "system:serviceaccount:kyverno:kyverno-background-controller";

/// What an error of the policy starts with.
const FAILED: &str = "failed to evaluate policy: ";

/// A compiled policy.
pub(super) struct GeneratingProgram {
    /// The document of the policy, for locations.
    pub(super) document: Arc<Document>,
    pub(super) matcher: Option<ConstraintsMatcher>,
    /// Conditions and variables.
    pub(super) checks: CelChecks,
    pub(super) steps: Vec<GenerateStep>,
    pub(super) exceptions: Vec<CompiledPolicyException>,
    pub(super) inputs: Inputs,
    pub(super) synchronizes: bool,
    pub(super) skips_background_requests: bool,
    pub(super) origin: DownstreamOrigin,
    /// Why it cannot run.
    pub(super) broken: Option<Text>,
}

impl RuleProgram for GeneratingProgram {
    fn applies(&self, object: &Value, evaluation: &mut Evaluation<'_>) -> Result<Applies, EvalError> {
        if self.skips_background_requests && evaluation.request.user.str_at(&["username"]) == BACKGROUND_USER
        {
            return Ok(Applies::OutOfScope("the background controller asks".into()));
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
        let steps = self.steps.iter().enumerate();
        let steps = steps.map(|(index, step)| (format!("generate[{index}]"), step.path().to_vec()));
        let checks = self.checks.branches(LIST_NAMES.0, LIST_NAMES.1);
        located_branches(&self.document, checks.into_iter().chain(steps))
    }
}

impl GeneratingProgram {
    fn run(
        &self,
        object: &Value,
        spent: &Cell<SpentCost>,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<Effect, EvalError> {
        let subject = ExpressionSubject::of(object, LIST_NAMES, spent);
        let is_lenient = self.checks.leniency != Leniency::None;
        let allowed = match apply_exceptions(&self.exceptions, is_lenient, &subject, evaluation, notes)? {
            ExceptionEffect::Wholly(reported) => return Ok(exception_effect(reported)),
            ExceptionEffect::Partly(allowed) => allowed,
        };
        let subject = ExpressionSubject { exceptions: &allowed, inputs: self.inputs, ..subject };
        let failed = |error: EvalError| EvalError { message: format!("{FAILED}{}", error.message), ..error };
        let made = match self.checks.generate(&self.steps, &subject, evaluation, notes) {
            GenerateResult::NotAsked => {
                return Ok(Effect::NotReported("match conditions are not met".into()));
            }
            GenerateResult::Made(made) => made,
            GenerateResult::Failed(violation) => {
                let error = EvalError::new(format!("{FAILED}{}", violation.message));
                return Err(error.at(self.document.locate(&violation.at)));
            }
            GenerateResult::Error(error) => return Err(failed(error)),
        };
        let trigger = DownstreamTrigger::of(evaluation.request, object);
        let verb = if self.synchronizes { WriteVerb::Apply } else { WriteVerb::Create };
        let mut writes = Vec::with_capacity(made.len());
        for one in made {
            let object = self.object(&one, &trigger).map_err(failed)?;
            writes.push(ObjectWrite::new(verb, object));
        }
        Ok(Effect::Write { writes, message: "policy evaluated successfully".into() })
    }

    /// Returns the object as it is written: in its namespace, with labels, without what belongs to its source.
    fn object(&self, made: &GeneratedObject, trigger: &DownstreamTrigger) -> Result<Value, EvalError> {
        let mut object = made.object.as_object().cloned().unwrap_or_default();
        let mut metadata = object.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
        for (field, found) in [
            ("apiVersion", object.str_at(&["apiVersion"])),
            ("kind", object.str_at(&["kind"])),
            ("metadata.name", metadata.str_at(&["name"])),
        ] {
            if found.is_empty() {
                return Err(EvalError::new(format!("an object without `{field}` cannot be made")));
            }
        }
        let api_version = object.str_at(&["apiVersion"]);
        if !is_api_version(api_version) {
            return Err(EvalError::new(format!("unexpected GroupVersion string: {api_version}")));
        }
        let namespace = self.namespace(made, metadata.str_at(&["namespace"]))?;
        // Only what was read from a cluster has these.
        let is_copy = metadata.get("uid").is_some() || metadata.get("resourceVersion").is_some();
        let source = is_copy.then_some(&made.object);
        if is_copy {
            drop_own_metadata(&mut metadata, &namespace);
        }
        metadata.remove("namespace");
        if !namespace.is_empty() {
            metadata.insert("namespace".into(), namespace.into());
        }
        put_downstream_labels(&mut metadata, &self.origin, trigger, source);
        object.insert("metadata".into(), metadata.into());
        Ok(object.into())
    }

    /// Returns the namespace of an object. A policy in a namespace makes objects of that namespace only.
    fn namespace(&self, made: &GeneratedObject, written: &str) -> Result<Text, EvalError> {
        let home = &self.origin.namespace;
        if home.is_empty() {
            return Ok(made.namespace.clone().unwrap_or_else(|| written.into()));
        }
        let kind = GroupVersionKind::of(&made.object);
        if is_cluster_scoped(&kind) {
            let message =
                format!("a policy of namespace {home} makes no {}, which is in no namespace", kind.kind);
            return Err(EvalError::new(message));
        }
        if !written.is_empty() && written != home.as_str() {
            let message = format!("a policy of namespace {home} makes no objects in namespace {written}");
            return Err(EvalError::new(message));
        }
        Ok(home.clone())
    }
}
