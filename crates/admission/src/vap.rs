//! ValidatingAdmissionPolicy, as the API server has it.

mod compile;
mod source;

use kubewright_cel_rules::Environments;
use kubewright_engine::{Code, CompiledPolicy, Diagnostic, Dialect, Rule};
use kubewright_value::Document;

use crate::{diagnostics, field, is};

/// The name that starts every rule id.
const NAME: &str = "vap";

const GROUP: &str = "admissionregistration.k8s.io/";

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
        NAME
    }

    fn claims(&self, document: &Document) -> bool {
        is(document, GROUP, &["ValidatingAdmissionPolicy"])
    }

    fn looks_like(&self, document: &Document) -> bool {
        ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"].contains(&field(document, "kind"))
    }

    fn is_auxiliary(&self, document: &Document) -> bool {
        is(document, GROUP, &["ValidatingAdmissionPolicyBinding"])
    }

    fn compile(&self, document: &Document, auxiliaries: &[Document]) -> CompiledPolicy {
        compile::compile(&self.environments, document, auxiliaries)
    }

    fn check_auxiliaries(&self, auxiliaries: &[Document], rules: &[Rule]) -> Vec<Diagnostic> {
        compile::check_bindings(auxiliaries, rules)
    }

    fn codes(&self) -> &'static [&'static Code] {
        diagnostics::CODES
    }
}

#[cfg(test)]
mod tests;
