//! ImageValidatingPolicy and NamespacedImageValidatingPolicy: validations in CEL about the images of an object.

mod cluster;
mod compile;
mod digests;
mod evaluate;
mod source;

use kubewright_cel::Inputs;
use kubewright_cel_rules::Environments;
use kubewright_engine::{ClusterSupport, Code, CompiledPolicy, Dialect};
use kubewright_value::Document;

use crate::vpol::exceptions::{CompiledPolicyException, load_policy_exceptions};
use crate::{is_kind_in_group, text_field, vpol};

/// The name that starts every rule id.
const NAME: &str = "ivpol";

const KINDS: [&str; 2] = ["ImageValidatingPolicy", "NamespacedImageValidatingPolicy"];

/// The dialect of ImageValidatingPolicies.
pub struct ImageValidatingPolicies {
    inputs: Inputs,
    exceptions: Vec<CompiledPolicyException>,
}

impl ImageValidatingPolicies {
    /// Returns the dialect with the PolicyExceptions among `exceptions`, for functions that see `inputs`.
    #[must_use]
    pub fn new(exceptions: &[Document], inputs: Inputs) -> Self {
        let exceptions = load_policy_exceptions(&Environments::policies(inputs), exceptions);
        Self { inputs, exceptions }
    }
}

impl Dialect for ImageValidatingPolicies {
    fn name(&self) -> &'static str {
        NAME
    }

    fn claims(&self, document: &Document) -> bool {
        is_kind_in_group(document, vpol::GROUP, &KINDS)
    }

    fn looks_like(&self, document: &Document) -> bool {
        KINDS.contains(&text_field(document, "kind"))
    }

    fn compile(&self, document: &Document, _auxiliaries: &[Document]) -> CompiledPolicy {
        compile::compile_image_policy(self.inputs, &self.exceptions, document)
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
