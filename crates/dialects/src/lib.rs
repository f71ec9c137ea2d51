//! The registry of the rule languages kubewright reads. Each is a crate with the same stages: `source.rs` (the typed
//! document), `compile.rs` (to rules, with diagnostics), `evaluate.rs`.
//!
//! Adding one is its crate and one line in [`all_dialects`].

mod exceptions;
mod load;
mod typos;

pub use exceptions::{AdmittedExceptions, admitted_exceptions};
pub use kubewright_admission::is_missing_binding;
pub use kubewright_dialect_kit::bounded::compile_within_budget;
pub use kubewright_golib::compile_budget::SharedRegexes;
pub use kubewright_gotemplate::{Inputs, KeySource};
pub use kubewright_traits::{is_trait_resource, lint_together as lint_traits_together};
pub use load::{
    DocumentRole, LoadedRules, compile_document, document_role, duplicate_rules, list_documents,
    load_documents, load_documents_within, load_rules_sharing, rule_file_codes, run_in_given_order,
};

use kubewright_admission::{MutatingAdmissionPolicies, ValidatingAdmissionPolicies, policy_dialects};
use kubewright_engine::{Diagnostic, Dialect, RuleId};
use kubewright_kyverno::Kyverno;
use kubewright_modrule::{ModRule, ModRuleOptions};
use kubewright_patterns::PatternDialect;
use kubewright_traits::{TraitOptions, Traits};
use kubewright_value::Document;

/// The options of the dialects.
#[derive(Debug, Clone, Default)]
pub struct DialectOptions {
    /// The time, randomness and keys that functions see.
    pub inputs: Inputs,
    /// Documents that make exceptions from rules.
    pub exceptions: Vec<Document>,
    /// The options of ModRules.
    pub modrule: ModRuleOptions,
    /// The options of traits.
    pub traits: TraitOptions,
    /// Whether only rules and errors are asked for. Warnings, and what policies need in a cluster, may then be left out.
    pub rules_only: bool,
}

/// Returns the programs that [`ModRuleOptions::compatible_with`] can name.
#[must_use]
pub fn compatible_programs() -> Vec<&'static str> {
    vec![kubewright_modrule::PROGRAM_NAME]
}

/// Returns whether `document` makes exceptions from rules.
#[must_use]
pub fn is_exception_document(document: &Document) -> bool {
    kubewright_kyverno::is_exception(document)
        || kubewright_admission::is_validating_policy_exception(document)
}

/// Returns the diagnostics of exception documents for `rules`.
pub fn check_all_exceptions<'r>(
    exceptions: &[Document],
    rules: impl Iterator<Item = &'r RuleId> + Clone,
) -> Vec<Diagnostic> {
    if exceptions.is_empty() {
        return Vec::new();
    }
    let mut diagnostics = kubewright_kyverno::check_exceptions(exceptions, rules.clone());
    diagnostics.extend(kubewright_admission::check_validating_policy_exceptions(exceptions, rules));
    diagnostics
}

/// Returns every dialect.
#[must_use]
pub fn all_dialects(options: &DialectOptions) -> Vec<Box<dyn Dialect>> {
    let DialectOptions { inputs, exceptions, modrule, traits, rules_only } = options;
    let kyverno = Kyverno::new(exceptions, *inputs)
        .with_admission_policies(kubewright_convert::write_admission_policy)
        .with_rules_only(*rules_only);
    let [validating, mutating, generating, deleting, image_validating] =
        policy_dialects(exceptions, *inputs, *rules_only);
    vec![
        Box::new(ModRule::new(modrule, *inputs)),
        Box::new(kyverno),
        Box::new(ValidatingAdmissionPolicies::new()),
        Box::new(validating),
        Box::new(MutatingAdmissionPolicies::new()),
        Box::new(mutating),
        Box::new(generating),
        Box::new(deleting),
        Box::new(image_validating),
        Box::new(Traits::new(traits)),
        Box::new(PatternDialect),
    ]
}

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
