//! Reviews one object: makes its request, decides, and returns the row for the report.

use std::sync::Arc;
use std::time::Instant;

use kubewright_engine::{
    Decision, DecisionSettings, Engine, EvaluationMode, OutcomeReason, RuleOutcome, RuleStatus, TraceNode,
    TraceVerdict,
};
use kubewright_k8s::{AdmissionRequest, Operation, UserInfo, normalise};
use kubewright_report::{Columns, ObjectReview, ObjectRow, UnmatchedRules, WhyInputs};
use kubewright_value::{Deadline, Document};

use crate::fixtures::{FileWorld, OldObjects};
use crate::request;

/// How often an object is decided again because registries were asked: each answer may lead to a further question.
const MAX_LOOKUP_ROUNDS: usize = 64;

/// Reviews objects with the same rules, fixtures and options.
pub(crate) struct Reviewer<'a> {
    /// The rules.
    pub(crate) engine: &'a Engine,
    /// The fixtures in place of a cluster.
    pub(crate) world: &'a FileWorld,
    /// The operation of requests, unless the values of variables name another one.
    pub(crate) operation: Operation,
    /// The namespace of objects that name none.
    pub(crate) namespace: &'a str,
    /// Objects before an update, as far as they are known.
    pub(crate) old: &'a OldObjects,
    /// The user of requests.
    pub(crate) user: &'a UserInfo,
    /// Whether a failure that does not refuse the object is a warning.
    pub(crate) is_lenient: bool,
    /// Why objects are reviewed; without it every rule is evaluated.
    pub(crate) evaluation_mode: Option<EvaluationMode>,
    /// How many rules there are as their authors wrote them, without those that are derived from them.
    pub(crate) written_rules: usize,
    /// What the outputs need to know.
    pub(crate) columns: Columns,
    /// What the command that shows the reason of an outcome names.
    pub(crate) why_inputs: Option<&'a Arc<WhyInputs>>,
}

impl Reviewer<'_> {
    /// Returns the request for `document`.
    pub(crate) fn request(&self, document: &Document) -> AdmissionRequest {
        if request::is_payload(document) {
            return request::of_payload(document, self.user);
        }
        let mut request = request::request_about(&document.value, self.operation, self.namespace, self.user);
        let values = self.world.values();
        if let Some(operation) = values.operation(None, &request.name) {
            request.set_operation(operation);
        }
        self.old.place(&mut request);
        values.place(&mut request);
        request.fill_namespace();
        request
    }

    /// Decides `request`.
    pub(crate) fn decide(&self, request: &AdmissionRequest) -> Decision {
        self.decide_with(request, false)
    }

    /// Decides `request`; rules that do not apply have no outcome if `leaves_out_skips`.
    fn decide_with(&self, request: &AdmissionRequest, leaves_out_skips: bool) -> Decision {
        let settings = DecisionSettings {
            leaves_out_skips,
            is_traced: self.columns.trace,
            evaluation_mode: self.evaluation_mode,
            is_as_written: true,
            ..DecisionSettings::default()
        };
        let mut decision = self.engine.decide(request, self.world, &settings);
        for _ in 0..MAX_LOOKUP_ROUNDS {
            if !self.world.look_up(&decision.queries) {
                break;
            }
            decision = self.engine.decide(request, self.world, &settings);
        }
        decision
    }

    /// Adds the causes of errors in plain words where rules give none: their traces say which part of the object could not
    /// be read. Where there are none, a second evaluation makes them.
    fn explain_errors(&self, request: &AdmissionRequest, decision: &mut Decision) {
        let is_unexplained =
            |outcome: &RuleOutcome| outcome.status == RuleStatus::Error && outcome.reason.is_none();
        if !decision.outcomes.iter().any(is_unexplained) {
            return;
        }
        let again = (!self.columns.trace).then(|| self.traced_decision(request));
        let traced = again.as_ref().unwrap_or(decision);
        let blamed = |outcome: &RuleOutcome| {
            let same = traced.outcomes.iter().find(|one| one.rule == outcome.rule)?;
            let step = blamed_step(&same.trace.as_ref()?.children)?;
            let (text, help) = (step.found.clone(), step.help.clone());
            Some((step.subject.clone(), OutcomeReason { text, help, ..OutcomeReason::default() }))
        };
        let unexplained = decision.outcomes.iter().enumerate().filter(|(_, outcome)| is_unexplained(outcome));
        let causes: Vec<_> = unexplained.filter_map(|(at, outcome)| Some((at, blamed(outcome)?))).collect();
        for (at, (path, reason)) in causes {
            if let Some(outcome) = decision.outcomes.get_mut(at) {
                outcome.path = path;
                outcome.reason = Some(Box::new(reason));
            }
        }
    }

    fn traced_decision(&self, request: &AdmissionRequest) -> Decision {
        let settings = DecisionSettings {
            is_traced: true,
            evaluation_mode: self.evaluation_mode,
            is_as_written: true,
            ..DecisionSettings::default()
        };
        self.engine.decide(request, self.world, &settings)
    }

    /// Decides on `document` and returns its row, with what the outputs need.
    pub(crate) fn review(&self, document: &Document) -> ObjectRow {
        let started = Instant::now();
        let request = self.request(document);
        let decision = self.decide_with(&request, !self.columns.all_outcomes);
        self.row(document, &request, decision, started)
    }

    /// Decides on `document` and returns its row with the outcomes of the rules that `is_wanted` chooses.
    pub(crate) fn review_by(
        &self,
        document: &Document,
        is_wanted: impl Fn(&RuleOutcome) -> bool,
    ) -> ObjectRow {
        let started = Instant::now();
        let request = self.request(document);
        let mut decision = self.decide(&request);
        decision.outcomes.retain(is_wanted);
        self.row(document, &request, decision, started)
    }

    /// Returns the row of `document` for what was decided since `started`.
    fn row(
        &self,
        document: &Document,
        request: &AdmissionRequest,
        mut decision: Decision,
        started: Instant,
    ) -> ObjectRow {
        self.explain_errors(request, &mut decision);
        let is_patched = decision.outcomes.iter().any(is_patch);
        let changed = is_patched.then(|| {
            let object = std::mem::take(&mut decision.object);
            normalise::without_filled_namespace(object, &document.value, &request.namespace)
        });
        let review = ObjectReview { document, request, decision, changed, is_lenient: self.is_lenient };
        let empty = review.decision.unreported;
        // Of the rules that autogen derives from one, at most one is about an object.
        let heard = empty + review.decision.skipped + count_rules(&review.decision.outcomes);
        let unmatched = UnmatchedRules { out_of_scope: self.written_rules.saturating_sub(heard), empty };
        let why_inputs = self.why_inputs.cloned();
        ObjectRow {
            unmatched,
            elapsed: started.elapsed(),
            why_inputs,
            ..ObjectRow::new(review, self.columns)
        }
    }
}

/// Returns whether the caller of this thread has stopped waiting, so that nothing more need be done.
pub(crate) fn is_late() -> bool {
    Deadline::of_this_thread().is_some_and(|deadline| deadline.has_passed())
}

/// Returns the step that could not be evaluated because of a part of the object: the innermost of the first error.
fn blamed_step(steps: &[TraceNode]) -> Option<&TraceNode> {
    let failed = steps.iter().find(|step| step.verdict == TraceVerdict::Error)?;
    blamed_step(&failed.children).or_else(|| Some(failed).filter(|step| !step.subject.is_empty()))
}

/// Returns whether the outcome changed the object.
fn is_patch(outcome: &RuleOutcome) -> bool {
    outcome.status == RuleStatus::Pass && !outcome.patch.is_empty()
}

/// Returns how many rules the outcomes are of. Those of one rule follow each other.
fn count_rules(outcomes: &[RuleOutcome]) -> usize {
    outcomes.chunk_by(|one, next| one.rule == next.rule).count()
}
