//! The fuzz targets. Adding a target takes one file in `targets/`, its `mod` and its line here.

mod admission;
mod api_path;
mod cel_eval;
mod cel_parse;
mod cel_policy;
mod certificates;
mod goregex;
mod gotemplate;
mod graph;
mod interpolate;
mod jmespath;
mod json;
mod jsonpath;
mod kyverno;
mod list_splitter;
mod made_modrule;
mod made_pattern;
mod made_policy;
mod made_trait;
mod manifests;
mod modrule;
mod page_body;
mod patch;
mod pathpatch;
mod pattern_compile;
mod pattern_detect;
mod review;
mod shorthand;
mod signatures;
mod strategic;
mod structured;
mod traits;
mod yaml;
mod yaml_write;

use std::sync::LazyLock;

use kubewright_dialects::{DialectOptions, all_dialects, load_documents};
use kubewright_engine::{Decision, Dialect, Rule, RuleOutcome};
use kubewright_value::Document;

use crate::dictionary::FuzzDictionary;
pub(crate) use cel_parse::ENVIRONMENT as CEL_ENVIRONMENT;

/// A fuzz target.
pub struct FuzzTarget {
    /// Its name on the command line.
    pub name: &'static str,
    /// Panics when something is wrong; returns in all other cases, also for invalid inputs.
    pub run: fn(&[u8]),
    /// The inputs that mutation starts from.
    pub seeds: &'static [&'static str],
    /// The languages whose words are inserted now and then.
    pub dictionaries: &'static [FuzzDictionary],
    /// More words to insert.
    pub words: &'static [&'static str],
}

/// Compiles the rules of any language among `documents`. The dialects depend on no input, and to make them takes longer
/// than to judge most inputs.
pub(crate) fn load_rules(documents: &[Document]) -> Vec<Rule> {
    static DIALECTS: LazyLock<Vec<Box<dyn Dialect>>> =
        LazyLock::new(|| all_dialects(&DialectOptions::default()));
    load_documents(&DIALECTS, documents).rules
}

/// Returns what each rule that was evaluated says, but for what only a trace shows.
pub(crate) fn judged_rows(decision: &Decision) -> Vec<String> {
    let rows = decision.outcomes.iter().filter(|outcome| outcome.is_judged && !outcome.is_trace_only);
    rows.map(outcome_row).collect()
}

/// Returns what a rule says, in one line.
pub(crate) fn outcome_row(outcome: &RuleOutcome) -> String {
    format!("{} {} {}", outcome.rule, outcome.status, outcome.message)
}

/// Choices for a grammar, some of them many.
const GRAMMAR_SEEDS: &[&str] = &[
    "",
    "\u{1}\u{2}\u{3}\u{4}\u{5}\u{6}\u{7}\u{8}\t\n\u{b}",
    "abcdefghijklmnopqrstuvwxyz0123456789",
    "zyxwvutsrqponmlkjihgfedcba9876543210zyxwvutsrqponmlkjihgfedcba9876543210",
];

/// All targets.
pub const TARGETS: &[FuzzTarget] = &[
    json::TARGET,
    list_splitter::TARGET,
    yaml::TARGET,
    yaml_write::TARGET,
    jsonpath::TARGET,
    jmespath::TARGET,
    cel_parse::TARGET,
    cel_eval::TARGET,
    cel_policy::TARGET,
    gotemplate::TARGET,
    interpolate::TARGET,
    certificates::TARGET,
    goregex::TARGET,
    patch::TARGET,
    pathpatch::TARGET,
    strategic::TARGET,
    modrule::TARGET,
    kyverno::TARGET,
    admission::TARGET,
    manifests::TARGET,
    signatures::TARGET,
    shorthand::TARGET,
    structured::TARGET,
    traits::TARGET,
    pattern_compile::TARGET,
    pattern_detect::TARGET,
    graph::TARGET,
    api_path::TARGET,
    page_body::TARGET,
    review::TARGET,
    made_policy::TARGET,
    made_modrule::TARGET,
    made_pattern::TARGET,
    made_trait::TARGET,
];

/// Returns the target of that name.
///
/// # Errors
///
/// There is none.
pub fn find_target(name: &str) -> Result<&'static FuzzTarget, String> {
    let names = || TARGETS.iter().map(|target| format!("`{}`", target.name)).collect::<Vec<_>>().join(", ");
    TARGETS
        .iter()
        .find(|target| target.name == name)
        .ok_or_else(|| format!("unknown target `{name}`; there are {}", names()))
}
