//! An object that a policy and its result judge differently, with the traces of both.

use kubewright_k8s::AdmissionRequest;
use kubewright_report::FilePosition;
use kubewright_value::{Document, Map, Value};

use super::super::conversion::PairDecision;
use super::super::outcome_traces::OutcomeTraces;

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
