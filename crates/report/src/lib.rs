//! Reports: what rules and patterns said about objects, and one renderer for each output format.
//!
//! A [`Report`] is what one command found: object rows, findings, diagnostics or test cases, with totals. A
//! [`Renderer`] writes a report in one format, whichever command made it; [`FORMATS`] has a row for each. The crate
//! knows neither the command line nor a cluster, so that the binary, the webhook server and a page share it.
//!
//! [`suppression`] decides which findings an object's annotations take out of the count, [`ignores`] which outcomes the
//! comments of a manifest do. [`trace`] turns traces into
//! JSON as `docs/trace.schema.json` describes it.

mod annotation;
mod cases;
pub mod cluster_report;
mod findings;
pub mod ignores;
mod objects;
mod paint;
pub mod policy_plugin;
mod positions;
pub mod render;
mod report;
mod severity;
pub mod text;
pub mod trace;
mod why;

pub(crate) use annotation::Fingerprints;
pub use annotation::{Annotation, AnnotationLevel};
pub use cases::{
    CaseRule, CoverageSummary, CoveredRule, RuleBranchCoverage, TestCaseResult, TestFileResult, TestResults,
    UncoveredBranch,
};
pub use findings::{
    FindingContext, FindingOptions, FindingRow, PATTERN_LEVELS, PatternRun, ReportedFindings, is_shipped,
    object_label, shipped_page, shipped_source, shown_diagnostics,
};
pub use kubewright_patterns::suppression;
pub use kubewright_value::text::shell_word;
pub use objects::{
    FilePosition, ObjectReview, ObjectRow, OutcomeCounts, OutcomeRow, OutcomeSuppression, RenderedPlace,
    SuppressionOrigin, UnmatchedRules, path_text,
};
pub use paint::{Paint, shorten_visible, status_mark, visible};
pub use positions::ObjectPositions;
pub use render::{
    Columns, FORMATS, Renderer, ReportContent, ReportFormat, ReportWriter, TableDetail, TableOptions,
};
pub use report::{LintTotals, Report, Results, Totals};
pub use severity::Severity;
pub use why::{WhyInputs, why_command};

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
