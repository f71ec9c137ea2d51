//! A rule that the API server enforces itself, as a ValidatingAdmissionPolicy, without asking anybody.

use kubewright_value::{Text, Value};

/// The label of both objects, with the value `true`: nothing without it is ever deleted.
pub const GENERATED_LABEL: &str = "kubewright.dev/generated";

/// A ValidatingAdmissionPolicy and its binding, which stand for one rule.
#[derive(Debug, Clone, PartialEq)]
pub struct AdmissionPolicy {
    /// The name of the rule, without its policy.
    pub rule: Text,
    /// The ValidatingAdmissionPolicy, owned by the rule object.
    pub policy: Value,
    /// The ValidatingAdmissionPolicyBinding, owned by the rule object.
    pub binding: Value,
}

/// Whether the API server enforces a rule itself, for the status of the rule object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AdmissionPolicyState {
    /// Whether it does.
    pub is_generated: bool,
    /// Why not; empty where it does, or where nobody asked.
    pub message: String,
}
