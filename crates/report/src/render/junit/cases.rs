//! Test results as JUnit XML: a suite for each test file.

use std::io::{self, Write as _};

use super::escape_junit;
use crate::TestResults;
use crate::render::ReportWriter;

/// Writes the suites.
pub(super) fn write_case_suites(tests: &TestResults<'_>, out: &mut ReportWriter) -> io::Result<()> {
    for file in tests.files {
        let (all, failed) = (file.results.len(), file.failed().count());
        let name = escape_junit(&file.file);
        writeln!(
            out,
            "  <testsuite name=\"{name}\" tests=\"{all}\" failures=\"{failed}\" errors=\"0\" skipped=\"0\">"
        )?;
        for result in &file.results {
            let head = format!(
                "    <testcase name=\"{}\" classname=\"{}\"",
                escape_junit(&result.case),
                escape_junit(&result.rule_text)
            );
            if result.is_ok {
                writeln!(out, "{head}/>")?;
            } else {
                let first = result.message.lines().next().unwrap_or_default();
                writeln!(
                    out,
                    "{head}>\n      <failure message=\"{}\">{}</failure>\n    </testcase>",
                    escape_junit(first),
                    escape_junit(&result.message)
                )?;
            }
        }
        writeln!(out, "  </testsuite>")?;
    }
    Ok(())
}
