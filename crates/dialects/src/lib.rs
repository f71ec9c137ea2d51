//! The rule languages kubewright reads, each a folder with the same stages:
//! `source.rs` (the typed document), `compile.rs` (to rules, with diagnostics), `evaluate.rs`.
//!
//! Adding one is its folder and two lines here. `cel` is what several of them say in the same words.

#[macro_use]
mod codes;
pub mod admission;
mod bounded;
mod cel;
pub mod convert;
mod fields;
pub mod kyverno;
mod load;
pub mod modrule;
mod notes;
pub mod patterns;
mod secrets;
mod selector;
mod trace;
pub mod traits;
mod workload;

pub use bounded::compile;
pub use kubewright_lang::gotemplate::KeySource;
pub use kyverno::signing;
pub use load::{Loaded, codes, load, load_within};

use kubewright_engine::{Diagnostic, Dialect, RuleId};
use kubewright_value::{Document, Text};

/// What the caller decides for every dialect.
#[derive(Debug, Clone)]
pub struct Options {
    /// Rules in this namespace are about the whole cluster.
    pub cluster_rules_namespace: Text,
    /// The namespace of rules that name none; without it they are about every namespace.
    pub default_namespace: Option<Text>,
    /// Template functions that are refused unless they are named here.
    pub allowed_functions: Vec<String>,
    /// The time that an allowed function sees, in nanoseconds since 1970.
    pub now: Option<i128>,
    /// The randomness that an allowed function sees.
    pub random_seed: Option<u64>,
    /// What an allowed function makes keys and certificates from.
    pub keys: Option<KeySource>,
    /// Documents that make exceptions from rules.
    pub exceptions: Vec<Document>,
    /// Whether a request is refused when a rule that could refuse it cannot answer, in languages that let it pass then.
    pub fails_closed: bool,
    /// Changes of the list of resources that rules are asked about in a cluster: `+name` or `-name`, or the whole list.
    pub targets: Vec<String>,
    /// Whether what does more each time that it is done is told.
    pub checks_idempotence: bool,
    /// Programs that are followed where they and the documentation of their rule language disagree.
    pub compatible_with: Vec<String>,
}

/// Returns the programs that [`Options::compatible_with`] can name.
#[must_use]
pub fn compatible_programs() -> Vec<&'static str> {
    vec![modrule::PROGRAM]
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cluster_rules_namespace: modrule::CLUSTER_NAMESPACE.into(),
            default_namespace: None,
            allowed_functions: Vec::new(),
            now: None,
            random_seed: None,
            keys: None,
            exceptions: Vec::new(),
            fails_closed: false,
            targets: Vec::new(),
            checks_idempotence: false,
            compatible_with: Vec::new(),
        }
    }
}

/// Returns whether `document` makes exceptions from rules.
#[must_use]
pub fn is_exception(document: &Document) -> bool {
    kyverno::is_exception(document) || admission::is_exception(document)
}

/// Returns what is wrong with documents that make exceptions from `rules`.
pub fn check_exceptions<'r>(
    exceptions: &[Document],
    rules: impl Iterator<Item = &'r RuleId> + Clone,
) -> Vec<Diagnostic> {
    if exceptions.is_empty() {
        return Vec::new();
    }
    let mut diagnostics = kyverno::check_exceptions(exceptions, rules.clone());
    diagnostics.extend(admission::check_exceptions(exceptions, rules));
    diagnostics
}

/// Returns every dialect.
#[must_use]
pub fn all(options: &Options) -> Vec<Box<dyn Dialect>> {
    vec![
        Box::new(modrule::ModRule::new(options)),
        Box::new(kyverno::Kyverno::new(options)),
        Box::new(admission::Native::new()),
        Box::new(admission::Policies::new(options)),
        Box::new(traits::Traits::new(options)),
        Box::new(patterns::PatternDialect),
    ]
}
