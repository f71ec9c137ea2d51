//! Evaluates one policy for one object: constraints, exceptions, then validations.

use std::cell::Cell;
use std::sync::Arc;

use kubewright_cel::Inputs;
use kubewright_engine::{
    Applies, DecisionCache, Effect, EvalError, EvalErrorKind, Evaluation, RuleBranch, RuleProgram,
};
use kubewright_k8s::GroupVersionKind;
use kubewright_value::{Document, Step, Text, Value};

use super::matching::{ConstraintsMatcher, applies_within};
use super::source::ValidationActions;
use super::vpol::exceptions::{CompiledPolicyException, ExceptionEffect, ExceptionReport, apply_exceptions};
use super::vpol::{EvaluationTarget, extract};
use kubewright_cel_rules::{
    CheckResponseValue, CheckResult, ExpressionSubject, Leniency, ObjectForm, Params, SpentCost, Violation,
    WorkloadChecks,
};
use kubewright_dialect_kit::notes::TraceNotes;
use kubewright_dialect_kit::trace;

/// The names of the two lists in traces.
pub(super) const LIST_NAMES: (&str, &str) = ("matchConditions", "validations");

/// A compiled policy, as one binding or one sort of objects has it.
pub(super) struct PolicyProgram {
    /// The document of the policy, for locations.
    pub(super) document: Arc<Document>,
    /// `None` where the policy has no constraints.
    pub(super) matcher: Option<ConstraintsMatcher>,
    /// The further constraints of the binding.
    pub(super) binding: Option<ConstraintsMatcher>,
    /// Bindings share them.
    pub(super) checks: WorkloadChecks,
    pub(super) params: Option<Params>,
    pub(super) exceptions: Vec<CompiledPolicyException>,
    pub(super) actions: ValidationActions,
    /// Whether a request that cannot be evaluated at all is refused, whatever the actions are: the API server does so
    /// for missing parameters and failing annotations, unless `failurePolicy` is `Ignore`.
    pub(super) refuses_unfit: bool,
    pub(super) surroundings: PolicyEngine,
    /// Whether the Pod templates inside the object are evaluated in place of the object.
    pub(super) looks_for_pods: bool,
    pub(super) inputs: Inputs,
    /// Whether a violation is a failure; otherwise it is a warning.
    pub(super) is_scored: bool,
    /// Why it cannot run.
    pub(super) broken: Option<Text>,
}

/// The program whose semantics apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PolicyEngine {
    ApiServer,
    Policy(EvaluationTarget),
}

impl RuleProgram for PolicyProgram {
    fn message(&self) -> &str {
        self.checks.message()
    }

    fn applies(&self, object: &Value, evaluation: &mut Evaluation<'_>) -> Result<Applies, EvalError> {
        match self.surroundings {
            PolicyEngine::Policy(EvaluationTarget::Json) => return Ok(Applies::Yes),
            PolicyEngine::Policy(EvaluationTarget::Http) => {
                return Ok(applies_to(is_payload_request(object, &ENVOY_FIELDS), "requests over HTTP"));
            }
            PolicyEngine::Policy(EvaluationTarget::Envoy) => {
                return Ok(applies_to(is_payload_request(object, &HTTP_FIELDS), "requests of Envoy"));
            }
            PolicyEngine::ApiServer if is_admission_policy(&evaluation.request.kind) => {
                return Ok(Applies::OutOfScope("the API server evaluates no policy for policies".into()));
            }
            PolicyEngine::ApiServer | PolicyEngine::Policy(EvaluationTarget::Kubernetes) => {}
        }
        applies_within(self.matcher.as_ref(), self.binding.as_ref(), object, evaluation)
    }

    fn evaluate(&self, object: &mut Value, evaluation: &mut Evaluation<'_>) -> Result<Effect, EvalError> {
        if let Some(broken) = &self.broken {
            return Err(EvalError::new(broken.as_str()));
        }
        with_notes(&self.document, evaluation, |evaluation, notes| self.judge(object, evaluation, notes))
    }

    fn branches(&self) -> Vec<RuleBranch> {
        located_branches(&self.document, self.checks.branches(LIST_NAMES.0, LIST_NAMES.1))
    }
}

impl PolicyProgram {
    fn judge(
        &self,
        object: &Value,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<Effect, EvalError> {
        let found = match self.looks_for_pods {
            true => self.pods(object, evaluation, notes)?,
            false => self.one(object, evaluation, notes)?,
        };
        Ok(match found {
            JudgedObject::Excused(reported) => exception_effect(reported),
            JudgedObject::Effect(Effect::Fail { message, template, path, is_refusal, location, .. })
                if !self.is_scored =>
            {
                Effect::Warn { message, template, path, is_refusal, location }
            }
            JudgedObject::Effect(effect) => effect,
        })
    }

    /// Judges the Pods that `object` describes. One that is not as it should be decides; one that is excused does not
    /// excuse the others.
    fn pods(
        &self,
        object: &Value,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<JudgedObject, EvalError> {
        let request = evaluation.request;
        let templates = extract::find_pod_templates(object, evaluation.budget)?;
        let old = extract::find_pod_templates(&request.old_object, evaluation.budget)?;
        if templates.is_empty() {
            let text = |key: &str| object.str_at(&[key]);
            let kind = format!("{}/{}", text("apiVersion"), text("kind"));
            return Err(EvalError::new(format!("extraction mode: no pod template found in {kind}")));
        }
        let (mut passed, mut excused) = (None, None::<ExceptionReport>);
        for template in &templates {
            let before = old.iter().find(|old| old.path == template.path);
            let request = template.request(request, before);
            let memory = DecisionCache::default();
            let Evaluation { world, budget, tracer, .. } = evaluation;
            let mut evaluation = Evaluation::new(&request, *world, budget, tracer, &memory);
            let found = self.one(&request.object, &mut evaluation, notes);
            match found.map_err(|error| with_template_place(error, &template.place()))? {
                JudgedObject::Excused(reported) => excused.get_or_insert_default().add(reported),
                JudgedObject::Effect(Effect::Fail {
                    message,
                    template: written,
                    path,
                    is_refusal,
                    location,
                    denial,
                }) => {
                    let message = format!("{message} (pod template at {})", template.place());
                    let path = template.path.iter().cloned().chain(path).collect();
                    let fail =
                        Effect::Fail { message, template: written, path, is_refusal, location, denial };
                    return Ok(JudgedObject::Effect(fail));
                }
                JudgedObject::Effect(effect @ Effect::Pass(_)) => passed = Some(JudgedObject::Effect(effect)),
                JudgedObject::Effect(_) => {}
            }
        }
        let excused = excused.map(JudgedObject::Excused);
        Ok(passed.or(excused).unwrap_or_else(|| JudgedObject::Effect(skip_effect("skip"))))
    }

    fn one(
        &self,
        object: &Value,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<JudgedObject, EvalError> {
        with_cost(evaluation, |spent, evaluation| self.spending(object, spent, evaluation, notes))
    }

    fn spending(
        &self,
        object: &Value,
        spent: &Cell<SpentCost>,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<JudgedObject, EvalError> {
        let form = match self.surroundings {
            PolicyEngine::Policy(EvaluationTarget::Http) => ObjectForm::Http,
            PolicyEngine::Policy(EvaluationTarget::Envoy) => ObjectForm::Envoy,
            PolicyEngine::Policy(EvaluationTarget::Json) => ObjectForm::Payload,
            PolicyEngine::Policy(EvaluationTarget::Kubernetes) | PolicyEngine::ApiServer => ObjectForm::Plain,
        };
        let subject = ExpressionSubject { form, ..ExpressionSubject::of(object, LIST_NAMES, spent) };
        let is_lenient = self.checks.leniency != Leniency::None;
        let allowed = match apply_exceptions(&self.exceptions, is_lenient, &subject, evaluation, notes)? {
            ExceptionEffect::Wholly(reported) => return Ok(JudgedObject::Excused(reported)),
            ExceptionEffect::Partly(allowed) => allowed,
        };
        let subject = ExpressionSubject { exceptions: &allowed, inputs: self.inputs, ..subject };
        if matches!(form, ObjectForm::Http | ObjectForm::Envoy) {
            return self.answer(self.checks.respond(&subject, evaluation, notes)).map(JudgedObject::Effect);
        }
        let Some(params) = &self.params else {
            return self.effect(self.checks.judge(&subject, evaluation, notes)).map(JudgedObject::Effect);
        };
        let world = evaluation.world;
        let found = match params.find(evaluation.request, world, evaluation.budget) {
            Ok(found) => found,
            Err(error) => return self.unfit(error, &[]).map(JudgedObject::Effect),
        };
        let mut effect = None;
        for params in &found {
            let subject = ExpressionSubject { params, ..subject };
            let next = self.effect(self.checks.judge(&subject, evaluation, notes))?;
            match (&effect, &next) {
                (_, Effect::Fail { .. }) => return Ok(JudgedObject::Effect(next)),
                // A parameter that excludes the object does not hide that it fulfils others.
                (Some(_), Effect::Skip { .. }) => {}
                _ => effect = Some(next),
            }
        }
        Ok(JudgedObject::Effect(effect.unwrap_or_else(|| Effect::Pass(Text::default()))))
    }

    fn answer(&self, response: CheckResponseValue) -> Result<Effect, EvalError> {
        Ok(match response {
            CheckResponseValue::None => skip_effect("request does not match"),
            CheckResponseValue::Given(answer, _) if answer.is_allowed => {
                Effect::Pass("request allowed".into())
            }
            CheckResponseValue::Given(answer, at) => Effect::Fail {
                is_refusal: self.actions.denies,
                location: Some(self.document.locate(&at)),
                message: match self.surroundings {
                    PolicyEngine::Policy(EvaluationTarget::Envoy) => {
                        format!("request denied with status code {}", answer.status)
                    }
                    _ => format!("request denied, reason: {}", answer.reason),
                },
                template: Text::default(),
                path: Vec::new(),
                denial: None,
            },
            CheckResponseValue::Failed(message) => return Err(EvalError::new(message)),
            CheckResponseValue::Error(error) => return Err(error),
        })
    }

    pub(super) fn effect(&self, finding: CheckResult) -> Result<Effect, EvalError> {
        let is_native = self.surroundings == PolicyEngine::ApiServer;
        Ok(match finding {
            CheckResult::Holds => Effect::Pass(if is_native { Text::default() } else { "success".into() }),
            CheckResult::NotAsked if is_native => skip_effect("match conditions aren't met"),
            CheckResult::NotAsked => skip_effect("skip"),
            CheckResult::Violated(Violation { message, template, path, at }) => Effect::Fail {
                template,
                is_refusal: self.actions.denies,
                location: (!at.is_empty()).then(|| self.document.locate(&at)),
                message,
                path,
                denial: None,
            },
            CheckResult::Failed(Violation { message, at, .. }) => {
                return Err(EvalError::new(message).at(self.document.locate(&at)));
            }
            CheckResult::Unsaid(Violation { message, at, .. }) => {
                return self.unfit(EvalError::new(message), &at);
            }
            CheckResult::Error(error) => return Err(error),
        })
    }

    /// Returns the effect where the policy cannot be evaluated.
    fn unfit(&self, error: EvalError, at: &[Step]) -> Result<Effect, EvalError> {
        if !self.refuses_unfit || self.actions.denies || error.kind != EvalErrorKind::Evaluation {
            return Err(error);
        }
        Ok(Effect::Fail {
            is_refusal: true,
            location: (!at.is_empty()).then(|| self.document.locate(at)),
            message: error.message,
            template: Text::default(),
            path: Vec::new(),
            denial: None,
        })
    }
}

/// Returns what `run` says, and emits its notes to the tracer.
pub(super) fn with_notes<T>(
    document: &Document,
    evaluation: &mut Evaluation<'_>,
    run: impl FnOnce(&mut Evaluation<'_>, &mut TraceNotes) -> T,
) -> T {
    let mut notes = TraceNotes::of(evaluation.tracer);
    let said = run(evaluation, &mut notes);
    trace::emit_notes(&mut notes, evaluation.tracer, document);
    said
}

/// Returns what `run` says, and charges what its expressions cost to the budget.
pub(super) fn with_cost<T>(
    evaluation: &mut Evaluation<'_>,
    run: impl FnOnce(&Cell<SpentCost>, &mut Evaluation<'_>) -> T,
) -> T {
    let spent = Cell::new(SpentCost::within(evaluation.budget));
    let said = run(&spent, evaluation);
    spent.get().charge(evaluation.budget);
    said
}

/// Returns the branches of a rule, each with its place in `document`.
pub(super) fn located_branches(
    document: &Document,
    branches: impl IntoIterator<Item = (String, Vec<Step>)>,
) -> Vec<RuleBranch> {
    let located = |(what, path): (String, Vec<Step>)| RuleBranch { what, location: document.locate(&path) };
    branches.into_iter().map(located).collect()
}

/// The attributes that only Envoy requests have.
const ENVOY_FIELDS: [&str; 3] = ["request", "source", "destination"];

/// The attributes that only HTTP requests have.
const HTTP_FIELDS: [&str; 8] = ["method", "path", "host", "header", "query", "scheme", "protocol", "body"];

fn applies_to(is_about: bool, what: &str) -> Applies {
    match is_about {
        true => Applies::Yes,
        false => Applies::OutOfScope(format!("the policy is about {what}").into()),
    }
}

/// Returns whether an object, which is of no kind, is a request that is not of the sort with the fields `others`.
fn is_payload_request(object: &Value, others: &[&str]) -> bool {
    let attributes = object.get("attributes").and_then(Value::as_object);
    object.get("kind").is_none()
        && attributes.is_some_and(|found| !others.iter().any(|field| found.get(field).is_some()))
}

/// Policies never apply to policies: otherwise a bad policy could not be repaired.
pub(super) fn is_admission_policy(kind: &GroupVersionKind) -> bool {
    let names = ["Validating", "Mutating"].map(|name| kind.kind.strip_prefix(name));
    kind.group == "admissionregistration.k8s.io"
        && names
            .into_iter()
            .flatten()
            .any(|name| ["AdmissionPolicy", "AdmissionPolicyBinding"].contains(&name))
}

/// The result for one object.
enum JudgedObject {
    Excused(ExceptionReport),
    Effect(Effect),
}

/// Returns the effect for an object that exceptions excuse.
pub(super) fn exception_effect(reported: ExceptionReport) -> Effect {
    let ExceptionReport { keys: exceptions, is_pass, .. } = reported;
    let keys = exceptions.join(", ");
    match is_pass {
        true => Effect::Excused {
            message: format!("rule is passed due to policy exception: {keys}").into(),
            exceptions,
        },
        false => Effect::Skip {
            message: format!("rule is skipped due to policy exception: {keys}").into(),
            exceptions,
        },
    }
}

fn with_template_place(mut error: EvalError, place: &str) -> EvalError {
    error.message.push_str(&format!(" (pod template at {place})"));
    error
}

pub(super) fn skip_effect(message: &str) -> Effect {
    Effect::Skip { message: message.into(), exceptions: Vec::new() }
}

#[cfg(test)]
mod tests;
