//! A rule that the API server enforces itself, as a ValidatingAdmissionPolicy or a MutatingAdmissionPolicy, without calling a
//! webhook.

use kubewright_value::{Text, Value};

use super::{AdmissionPhase, WebhookPlan};

/// The label of both objects, with the value `true`: nothing without it is ever deleted.
pub const GENERATED_LABEL: &str = "kubewright.dev/generated";

/// A rule that the API server can enforce, and the webhooks that its policy asks for while it does.
#[derive(Debug, Clone, PartialEq)]
pub struct NativeRule {
    /// What is written for it.
    pub admission_policy: AdmissionPolicy,
    /// The webhooks of the other rules of its policy.
    pub remaining_webhooks: Vec<WebhookPlan>,
}

/// A policy of the API server and its binding, which replace one rule.
#[derive(Debug, Clone, PartialEq)]
pub struct AdmissionPolicy {
    /// The name of the rule, without its policy.
    pub rule: Text,
    /// The ValidatingAdmissionPolicy or MutatingAdmissionPolicy, owned by the rule object.
    pub policy: Value,
    /// Its binding, owned by the rule object.
    pub binding: Value,
}

impl AdmissionPolicy {
    /// Returns the phase of admission in which the API server evaluates it.
    #[must_use]
    pub fn phase(&self) -> AdmissionPhase {
        match self.policy.str_at(&["kind"]) {
            "MutatingAdmissionPolicy" => AdmissionPhase::Mutating,
            _ => AdmissionPhase::Validating,
        }
    }
}

/// Whether the API server enforces a rule itself, for the status of the rule object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AdmissionPolicyState {
    /// Whether it does.
    pub is_generated: bool,
    /// Why not; empty where it does, or where the policy does not ask for it.
    pub message: String,
}
