//! The registry of the rule languages kubewright reads. Each is a crate with the same stages: `source.rs` (the typed
//! document), `compile.rs` (to rules, with diagnostics), `evaluate.rs`.
//!
//! Adding one is its crate and one line in [`all`].

mod load;

pub use kubewright_dialect_kit::bounded::compile;
pub use kubewright_gotemplate::{Inputs, KeySource};
pub use load::{Loaded, codes, load, load_within};

use kubewright_admission::{ValidatingAdmissionPolicies, ValidatingPolicies};
use kubewright_engine::{Diagnostic, Dialect, RuleId};
use kubewright_kyverno::Kyverno;
use kubewright_modrule::{ModRule, ModRuleOptions};
use kubewright_patterns::PatternDialect;
use kubewright_traits::{TraitOptions, Traits};
use kubewright_value::Document;

/// What the caller decides for the dialects.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The time, randomness and keys that functions see.
    pub inputs: Inputs,
    /// Documents that make exceptions from rules.
    pub exceptions: Vec<Document>,
    /// What is decided about ModRules.
    pub modrule: ModRuleOptions,
    /// What is decided about traits.
    pub traits: TraitOptions,
}

/// Returns the programs that [`ModRuleOptions::compatible_with`] can name.
#[must_use]
pub fn compatible_programs() -> Vec<&'static str> {
    vec![kubewright_modrule::PROGRAM]
}

/// Returns whether `document` makes exceptions from rules.
#[must_use]
pub fn is_exception(document: &Document) -> bool {
    kubewright_kyverno::is_exception(document) || kubewright_admission::is_exception(document)
}

/// Returns what is wrong with documents that make exceptions from `rules`.
pub fn check_exceptions<'r>(
    exceptions: &[Document],
    rules: impl Iterator<Item = &'r RuleId> + Clone,
) -> Vec<Diagnostic> {
    if exceptions.is_empty() {
        return Vec::new();
    }
    let mut diagnostics = kubewright_kyverno::check_exceptions(exceptions, rules.clone());
    diagnostics.extend(kubewright_admission::check_exceptions(exceptions, rules));
    diagnostics
}

/// Returns every dialect.
#[must_use]
pub fn all(options: &Options) -> Vec<Box<dyn Dialect>> {
    let Options { inputs, exceptions, modrule, traits } = options;
    let kyverno =
        Kyverno::new(exceptions, *inputs).with_admission_policies(kubewright_convert::write_admission_policy);
    vec![
        Box::new(ModRule::new(modrule, *inputs)),
        Box::new(kyverno),
        Box::new(ValidatingAdmissionPolicies::new()),
        Box::new(ValidatingPolicies::new(exceptions, *inputs)),
        Box::new(Traits::new(traits)),
        Box::new(PatternDialect),
    ]
}

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
