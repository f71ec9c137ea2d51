//! Renderers: one file for each output format, for the reports of every command.
//!
//! A renderer gets one object row after the other and keeps only what it must, so that a run over a large folder
//! needs little memory. To add a format, write one file here and one row in [`FORMATS`].

mod cluster_report;
mod coverage;
mod diff;
mod github;
mod gitlab;
mod json;
mod jsonl;
mod junit;
mod kubepattern;
mod markdown;
mod sarif;
mod snippet;
mod table;
mod tree;
mod yaml;

use std::io::{self, Write};

use crate::cluster_report::ReportApi;
use crate::{ObjectRow, Paint, Report};

pub use diff::{DiffRenderer, hunks, masked_secret, object_difference};
pub use json::{
    DOCUMENT_VERSION, diagnostic_value, finding_row_value, findings_document, location_values,
    object_row_value, pattern_value, totals_value,
};
pub use snippet::{DiagnosticCounts, line_window, snippet};
pub use tree::trace_tree;
pub use yaml::yaml_text;

/// Where rendered bytes go.
pub type ReportWriter = Box<dyn Write>;

/// Renders one report.
pub trait Renderer {
    /// Renders the row of one object. Called in the order of the input; `prepared` is what [`ReportFormat::prepare`]
    /// returned for the row.
    ///
    /// # Errors
    /// When it cannot be written.
    fn object(&mut self, row: &ObjectRow, prepared: &str) -> io::Result<()>;

    /// Renders everything but the rows of objects.
    ///
    /// # Errors
    /// When it cannot be written.
    fn finish(&mut self, report: &Report<'_>) -> io::Result<()>;
}

/// What a report may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportContent {
    /// Rows of objects: `apply`.
    Objects,
    /// Findings of patterns: `detect`.
    Findings,
    /// Diagnostics alone: `lint`.
    Diagnostics,
    /// Test cases: `test`.
    Cases,
    /// Rows of objects, and findings of patterns in them: `scan`.
    Scan,
}

/// What renderers need to know of each object.
#[derive(Debug, Clone, Copy, Default)]
pub struct Columns {
    /// A row for each outcome, also where nothing is wrong and nothing changed.
    pub all_outcomes: bool,
    /// The JSON Patch of the whole decision.
    pub patch: bool,
    /// The object before and after.
    pub objects: bool,
    /// The trace.
    pub trace: bool,
    /// Where the objects of test cases that hold were read; those of cases that fail are always shown.
    pub case_places: bool,
}

impl Columns {
    /// Only what is wrong or changed.
    pub const REMARKABLE: Self =
        Self { all_outcomes: false, patch: false, objects: false, trace: false, case_places: false };
    const ALL_OUTCOMES: Self = Self { all_outcomes: true, ..Self::REMARKABLE };
    const OBJECTS: Self = Self { objects: true, case_places: true, ..Self::REMARKABLE };
    const OUTCOMES_AND_PATCH: Self =
        Self { all_outcomes: true, patch: true, case_places: true, ..Self::REMARKABLE };

    /// Returns what either of the two needs.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            all_outcomes: self.all_outcomes || other.all_outcomes,
            patch: self.patch || other.patch,
            objects: self.objects || other.objects,
            trace: self.trace || other.trace,
            case_places: self.case_places || other.case_places,
        }
    }
}

/// How reports are rendered; most of it matters for tables alone.
#[derive(Debug, Clone, Copy)]
pub struct TableOptions {
    /// Colours.
    pub paint: Paint,
    /// Which objects and outcomes are listed.
    pub detail: TableDetail,
    /// How many columns the terminal has; nothing where output is not for a terminal.
    pub width: Option<usize>,
    /// The folder that formats for code hosts write absolute file names relative to; may be empty.
    pub folder: &'static str,
    /// Whether only what is wrong is shown.
    pub is_quiet: bool,
    /// Whether the changes of objects are shown.
    pub has_differences: bool,
}

/// Which objects and outcomes a table lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TableDetail {
    /// What is wrong or changed; of a rule with many failures only the first ones.
    #[default]
    Remarkable,
    /// Every object and every outcome.
    Everything,
    /// No objects, only a row for each rule.
    ByRule,
}

impl Default for TableOptions {
    fn default() -> Self {
        Self {
            paint: Paint::OFF,
            detail: TableDetail::default(),
            width: None,
            folder: "",
            is_quiet: false,
            has_differences: false,
        }
    }
}

/// An output format.
#[derive(Debug)]
pub struct ReportFormat {
    /// Its name on the command line.
    pub name: &'static str,
    /// Which reports it has a form for.
    pub contents: &'static [ReportContent],
    /// What it needs to know of each object.
    pub columns: Columns,
    /// Renders the part of an object's row that needs nothing else, on the thread that reviewed the object.
    pub prepare: fn(&ObjectRow) -> String,
    /// Opens a renderer that writes to the given writer.
    pub open: fn(ReportWriter, TableOptions) -> Box<dyn Renderer>,
}

const ALL: &[ReportContent] = &[
    ReportContent::Objects,
    ReportContent::Findings,
    ReportContent::Diagnostics,
    ReportContent::Cases,
    ReportContent::Scan,
];
/// Everything but whole clusters, which are not written as one stream of objects.
const ALL_BUT_SCANS: &[ReportContent] =
    &[ReportContent::Objects, ReportContent::Findings, ReportContent::Diagnostics, ReportContent::Cases];
/// Reports about objects of a cluster.
const ABOUT_OBJECTS: &[ReportContent] =
    &[ReportContent::Objects, ReportContent::Findings, ReportContent::Scan];
/// Reports about patterns alone.
const ABOUT_PATTERNS: &[ReportContent] = &[ReportContent::Findings, ReportContent::Scan];

/// What test cases exercised.
const COVERAGE: &[ReportContent] = &[ReportContent::Cases];

/// All formats; the first one is the default.
pub static FORMATS: [ReportFormat; 16] = [
    ReportFormat {
        name: "table",
        contents: ALL,
        columns: Columns::REMARKABLE,
        prepare: prepare_nothing,
        open: |out, options| Box::new(table::TableRenderer::new(out, options)),
    },
    ReportFormat {
        name: "json",
        contents: ALL,
        columns: Columns::OUTCOMES_AND_PATCH,
        prepare: json::object_line,
        open: |out, _| Box::new(json::JsonRenderer::new(out)),
    },
    ReportFormat {
        name: "jsonl",
        contents: &[ReportContent::Scan],
        columns: Columns::OUTCOMES_AND_PATCH,
        prepare: jsonl::row_line,
        open: |out, _| Box::new(jsonl::JsonLinesRenderer::new(out)),
    },
    ReportFormat {
        name: "yaml",
        contents: ALL_BUT_SCANS,
        columns: Columns::OBJECTS,
        prepare: prepare_nothing,
        open: |out, _| Box::new(yaml::YamlRenderer::new(out)),
    },
    ReportFormat {
        name: "junit",
        contents: ALL,
        columns: Columns::ALL_OUTCOMES,
        prepare: prepare_nothing,
        open: |out, _| Box::new(junit::JunitRenderer::new(out)),
    },
    ReportFormat {
        name: "sarif",
        contents: ALL,
        columns: Columns::REMARKABLE,
        prepare: prepare_nothing,
        open: |out, options| Box::new(sarif::SarifRenderer::new(out, options.folder)),
    },
    ReportFormat {
        name: "github",
        contents: ALL,
        columns: Columns::REMARKABLE,
        prepare: prepare_nothing,
        open: |out, options| Box::new(github::GithubRenderer::new(out, options.folder)),
    },
    ReportFormat {
        name: "gitlab",
        contents: ALL,
        columns: Columns::REMARKABLE,
        prepare: prepare_nothing,
        open: |out, options| Box::new(gitlab::GitlabRenderer::new(out, options.folder)),
    },
    ReportFormat {
        name: "markdown",
        contents: ALL,
        columns: Columns::REMARKABLE,
        prepare: prepare_nothing,
        open: |out, _| Box::new(markdown::MarkdownRenderer::new(out)),
    },
    ReportFormat {
        name: "policyreport",
        contents: ABOUT_OBJECTS,
        columns: Columns::ALL_OUTCOMES,
        prepare: |row| cluster_report::prepare_reports(ReportApi::WgPolicy, row),
        open: |out, _| Box::new(cluster_report::ClusterReportRenderer::new(out, ReportApi::WgPolicy)),
    },
    ReportFormat {
        name: "openreports",
        contents: ABOUT_OBJECTS,
        columns: Columns::ALL_OUTCOMES,
        prepare: |row| cluster_report::prepare_reports(ReportApi::OpenReports, row),
        open: |out, _| Box::new(cluster_report::ClusterReportRenderer::new(out, ReportApi::OpenReports)),
    },
    ReportFormat {
        name: "k8spattern",
        contents: ABOUT_PATTERNS,
        columns: Columns::REMARKABLE,
        prepare: prepare_nothing,
        open: |out, _| Box::new(kubepattern::ResourceRenderer::k8s_patterns(out)),
    },
    ReportFormat {
        name: "smell",
        contents: ABOUT_PATTERNS,
        columns: Columns::REMARKABLE,
        prepare: prepare_nothing,
        open: |out, _| Box::new(kubepattern::ResourceRenderer::smells(out)),
    },
    ReportFormat {
        name: "lcov",
        contents: COVERAGE,
        columns: Columns::REMARKABLE,
        prepare: prepare_nothing,
        open: |out, options| {
            Box::new(coverage::CoverageRenderer::new(out, coverage::lcov_text, options.folder))
        },
    },
    ReportFormat {
        name: "cobertura",
        contents: COVERAGE,
        columns: Columns::REMARKABLE,
        prepare: prepare_nothing,
        open: |out, options| {
            Box::new(coverage::CoverageRenderer::new(out, coverage::cobertura_text, options.folder))
        },
    },
    ReportFormat {
        name: "html",
        contents: COVERAGE,
        columns: Columns::REMARKABLE,
        prepare: prepare_nothing,
        open: |out, options| {
            Box::new(coverage::CoverageRenderer::new(out, coverage::html_text, options.folder))
        },
    },
];

impl ReportFormat {
    /// Returns whether the format shows what test cases exercised, and nothing else.
    #[must_use]
    pub fn is_about_coverage(&self) -> bool {
        ["lcov", "cobertura", "html"].contains(&self.name)
    }

    /// Returns the formats that have a form for `content`.
    pub fn for_content(content: ReportContent) -> impl Iterator<Item = &'static Self> {
        FORMATS.iter().filter(move |format| format.contents.contains(&content))
    }
}

/// Prepares nothing.
fn prepare_nothing(_: &ObjectRow) -> String {
    String::new()
}
