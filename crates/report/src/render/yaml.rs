//! YAML: of objects the resulting stream, of everything else the document that JSON has.

use std::io::{self, Write as _};

use kubewright_value::{Map, Value};

use super::json::{
    DOCUMENT_VERSION, cases_value, diagnostic_value, diagnostics_value, finding_values, findings_summary,
    run_values,
};
use super::{Renderer, ReportWriter};
use crate::{ObjectRow, Report, Results};

/// Renders the objects after all changes, or a document.
pub(super) struct YamlRenderer {
    out: ReportWriter,
    is_first: bool,
}

impl YamlRenderer {
    /// Returns a stream that is written to `out`.
    pub(super) fn new(out: ReportWriter) -> Self {
        Self { out, is_first: true }
    }
}

impl Renderer for YamlRenderer {
    fn object(&mut self, row: &ObjectRow, _prepared: &str) -> io::Result<()> {
        for object in row.resulting_objects() {
            if !std::mem::take(&mut self.is_first) {
                writeln!(self.out, "---")?;
            }
            self.out.write_all(yaml_text(object).as_bytes())?;
        }
        Ok(())
    }

    fn finish(&mut self, report: &Report<'_>) -> io::Result<()> {
        match &report.results {
            Results::Objects(_) => {}
            Results::Findings(found) => {
                writeln!(self.out, "version: {DOCUMENT_VERSION}")?;
                write_yaml_list(&mut self.out, "findings", finding_values(found))?;
                write_yaml_list(&mut self.out, "patterns", run_values(found))?;
                write_yaml_list(
                    &mut self.out,
                    "diagnostics",
                    report.diagnostics.iter().map(diagnostic_value),
                )?;
                let summary = Map::from([("summary", findings_summary(found))]);
                self.out.write_all(yaml_text(&summary.into()).as_bytes())?;
            }
            Results::Diagnostics(totals) => {
                let document = diagnostics_value(totals, report.diagnostics);
                self.out.write_all(yaml_text(&document).as_bytes())?;
            }
            Results::Cases(tests) => self.out.write_all(yaml_text(&cases_value(tests)).as_bytes())?,
        }
        self.out.flush()
    }
}

/// Writes a list item by item, because there may be many.
fn write_yaml_list(out: &mut ReportWriter, key: &str, items: impl Iterator<Item = Value>) -> io::Result<()> {
    let mut items = items.peekable();
    if items.peek().is_none() {
        return writeln!(out, "{key}: []");
    }
    writeln!(out, "{key}:")?;
    for item in items {
        out.write_all(yaml_text(&Value::array(vec![item])).as_bytes())?;
    }
    Ok(())
}

/// Returns a value as YAML in block style; ends with a line break.
#[must_use]
pub fn yaml_text(value: &Value) -> String {
    kubewright_value::yaml::write(value)
}
