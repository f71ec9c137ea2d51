//! Violations that were there before an update, which the update need not mend.

use kubewright_engine::{
    Answer, DecisionCache, EvalError, Evaluation, Query, RuleId, Tracer, World, WorldView,
};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Map, Text, Value};

use super::{CheckVerdict, ValidateCheck, ValidateRule, ValidateRun, matching_exceptions};
use crate::context::VariableContext;
use crate::source::FailureAction;
use crate::trace;
use kubewright_dialect_kit::notes::Notes;

impl ValidateRule {
    /// Returns `verdict`, or a skip when the object was as bad before an update and that is allowed. Where nobody knows
    /// how the object was, nothing is forgiven.
    pub(super) fn forgiven(
        &self,
        verdict: CheckVerdict,
        evaluation: &mut Evaluation<'_>,
        notes: &mut Notes,
    ) -> CheckVerdict {
        let is_enforced = self.actions.rule.unwrap_or(self.actions.policy) == FailureAction::Enforce;
        let request = evaluation.request;
        let can_be = is_enforced && self.allows_existing_violations && request.operation == Operation::Update;
        if !can_be || !matches!(verdict, CheckVerdict::Fail(_)) {
            return verdict;
        }
        let is_known = !request.is_old_object_assumed && request.old_object.get("kind").is_some();
        if !is_known {
            notes.say(trace::unknown_old_object);
            return verdict;
        }
        match self.was_bad(request, evaluation) {
            Ok(true) => CheckVerdict::Skip(
                "skipping the rule evaluation as pre-existing violations are allowed".into(),
            ),
            // What cannot be told forgives nothing.
            Ok(false) | Err(_) => verdict,
        }
    }

    /// Returns whether the rule is violated by the object as it was. Who asked for that object is not known.
    fn was_bad(
        &self,
        request: &AdmissionRequest,
        evaluation: &mut Evaluation<'_>,
    ) -> Result<bool, EvalError> {
        let before = AdmissionRequest {
            operation: Operation::Create,
            object: request.old_object.clone(),
            old_object: Value::Null,
            user: nobody(),
            roles: Vec::new(),
            cluster_roles: Vec::new(),
            ..request.clone()
        };
        let (mut tracer, memory, mut notes) = (Tracer::off(), DecisionCache::default(), Notes::off());
        let world = Before { world: evaluation.world };
        let view = WorldView::new(&world, evaluation.world.home());
        let mut evaluation = Evaluation::new(&before, view, evaluation.budget, &mut tracer, &memory);
        let object = &before.object;
        if self.matcher.matches(object, Operation::Create, &mut evaluation, &mut notes)?.is_some() {
            return Ok(false);
        }
        // Other rules are excused as a whole, so that nobody asks what they were before.
        let excepted = match self.body.check {
            ValidateCheck::PodSecurity(_) => self.excepted(object, &mut evaluation, &mut notes)?,
            _ => Vec::new(),
        };
        let mut context = VariableContext::new(&mut evaluation, object, &self.id);
        context.declare(&self.body.entries);
        if self.body.precondition(&mut context, &mut notes)?.is_some() {
            return Ok(false);
        }
        let excepted = matching_exceptions(&excepted, &mut context, &mut notes);
        let ran = match &self.body.check {
            ValidateCheck::Cel(cel) if excepted.is_empty() => {
                return Ok(cel.was_violated(object, &mut evaluation, &mut notes));
            }
            _ => self.unless_excepted(object, &excepted, &mut context, &mut notes),
        };
        Ok(matches!(ran, ValidateRun::Checked(CheckVerdict::Fail(_))))
    }
}

/// The world as the object as it was sees it: what the caller gives in place of the request is about the other one.
struct Before<'w> {
    world: WorldView<'w>,
}

impl World for Before<'_> {
    fn get(&self, query: &Query) -> Answer {
        self.world.get(query)
    }

    fn overrides(&self, rule: &RuleId, request: &AdmissionRequest) -> Vec<(Text, Value)> {
        let mut given = self.world.overrides(rule, request);
        given.retain(|(name, _)| !REQUESTED.iter().any(|requested| name.starts_with(requested)));
        given
    }
}

const REQUESTED: [&str; 3] = ["request.operation", "request.object", "request.oldObject"];

/// Returns one who asks and is in no group that a rule could name.
fn nobody() -> Value {
    Map::from([
        ("username", Value::from("kyverno:kyverno-invalid-controller")),
        ("uid", "kyverno:invaliduid".into()),
        ("groups", vec!["kyverno:invalidgroup"].into()),
    ])
    .into()
}
