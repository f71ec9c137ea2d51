//! DeletingPolicy and NamespacedDeletingPolicy: objects that are deleted by schedule.

mod compile;
mod evaluate;
mod source;

use crate::policies::{PolicyLanguage, watched_policies};

/// The name that starts every rule id.
const NAME: &str = "dpol";

/// The dialect of DeletingPolicies.
pub(crate) const LANGUAGE: PolicyLanguage = PolicyLanguage {
    name: NAME,
    watched: watched_policies([
        ("DeletingPolicy", "deletingpolicies"),
        ("NamespacedDeletingPolicy", "namespaceddeletingpolicies"),
    ]),
    component: "kyverno-cleanup",
    compile: |surroundings, document| {
        compile::compile_deleting_policy(&surroundings.environments, &surroundings.exceptions, document)
    },
    policy_rules: &[],
    checks_exceptions: false,
    claims_webhook: false,
    // Kyverno stores such a policy and deletes nothing.
    missing_access: Some(&crate::diagnostics::DELETIONS_NOT_PERMITTED),
};

#[cfg(test)]
mod tests;
