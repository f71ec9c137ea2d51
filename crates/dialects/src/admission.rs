//! Policies in CEL: the API server's own ValidatingAdmissionPolicy, and ValidatingPolicy with its exceptions.
//!
//! Both say the same things in the same words; they differ in what surrounds them. How this differs from Kyverno
//! and from the API server, and why, is in `docs/dialects/admission.md`.

mod autogen;
mod check;
mod compile;
mod diagnostics;
mod evaluate;
mod exceptions;
mod extract;
mod matching;
mod source;

use kubewright_engine::{Code, CompiledPolicy, Diagnostic, Dialect, Rule, RuleId};
use kubewright_value::{Document, Value};

use crate::Options;
use crate::cel::Environments;

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

    fn looks_like(&self, document: &Document) -> bool {
        ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"].contains(&field(document, "kind"))
    }

    fn is_auxiliary(&self, document: &Document) -> bool {
        is(document, NATIVE_GROUP, &["ValidatingAdmissionPolicyBinding"])
    }

    fn compile(&self, document: &Document, auxiliaries: &[Document]) -> CompiledPolicy {
        compile::native(&self.environments, document, auxiliaries)
    }

    fn check_auxiliaries(&self, auxiliaries: &[Document], rules: &[Rule]) -> Vec<Diagnostic> {
        compile::check_bindings(auxiliaries, rules)
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

    /// Returns the dialect as `options` want it.
    #[must_use]
    pub fn new(options: &Options) -> Self {
        let environments = Environments::policies(options);
        let exceptions = exceptions::load(&environments, options);
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

    fn looks_like(&self, document: &Document) -> bool {
        KINDS.contains(&field(document, "kind"))
    }

    fn compile(&self, document: &Document, _auxiliaries: &[Document]) -> CompiledPolicy {
        compile::policy(&self.environments, &self.exceptions, document)
    }

    /// The other dialect of this folder has the same.
    fn codes(&self) -> &'static [&'static Code] {
        &[]
    }
}

/// Returns whether `document` makes exceptions from ValidatingPolicies.
pub(crate) fn is_exception(document: &Document) -> bool {
    is(document, GROUP, &["PolicyException"])
}

/// Returns what is wrong with documents that make exceptions from `rules`.
pub(crate) fn check_exceptions<'r>(
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
