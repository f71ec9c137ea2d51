//! MutatingPolicy and NamespacedMutatingPolicy, with their exceptions.

mod compile;
mod native;
mod source;

use crate::policies::{PolicyLanguage, watched_policies};

/// The name that starts every rule id.
const NAME: &str = "mpol";

/// The dialect of MutatingPolicies.
pub(crate) const LANGUAGE: PolicyLanguage = PolicyLanguage {
    name: NAME,
    watched: watched_policies([
        ("MutatingPolicy", "mutatingpolicies"),
        ("NamespacedMutatingPolicy", "namespacedmutatingpolicies"),
    ]),
    component: "kyverno-admission",
    compile: |surroundings, document| {
        compile::compile_mutating_policy(&surroundings.environments, &surroundings.exceptions, document)
    },
    policy_rules: &[],
    checks_exceptions: false,
    claims_webhook: false,
    missing_access: Some(&crate::diagnostics::MISSING_ACCESS),
};

#[cfg(test)]
mod tests;
