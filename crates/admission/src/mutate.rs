//! Evaluates one policy that changes objects: constraints, exceptions, conditions, then mutations.

mod apply;
mod lint;
pub(crate) mod rule;
mod schema;
pub(crate) mod source;
mod targets;

use std::cell::Cell;
use std::sync::Arc;

use kubewright_cel::Inputs;
use kubewright_cel_rules::{CelChecks, ExpressionSubject, ObjectForm, Params, SpentCost};
use kubewright_dialect_kit::notes::TraceNotes;
use kubewright_engine::{Applies, DecisionCache, Effect, EvalError, Evaluation, RuleBranch, RuleProgram};
use kubewright_k8s::{AdmissionRequest, PodTemplatePath};
use kubewright_patch::diff_values;
use kubewright_patch::structured::StructuredMergeOptions;
use kubewright_value::{Document, Step, Text, Value};

use crate::evaluate::{exception_effect, is_admission_policy, located_branches, skip_effect, with_notes};
use crate::matching::{ConstraintsMatcher, applies_within};
use crate::vpol::exceptions::{CompiledPolicyException, ExceptionEffect, apply_exceptions};
use crate::vpol::extract::PodTemplate;
use apply::ObjectPatcher;
pub(crate) use lint::check_structures;
pub(crate) use targets::{MutationTargets, StoredTargetJudge, TargetOrigin};

/// The names of the two lists in traces.
const LIST_NAMES: (&str, &str) = ("matchConditions", "mutations");

/// A compiled policy, as one binding or one sort of objects has it.
pub(crate) struct MutationProgram {
    /// The document of the policy, for locations.
    pub(crate) document: Arc<Document>,
    /// `None` where the policy has no constraints.
    pub(crate) matcher: Option<ConstraintsMatcher>,
    /// The further constraints of the binding.
    pub(crate) binding: Option<ConstraintsMatcher>,
    pub(crate) checks: Arc<CelChecks>,
    pub(crate) params: Option<MutationParams>,
    pub(crate) exceptions: Vec<CompiledPolicyException>,
    pub(crate) inputs: Inputs,
    pub(crate) engine: MutationEngine,
    pub(crate) options: StructuredMergeOptions,
    /// What is changed.
    pub(crate) subject: MutationSubject,
    /// Why it cannot run.
    pub(crate) broken: Option<Text>,
}

/// Whose words and rules apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MutationEngine {
    /// The API server's.
    ApiServer,
    /// Those of MutatingPolicies.
    Policy,
}

/// What a rule changes.
pub(crate) enum MutationSubject {
    /// The object of the request.
    Object,
    /// The description of Pods in it.
    Template(PodTemplatePath),
    /// Nothing: where such an object describes Pods is not known.
    Unknown,
    /// Any JSON.
    Payload,
    /// Other objects, which exist already.
    Targets(Box<MutationTargets>),
    /// Nothing: the object is one of those that the policy changes because of others, and is judged as it is stored.
    StoredTarget(Box<StoredTargetJudge>),
}

/// The parameter objects of a rule.
pub(crate) struct MutationParams {
    pub(crate) params: Params,
    /// Whether the expressions read all of them as one list.
    pub(crate) is_list: bool,
}

impl RuleProgram for MutationProgram {
    fn applies(&self, object: &Value, evaluation: &mut Evaluation<'_>) -> Result<Applies, EvalError> {
        if matches!(self.subject, MutationSubject::Payload) {
            return Ok(Applies::Yes);
        }
        if self.engine == MutationEngine::ApiServer && is_admission_policy(&evaluation.request.kind) {
            return Ok(Applies::OutOfScope("the API server evaluates no policy for policies".into()));
        }
        applies_within(self.matcher.as_ref(), self.binding.as_ref(), object, evaluation)
    }

    fn evaluate(&self, object: &mut Value, evaluation: &mut Evaluation<'_>) -> Result<Effect, EvalError> {
        if let Some(broken) = &self.broken {
            return Err(self.worded(EvalError::new(broken.as_str())));
        }
        let effect = with_notes(&self.document, evaluation, |evaluation, notes| {
            self.excused_or_changed(object, evaluation, notes)
        });
        effect.map_err(|error| self.worded(error))
    }

    fn branches(&self) -> Vec<RuleBranch> {
        located_branches(&self.document, self.checks.branches(LIST_NAMES.0, LIST_NAMES.1))
    }
}

impl MutationProgram {
    fn excused_or_changed(
        &self,
        object: &mut Value,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<Effect, EvalError> {
        let spent = Cell::new(SpentCost::within(evaluation.budget));
        let subject =
            ExpressionSubject { form: self.form(), ..ExpressionSubject::of(object, LIST_NAMES, &spent) };
        let excused = apply_exceptions(&self.exceptions, false, &subject, evaluation, notes);
        spent.get().charge(evaluation.budget);
        let allowed = match excused? {
            ExceptionEffect::Wholly(reported) => return Ok(exception_effect(reported)),
            ExceptionEffect::Partly(allowed) => allowed,
        };
        let changed = match &self.subject {
            MutationSubject::Object | MutationSubject::Payload => {
                self.mutated(object, &allowed, evaluation, notes)?
            }
            MutationSubject::Template(path) => self.template(object, *path, &allowed, evaluation, notes)?,
            MutationSubject::Unknown => {
                return Ok(skip_effect("mutation is not supported in extraction mode"));
            }
            MutationSubject::Targets(targets) => {
                return targets.effect(self, object, &allowed, evaluation, notes);
            }
            MutationSubject::StoredTarget(judge) => return judge.effect(self, object, evaluation, notes),
        };
        let Some(changed) = changed else { return Ok(self.skipped()) };
        let operations = diff_values(object, &changed);
        *object = changed;
        Ok(Effect::Patch { operations, message: self.success() })
    }

    fn form(&self) -> ObjectForm {
        match self.subject {
            MutationSubject::Payload => ObjectForm::Payload,
            _ => ObjectForm::Plain,
        }
    }

    fn success(&self) -> Text {
        Text::new_static(match self.engine {
            MutationEngine::ApiServer => "mutation is successfully applied",
            MutationEngine::Policy => "success",
        })
    }

    fn skipped(&self) -> Effect {
        skip_effect(match self.engine {
            MutationEngine::ApiServer => "match conditions aren't met",
            MutationEngine::Policy => "skip",
        })
    }

    fn worded(&self, mut error: EvalError) -> EvalError {
        if self.engine == MutationEngine::Policy {
            error.message = format!("failed to evaluate policy: {}", error.message);
        }
        error
    }

    /// Changes the Pod that `object` describes at `path`, and puts the description back.
    fn template(
        &self,
        object: &Value,
        path: PodTemplatePath,
        allowed: &Value,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<Option<Value>, EvalError> {
        let request = evaluation.request;
        let Some(template) = PodTemplate::at(object, path.keys()) else { return Ok(None) };
        let before = PodTemplate::at(&request.old_object, path.keys());
        let pod_request = template.request(request, before.as_ref());
        let pod = pod_request.object.clone();
        let cache = DecisionCache::default();
        let Evaluation { world, budget, tracer, .. } = evaluation;
        let mut inner = Evaluation::new(&pod_request, *world, budget, tracer, &cache);
        let mark = notes.mark();
        let changed = self.mutated(&pod, allowed, &mut inner, notes);
        let below: Vec<Step> = path.keys().iter().map(|key| Step::from(*key)).collect();
        notes.rebase_subjects_since(mark, &below);
        let Some(changed) = changed? else { return Ok(None) };
        let mut result = object.clone();
        let place = path.keys().iter().try_fold(&mut result, |here, key| here.as_object_mut()?.get_mut(key));
        if let Some(place) = place {
            *place = template.with_pod(&changed, &pod_request);
        }
        Ok(Some(result))
    }

    /// Returns `object` after all mutations; nothing where the conditions do not hold.
    fn mutated(
        &self,
        object: &Value,
        allowed: &Value,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<Option<Value>, EvalError> {
        let Some(MutationParams { params, is_list }) = &self.params else {
            return self.invoked(object, &self.invocation(&Value::Null, allowed), evaluation, notes);
        };
        let found = params.find(evaluation.request, evaluation.world, evaluation.budget)?;
        let invocations = match is_list {
            true if found.is_empty() => Vec::new(),
            true => vec![list_of(found)],
            false => found,
        };
        // One after the other, each on what the one before it left.
        let mut changed = None;
        for params in &invocations {
            let current = changed.as_ref().unwrap_or(object);
            let next = self.invoked(current, &self.invocation(params, allowed), evaluation, notes)?;
            changed = next.or(changed);
        }
        Ok(changed)
    }

    fn invocation<'i>(&'i self, params: &'i Value, exceptions: &'i Value) -> MutationInvocation<'i> {
        MutationInvocation { checks: &self.checks, params, exceptions, form: self.form() }
    }

    /// Returns `object` after the mutations of one invocation; nothing where the conditions do not hold.
    fn invoked(
        &self,
        object: &Value,
        invocation: &MutationInvocation<'_>,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<Option<Value>, EvalError> {
        let spent = Cell::new(SpentCost::within(evaluation.budget));
        let subject = ExpressionSubject {
            form: invocation.form,
            params: invocation.params,
            exceptions: invocation.exceptions,
            inputs: self.inputs,
            ..ExpressionSubject::of(object, LIST_NAMES, &spent)
        };
        let mut patcher = ObjectPatcher::new(self.options, evaluation);
        let changed = invocation.checks.mutate(&subject, evaluation, notes, &mut patcher);
        let used = patcher.into_budget();
        spent.get().charge(evaluation.budget);
        evaluation.budget.step(used.steps_used())?;
        evaluation.budget.produce(usize::try_from(used.bytes_used()).unwrap_or(usize::MAX))?;
        changed
    }
}

/// One run of the mutations.
struct MutationInvocation<'i> {
    checks: &'i CelChecks,
    /// Null where there are none.
    params: &'i Value,
    /// The values that exceptions allow.
    exceptions: &'i Value,
    form: ObjectForm,
}

/// Returns the objects as the list that the command line of the original program gives to expressions.
fn list_of(items: Vec<Value>) -> Value {
    kubewright_value::Map::from([
        ("apiVersion", Value::from("v1")),
        ("kind", "List".into()),
        ("items", Value::array(items)),
    ])
    .into()
}

/// Returns a request about `target` in place of `request`.
pub(crate) fn target_request(target: &Value, request: &AdmissionRequest) -> AdmissionRequest {
    AdmissionRequest {
        user: request.user.clone(),
        ..AdmissionRequest::for_object(target.clone(), kubewright_k8s::Operation::Update, "")
    }
}
