//! A digest for a comment on a pull request: how many of which severity, then the findings, the worst first.

use std::io::{self, Write as _};

use kubewright_engine::Diagnostic;
use kubewright_patterns::Level;

use super::reason::reasons;
use super::report::{Report, Row};
use super::table::totals;
use crate::output::{MARKDOWN_SHOWN, Target, cell, code};
use crate::words::{grouped, plural};

/// Writes the digest.
pub(super) fn write(report: &Report<'_>, mut out: Target) -> io::Result<()> {
    let is_bad = report.has_failures() || report.diagnostics.iter().any(Diagnostic::is_error);
    writeln!(out, "### {} kubewright: {}\n", if is_bad { "❌" } else { "✅" }, cell(&totals(report)))?;
    let counts: Vec<_> = report.counts().filter(|(_, count)| *count > 0).collect();
    if !counts.is_empty() {
        writeln!(out, "| severity | findings |\n|---|---|")?;
        for (level, count) in counts {
            writeln!(out, "| {} {} | {} |", mark(level), level.name(), grouped(count))?;
        }
        writeln!(out)?;
    }
    let rows: Vec<&Row<'_>> = report.shown().collect();
    if !rows.is_empty() {
        writeln!(out, "| | pattern | finding | place |\n|---|---|---|---|")?;
        for row in rows.iter().take(MARKDOWN_SHOWN) {
            line(report, row, &mut out)?;
        }
        if rows.len() > MARKDOWN_SHOWN {
            writeln!(out, "\n… and {} not shown", plural(rows.len() - MARKDOWN_SHOWN, "more finding"))?;
        }
        writeln!(out)?;
    }
    for run in report.runs.iter().filter(|run| run.truncated) {
        writeln!(out, "- {} is truncated: there may be more findings", code(&run.pattern.name))?;
    }
    for diagnostic in &report.diagnostics {
        writeln!(out, "- {}", cell(&diagnostic.to_string()))?;
    }
    out.flush()
}

fn line(report: &Report<'_>, row: &Row<'_>, out: &mut Target) -> io::Result<()> {
    let level = row.finding.severity;
    let mark = if row.suppression.is_some() { "🔕" } else { mark(level) };
    let mut text = cell(&row.finding.message);
    for reason in reasons(report, row) {
        text.push_str(&format!("<br>{}", cell(&reason)));
    }
    if let Some(reason) = &row.suppression {
        text.push_str(&format!("<br>suppressed: {}", cell(reason)));
    }
    let place = report.place(row).map(|place| code(&place.to_string())).unwrap_or_default();
    writeln!(out, "| {mark} {} | {} | {text} | {place} |", level.name(), code(&row.pattern.name))
}

fn mark(level: Level) -> &'static str {
    match level {
        Level::Critical | Level::High => "🔴",
        Level::Warning | Level::Medium => "🟠",
        Level::Low | Level::Info => "🔵",
    }
}
