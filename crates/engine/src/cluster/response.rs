//! The wording of AdmissionResponses and statuses.

use kubewright_value::{Text, Value};

use super::RuleReport;
use crate::RuleOutcome;
use kubewright_k8s::AdmissionRequest;

/// The words of a rule language for what its rules decided.
pub trait ResponseWording: Send + Sync {
    /// Returns the parts of the AdmissionResponse that come from `outcomes` of its rules.
    fn response(&self, request: &AdmissionRequest, outcomes: &[&RuleOutcome]) -> ResponseParts;

    /// Returns the `reportingComponent` of Events in the words that alerts about its policies look for; nothing for ours.
    fn event_component(&self) -> Option<&'static str> {
        None
    }

    /// Returns the `status` of a rule object, as its definition has it.
    fn status(&self, report: &RuleReport) -> Value {
        report.status()
    }
}

/// The parts of an AdmissionResponse for which a rule language has its own words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResponseParts {
    /// `status.message`: why the request is refused, or what was done to it; may be empty.
    pub message: String,
    /// `status.reason` of a refusal; empty for the usual one.
    pub reason: String,
    /// `status.code` of a refusal; 0 for the usual one, 403.
    pub code: u16,
    /// `warnings`, which kubectl prints.
    pub warnings: Vec<String>,
    /// `auditAnnotations`.
    pub annotations: Vec<(Text, Text)>,
}
