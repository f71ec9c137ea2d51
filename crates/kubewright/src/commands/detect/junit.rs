//! JUnit XML: a suite for each pattern, a case for each finding, one that passes where there is none.

use std::io::{self, Write as _};

use super::reason::reasons;
use super::report::{Report, Row, Run};
use crate::output::{JUNIT_HEAD, Target, diagnostics_suite, xml};

/// Writes the suites.
pub(super) fn write(report: &Report<'_>, mut out: Target) -> io::Result<()> {
    out.write_all(JUNIT_HEAD.as_bytes())?;
    for run in &report.runs {
        suite(report, run, &mut out)?;
    }
    diagnostics_suite(&mut out, &report.diagnostics)?;
    writeln!(out, "</testsuites>")?;
    out.flush()
}

fn suite(report: &Report<'_>, run: &Run<'_>, out: &mut Target) -> io::Result<()> {
    let rows: Vec<&Row<'_>> =
        report.rows.iter().filter(|row| std::ptr::eq(row.pattern, run.pattern)).collect();
    let failures = rows.iter().filter(|row| report.is_failure(row)).count();
    let name = xml(&run.pattern.name);
    let (tests, skipped) = (rows.len().max(1), run.suppressed);
    writeln!(
        out,
        "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\">"
    )?;
    if rows.is_empty() {
        writeln!(out, "    <testcase name=\"not found\" classname=\"{name}\"/>")?;
    }
    for row in rows {
        case(report, row, out)?;
    }
    if run.truncated {
        writeln!(out, "    <system-out>truncated: there may be more findings</system-out>")?;
    }
    writeln!(out, "  </testsuite>")
}

fn case(report: &Report<'_>, row: &Row<'_>, out: &mut Target) -> io::Result<()> {
    let objects: Vec<String> = row.finding.roles.iter().map(|(_, id)| report.called(*id)).collect();
    let objects = if objects.is_empty() { "no object".to_owned() } else { objects.join(", ") };
    let place = match report.place(row) {
        Some(place) => format!(" file=\"{}\" line=\"{}\"", xml(&place.file), place.position.line),
        None => String::new(),
    };
    let (message, severity) = (xml(&row.finding.message), row.finding.severity.name());
    let inner = match &row.suppression {
        Some(reason) if reason.is_empty() => "<skipped message=\"suppressed\"/>".to_owned(),
        Some(reason) => format!("<skipped message=\"{}\"/>", xml(&format!("suppressed: {reason}"))),
        None if report.is_failure(row) => {
            let reasons = xml(&reasons(report, row).join("\n"));
            format!("<failure message=\"{message}\" type=\"{severity}\">{reasons}</failure>")
        }
        None => format!("<system-out>{severity}: {message}</system-out>"),
    };
    let (name, class) = (xml(&objects), xml(&row.pattern.name));
    writeln!(
        out,
        "    <testcase name=\"{name}\" classname=\"{class}\"{place}>\n      {inner}\n    </testcase>"
    )
}
