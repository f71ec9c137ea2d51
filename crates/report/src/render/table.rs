//! What a person reads: grouped by file and object, what is wrong first.

mod cases;
mod findings;
mod objects;
mod outcome;
mod summary;

use std::io::{self, Write as _};

use kubewright_engine::{Diagnostic, RuleStatus};

use super::diff::object_difference;
use super::{DiagnosticCounts, Renderer, ReportWriter, TableDetail, TableOptions, snippet};
use crate::text::{elapsed_text, grouped_digits, plural};
use crate::{LintTotals, ObjectRow, OutcomeCounts, OutcomeRow, Report, Results, Totals};
use kubewright_value::CompactSort as _;
use objects::{ObjectPage, ObjectPages};
use summary::RuleSummary;

pub(super) use findings::findings_totals_text;

/// The widest column of rule names.
const MAX_RULE_WIDTH: usize = 60;

/// Renders reports as a table.
pub(super) struct TableRenderer {
    out: ReportWriter,
    options: TableOptions,
    // What was written about the current object.
    page: String,
    objects: ObjectPages,
    rules: RuleSummary,
    has_rows: bool,
    // Shown below all objects.
    differences: Option<String>,
}

impl TableRenderer {
    /// Returns a table that is written to `out`.
    pub(super) fn new(out: ReportWriter, options: TableOptions) -> Self {
        Self {
            out,
            options,
            page: String::new(),
            objects: ObjectPages::new(options.detail == TableDetail::Everything),
            rules: RuleSummary::default(),
            has_rows: false,
            differences: options.has_differences.then(String::new),
        }
    }

    /// Takes what was written since the last time.
    fn take_page(&mut self) -> String {
        std::mem::take(&mut self.page)
    }

    /// Writes the changes, findings and totals below the rows of objects.
    fn end_objects(&mut self, totals: &Totals<'_>, elapsed: &str) -> io::Result<()> {
        let is_by_rule = self.options.detail == TableDetail::ByRule;
        let listed = if is_by_rule {
            self.rules.write(&mut self.out, self.options)?
        } else {
            self.objects.write(&mut self.out, totals, self.options)?
        };
        self.has_rows |= listed;
        self.out.write_all(self.differences.take().unwrap_or_default().as_bytes())?;
        if let Some(found) = totals.findings {
            if self.has_rows {
                writeln!(self.out)?;
            }
            self.has_rows = false;
            findings::write_finding_tables(found, (&mut self.out, self.options.paint), "")?;
        }
        let is_about_patterns = totals.rules.is_empty() && totals.findings.is_some();
        if is_about_patterns || (self.options.is_quiet && !totals.counts.has_violations()) {
            return Ok(());
        }
        if self.has_rows {
            writeln!(self.out)?;
        }
        let quiet = self.objects.without_findings();
        let unlisted = if quiet > 0 && !is_by_rule { quiet } else { 0 };
        writeln!(self.out, "{}     {elapsed}", totals_text_without(totals, unlisted))
    }

    /// Writes diagnostics with the lines they are about.
    fn diagnostics(&mut self, totals: &LintTotals<'_>, diagnostics: &[Diagnostic]) -> io::Result<()> {
        for diagnostic in diagnostics {
            writeln!(self.out, "{}", snippet(diagnostic, self.options.paint))?;
        }
        let closing = lint_totals_text(totals, diagnostics);
        if !closing.is_empty() && (!self.options.is_quiet || !diagnostics.is_empty()) {
            let worst = diagnostics.iter().find(|one| one.is_error()).or(diagnostics.first());
            match worst {
                Some(worst) => {
                    writeln!(self.out, "{closing}; `kubewright explain {}` says more", worst.code.id)?;
                }
                None => writeln!(self.out, "{closing}")?,
            }
        }
        Ok(())
    }
}

impl Renderer for TableRenderer {
    fn object(&mut self, object: &ObjectRow, _prepared: &str) -> io::Result<()> {
        let options = self.options;
        if let Some(differences) = &mut self.differences
            && let Some(difference) = object_difference(object, options.paint)
        {
            differences.push('\n');
            differences.push_str(&difference);
        }
        if options.detail == TableDetail::ByRule {
            object.outcomes.iter().for_each(|row| self.rules.add(row));
            return Ok(());
        }
        let rows = shown_rows(object, options);
        self.objects.count(object);
        if options.is_quiet && rows.is_empty() {
            return Ok(());
        }
        let widths = rows.iter().map(|row| row.rule.to_string().chars().count());
        let width = widths.max().unwrap_or(0).min(MAX_RULE_WIDTH);
        let mut page = ObjectPage::of(object, !options.is_quiet);
        for row in &rows {
            if !self.objects.takes(row) {
                page.is_cut = true;
                continue;
            }
            outcome::write_outcome(row, object, (&mut self.page, options), width)
                .map_err(io::Error::other)?;
            let text = self.take_page();
            page.rows.push((row.rule.clone(), row.status, text));
        }
        let shown = |status| rows.iter().filter(|row| row.status == status).count();
        page.skipped = object.counts.skip - shown(RuleStatus::Skip);
        page.passed = object.counts.pass - shown(RuleStatus::Pass);
        page.idle = object.counts.idle - rows.iter().filter(|row| row.is_idle()).count();
        if options.detail == TableDetail::Everything {
            self.has_rows = true;
            return self.objects.stream(&page, &mut self.out, options.paint);
        }
        self.objects.add(page);
        Ok(())
    }

    fn finish(&mut self, report: &Report<'_>) -> io::Result<()> {
        let elapsed = self.options.paint.dim(&elapsed_text(report.elapsed));
        match &report.results {
            Results::Objects(totals) => self.end_objects(totals, &elapsed)?,
            Results::Findings(found) => {
                findings::write_finding_tables(found, (&mut self.out, self.options.paint), &elapsed)?;
            }
            Results::Diagnostics(totals) => self.diagnostics(totals, report.diagnostics)?,
            Results::Cases(tests) => {
                let options = cases::CaseTable { is_quiet: self.options.is_quiet, paint: self.options.paint };
                options.write(tests, &elapsed, &mut self.out)?;
            }
        }
        self.out.flush()
    }
}

/// Returns the outcomes that have a row of their own, the worst first.
fn shown_rows(object: &ObjectRow, options: TableOptions) -> Vec<&OutcomeRow> {
    let is_wrong =
        |row: &OutcomeRow| matches!(row.status, RuleStatus::Fail | RuleStatus::Error | RuleStatus::Warn);
    let is_news = |row: &OutcomeRow| row.is_patched() || row.is_writing() || !row.exceptions.is_empty();
    let is_everything = options.detail == TableDetail::Everything;
    let is_shown =
        |row: &&OutcomeRow| is_wrong(row) || (!options.is_quiet && (is_everything || is_news(row)));
    let mut rows: Vec<&OutcomeRow> = object.outcomes.iter().filter(is_shown).collect();
    rows.compact_sort_by_key(|row| match row.status {
        RuleStatus::Fail => 0,
        RuleStatus::Error => 1,
        RuleStatus::Warn => 2,
        RuleStatus::Pass | RuleStatus::Skip => 3,
    });
    rows
}

/// Returns `3 objects, 9 outcomes: 2 fail, 7 pass (1 patched)`; what there is none of is left out.
pub(super) fn totals_text(totals: &Totals<'_>) -> String {
    totals_text_without(totals, 0)
}

/// Returns the totals, with how many objects are not listed because nothing was found in them.
fn totals_text_without(totals: &Totals<'_>, unlisted: usize) -> String {
    let counts = totals.counts;
    let changes = [(counts.patched, "patched"), (counts.written, "writing")];
    let changes: Vec<String> = shown_counts(&changes);
    let sorts = [
        (counts.fail, "fail"),
        (counts.error, "error"),
        (counts.warn, "warn"),
        (counts.pass, "pass"),
        (counts.skip, "skip"),
    ];
    let mut sorts = shown_counts(&sorts);
    if let Some(pass) = sorts.iter_mut().find(|text| text.ends_with(" pass"))
        && !changes.is_empty()
    {
        pass.push_str(&format!(" ({})", changes.join(", ")));
    }
    let outcomes = plural(counts.all(), "outcome");
    let mut text = plural(totals.objects, "object");
    if unlisted > 0 {
        text.push_str(&format!(" ({} without findings)", grouped_digits(unlisted)));
    }
    text.push_str(&format!(", {outcomes}"));
    if !sorts.is_empty() {
        text.push_str(&format!(": {}", sorts.join(", ")));
    }
    text.push_str(&suppressed_text(counts));
    text
}

/// Returns ` (3 in the baseline, 1 ignored)`; empty where there is neither.
fn suppressed_text(counts: OutcomeCounts) -> String {
    let sorts = shown_counts(&[(counts.baselined, "in the baseline"), (counts.ignored, "ignored")]);
    if sorts.is_empty() { String::new() } else { format!(" ({})", sorts.join(", ")) }
}

fn shown_counts(counts: &[(usize, &str)]) -> Vec<String> {
    let shown = counts.iter().filter(|(count, _)| *count > 0);
    shown.map(|(count, word)| format!("{} {word}", grouped_digits(*count))).collect()
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
