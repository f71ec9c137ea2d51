//! ValidatingAdmissionPolicy, as the API server has it.

mod compile;
mod source;

use std::sync::Arc;

use kubewright_cel_rules::Environments;
use kubewright_engine::{Code, CompiledPolicy, Diagnostic, Dialect, RuleId};
use kubewright_value::Document;

use crate::bindings::BoundPolicyKind;
use crate::{diagnostics, is_kind_in_group, text_field};

const BOUND_KIND: BoundPolicyKind = BoundPolicyKind {
    dialect: "vap",
    policy: "ValidatingAdmissionPolicy",
    binding: "ValidatingAdmissionPolicyBinding",
    unbound_help: "load a ValidatingAdmissionPolicyBinding beside it; without one violations are only reported",
    read: source::read_policy_binding,
};

pub(crate) const ADMISSION_GROUP: &str = "admissionregistration.k8s.io/";

/// The dialect of ValidatingAdmissionPolicies and their bindings.
pub struct ValidatingAdmissionPolicies {
    environments: Environments,
}

impl ValidatingAdmissionPolicies {
    /// Returns the dialect.
    #[must_use]
    pub fn new() -> Self {
        Self { environments: Environments::admission() }
    }
}

impl Default for ValidatingAdmissionPolicies {
    fn default() -> Self {
        Self::new()
    }
}

impl Dialect for ValidatingAdmissionPolicies {
    fn name(&self) -> &'static str {
        BOUND_KIND.dialect
    }

    fn claims(&self, document: &Document) -> bool {
        is_kind_in_group(document, ADMISSION_GROUP, &[BOUND_KIND.policy])
    }

    fn looks_like(&self, document: &Document) -> bool {
        [BOUND_KIND.policy, BOUND_KIND.binding].contains(&text_field(document, "kind"))
    }

    fn is_auxiliary(&self, document: &Document) -> bool {
        is_kind_in_group(document, ADMISSION_GROUP, &[BOUND_KIND.binding])
    }

    fn compile(&self, document: &Document, auxiliaries: &[Document]) -> CompiledPolicy {
        compile::compile_admission_policy(&self.environments, document, auxiliaries)
    }

    fn check_auxiliaries(&self, auxiliaries: &[Document], rules: &[Arc<RuleId>]) -> Vec<Diagnostic> {
        BOUND_KIND.check(auxiliaries, rules)
    }

    fn codes(&self) -> &'static [&'static Code] {
        diagnostics::CODES
    }
}

#[cfg(test)]
mod tests;
