//! Policies in CEL: the API server's own ValidatingAdmissionPolicy, and ValidatingPolicy with its exceptions.
//!
//! Both say the same things in the same words; they differ in what surrounds them. How this differs from Kyverno
//! and from the API server, and why, is in `docs/dialects/admission.md`.

mod check;
mod diagnostics;
mod draft;
mod evaluate;
mod matching;
mod source;
mod vap;
mod vpol;

pub use vap::ValidatingAdmissionPolicies;
pub use vpol::ValidatingPolicies;

use kubewright_engine::{Diagnostic, RuleId};
use kubewright_value::{Document, Value};

/// Returns whether `document` makes exceptions from ValidatingPolicies.
#[must_use]
pub fn is_exception(document: &Document) -> bool {
    vpol::is_exception(document)
}

/// Returns what is wrong with documents that make exceptions from `rules`.
pub fn check_exceptions<'r>(
    exceptions: &[Document],
    rules: impl Iterator<Item = &'r RuleId>,
) -> Vec<Diagnostic> {
    vpol::exceptions::check(exceptions, rules)
}

fn is(document: &Document, group: &str, kinds: &[&str]) -> bool {
    field(document, "apiVersion").starts_with(group) && kinds.contains(&field(document, "kind"))
}

fn field<'d>(document: &'d Document, key: &str) -> &'d str {
    document.value.get(key).and_then(Value::as_str).unwrap_or_default()
}

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

#[cfg(test)]
mod tests;
