//! The traces of all rules of a decision, for commands that show two decisions beside each other.

use kubewright_engine::Decision;
use kubewright_k8s::AdmissionRequest;
use kubewright_report::trace::outcome_trace;
use kubewright_report::{ObjectReview, ObjectRow};
use kubewright_value::{Document, Value};

use crate::output::{Columns, Paint, trace_tree, visible};

/// The traces of all rules of one side.
#[derive(Debug)]
pub(in crate::commands) struct OutcomeTraces {
    /// For a person.
    pub(in crate::commands) text: String,
    /// With stable keys.
    pub(in crate::commands) values: Vec<Value>,
}

impl OutcomeTraces {
    /// Returns the traces of `decision`, which was made with traces.
    pub(in crate::commands) fn new(
        document: &Document,
        request: &AdmissionRequest,
        decision: Decision,
    ) -> Self {
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
