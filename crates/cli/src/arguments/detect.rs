//! Arguments of `detect`.

use clap::{Args, ValueEnum};
use kubewright_engine::nearest_word;
use kubewright_patterns::Level;
use kubewright_report::PATTERN_LEVELS;

use super::listed::{finding_formats, level_names, listed, listed_texts, pattern_names, threshold_names};
use super::{InputArguments, ProjectArguments};
use crate::output::{Output, ReportContent, finding_output, output_help};

/// Finds patterns and smells in a set of objects.
#[derive(Debug, Args)]
#[command(after_help = "\
Severities, from the least: INFO, LOW, MEDIUM, WARNING, HIGH, CRITICAL. An object suppresses findings about it:
the annotation `kubewright.dev/ignore-patterns` lists names of patterns, and `kubewright.dev/ignore-reason` says why.

Examples:
  kubewright detect -r examples/pattern/shop.yaml
  kubewright detect examples/pattern/two-writers.yaml -r examples/pattern/shop.yaml -o json
  kubectl get all,ingress,configmap,secret,pvc,sa,networkpolicy -A -o yaml | kubewright detect -r -
  kubewright detect --list

Exit codes: 0 nothing found, 1 something found (see --fail-on), 2 bad input")]
pub(crate) struct DetectArguments {
    /// Patterns: files, folders, globs, or names of built-in patterns; `-` is standard input [default: all built-in
    /// patterns]
    #[arg(value_name = "PATTERNS")]
    pub(crate) patterns: Vec<String>,

    /// Objects: a file, folder, glob, chart, kustomization or `cluster:`; a List is replaced by its items; `-` is standard
    /// input; may be repeated [default: those of the project]
    #[arg(short, long, alias = "resource", value_name = "RESOURCES")]
    pub(crate) resources: Vec<String>,

    /// References of custom kinds, in addition to those among PATTERNS: a file or folder; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) references: Vec<String>,

    #[command(flatten)]
    pub(crate) inputs: InputArguments,

    #[arg(
        short,
        long = "output",
        value_name = "FORMAT[=FILE]",
        value_parser = listed(finding_formats, finding_output),
        hide_possible_values = true,
        help = output_help(ReportContent::Findings)
    )]
    pub(crate) outputs: Vec<Output>,

    /// Only this pattern, with `*` and `?` as wildcards; may be repeated
    #[arg(long = "pattern", alias = "rule", value_name = "NAME", value_parser = listed_texts(pattern_names), hide_possible_values = true)]
    pub(crate) only: Vec<String>,

    /// Not this pattern, with `*` and `?` as wildcards; may be repeated
    #[arg(long = "exclude-pattern", alias = "skip-rule", value_name = "NAME", value_parser = listed_texts(pattern_names), hide_possible_values = true)]
    pub(crate) excluded: Vec<String>,

    /// Only patterns of this category; may be repeated
    #[arg(long = "category", value_name = "NAME")]
    pub(crate) categories: Vec<String>,

    /// Only patterns of at least this severity
    #[arg(long, value_name = "LEVEL", value_parser = listed(level_names, parse_level), hide_possible_values = true)]
    pub(crate) severity: Option<Level>,

    /// Only leaders in this namespace; relationships still cover all objects. May be repeated
    #[arg(short, long = "namespace", value_name = "NAMESPACE")]
    pub(crate) namespaces: Vec<String>,

    /// Only leaders in files that differ from this commit of git, or that git does not know; relationships still cover all objects
    #[arg(long, value_name = "REF")]
    pub(crate) since: Option<String>,

    /// Exit with 1 only for findings of at least this severity; `never` for none [default: everything above INFO]
    #[arg(long, value_name = "LEVEL", value_parser = listed(threshold_names, parse_threshold), hide_possible_values = true, default_value = "low", hide_default_value = true)]
    pub(crate) fail_on: Threshold,

    /// Also show suppressed findings
    #[arg(long)]
    pub(crate) show_suppressed: bool,

    /// Show every finding: of a pattern with more than 10, the table shows 5 and counts the others
    #[arg(long)]
    pub(crate) all: bool,

    /// List the patterns instead
    #[arg(long)]
    pub(crate) list: bool,

    /// Treat warnings about patterns as errors
    #[arg(long)]
    pub(crate) strict: bool,

    /// Read patterns like another program: `registry` ignores a threshold that no object can reach
    #[arg(long, value_enum, value_name = "WHAT", hide_possible_values = true)]
    pub(crate) compat: Option<CompatMode>,

    /// The maximum number of findings per leader
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) max_per_leader: usize,

    /// The maximum number of findings per pattern
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) max_per_pattern: usize,

    /// The maximum number of witnesses listed per role
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) witnesses: usize,

    /// The namespace of resources that `-o k8spattern` and `-o smell` write
    #[arg(long, value_name = "NAMESPACE", default_value = "pattern-analysis-ns")]
    pub(crate) target_namespace: String,

    /// Put these resources in the namespace of the objects they are about
    #[arg(long)]
    pub(crate) save_in_namespace: bool,

    #[command(flatten)]
    pub(crate) project: ProjectArguments,

    /// Print only findings that make the command exit with 1
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Programs whose behaviour can be followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompatMode {
    /// A threshold that no object can reach is ignored.
    Registry,
}

/// The lowest severity that counts as a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Threshold(Option<Level>);

impl Threshold {
    /// Everything above INFO.
    #[cfg(feature = "serve")]
    pub(crate) const ABOVE_INFO: Self = Self(Some(Level::Low));

    /// Returns the least severe failure, if there is any.
    pub(crate) fn least(self) -> Option<Level> {
        self.0
    }
}

pub(super) fn parse_level(text: &str) -> Result<Level, String> {
    if let Some(level) = PATTERN_LEVELS.into_iter().find(|level| level.name().eq_ignore_ascii_case(text)) {
        return Ok(level);
    }
    let names = PATTERN_LEVELS.map(|level| level.name().to_lowercase());
    Err(match nearest_word(text, names.iter().map(String::as_str)) {
        Some(near) => format!("there is no such severity; did you mean `{near}`?"),
        None => format!("there is no such severity; use one of {}", names.join(", ")),
    })
}

pub(crate) fn parse_threshold(text: &str) -> Result<Threshold, String> {
    if text.eq_ignore_ascii_case("never") {
        Ok(Threshold(None))
    } else {
        parse_level(text).map(|least| Threshold(Some(least)))
    }
}
