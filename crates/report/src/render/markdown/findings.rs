//! Findings in Markdown: how many of which severity, then the findings, the worst first.

use std::io::{self, Write as _};

use kubewright_engine::Diagnostic;
use kubewright_patterns::Level;

use super::{TableRows, code_cell, heading_mark, table_cell};
use crate::findings::finding_reasons;
use crate::render::ReportWriter;
use crate::render::table::findings_totals_text;
use crate::text::grouped_digits;
use crate::{AnnotationLevel, FindingRow, ReportedFindings, Severity};

/// Writes the findings, without the diagnostics.
pub(super) fn write_markdown_findings(
    findings: &ReportedFindings<'_>,
    diagnostics: &[Diagnostic],
    out: &mut ReportWriter,
) -> io::Result<()> {
    let is_bad = findings.has_failures() || diagnostics.iter().any(Diagnostic::is_error);
    writeln!(
        out,
        "### {} kubewright: {}\n",
        heading_mark(is_bad),
        table_cell(&findings_totals_text(findings))
    )?;
    let counts: Vec<_> = findings.counts().filter(|(_, count)| *count > 0).collect();
    if !counts.is_empty() {
        writeln!(out, "| severity | findings |\n|---|---|")?;
        for (level, count) in counts {
            writeln!(out, "| {} {} | {} |", severity_mark(level), level.name(), grouped_digits(count))?;
        }
        writeln!(out)?;
    }
    let rows: Vec<&FindingRow<'_>> = findings.shown().collect();
    if !rows.is_empty() {
        writeln!(out, "| | pattern | finding | place |\n|---|---|---|---|")?;
        let mut lines = TableRows::default();
        rows.iter().for_each(|row| lines.add(|| finding_line(findings, row)));
        lines.write("finding", out)?;
        writeln!(out)?;
    }
    for run in findings.runs.iter().filter(|run| run.truncated) {
        writeln!(out, "- {} is truncated: there may be more findings", code_cell(&run.pattern.name))?;
    }
    Ok(())
}

fn finding_line(findings: &ReportedFindings<'_>, row: &FindingRow<'_>) -> String {
    let level = row.finding.severity;
    let mark = if row.suppression.is_some() { "🔕" } else { severity_mark(level) };
    let mut text = table_cell(&row.finding.message);
    for reason in finding_reasons(findings, row) {
        text.push_str(&format!("<br>{}", table_cell(&reason)));
    }
    if let Some(reason) = &row.suppression {
        text.push_str(&format!("<br>suppressed: {}", table_cell(reason)));
    }
    let place = findings.position(row).map(|position| code_cell(&position.to_string())).unwrap_or_default();
    format!("| {mark} {} | {} | {text} | {place} |\n", level.name(), code_cell(&row.pattern.name))
}

fn severity_mark(level: Level) -> &'static str {
    match Severity::from(level).into() {
        AnnotationLevel::Error => "🔴",
        AnnotationLevel::Warning => "🟠",
        AnnotationLevel::Notice => "🔵",
    }
}
