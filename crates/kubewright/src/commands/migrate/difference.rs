//! An object that a policy and its result judge differently, with the traces of both.

use kubewright_engine::Decision;
use kubewright_k8s::AdmissionRequest;
use kubewright_report::trace::outcome_trace;
use kubewright_report::{FilePosition, ObjectReview, ObjectRow};
use kubewright_value::{Document, Map, Value};

use super::super::conversion::PairDecision;
use crate::output::{Columns, Paint, trace_tree, visible};

/// An object that both judge differently.
#[derive(Debug)]
pub(super) struct ObjectDifference {
    /// The request, and what both say.
    pub(super) what: String,
    /// Where the object was read.
    pub(super) place: String,
    /// Why the source says so.
    pub(super) source: OutcomeTraces,
    /// Why the result says so.
    pub(super) converted: OutcomeTraces,
}

/// The traces of all rules of one side.
#[derive(Debug)]
pub(super) struct OutcomeTraces {
    /// For a person.
    pub(super) text: String,
    values: Vec<Value>,
}

impl ObjectDifference {
    /// Returns the difference that `decision` shows, which was made with traces.
    pub(super) fn new(
        what: String,
        document: &Document,
        request: &AdmissionRequest,
        decision: PairDecision,
    ) -> Self {
        Self {
            what,
            place: FilePosition::of(document).to_string(),
            source: OutcomeTraces::new(document, request, decision.source),
            converted: OutcomeTraces::new(document, request, decision.converted),
        }
    }

    /// Returns the difference with stable keys.
    pub(super) fn value(&self) -> Value {
        Map::from([
            ("what", Value::from(self.what.clone())),
            ("object", self.place.clone().into()),
            ("source", self.source.values.clone().into()),
            ("converted", self.converted.values.clone().into()),
        ])
        .into()
    }
}

impl OutcomeTraces {
    fn new(document: &Document, request: &AdmissionRequest, decision: Decision) -> Self {
        let columns = Columns { all_outcomes: true, trace: true, ..Columns::default() };
        let review = ObjectReview { document, request, decision, changed: None, is_lenient: false };
        let row = ObjectRow::new(review, columns);
        let mut text = String::new();
        for outcome in &row.outcomes {
            let rule = outcome.rule.to_string();
            text.push_str(&format!("{}: {}\n", visible(&rule), outcome.status));
            let children = outcome.trace.as_ref().map(|trace| trace.children.as_slice()).unwrap_or_default();
            text.push_str(&trace_tree(children, 1, Paint::OFF));
            if !outcome.message.is_empty() {
                text.push_str(&format!("  → {}\n", visible(&outcome.message)));
            }
        }
        if text.is_empty() {
            text.push_str("does not match\n");
        }
        let values = row.outcomes.iter().map(|outcome| outcome_trace(outcome, &row)).collect();
        Self { text, values }
    }
}
