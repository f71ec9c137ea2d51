//! JSON Lines: one line for each object, then one for each finding. Lines are in the order of their bytes, and nothing in
//! them depends on other objects or on the time a scan took, so the sorted lines of all shards of a scan are the lines of
//! the whole scan.

use std::io::{self, Write as _};

use kubewright_value::{Map, Text, Value, json};

use super::json::{finding_row_value, object_row_value};
use super::{Renderer, ReportWriter};
use crate::{FindingRow, ObjectRow, Report, ReportedFindings, Results, Totals};

/// Renders reports as JSON Lines.
pub(super) struct JsonLinesRenderer {
    out: ReportWriter,
}

impl JsonLinesRenderer {
    /// Returns lines that are written to `out`.
    pub(super) fn new(out: ReportWriter) -> Self {
        Self { out }
    }
}

impl Renderer for JsonLinesRenderer {
    fn object(&mut self, _row: &ObjectRow, prepared: &str) -> io::Result<()> {
        writeln!(self.out, "{prepared}")
    }

    fn finish(&mut self, report: &Report<'_>) -> io::Result<()> {
        if let Results::Objects(Totals { findings: Some(found), .. }) = &report.results {
            let mut lines: Vec<String> = found.rows.iter().map(|row| finding_line(found, row)).collect();
            lines.sort_unstable();
            lines.iter().try_for_each(|line| writeln!(self.out, "{line}"))?;
        }
        self.out.flush()
    }
}

/// Returns the line of an object. It starts with its resource, namespace and name, in the API server's order.
pub(super) fn row_line(row: &ObjectRow) -> String {
    let key = match row.namespace.as_str() {
        "" => format!("{}/{}", row.location.file, row.name),
        namespace => format!("{}/{namespace}/{}", row.location.file, row.name),
    };
    first_key("object", key.into(), object_row_value(row))
}

/// Returns the line of a finding, which comes after those of objects.
fn finding_line(found: &ReportedFindings<'_>, row: &FindingRow<'_>) -> String {
    first_key("pattern", row.pattern.name.clone(), finding_row_value(found, row))
}

fn first_key(key: &str, text: Text, value: Value) -> String {
    let mut line = Map::from([(key, Value::from(text))]);
    if let Value::Object(fields) = &value {
        for (name, field) in fields.iter().filter(|(name, _)| *name != key) {
            line.insert(name.clone(), field.clone());
        }
    }
    json::to_shown_string(&line.into())
}
