//! Judges one object of the cluster, and returns its row for the report.

use std::sync::Arc;

use kubewright_engine::{Decision, RuleOutcome, RuleStatus};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_report::{Columns, ObjectReview, ObjectRow};
use kubewright_scan::{ObjectDecision, ScanRules};
use kubewright_value::{Document, Source, Value};

use super::world::PassWorld;

/// How often an object is judged again because rules ask for more. Each image of a Pod takes up to three lookups.
const MAX_LOOKUP_ROUNDS: usize = 32;

/// Judges objects with the same rules and options.
pub(in crate::commands) struct ObjectJudge<'a> {
    /// The rules.
    pub(in crate::commands) rules: &'a ScanRules,
    /// What rules may look up.
    pub(in crate::commands) world: &'a PassWorld,
    /// What the outputs need to know.
    pub(in crate::commands) columns: Columns,
    /// Whether a failure that does not refuse the object is a warning.
    pub(in crate::commands) is_lenient: bool,
    /// Whether each outcome has its trace.
    pub(in crate::commands) is_traced: bool,
}

impl ObjectJudge<'_> {
    /// Decides on `object`, looks up what the rules ask for, and decides again until nothing is open.
    pub(in crate::commands) fn decide(&self, object: &Value) -> ObjectDecision {
        let mut rounds = 0;
        loop {
            let mut decision = match self.is_traced {
                true => self.rules.explain(object, self.world),
                false => self.rules.decide(object, self.world),
            };
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

    /// Returns the row of `object`, which was listed at `source`.
    pub(super) fn row(&self, object: Value, decision: ObjectDecision, source: &Arc<Source>) -> ObjectRow {
        let request = AdmissionRequest::for_object(object.clone(), Operation::Create, "");
        let mut row = self.row_of(&Document::made(object, Arc::clone(source)), &request, decision);
        row.forget_lines();
        row
    }

    /// Returns the row of the object that `document` shows, with its lines.
    pub(in crate::commands) fn row_of(
        &self,
        document: &Document,
        request: &AdmissionRequest,
        decision: ObjectDecision,
    ) -> ObjectRow {
        let ObjectDecision { is_allowed, outcomes, object: changed, .. } = decision;
        let is_patch =
            |outcome: &RuleOutcome| outcome.status == RuleStatus::Pass && !outcome.patch.is_empty();
        let is_patched = outcomes.iter().any(is_patch);
        // A scan shows no differences, so that the object is not needed.
        let decision = Decision { is_allowed, outcomes, ..Decision::without_rules(Value::Null) };
        let review = ObjectReview {
            document,
            request,
            decision,
            changed: is_patched.then_some(changed),
            is_lenient: self.is_lenient,
        };
        ObjectRow::new(review, self.columns)
    }
}
