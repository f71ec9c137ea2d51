//! A Markdown table for a comment on a pull request: totals first, what is wrong before what changed.

mod cases;
mod findings;

use std::io::{self, Write as _};

use kubewright_engine::{Diagnostic, RuleStatus};
use kubewright_value::display::is_hidden;
use kubewright_value::text::{TextLimit, shorten_text};

use super::table::{lint_totals_text, totals_text};
use super::{Renderer, ReportWriter};
use crate::text::plural;
use crate::{LintTotals, ObjectRow, OutcomeRow, Report, Results, Totals};

/// How many rows of each sort are shown.
const MAX_ROWS: usize = 150;
/// How many characters the rows of one sort may have. GitHub refuses a comment of more than 65,536 characters, and a
/// report has three sorts at most: what is wrong, what changed, and diagnostics.
const MAX_ROW_CHARACTERS: usize = 18_000;
/// How much of a text one cell shows.
const MAX_CELL_CHARACTERS: usize = 1_000;

/// Renders reports as Markdown.
pub(super) struct MarkdownRenderer {
    out: ReportWriter,
    wrong: TableRows,
    changed: TableRows,
}

/// The first rows, as many as fit, and how many there are.
#[derive(Default)]
struct TableRows {
    text: String,
    characters: usize,
    count: usize,
    hidden: usize,
}

impl TableRows {
    fn add(&mut self, row: impl FnOnce() -> String) {
        self.count += 1;
        // A row that does not fit ends the table, so that the order stays.
        if self.count > MAX_ROWS || self.hidden > 0 {
            self.hidden += 1;
            return;
        }
        let row = row();
        let characters = row.chars().count();
        if self.characters + characters > MAX_ROW_CHARACTERS {
            self.hidden += 1;
            return;
        }
        self.characters += characters;
        self.text.push_str(&row);
    }

    /// Writes the rows, and how many more `what` there are.
    fn write(&self, what: &str, out: &mut ReportWriter) -> io::Result<()> {
        out.write_all(self.text.as_bytes())?;
        match self.hidden {
            0 => Ok(()),
            hidden => writeln!(out, "\n… and {} not shown", plural(hidden, &format!("more {what}"))),
        }
    }
}

impl MarkdownRenderer {
    /// Returns Markdown that is written to `out`.
    pub(super) fn new(out: ReportWriter) -> Self {
        Self { out, wrong: TableRows::default(), changed: TableRows::default() }
    }

    fn end_objects(&mut self, totals: &Totals<'_>, diagnostics: &[Diagnostic]) -> io::Result<()> {
        let is_bad = totals.counts.has_violations() || diagnostics.iter().any(Diagnostic::is_error);
        writeln!(self.out, "### {} kubewright: {}\n", heading_mark(is_bad), totals_text(totals))?;
        if self.wrong.count + self.changed.count == 0 {
            return Ok(());
        }
        writeln!(self.out, "| | object | rule | message | place |\n|---|---|---|---|---|")?;
        write!(self.out, "{}", self.wrong.text)?;
        self.changed.hidden += self.wrong.hidden;
        self.changed.write("row", &mut self.out)?;
        writeln!(self.out)
    }

    fn lint_heading(&mut self, totals: &LintTotals<'_>, diagnostics: &[Diagnostic]) -> io::Result<()> {
        let is_bad = diagnostics.iter().chain(totals.unreadable).any(Diagnostic::is_error);
        let text = lint_totals_text(totals, diagnostics);
        writeln!(self.out, "### {} kubewright: {}\n", heading_mark(is_bad), table_cell(&text))
    }
}

impl Renderer for MarkdownRenderer {
    fn object(&mut self, row: &ObjectRow, _prepared: &str) -> io::Result<()> {
        for outcome in &row.outcomes {
            match outcome.status {
                RuleStatus::Fail => self.wrong.add(|| write_outcome_line("❌ fail", outcome, row)),
                RuleStatus::Error => self.wrong.add(|| write_outcome_line("❌ error", outcome, row)),
                RuleStatus::Warn => self.wrong.add(|| write_outcome_line("⚠️ warn", outcome, row)),
                RuleStatus::Pass if outcome.is_patched() => {
                    self.changed.add(|| write_outcome_line("✏️ patch", outcome, row));
                }
                RuleStatus::Pass if outcome.is_writing() => {
                    self.changed.add(|| write_outcome_line("✏️ write", outcome, row));
                }
                RuleStatus::Pass | RuleStatus::Skip => {}
            }
        }
        Ok(())
    }

    fn finish(&mut self, report: &Report<'_>) -> io::Result<()> {
        match &report.results {
            Results::Objects(totals) => {
                self.end_objects(totals, report.diagnostics)?;
                if let Some(found) = totals.findings {
                    findings::write_markdown_findings(found, report.diagnostics, &mut self.out)?;
                }
            }
            Results::Findings(found) => {
                findings::write_markdown_findings(found, report.diagnostics, &mut self.out)?;
            }
            Results::Diagnostics(totals) => self.lint_heading(totals, report.diagnostics)?,
            Results::Cases(tests) => cases::write_markdown_cases(tests, &mut self.out)?,
        }
        write_markdown_diagnostics(report.diagnostics, &mut self.out)?;
        self.out.flush()
    }
}

/// Writes a line for each diagnostic.
fn write_markdown_diagnostics(diagnostics: &[Diagnostic], out: &mut ReportWriter) -> io::Result<()> {
    let mut rows = TableRows::default();
    for diagnostic in diagnostics {
        rows.add(|| format!("- {}\n", table_cell(&diagnostic.to_string())));
    }
    rows.write("diagnostic", out)
}

/// Returns the mark of the whole report.
fn heading_mark(is_bad: bool) -> &'static str {
    if is_bad { "❌" } else { "✅" }
}

fn write_outcome_line(mark: &str, row: &OutcomeRow, object: &ObjectRow) -> String {
    let place = object.place_of(row).to_string();
    format!(
        "| {mark} | {} | {} | {} | {} |\n",
        table_cell(&object.subject),
        code_cell(&row.rule.to_string()),
        table_cell(&row.plain_text()),
        code_cell(&place)
    )
}

/// Returns `text` for a cell: nothing in it is markup, links or mentions.
fn table_cell(text: &str) -> String {
    let text = shorten_text(text, TextLimit::Chars(MAX_CELL_CHARACTERS));
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => safe.push_str("<br>"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '@' => safe.push_str("&#64;"),
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '~' | '!' | '#' => {
                safe.push('\\');
                safe.push(c);
            }
            c if is_hidden(c) => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

/// Returns `text` as code within a cell.
fn code_cell(text: &str) -> String {
    let safe: String = text.chars().map(|c| if c == '`' || is_hidden(c) { '\'' } else { c }).collect();
    format!("`{}`", safe.replace('|', "\\|"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cell_and_code_contain_no_markup() {
        assert_eq!(table_cell("a|b\n<x> @me\u{202e}`c`"), "a\\|b<br>&lt;x&gt; &#64;me \\`c\\`");
        assert_eq!(code_cell("a`|b"), "`a'\\|b`");
    }
}
