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

use kubewright_engine::PolicyRule;
use kubewright_value::Document;

use crate::is_kind_in_group;
use crate::policies::{POLICY_GROUP_PREFIX, PolicyLanguage, watched_policies};

/// The name that starts every rule id.
const NAME: &str = "vpol";

/// The kind of the whole cluster.
const KIND: &str = "ValidatingPolicy";

/// The dialect of ValidatingPolicies.
pub(crate) const LANGUAGE: PolicyLanguage = PolicyLanguage {
    name: NAME,
    watched: watched_policies([
        (KIND, "validatingpolicies"),
        ("NamespacedValidatingPolicy", "namespacedvalidatingpolicies"),
    ]),
    component: "kyverno-admission",
    compile: |surroundings, document| {
        compile::compile_validating_policy(&surroundings.environments, &surroundings.exceptions, document)
    },
    policy_rules: &[PolicyRule {
        group: "authorization.k8s.io",
        resources: &["subjectaccessreviews"],
        verbs: &["create"],
        why: "permission checks in rules; nothing is stored",
    }],
    checks_exceptions: true,
    claims_webhook: false,
    missing_access: None,
};

/// Returns whether `document` makes exceptions from ValidatingPolicies.
pub(crate) fn is_policy_exception(document: &Document) -> bool {
    is_kind_in_group(document, POLICY_GROUP_PREFIX, &["PolicyException"])
}
