//! What a person reads: a line for each finding, and below it the place and what speaks for it.

use std::io::{self, Write as _};

use kubewright_patterns::Level;

use super::reason::reasons;
use super::report::{Report, Row};
use crate::output::{Paint, Target, visible};
use crate::words::{grouped, plural, time};

/// The widest column of names.
const WIDEST: usize = 40;
/// How many reasons are shown.
const REASONS: usize = 3;
/// How many findings of one pattern are shown before most of them are only counted.
const MANY: usize = 10;
/// How many are shown then.
const FEW: usize = 5;

/// Writes the findings.
pub(super) fn write(report: &Report<'_>, mut out: Target, paint: Paint) -> io::Result<()> {
    let names = report.shown().map(|row| row.pattern.name.chars().count());
    let width = names.max().unwrap_or(0).min(WIDEST);
    let rows: Vec<&Row<'_>> = report.shown().collect();
    let is_any = !rows.is_empty();
    for same in rows.chunk_by(|one, other| one.pattern.name == other.pattern.name) {
        let is_short = same.len() <= MANY || report.arguments.all || report.runs.len() == 1;
        let count = if is_short { same.len() } else { FEW };
        for row in same.iter().take(count) {
            one(report, row, width, &mut out, paint)?;
        }
        if let Some(row) = same.get(count) {
            let more = format!("… and {} more", grouped(same.len() - count));
            let help = paint.dim("(--all shows them)");
            writeln!(out, "{} {:width$}  {more} {help}", severity(row, paint), visible(&row.pattern.name))?;
        }
    }
    if report.arguments.quiet && !is_any {
        return out.flush();
    }
    if is_any {
        writeln!(out)?;
    }
    for run in report.runs.iter().filter(|run| run.truncated) {
        let text = format!(
            "! {} is truncated: there may be more than {}",
            run.pattern.name,
            plural(run.findings, "finding")
        );
        writeln!(out, "{}", paint.yellow(&visible(&text)))?;
    }
    writeln!(out, "{}     {}", totals(report), paint.dim(&time(report.elapsed)))?;
    out.flush()
}

fn one(report: &Report<'_>, row: &Row<'_>, width: usize, out: &mut Target, paint: Paint) -> io::Result<()> {
    let severity = severity(row, paint);
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
    let place = report.place(row).map(ToString::to_string).unwrap_or_default();
    let reasons = reasons(report, row);
    let mut shown = reasons.iter().take(REASONS).map(|reason| visible(reason));
    let first = shown.next().unwrap_or_default();
    if !(place.is_empty() && first.is_empty()) {
        let gap = if place.is_empty() || first.is_empty() { "" } else { "  " };
        writeln!(out, "{indent}{}{gap}{first}", paint.cyan(&visible(&place)))?;
    }
    let gap = " ".repeat(if place.is_empty() { 0 } else { visible(&place).chars().count() + 2 });
    for reason in shown {
        writeln!(out, "{indent}{gap}{reason}")?;
    }
    if reasons.len() > REASONS {
        writeln!(out, "{indent}{gap}… and {}", plural(reasons.len() - REASONS, "more reason"))?;
    }
    match row.suppression.as_deref() {
        None => Ok(()),
        Some("") => writeln!(out, "{indent}{}", paint.dim("suppressed")),
        Some(reason) => writeln!(out, "{indent}{}", paint.dim(&format!("suppressed: {}", visible(reason)))),
    }
}

fn severity(row: &Row<'_>, paint: Paint) -> String {
    let level = row.finding.severity;
    let text = format!("{:8}", level.name());
    match level {
        Level::Critical | Level::High => paint.red(&text),
        Level::Warning | Level::Medium => paint.yellow(&text),
        Level::Low | Level::Info => paint.dim(&text),
    }
}

/// Returns `41 patterns over 1,204 objects: 3 critical, 17 warnings, 5 infos`; what there is none of is left out.
pub(super) fn totals(report: &Report<'_>) -> String {
    let mut parts: Vec<String> = report
        .counts()
        .filter(|(_, count)| *count > 0)
        .map(|(level, count)| match level {
            Level::Warning => plural(count, "warning"),
            Level::Info => plural(count, "info"),
            level => format!("{} {}", grouped(count), level.name().to_lowercase()),
        })
        .collect();
    if parts.is_empty() {
        parts.push("nothing found".to_owned());
    }
    if report.suppressed() > 0 {
        parts.push(format!("{} suppressed", grouped(report.suppressed())));
    }
    if report.is_truncated() {
        parts.push("truncated".to_owned());
    }
    let patterns = plural(report.runs.len(), "pattern");
    format!("{patterns} over {}: {}", plural(report.survey.objects, "object"), parts.join(", "))
}
