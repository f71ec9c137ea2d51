//! Policies in CEL: the API server's own ValidatingAdmissionPolicy and MutatingAdmissionPolicy; and ValidatingPolicy,
//! MutatingPolicy, GeneratingPolicy and DeletingPolicy with their exceptions.
//!
//! They say the same things in the same words, and differ in what surrounds them and in what they do. How this differs from Kyverno
//! and from the API server, and why, is in `docs/dialects/admission.md`.

mod bindings;
mod check;
mod diagnostics;
mod dpol;
mod draft;
mod evaluate;
mod gpol;
mod ivpol;
mod map;
mod matching;
mod mpol;
mod mutate;
mod native;
mod policies;
mod source;
mod vap;
mod vpol;

pub use map::MutatingAdmissionPolicies;
pub use policies::{PolicyDialect, policy_dialects};
pub use vap::ValidatingAdmissionPolicies;

use kubewright_engine::{Code, Diagnostic, RuleId};
use kubewright_value::Document;

/// Returns whether `document` makes exceptions from ValidatingPolicies.
#[must_use]
pub fn is_validating_policy_exception(document: &Document) -> bool {
    vpol::is_policy_exception(document)
}

/// Returns the diagnostics of exception documents for `rules`.
pub fn check_validating_policy_exceptions<'r>(
    exceptions: &[Document],
    rules: impl Iterator<Item = &'r RuleId>,
) -> Vec<Diagnostic> {
    vpol::exceptions::check_policy_exceptions(exceptions, rules)
}

/// Returns whether `code` says that a policy has no binding, so that it does nothing in a cluster.
#[must_use]
pub fn is_missing_binding(code: &Code) -> bool {
    code.id == diagnostics::UNBOUND.id
}

fn is_kind_in_group(document: &Document, group: &str, kinds: &[&str]) -> bool {
    text_field(document, "apiVersion").starts_with(group) && kinds.contains(&text_field(document, "kind"))
}

fn text_field<'d>(document: &'d Document, key: &str) -> &'d str {
    document.value.str_at(&[key])
}

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

#[cfg(test)]
mod tests;
