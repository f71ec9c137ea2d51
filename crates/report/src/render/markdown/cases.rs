//! Test results in Markdown.

use std::io::{self, Write as _};

use super::{MAX_ROWS, TableRows, table_cell};
use crate::TestResults;
use crate::render::ReportWriter;
use crate::text::grouped_digits;

/// Writes the results as a table in Markdown.
pub(super) fn write_markdown_cases(tests: &TestResults<'_>, out: &mut ReportWriter) -> io::Result<()> {
    writeln!(
        out,
        "| | policy | rule | resource | expected | actual | message |\n|---|---|---|---|---|---|---|"
    )?;
    let results = || tests.files.iter().flat_map(|file| &file.results);
    let mut rows = TableRows::default();
    // Where not all rows fit, those of failed cases must be among them.
    let is_long = results().count() > MAX_ROWS;
    for result in results().filter(|result| !is_long || !result.is_ok) {
        let mark = if result.is_ok { "✓" } else { "✗" };
        let policy = result.rule.as_ref().map_or(result.case.as_str(), |rule| rule.policy.as_str());
        let rule = result.rule.as_ref().and_then(|rule| rule.rule.as_deref()).unwrap_or_default();
        let names = [result.kind.as_str(), &result.namespace, &result.resource];
        let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
        let resource = names.join("/");
        let texts = [policy, rule, &resource, &result.expected, &result.actual, &result.message];
        rows.add(|| format!("| {mark} | {} |\n", texts.map(table_cell).join(" | ")));
    }
    rows.write("failed case", out)?;
    let (passed, failed) = tests.counts();
    writeln!(out, "\n{} passed, {} failed", grouped_digits(passed), grouped_digits(failed))
}
