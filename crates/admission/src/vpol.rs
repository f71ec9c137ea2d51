//! ValidatingPolicy and NamespacedValidatingPolicy, with their exceptions.

pub(crate) mod autogen;
pub(crate) mod cluster;
pub(crate) mod compile;
pub(crate) mod exceptions;
pub(crate) mod extract;
mod native;
pub(crate) mod source;

pub(crate) use exceptions::CompiledPolicyException;
pub(crate) use source::EvaluationTarget;

use kubewright_cel::Inputs;
use kubewright_cel_rules::Environments;
use kubewright_engine::{ClusterSupport, Code, CompiledPolicy, Dialect};
use kubewright_value::Document;

use crate::{is_kind_in_group, text_field};

/// The name that starts every rule id.
const NAME: &str = "vpol";

pub(crate) const GROUP: &str = "policies.kyverno.io/";
const KIND: &str = "ValidatingPolicy";
const NAMESPACED_KIND: &str = "NamespacedValidatingPolicy";
const KINDS: [&str; 2] = [KIND, NAMESPACED_KIND];

/// The dialect of ValidatingPolicies.
pub struct ValidatingPolicies {
    environments: Environments,
    exceptions: Vec<exceptions::CompiledPolicyException>,
}

impl ValidatingPolicies {
    /// Returns the dialect with the PolicyExceptions among `exceptions`, for functions that see `inputs`.
    #[must_use]
    pub fn new(exceptions: &[Document], inputs: Inputs) -> Self {
        let environments = Environments::policies(inputs);
        let exceptions = exceptions::load_policy_exceptions(&environments, exceptions);
        Self { environments, exceptions }
    }
}

impl Dialect for ValidatingPolicies {
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
        compile::compile_validating_policy(&self.environments, &self.exceptions, document)
    }

    fn cluster_support(&self) -> Option<&dyn ClusterSupport> {
        Some(self)
    }

    /// Those of [`crate::ValidatingAdmissionPolicies`], which are reported there.
    fn codes(&self) -> &'static [&'static Code] {
        &[]
    }
}

/// Returns whether `document` makes exceptions from ValidatingPolicies.
pub(crate) fn is_policy_exception(document: &Document) -> bool {
    is_kind_in_group(document, GROUP, &["PolicyException"])
}
