//! Policies in CEL: the API server's own ValidatingAdmissionPolicy, and ValidatingPolicy with its exceptions.
//!
//! Both say the same things in the same words; they differ in what surrounds them. How this differs from Kyverno
//! and from the API server, and why, is in `docs/dialects/admission.md`.

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

mod autogen;
mod check;
mod compile;
mod diagnostics;
mod evaluate;
mod exceptions;
mod extract;
mod matching;
mod source;

use kubewright_cel::Inputs;
use kubewright_cel_rules::Environments;
use kubewright_engine::{Code, Compiled, Diagnostic, Dialect, Rule, RuleId};
use kubewright_value::{Document, Value};

const GROUP: &str = "policies.kyverno.io/";
const NATIVE_GROUP: &str = "admissionregistration.k8s.io/";
const KIND: &str = "ValidatingPolicy";
const NAMESPACED_KIND: &str = "NamespacedValidatingPolicy";
const KINDS: [&str; 2] = [KIND, NAMESPACED_KIND];

/// ValidatingAdmissionPolicy, as the API server has it.
pub struct Native {
    environments: Environments,
}

impl Native {
    /// The name that starts every rule id.
    pub const NAME: &'static str = "vap";

    /// Returns the dialect.
    #[must_use]
    pub fn new() -> Self {
        Self { environments: Environments::admission() }
    }
}

impl Default for Native {
    fn default() -> Self {
        Self::new()
    }
}

impl Dialect for Native {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn claims(&self, document: &Document) -> bool {
        is(document, NATIVE_GROUP, &["ValidatingAdmissionPolicy"])
    }

    fn is_meant(&self, document: &Document) -> bool {
        ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"].contains(&field(document, "kind"))
    }

    fn is_companion(&self, document: &Document) -> bool {
        is(document, NATIVE_GROUP, &["ValidatingAdmissionPolicyBinding"])
    }

    fn compile(&self, document: &Document, beside: &[Document]) -> Compiled {
        compile::native(&self.environments, document, beside)
    }

    fn check_companions(&self, companions: &[Document], rules: &[Rule]) -> Vec<Diagnostic> {
        compile::check_bindings(companions, rules)
    }

    fn codes(&self) -> &'static [&'static Code] {
        diagnostics::CODES
    }
}

/// ValidatingPolicy and NamespacedValidatingPolicy.
pub struct Policies {
    environments: Environments,
    exceptions: Vec<exceptions::Exception>,
}

impl Policies {
    /// The name that starts every rule id.
    pub const NAME: &'static str = "vpol";

    /// Returns the dialect with the PolicyExceptions among `exceptions`, for functions that see `inputs`.
    #[must_use]
    pub fn new(exceptions: &[Document], inputs: Inputs) -> Self {
        let environments = Environments::policies(inputs);
        let exceptions = exceptions::load(&environments, exceptions);
        Self { environments, exceptions }
    }
}

impl Dialect for Policies {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn claims(&self, document: &Document) -> bool {
        is(document, GROUP, &KINDS)
    }

    fn is_meant(&self, document: &Document) -> bool {
        KINDS.contains(&field(document, "kind"))
    }

    fn compile(&self, document: &Document, _beside: &[Document]) -> Compiled {
        compile::policy(&self.environments, &self.exceptions, document)
    }

    /// The other dialect of this folder has the same.
    fn codes(&self) -> &'static [&'static Code] {
        &[]
    }
}

/// Returns whether `document` makes exceptions from ValidatingPolicies.
#[must_use]
pub fn is_exception(document: &Document) -> bool {
    is(document, GROUP, &["PolicyException"])
}

/// Returns what is wrong with documents that make exceptions from `rules`.
pub fn check_exceptions<'r>(
    exceptions: &[Document],
    rules: impl Iterator<Item = &'r RuleId>,
) -> Vec<Diagnostic> {
    exceptions::check(exceptions, rules)
}

fn is(document: &Document, group: &str, kinds: &[&str]) -> bool {
    field(document, "apiVersion").starts_with(group) && kinds.contains(&field(document, "kind"))
}

fn field<'d>(document: &'d Document, key: &str) -> &'d str {
    document.value.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
