//! Which rules run, on which of the objects, and which outcomes make a command fail.

use clap::Args;
use kubewright_patterns::Level;
use kubewright_report::Severity;

use super::detect::parse_level;

/// The rules that run, out of those that were loaded.
#[derive(Debug, Args, Default, Clone)]
pub(crate) struct RuleSelection {
    /// Not this rule, named as for `--rule`, with `*` and `?` as wildcards; may be repeated
    #[arg(long = "skip-rule", value_name = "NAME")]
    pub(crate) skipped: Vec<String>,

    /// Only rules of at least this severity: info, low, medium, high or critical; a rule that names none is medium
    #[arg(long, value_name = "LEVEL", value_parser = parse_severity)]
    pub(crate) severity: Option<Severity>,

    /// Only rules of this category, with `*` and `?` as wildcards; may be repeated
    #[arg(long = "category", value_name = "NAME")]
    pub(crate) categories: Vec<String>,

    /// Only objects in files that differ from this commit of git, or that git does not know; rules still see all others
    #[arg(long, value_name = "REF")]
    pub(crate) since: Option<String>,

    /// Severities that the project gives to rules.
    #[arg(skip)]
    pub(crate) severities: Vec<(String, Severity)>,
}

impl RuleSelection {
    /// Returns whether some rules or objects are left out, so that an ignore without an effect may have one otherwise.
    pub(crate) fn is_partial(&self, only: &[String]) -> bool {
        let has_names = !only.is_empty() || !self.skipped.is_empty() || !self.categories.is_empty();
        has_names || self.severity.is_some() || self.since.is_some()
    }
}

/// Outcomes that do not count.
#[derive(Debug, Args, Default, Clone)]
pub(crate) struct SuppressionArguments {
    /// Failures that are known and do not count: a file that `--write-baseline` wrote
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<String>,

    /// Write all failures of this run to a baseline, keep the dates and reasons that it has, and exit with 0
    #[arg(long, value_name = "FILE")]
    pub(crate) write_baseline: Option<String>,

    /// Count what comments and annotations of manifests ignore
    #[arg(long)]
    pub(crate) no_ignores: bool,
}

/// Reads a severity, in the words of rules and of patterns.
pub(crate) fn parse_severity(text: &str) -> Result<Severity, String> {
    parse_level(text).map(|level: Level| level.into())
}
