//! What a person reads: grouped by file and object, what is wrong first.

mod cases;
mod findings;
mod outcome;

use std::io::{self, Write as _};

use kubewright_engine::{Diagnostic, RuleStatus};
use kubewright_value::Text;

use super::diff::object_difference;
use super::{DiagnosticCounts, Renderer, ReportWriter, TableOptions, snippet};
use crate::text::{elapsed_text, grouped_digits, plural};
use crate::{
    LintTotals, ObjectRow, OutcomeCounts, OutcomeRow, Paint, Report, Results, Totals, UnmatchedRules, visible,
};
use kubewright_value::CompactSort as _;

pub(super) use findings::findings_totals_text;

/// The widest column of rule names.
const MAX_RULE_WIDTH: usize = 60;

/// Renders reports as a table.
pub(super) struct TableRenderer {
    out: ReportWriter,
    paint: Paint,
    is_quiet: bool,
    file: Option<Text>,
    // Shown below all objects.
    differences: Option<String>,
}

impl TableRenderer {
    /// Returns a table that is written to `out`.
    pub(super) fn new(out: ReportWriter, options: TableOptions) -> Self {
        let differences = options.has_differences.then(String::new);
        Self { out, paint: options.paint, is_quiet: options.is_quiet, file: None, differences }
    }

    /// Writes the changes, findings and totals below the rows of objects.
    fn end_objects(&mut self, totals: &Totals<'_>, elapsed: &str) -> io::Result<()> {
        self.out.write_all(self.differences.take().unwrap_or_default().as_bytes())?;
        if let Some(found) = totals.findings {
            if self.file.is_some() {
                writeln!(self.out)?;
            }
            self.file = None;
            findings::write_finding_tables(found, (&mut self.out, self.paint), "")?;
        }
        let is_about_patterns = totals.rules.is_empty() && totals.findings.is_some();
        if is_about_patterns || (self.is_quiet && !totals.counts.has_violations()) {
            return Ok(());
        }
        if self.file.is_some() {
            writeln!(self.out)?;
        }
        writeln!(self.out, "{}     {elapsed}", totals_text(totals))
    }

    /// Writes diagnostics with the lines they are about.
    fn diagnostics(&mut self, totals: &LintTotals<'_>, diagnostics: &[Diagnostic]) -> io::Result<()> {
        for diagnostic in diagnostics {
            writeln!(self.out, "{}", snippet(diagnostic, self.paint))?;
        }
        let closing = lint_totals_text(totals, diagnostics);
        if !closing.is_empty() && (!self.is_quiet || !diagnostics.is_empty()) {
            writeln!(self.out, "{closing}")?;
        }
        Ok(())
    }

    /// Writes how many rules have no row of their own.
    fn rest(&mut self, counts: OutcomeCounts, has_rows: bool, unmatched: UnmatchedRules) -> io::Result<()> {
        let passed = counts.pass - counts.patched - counts.written;
        let other = if has_rows { "other " } else { "" };
        let text = match (passed, counts.skip) {
            (0, 0) if has_rows => return Ok(()),
            (0, 0) => return writeln!(self.out, "    {}", self.paint.dim(&unmatched_text(unmatched))),
            (0, 1) => format!("· 1 {other}rule skips"),
            (0, skip) => format!("· {skip} {other}rules skip"),
            (1, 0) => format!("✓ 1 {other}rule passes"),
            (1, skip) => format!("✓ 1 {other}rule passes, {skip} skip"),
            (passed, 0) => format!("✓ {passed} {other}rules pass"),
            (passed, skip) => format!("✓ {passed} {other}rules pass, {skip} skip"),
        };
        let text = if passed > 0 { self.paint.green(&text) } else { self.paint.dim(&text) };
        writeln!(self.out, "    {text}")
    }
}

impl Renderer for TableRenderer {
    fn object(&mut self, object: &ObjectRow, _prepared: &str) -> io::Result<()> {
        let is_wrong =
            |row: &&OutcomeRow| matches!(row.status, RuleStatus::Fail | RuleStatus::Error | RuleStatus::Warn);
        let is_news = |row: &OutcomeRow| row.is_patched() || row.is_writing() || !row.exceptions.is_empty();
        if let Some(differences) = &mut self.differences
            && let Some(difference) = object_difference(object, self.paint)
        {
            differences.push('\n');
            differences.push_str(&difference);
        }
        if self.is_quiet && !object.outcomes.iter().any(|row| is_wrong(&row)) {
            return Ok(());
        }
        if self.file.as_ref() != Some(&object.location.file) {
            writeln!(self.out, "{}", self.paint.bold(&visible(&object.location.file)))?;
            self.file = Some(object.location.file.clone());
        }
        writeln!(self.out, "  {}", visible(&object.subject))?;
        let mut rows: Vec<&OutcomeRow> =
            object.outcomes.iter().filter(|row| is_wrong(row) || (is_news(row) && !self.is_quiet)).collect();
        rows.compact_sort_by_key(|row| match row.status {
            RuleStatus::Fail => 0,
            RuleStatus::Error => 1,
            RuleStatus::Warn => 2,
            RuleStatus::Pass | RuleStatus::Skip => 3,
        });
        let width = rows
            .iter()
            .map(|row| row.rule.to_string().chars().count())
            .max()
            .unwrap_or(0)
            .min(MAX_RULE_WIDTH);
        for row in &rows {
            outcome::write_outcome(row, object, (&mut self.out, self.paint), width)?;
        }
        let shown = rows.iter().filter(|row| row.status == RuleStatus::Skip).count();
        let rest = OutcomeCounts { skip: object.counts.skip - shown, ..object.counts };
        if self.is_quiet { Ok(()) } else { self.rest(rest, !rows.is_empty(), object.unmatched) }
    }

    fn finish(&mut self, report: &Report<'_>) -> io::Result<()> {
        let elapsed = self.paint.dim(&elapsed_text(report.elapsed));
        match &report.results {
            Results::Objects(totals) => self.end_objects(totals, &elapsed)?,
            Results::Findings(found) => {
                findings::write_finding_tables(found, (&mut self.out, self.paint), &elapsed)?;
            }
            Results::Diagnostics(totals) => self.diagnostics(totals, report.diagnostics)?,
            Results::Cases(tests) => {
                let options = cases::CaseTable { is_quiet: self.is_quiet, paint: self.paint };
                options.write(tests, &elapsed, &mut self.out)?;
            }
        }
        self.out.flush()
    }
}

/// Returns `· no rule matched (2 out of scope)`.
fn unmatched_text(unmatched: UnmatchedRules) -> String {
    let sorts = [(unmatched.out_of_scope, "out of scope"), (unmatched.empty, "with nothing to check in it")];
    let sorts: Vec<String> = sorts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| format!("{} {words}", grouped_digits(*count)))
        .collect();
    match sorts.is_empty() {
        true => "· no rule matched".to_owned(),
        false => format!("· no rule matched ({})", sorts.join(", ")),
    }
}

/// Returns `3 objects, 9 outcomes: 2 fail, 6 pass, 1 patch`; what there is none of is left out.
pub(super) fn totals_text(totals: &Totals<'_>) -> String {
    let counts = totals.counts;
    let sorts = [
        (counts.fail, "fail"),
        (counts.error, "error"),
        (counts.warn, "warn"),
        (counts.pass - counts.patched - counts.written, "pass"),
        (counts.skip, "skip"),
        (counts.patched, "patch"),
        (counts.written, "write"),
    ];
    let sorts: Vec<_> = sorts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{} {word}", grouped_digits(*count)))
        .collect();
    let outcomes = plural(counts.all(), "outcome");
    let objects = plural(totals.objects, "object");
    let sorts = if sorts.is_empty() { String::new() } else { format!(": {}", sorts.join(", ")) };
    format!("{objects}, {outcomes}{sorts}{}", suppressed_text(counts))
}

/// Returns ` (3 in the baseline, 1 ignored)`; empty where there is neither.
fn suppressed_text(counts: OutcomeCounts) -> String {
    let sorts = [(counts.baselined, "in the baseline"), (counts.ignored, "ignored")];
    let sorts: Vec<_> = sorts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| format!("{} {words}", grouped_digits(*count)))
        .collect();
    if sorts.is_empty() { String::new() } else { format!(" ({})", sorts.join(", ")) }
}

/// Returns `1 error, 2 warnings in 3 files`; empty where there was no file.
pub(super) fn lint_totals_text(totals: &LintTotals<'_>, diagnostics: &[Diagnostic]) -> String {
    let files = plural(totals.files, "file");
    match DiagnosticCounts::of(diagnostics) {
        DiagnosticCounts { errors: 0, warnings: 0, hints: 0 } if totals.files == 0 => String::new(),
        DiagnosticCounts { errors: 0, warnings: 0, hints: 0 } => {
            format!("{} in {files}: nothing wrong", totals.checked)
        }
        counts => format!("{counts} in {files}"),
    }
}
