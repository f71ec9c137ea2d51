//! Test results as JUnit XML: a suite for each test file.

use std::io::{self, Write as _};

use super::{CaseNames, escape_junit, time_attribute};
use crate::TestResults;
use crate::render::ReportWriter;

/// Writes the suites.
pub(super) fn write_case_suites(tests: &TestResults<'_>, out: &mut ReportWriter) -> io::Result<()> {
    for file in tests.files {
        let (all, failed) = (file.results.len(), file.failed().count());
        let name = escape_junit(&file.file);
        let (time, mut names) = (time_attribute(file.elapsed), CaseNames::default());
        writeln!(
            out,
            "  <testsuite name=\"{name}\" tests=\"{all}\" failures=\"{failed}\" errors=\"0\" skipped=\"0\"{time}>"
        )?;
        // The cases of a file are not timed one by one.
        let each = time_attribute(file.elapsed / u32::try_from(all.max(1)).unwrap_or(1));
        for result in &file.results {
            let subject = result.subject();
            let case = match subject.as_str() {
                "" => result.case.clone(),
                subject if result.case.contains(subject) => result.case.clone(),
                subject => format!("{} {subject}", result.case),
            };
            let head = format!(
                "    <testcase name=\"{}\" classname=\"{}\"{each}",
                escape_junit(&names.next(&result.rule_text, &case)),
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
