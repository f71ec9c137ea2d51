//! MutatingAdmissionPolicy, as the API server has it.

mod compile;
mod source;

use std::sync::Arc;

use kubewright_cel_rules::Environments;
use kubewright_engine::{Code, CompiledPolicy, Diagnostic, Dialect, RuleId};
use kubewright_value::Document;

use crate::bindings::BoundPolicyKind;
use crate::vap::ADMISSION_GROUP;
use crate::{is_kind_in_group, text_field};

const BOUND_KIND: BoundPolicyKind = BoundPolicyKind {
    dialect: "map",
    policy: "MutatingAdmissionPolicy",
    binding: "MutatingAdmissionPolicyBinding",
    unbound_help: "load a MutatingAdmissionPolicyBinding beside it",
    read: source::read_binding,
};

/// The dialect of MutatingAdmissionPolicies and their bindings.
pub struct MutatingAdmissionPolicies {
    environments: Environments,
}

impl MutatingAdmissionPolicies {
    /// Returns the dialect.
    #[must_use]
    pub fn new() -> Self {
        Self { environments: Environments::admission().with_patches() }
    }
}

impl Default for MutatingAdmissionPolicies {
    fn default() -> Self {
        Self::new()
    }
}

impl Dialect for MutatingAdmissionPolicies {
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
        compile::compile_mutating_admission_policy(&self.environments, document, auxiliaries)
    }

    fn check_auxiliaries(&self, auxiliaries: &[Document], rules: &[Arc<RuleId>]) -> Vec<Diagnostic> {
        BOUND_KIND.check(auxiliaries, rules)
    }

    /// Those of [`crate::ValidatingAdmissionPolicies`], which are reported there.
    fn codes(&self) -> &'static [&'static Code] {
        &[]
    }
}

#[cfg(test)]
mod tests;
