//! Values that a shell can complete although others are allowed too.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command, Error};
use kubewright_graph::EDGE_TYPES;
use kubewright_k8s::BUILT_IN_KINDS;
use kubewright_patterns::shipped::shipped_patterns;
use kubewright_report::{ReportContent, ReportFormat};

/// Reads values with `parse`, and names those that are worth completing.
#[derive(Clone)]
pub(crate) struct ListedValues<T: 'static> {
    names: fn() -> Vec<&'static str>,
    parse: fn(&str) -> Result<T, String>,
}

/// Returns a parser that reads values with `parse` and names those that `names` returns.
pub(crate) fn listed<T>(
    names: fn() -> Vec<&'static str>,
    parse: fn(&str) -> Result<T, String>,
) -> ListedValues<T> {
    ListedValues { names, parse }
}

/// Returns a parser that takes every text and names those that `names` returns.
pub(crate) fn listed_texts(names: fn() -> Vec<&'static str>) -> ListedValues<String> {
    listed(names, |text| Ok(text.to_owned()))
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for ListedValues<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<T, Error> {
        self.parse.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.names)().into_iter().map(PossibleValue::new)))
    }
}

/// Returns the formats of `apply`.
pub(crate) fn object_formats() -> Vec<&'static str> {
    format_names(ReportContent::Objects)
}

/// Returns the formats of `detect`.
pub(crate) fn finding_formats() -> Vec<&'static str> {
    format_names(ReportContent::Findings)
}

/// Returns the formats of `lint`.
pub(crate) fn diagnostic_formats() -> Vec<&'static str> {
    format_names(ReportContent::Diagnostics)
}

/// Returns the formats of `test`.
pub(crate) fn case_formats() -> Vec<&'static str> {
    format_names(ReportContent::Cases)
}

fn format_names(content: ReportContent) -> Vec<&'static str> {
    ReportFormat::for_content(content).map(|format| format.name).collect()
}

/// Returns the built-in patterns.
pub(crate) fn pattern_names() -> Vec<&'static str> {
    shipped_patterns().iter().map(|pattern| pattern.name).collect()
}

/// Returns what `explain` has a page for.
pub(crate) fn page_names() -> Vec<&'static str> {
    let codes = crate::codes::all_codes().into_iter().map(|code| code.id);
    codes.chain(pattern_names()).collect()
}

/// Returns the severities, from the least.
pub(crate) fn level_names() -> Vec<&'static str> {
    vec!["info", "low", "medium", "warning", "high", "critical"]
}

/// Returns the severities from which findings are failures.
pub(crate) fn threshold_names() -> Vec<&'static str> {
    let mut names = level_names();
    names.push("never");
    names
}

/// Returns the kinds of Kubernetes.
pub(crate) fn kind_names() -> Vec<&'static str> {
    let mut kinds: Vec<&str> =
        BUILT_IN_KINDS.iter().flat_map(|(_, _, kinds)| kinds.iter().copied()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// Returns the types of edges.
pub(crate) fn edge_names() -> Vec<&'static str> {
    EDGE_TYPES.iter().map(|edge| edge.name).collect()
}
