//! JUnit XML: a suite for each file, a case for each outcome.

mod cases;
mod findings;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::time::Duration;

use kubewright_engine::{Diagnostic, RuleStatus};
use kubewright_value::Text;
use kubewright_value::display::is_hidden;
use kubewright_value::text::xml_entity;

use super::{Renderer, ReportWriter};
use crate::{ObjectRow, OutcomeCounts, OutcomeRow, Report, Results, Totals};

/// Renders reports as JUnit XML.
pub(super) struct JunitRenderer {
    out: ReportWriter,
    suite: Option<JunitSuite>,
    cases: String,
    is_started: bool,
}

/// The suite of one file that is not complete yet.
struct JunitSuite {
    file: Text,
    counts: OutcomeCounts,
    elapsed: Duration,
    names: CaseNames,
}

/// The names of the cases in one suite, none of them twice.
#[derive(Default)]
struct CaseNames(HashMap<String, usize>);

impl CaseNames {
    /// Returns `name`, numbered from the second time on that a case of `class` has it.
    fn next(&mut self, class: &str, name: &str) -> String {
        let number = self.0.entry(format!("{class}\n{name}")).or_default();
        *number += 1;
        if *number == 1 { name.to_owned() } else { format!("{name} ({number})") }
    }
}

impl JunitRenderer {
    /// Returns a document that is written to `out`.
    pub(super) fn new(out: ReportWriter) -> Self {
        Self { out, suite: None, cases: String::new(), is_started: false }
    }

    /// Writes the head, with the time of the whole run where it is known already.
    fn start(&mut self, elapsed: Option<Duration>) -> io::Result<()> {
        if std::mem::replace(&mut self.is_started, true) {
            return Ok(());
        }
        let time = elapsed.map(time_attribute).unwrap_or_default();
        writeln!(
            self.out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"kubewright\"{time}>"
        )
    }

    /// Writes the suite that is complete.
    fn close_suite(&mut self) -> io::Result<()> {
        let Some(JunitSuite { file, counts, elapsed, .. }) = self.suite.take() else { return Ok(()) };
        let time = time_attribute(elapsed);
        writeln!(
            self.out,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"{time}>",
            escape_junit(&file),
            counts.all(),
            counts.fail,
            counts.error,
            counts.skip
        )?;
        self.out.write_all(self.cases.as_bytes())?;
        self.cases.clear();
        writeln!(self.out, "  </testsuite>")
    }

    fn case(&mut self, row: &OutcomeRow, report: &ObjectRow, elapsed: Duration) {
        let text = row.plain_text();
        let class = row.rule.to_string();
        let name = match &mut self.suite {
            Some(suite) => suite.names.next(&class, &report.subject),
            None => report.subject.clone(),
        };
        let inner = match row.status {
            RuleStatus::Pass => None,
            RuleStatus::Skip => Some(format!("<skipped message=\"{}\"/>", escape_junit(&text))),
            RuleStatus::Warn => {
                Some(format!("<system-out>{}</system-out>", escape_junit(&format!("warning: {text}"))))
            }
            RuleStatus::Fail => Some(outcome_element("failure", row, report)),
            RuleStatus::Error => Some(outcome_element("error", row, report)),
        };
        let line = match row.position.line {
            0 => String::new(),
            line => format!(" line=\"{line}\""),
        };
        let head = format!(
            "    <testcase name=\"{}\" classname=\"{}\" file=\"{}\"{line}{}",
            escape_junit(&name),
            escape_junit(&class),
            escape_junit(&report.location.file),
            time_attribute(elapsed)
        );
        self.cases.push_str(&match inner {
            Some(inner) => format!("{head}>\n      {inner}\n    </testcase>\n"),
            None => format!("{head}/>\n"),
        });
    }
}

/// Writes a suite of what could not be read, so that a dashboard shows it.
fn write_diagnostics_suite(out: &mut ReportWriter, diagnostics: &[Diagnostic]) -> io::Result<()> {
    let errors: Vec<_> = diagnostics.iter().filter(|each| each.is_error()).collect();
    if errors.is_empty() {
        return Ok(());
    }
    let count = errors.len();
    writeln!(
        out,
        "  <testsuite name=\"diagnostics\" tests=\"{count}\" failures=\"0\" errors=\"{count}\" skipped=\"0\">"
    )?;
    for error in errors {
        writeln!(
            out,
            "    <testcase name=\"{}\" classname=\"{}\">\n      <error message=\"{}\" type=\"error\">{}</error>\n    </testcase>",
            escape_junit(&error.location.to_string()),
            error.code.id,
            escape_junit(&error.message),
            escape_junit(&error.help)
        )?;
    }
    writeln!(out, "  </testsuite>")
}

fn outcome_element(name: &str, row: &OutcomeRow, report: &ObjectRow) -> String {
    let mut places = report.place_text(row);
    if !row.path.is_empty() {
        places.push_str(&format!("  {}", row.path));
    }
    if let Some(location) = &row.rule_location {
        places.push_str(&format!("\n{}:{}", location.source.name, location.position.line));
    }
    format!(
        "<{name} message=\"{}\" type=\"{}\">{}</{name}>",
        escape_junit(&row.plain_text()),
        row.status,
        escape_junit(&places)
    )
}

impl Renderer for JunitRenderer {
    fn object(&mut self, row: &ObjectRow, _prepared: &str) -> io::Result<()> {
        self.start(None)?;
        if self.suite.as_ref().is_none_or(|suite| suite.file != row.location.file) {
            self.close_suite()?;
            self.suite = Some(JunitSuite {
                file: row.location.file.clone(),
                counts: OutcomeCounts::default(),
                elapsed: Duration::ZERO,
                names: CaseNames::default(),
            });
        }
        if let Some(suite) = &mut self.suite {
            suite.counts += row.counts;
            suite.elapsed += row.elapsed;
        }
        // The rules of an object are not timed one by one.
        let each = row.elapsed / u32::try_from(row.outcomes.len().max(1)).unwrap_or(1);
        for outcome in &row.outcomes {
            self.case(outcome, row, each);
        }
        Ok(())
    }

    fn finish(&mut self, report: &Report<'_>) -> io::Result<()> {
        self.start(Some(report.elapsed))?;
        self.close_suite()?;
        match &report.results {
            Results::Objects(Totals { findings: None, .. }) | Results::Diagnostics(_) => {}
            Results::Objects(Totals { findings: Some(found), .. }) | Results::Findings(found) => {
                findings::write_finding_suites(found, &mut self.out)?;
            }
            Results::Cases(tests) => cases::write_case_suites(tests, &mut self.out)?,
        }
        write_diagnostics_suite(&mut self.out, report.diagnostics)?;
        if let Results::Diagnostics(totals) = &report.results {
            write_diagnostics_suite(&mut self.out, totals.unreadable)?;
        }
        writeln!(self.out, "</testsuites>")?;
        self.out.flush()
    }
}

/// Returns how long something took, as an attribute.
fn time_attribute(elapsed: Duration) -> String {
    format!(" time=\"{:.6}\"", elapsed.as_secs_f64())
}

/// Returns `text` for XML. Characters that XML cannot hold, or that control a terminal, become the replacement character.
fn escape_junit(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' | '\r' => {
                let _ = write!(safe, "&#{};", u32::from(c));
            }
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            c if is_hidden(c) => safe.push('\u{fffd}'),
            // An apostrophe needs no entity between double quotes.
            '\'' => safe.push(c),
            c => match xml_entity(c) {
                Some(entity) => safe.push_str(entity),
                None => safe.push(c),
            },
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xml_cannot_break_out_of_an_attribute() {
        assert_eq!(escape_junit("a\"b<c>&\u{1b}\u{202e}\n"), "a&quot;b&lt;c&gt;&amp;\u{fffd}\u{fffd}&#10;");
    }
}
