//! Findings as JUnit XML: a suite for each pattern, a case for each finding, one that passes where there is none.

use std::io::{self, Write as _};

use super::escape_junit;
use crate::findings::finding_reasons;
use crate::render::ReportWriter;
use crate::{FindingRow, PatternRun, ReportedFindings};

/// Writes the suites.
pub(super) fn write_finding_suites(
    findings: &ReportedFindings<'_>,
    out: &mut ReportWriter,
) -> io::Result<()> {
    findings.runs.iter().try_for_each(|run| write_pattern_suite(findings, run, out))
}

fn write_pattern_suite(
    findings: &ReportedFindings<'_>,
    run: &PatternRun<'_>,
    out: &mut ReportWriter,
) -> io::Result<()> {
    let rows: Vec<&FindingRow<'_>> =
        findings.rows.iter().filter(|row| std::ptr::eq(row.pattern, run.pattern)).collect();
    let failures = rows.iter().filter(|row| findings.is_failure(row)).count();
    let name = escape_junit(&run.pattern.name);
    let (tests, skipped) = (rows.len().max(1), run.suppressed);
    writeln!(
        out,
        "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\">"
    )?;
    if rows.is_empty() {
        writeln!(out, "    <testcase name=\"not found\" classname=\"{name}\"/>")?;
    }
    for row in rows {
        write_finding_case(findings, row, out)?;
    }
    if run.truncated {
        writeln!(out, "    <system-out>truncated: there may be more findings</system-out>")?;
    }
    writeln!(out, "  </testsuite>")
}

fn write_finding_case(
    findings: &ReportedFindings<'_>,
    row: &FindingRow<'_>,
    out: &mut ReportWriter,
) -> io::Result<()> {
    let objects: Vec<String> = row.finding.roles.iter().map(|(_, id)| findings.label(*id)).collect();
    let objects = if objects.is_empty() { "no object".to_owned() } else { objects.join(", ") };
    let place = match findings.position(row) {
        Some(place) => format!(" file=\"{}\" line=\"{}\"", escape_junit(&place.file), place.position.line),
        None => String::new(),
    };
    let (message, severity) = (escape_junit(&row.finding.message), row.finding.severity.name());
    let inner = match &row.suppression {
        Some(reason) if reason.is_empty() => "<skipped message=\"suppressed\"/>".to_owned(),
        Some(reason) => format!("<skipped message=\"{}\"/>", escape_junit(&format!("suppressed: {reason}"))),
        None if findings.is_failure(row) => {
            let reasons = escape_junit(&finding_reasons(findings, row).join("\n"));
            format!("<failure message=\"{message}\" type=\"{severity}\">{reasons}</failure>")
        }
        None => format!("<system-out>{severity}: {message}</system-out>"),
    };
    let (name, class) = (escape_junit(&objects), escape_junit(&row.pattern.name));
    writeln!(
        out,
        "    <testcase name=\"{name}\" classname=\"{class}\"{place}>\n      {inner}\n    </testcase>"
    )
}
