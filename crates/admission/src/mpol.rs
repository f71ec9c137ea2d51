//! MutatingPolicy and NamespacedMutatingPolicy, with their exceptions.

mod cluster;
mod compile;
mod native;
mod source;

use kubewright_cel::Inputs;
use kubewright_cel_rules::Environments;
use kubewright_engine::{ClusterSupport, Code, CompiledPolicy, Dialect};
use kubewright_value::Document;

use crate::vpol::GROUP;
use crate::vpol::exceptions::{CompiledPolicyException, load_policy_exceptions};
use crate::{is_kind_in_group, text_field};

/// The name that starts every rule id.
pub(crate) const MUTATING_POLICY_DIALECT: &str = "mpol";

/// The kinds: of the whole cluster, and of a namespace.
pub(crate) const MUTATING_POLICY_KINDS: [&str; 2] = ["MutatingPolicy", "NamespacedMutatingPolicy"];

/// The dialect of MutatingPolicies.
pub struct MutatingPolicies {
    environments: Environments,
    exceptions: Vec<CompiledPolicyException>,
}

impl MutatingPolicies {
    /// Returns the dialect with the PolicyExceptions among `exceptions`, for functions that see `inputs`.
    #[must_use]
    pub fn new(exceptions: &[Document], inputs: Inputs) -> Self {
        let environments = Environments::policies(inputs);
        let exceptions = load_policy_exceptions(&environments, exceptions);
        Self { environments, exceptions }
    }
}

impl Dialect for MutatingPolicies {
    fn name(&self) -> &'static str {
        MUTATING_POLICY_DIALECT
    }

    fn claims(&self, document: &Document) -> bool {
        is_kind_in_group(document, GROUP, &MUTATING_POLICY_KINDS)
    }

    fn looks_like(&self, document: &Document) -> bool {
        MUTATING_POLICY_KINDS.contains(&text_field(document, "kind"))
    }

    fn compile(&self, document: &Document, _auxiliaries: &[Document]) -> CompiledPolicy {
        compile::compile_mutating_policy(&self.environments, &self.exceptions, document)
    }

    fn cluster_support(&self) -> Option<&dyn ClusterSupport> {
        Some(self)
    }

    /// Those of [`crate::ValidatingAdmissionPolicies`], which are reported there.
    fn codes(&self) -> &'static [&'static Code] {
        &[]
    }
}

#[cfg(test)]
mod tests;
