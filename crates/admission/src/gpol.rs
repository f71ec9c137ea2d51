//! GeneratingPolicy and NamespacedGeneratingPolicy: objects that are made because of others.

mod cluster;
pub(crate) mod compile;
mod evaluate;
mod source;

use kubewright_cel::Inputs;
use kubewright_cel_rules::Environments;
use kubewright_engine::{ClusterSupport, Code, CompiledPolicy, Dialect};
use kubewright_value::Document;

use crate::vpol::{CompiledPolicyException, exceptions};
use crate::{is_kind_in_group, text_field};

/// The name that starts every rule id.
const NAME: &str = "gpol";

const GROUP: &str = "policies.kyverno.io/";
const KINDS: [&str; 2] = ["GeneratingPolicy", "NamespacedGeneratingPolicy"];

/// The dialect of GeneratingPolicies.
pub struct GeneratingPolicies {
    environments: Environments,
    exceptions: Vec<CompiledPolicyException>,
}

impl GeneratingPolicies {
    /// Returns the dialect with the PolicyExceptions among `exceptions`, for functions that see `inputs`.
    #[must_use]
    pub fn new(exceptions: &[Document], inputs: Inputs) -> Self {
        let environments = Environments::policies(inputs);
        let exceptions = exceptions::load_policy_exceptions(&environments, exceptions);
        Self { environments, exceptions }
    }
}

impl Dialect for GeneratingPolicies {
    fn name(&self) -> &'static str {
        NAME
    }

    fn claims(&self, document: &Document) -> bool {
        is_kind_in_group(document, GROUP, &KINDS)
    }

    fn looks_like(&self, document: &Document) -> bool {
        KINDS.contains(&text_field(document, "kind"))
    }

    fn compile(&self, document: &Document, _auxiliaries: &[Document]) -> CompiledPolicy {
        compile::compile_generating_policy(&self.environments, &self.exceptions, document)
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
