//! Workflow commands that GitHub turns into annotations.

use std::io;

use kubewright_patterns::Level;

use super::reason::reasons;
use super::report::{Report, Row};
use crate::output::{Target, annotate, annotation};

/// Writes a command for each finding that is shown.
pub(super) fn write(report: &Report<'_>, mut out: Target) -> io::Result<()> {
    for row in report.shown() {
        one(report, row, &mut out)?;
    }
    annotate(&mut out, &report.diagnostics)
}

fn one(report: &Report<'_>, row: &Row<'_>, out: &mut Target) -> io::Result<()> {
    let level = match row.finding.severity {
        _ if row.suppression.is_some() => "notice",
        Level::Critical | Level::High => "error",
        Level::Warning | Level::Medium => "warning",
        Level::Low | Level::Info => "notice",
    };
    let mut text = row.finding.message.clone();
    for reason in reasons(report, row) {
        text.push_str(&format!("\n{reason}"));
    }
    let location = &row.pattern.location;
    let place = match report.place(row) {
        Some(place) => (place.file.as_str(), place.position),
        None => (location.source.name.as_str(), location.position),
    };
    annotation(out, level, place, &row.pattern.name, &text)
}
