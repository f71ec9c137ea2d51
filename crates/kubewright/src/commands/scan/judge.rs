//! Judges one object of the cluster, and returns its row for the report.

use std::sync::Arc;

use kubewright_engine::{Decision, DecisionSettings, EvaluationMode, RuleOutcome, RuleStatus};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_report::{Columns, ObjectReview, ObjectRow};
use kubewright_value::{Document, Source, Value};

use super::rules::ScanRuleSet;
use super::world::PassWorld;

/// How often an object is judged again because rules ask for more.
const MAX_LOOKUP_ROUNDS: usize = 16;

/// Judges objects with the same rules and options.
pub(super) struct ObjectJudge<'a> {
    /// The rules.
    pub(super) rules: &'a ScanRuleSet,
    /// What rules may look up.
    pub(super) world: &'a PassWorld,
    /// What the outputs need to know.
    pub(super) columns: Columns,
    /// Whether a failure that does not refuse the object is a warning.
    pub(super) is_lenient: bool,
}

impl ObjectJudge<'_> {
    /// Judges `object`, which was listed at `source`.
    pub(super) fn judge(&self, object: Value, source: &Arc<Source>) -> ObjectRow {
        let request = AdmissionRequest::for_object(object.clone(), Operation::Create, "");
        let mut decision = self.decide(&request);
        let is_patch =
            |outcome: &RuleOutcome| outcome.status == RuleStatus::Pass && !outcome.patch.is_empty();
        let is_patched = decision.outcomes.iter().any(is_patch);
        let changed = is_patched.then(|| std::mem::take(&mut decision.object));
        let document = Document::made(object, Arc::clone(source));
        let review = ObjectReview {
            document: &document,
            request: &request,
            decision,
            changed,
            is_lenient: self.is_lenient,
        };
        let mut row = ObjectRow::new(review, self.columns);
        row.forget_lines();
        row
    }

    /// Decides, looks up what the rules ask for, and decides again until nothing is open.
    fn decide(&self, request: &AdmissionRequest) -> Decision {
        let settings = DecisionSettings {
            evaluation_mode: Some(EvaluationMode::Background),
            ..DecisionSettings::default()
        };
        let mut rounds = 0;
        loop {
            let mut decision = self.rules.changing.decide(request, self.world, &settings);
            let judged = self.rules.judging.decide(request, self.world, &settings);
            decision.is_allowed &= judged.is_allowed;
            decision.outcomes.extend(judged.outcomes);
            decision.queries.extend(judged.queries);
            rounds += 1;
            if decision.queries.is_empty() || rounds > MAX_LOOKUP_ROUNDS + 1 {
                return decision;
            }
            for query in std::mem::take(&mut decision.queries) {
                if rounds > MAX_LOOKUP_ROUNDS {
                    self.world.refuse(query);
                } else {
                    self.world.learn(query);
                }
            }
        }
    }
}
