//! Violations that were there before an update, which the update need not mend.

use kubewright_engine::{
    DecisionCache, EvalError, Evaluation, Query, QueryAnswer, RuleId, Tracer, World, WorldView,
};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Map, Text, Value};

use super::{CheckVerdict, ValidateCheck, ValidateRule, ValidateRun, matching_exceptions};
use crate::context::VariableContext;
use crate::source::FailureAction;
use crate::trace;
use kubewright_dialect_kit::notes::TraceNotes;

impl ValidateRule {
    /// Returns `verdict`, or a skip when the old object already violated the rule and that is allowed. An unknown old
    /// object excuses nothing.
    pub(super) fn forgiven(
        &self,
        verdict: CheckVerdict,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> CheckVerdict {
        let is_enforced = self.actions.rule.unwrap_or(self.actions.policy) == FailureAction::Enforce;
        let request = evaluation.request;
        let can_be = is_enforced && self.allows_existing_violations && request.operation == Operation::Update;
        // Kyverno forgives no rule in CEL.
        let is_cel = matches!(self.body.check, ValidateCheck::Cel(_));
        if !can_be || is_cel || !matches!(verdict, CheckVerdict::Fail(_)) {
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
            // An unknown answer excuses nothing.
            Ok(false) | Err(_) => verdict,
        }
    }

    /// Returns whether the old object violates the rule. The user who wrote it is not known.
    fn was_bad(
        &self,
        request: &AdmissionRequest,
        evaluation: &mut Evaluation<'_>,
    ) -> Result<bool, EvalError> {
        let before = AdmissionRequest {
            operation: Operation::Create,
            object: request.old_object.clone(),
            old_object: Value::Null,
            // What was stored is the whole object, so a rule about a subresource is not about it.
            subresource: Text::default(),
            user: unknown_user(),
            roles: Vec::new(),
            cluster_roles: Vec::new(),
            ..request.clone()
        };
        let (mut tracer, memory, mut notes) = (Tracer::off(), DecisionCache::default(), TraceNotes::off());
        let world = Before { world: evaluation.world };
        let view = WorldView::new(&world, evaluation.world.home());
        let mut evaluation = Evaluation::new(&before, view, evaluation.budget, &mut tracer, &memory);
        let object = &before.object;
        if self.matcher.matches(object, Operation::Create, &mut evaluation, &mut notes)?.is_some() {
            return Ok(false);
        }
        // Other rules are skipped as a whole, so their old result is not needed.
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
        let ran = self.unless_excepted(object, &excepted, &mut context, &mut notes);
        Ok(matches!(ran, ValidateRun::Checked(CheckVerdict::Fail(_))))
    }
}

/// The world for the old object: the caller's values replace the request of the new one only.
struct Before<'w> {
    world: WorldView<'w>,
}

impl World for Before<'_> {
    fn get(&self, query: &Query) -> QueryAnswer {
        self.world.get(query)
    }

    fn overrides(&self, rule: &RuleId, request: &AdmissionRequest) -> Vec<(Text, Value)> {
        let mut given = self.world.overrides(rule, request);
        given.retain(|(name, _)| !REQUESTED.iter().any(|requested| name.starts_with(requested)));
        given
    }
}

const REQUESTED: [&str; 3] = ["request.operation", "request.object", "request.oldObject"];

/// Returns a user in no group that a rule could name.
fn unknown_user() -> Value {
    Map::from([
        ("username", Value::from("kyverno:kyverno-invalid-controller")),
        ("uid", "kyverno:invaliduid".into()),
        ("groups", vec!["kyverno:invalidgroup"].into()),
    ])
    .into()
}
