//! A report: what one command found.

use std::sync::Arc;
use std::time::Duration;

use kubewright_engine::{Diagnostic, Rule};

use crate::{Annotation, OutcomeCounts, ReportedFindings, TestResults};

/// What one command found.
#[derive(Clone, Copy)]
pub struct Report<'a> {
    /// The results.
    pub results: Results<'a>,
    /// What is wrong with rules, patterns, test files and manifests.
    pub diagnostics: &'a [Diagnostic],
    /// How long the command took.
    pub elapsed: Duration,
}

/// The results of a report. A renderer without a form for one of them writes the diagnostics alone.
#[derive(Clone, Copy)]
pub enum Results<'a> {
    /// Rules were evaluated on objects. The rows of the objects are rendered one by one before the report ends.
    Objects(Totals<'a>),
    /// Patterns were looked for in a set of objects.
    Findings(&'a ReportedFindings<'a>),
    /// Rules were checked and not evaluated: the results are the diagnostics.
    Diagnostics(LintTotals<'a>),
    /// The cases of test files were run.
    Cases(TestResults<'a>),
}

/// The totals over all objects.
#[derive(Clone, Copy)]
pub struct Totals<'a> {
    /// The rules that were evaluated.
    pub rules: &'a [Arc<Rule>],
    /// How many objects there were.
    pub objects: usize,
    /// The outcomes of all objects.
    pub counts: OutcomeCounts,
    /// The findings of patterns in the same objects, where patterns were looked for as well: `scan`.
    pub findings: Option<&'a ReportedFindings<'a>>,
}

/// What was checked without being evaluated.
#[derive(Debug, Clone, Copy)]
pub struct LintTotals<'a> {
    /// What was checked, in words: `3 rules, 1 pattern`.
    pub checked: &'a str,
    /// How many files there were.
    pub files: usize,
    /// The diagnostics about files that could not be read at all.
    pub unreadable: &'a [Diagnostic],
}

impl Report<'_> {
    /// Returns everything wrong that the report knows by itself, as one sort of row: findings, failed cases and
    /// diagnostics. Rows of objects have their own [`ObjectRow::annotations`](crate::ObjectRow::annotations).
    #[must_use]
    pub fn annotations(&self) -> Vec<Annotation<'_>> {
        let mut annotations = match &self.results {
            Results::Objects(Totals { findings: Some(findings), .. }) | Results::Findings(findings) => {
                findings.annotations()
            }
            Results::Objects(_) | Results::Diagnostics(_) => Vec::new(),
            Results::Cases(tests) => tests.annotations(),
        };
        annotations.extend(self.diagnostics.iter().map(Annotation::of_diagnostic));
        annotations
    }
}
