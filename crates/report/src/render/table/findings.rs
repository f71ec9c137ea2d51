//! Findings for people: a line for each, and below it where its leader was read and what speaks for it.

use std::io::{self, Write as _};

use kubewright_patterns::Level;

use crate::findings::finding_reasons;
use crate::render::ReportWriter;
use crate::text::{grouped_digits, plural};
use crate::{AnnotationLevel, FindingRow, Paint, ReportedFindings, Severity, visible};

/// The widest column of names.
const MAX_NAME_WIDTH: usize = 40;
/// How many reasons are shown.
const MAX_REASONS: usize = 3;
/// How many findings of one pattern are shown before most of them are only counted.
const MAX_FINDINGS_PER_PATTERN: usize = 10;
/// How many are shown then.
const SHOWN_OF_MANY_FINDINGS: usize = 5;

/// Writes the findings.
pub(super) fn write_finding_tables(
    findings: &ReportedFindings<'_>,
    (out, paint): (&mut ReportWriter, Paint),
    elapsed: &str,
) -> io::Result<()> {
    let names = findings.shown().map(|row| row.pattern.name.chars().count());
    let width = names.max().unwrap_or(0).min(MAX_NAME_WIDTH);
    let rows: Vec<&FindingRow<'_>> = findings.shown().collect();
    let is_any = !rows.is_empty();
    for same in rows.chunk_by(|one, other| one.pattern.name == other.pattern.name) {
        let is_short =
            same.len() <= MAX_FINDINGS_PER_PATTERN || findings.options.shows_all || findings.runs.len() == 1;
        let count = if is_short { same.len() } else { SHOWN_OF_MANY_FINDINGS };
        for row in same.iter().take(count) {
            write_finding(findings, row, width, (&mut *out, paint))?;
        }
        if let Some(row) = same.get(count) {
            let more = format!("… and {} more", grouped_digits(same.len() - count));
            let help = paint.dim("(--all shows them)");
            writeln!(
                out,
                "{} {:width$}  {more} {help}",
                severity_text(row, paint),
                visible(&row.pattern.name)
            )?;
        }
    }
    if findings.options.is_quiet && !is_any {
        return Ok(());
    }
    if is_any {
        writeln!(out)?;
    }
    for run in findings.runs.iter().filter(|run| run.truncated) {
        let text = format!(
            "! {} is truncated: there may be more than {}",
            run.pattern.name,
            plural(run.findings, "finding")
        );
        writeln!(out, "{}", paint.yellow(&visible(&text)))?;
    }
    let totals = findings_totals_text(findings);
    if elapsed.is_empty() { writeln!(out, "{totals}") } else { writeln!(out, "{totals}     {elapsed}") }
}

fn write_finding(
    findings: &ReportedFindings<'_>,
    row: &FindingRow<'_>,
    width: usize,
    (out, paint): (&mut ReportWriter, Paint),
) -> io::Result<()> {
    let severity = severity_text(row, paint);
    let mut lines = row.finding.message.lines();
    let first = visible(lines.next().unwrap_or_default()).into_owned();
    let points = match row.finding.maximum.is_zero() {
        true => String::new(),
        false => paint.dim(&format!("     {} of {} points", row.finding.points, row.finding.maximum)),
    };
    writeln!(out, "{severity} {:width$}  {first}{points}", visible(&row.pattern.name))?;
    let indent = " ".repeat(9);
    for line in lines.filter(|line| !line.trim().is_empty()) {
        // Marked, because a line that starts with a command of a build service is one.
        writeln!(out, "{indent}{:width$}  │ {}", "", visible(line))?;
    }
    let place = findings.position(row).map(|place| place.to_string()).unwrap_or_default();
    let reasons = finding_reasons(findings, row);
    let mut shown = reasons.iter().take(MAX_REASONS).map(|reason| visible(reason));
    let first = shown.next().unwrap_or_default();
    if !(place.is_empty() && first.is_empty()) {
        let gap = if place.is_empty() || first.is_empty() { "" } else { "  " };
        writeln!(out, "{indent}{}{gap}{first}", paint.cyan(&visible(&place)))?;
    }
    let gap = " ".repeat(if place.is_empty() { 0 } else { visible(&place).chars().count() + 2 });
    for reason in shown {
        writeln!(out, "{indent}{gap}{reason}")?;
    }
    if reasons.len() > MAX_REASONS {
        writeln!(out, "{indent}{gap}… and {}", plural(reasons.len() - MAX_REASONS, "more reason"))?;
    }
    match row.suppression.as_deref() {
        None => Ok(()),
        Some("") => writeln!(out, "{indent}{}", paint.dim("suppressed")),
        Some(reason) => writeln!(out, "{indent}{}", paint.dim(&format!("suppressed: {}", visible(reason)))),
    }
}

/// Returns the severity in its colour.
fn severity_text(row: &FindingRow<'_>, paint: Paint) -> String {
    let level = row.finding.severity;
    let text = format!("{:8}", level.name());
    match Severity::from(level).into() {
        AnnotationLevel::Error => paint.red(&text),
        AnnotationLevel::Warning => paint.yellow(&text),
        AnnotationLevel::Notice => paint.dim(&text),
    }
}

/// Returns `41 patterns over 1,204 objects: 3 critical, 17 warnings, 5 infos`; what there is none of is left out.
pub(in crate::render) fn findings_totals_text(findings: &ReportedFindings<'_>) -> String {
    let mut parts: Vec<String> = findings
        .counts()
        .filter(|(_, count)| *count > 0)
        .map(|(level, count)| match level {
            Level::Warning => plural(count, "warning"),
            Level::Info => plural(count, "info"),
            level => format!("{} {}", grouped_digits(count), level.name().to_lowercase()),
        })
        .collect();
    if parts.is_empty() {
        parts.push("nothing found".to_owned());
    }
    if findings.suppressed() > 0 {
        parts.push(format!("{} suppressed", grouped_digits(findings.suppressed())));
    }
    if findings.is_truncated() {
        parts.push("truncated".to_owned());
    }
    let patterns = plural(findings.runs.len(), "pattern");
    format!("{patterns} over {}: {}", plural(findings.context.objects, "object"), parts.join(", "))
}
