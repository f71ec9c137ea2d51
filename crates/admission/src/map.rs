//! MutatingAdmissionPolicy, as the API server has it.

mod compile;
mod source;

use kubewright_cel_rules::Environments;
use kubewright_engine::{Code, CompiledPolicy, Diagnostic, Dialect, Rule};
use kubewright_value::Document;

use crate::vap::ADMISSION_GROUP;
use crate::{is_kind_in_group, text_field};

/// The name that starts every rule id.
pub(crate) const MUTATING_ADMISSION_DIALECT: &str = "map";

const POLICY_KIND: &str = "MutatingAdmissionPolicy";
const BINDING_KIND: &str = "MutatingAdmissionPolicyBinding";

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
        MUTATING_ADMISSION_DIALECT
    }

    fn claims(&self, document: &Document) -> bool {
        is_kind_in_group(document, ADMISSION_GROUP, &[POLICY_KIND])
    }

    fn looks_like(&self, document: &Document) -> bool {
        [POLICY_KIND, BINDING_KIND].contains(&text_field(document, "kind"))
    }

    fn is_auxiliary(&self, document: &Document) -> bool {
        is_kind_in_group(document, ADMISSION_GROUP, &[BINDING_KIND])
    }

    fn compile(&self, document: &Document, auxiliaries: &[Document]) -> CompiledPolicy {
        compile::compile_mutating_admission_policy(&self.environments, document, auxiliaries)
    }

    fn check_auxiliaries(&self, auxiliaries: &[Document], rules: &[Rule]) -> Vec<Diagnostic> {
        let own: Vec<Document> =
            auxiliaries.iter().filter(|document| self.is_auxiliary(document)).cloned().collect();
        compile::check_mutation_bindings(&own, rules)
    }

    /// Those of [`crate::ValidatingAdmissionPolicies`], which are reported there.
    fn codes(&self) -> &'static [&'static Code] {
        &[]
    }
}

#[cfg(test)]
mod tests;
