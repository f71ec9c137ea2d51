//! One JSON document with stable keys: see `docs/output.md`. Each object and each finding is on a line of its own,
//! written as soon as it is known, because there may be many.

mod cases;
mod findings;

use std::io::{self, Write as _};

use kubewright_engine::{Diagnostic, ObjectWrite};
use kubewright_patch as patch;
use kubewright_value::{Location, Map, Value, json};

use super::{DiagnosticCounts, Renderer, ReportWriter};
use crate::{LintTotals, ObjectRow, OutcomeRow, Report, Results, Totals, why_command};

pub(super) use cases::cases_value;
pub use findings::{finding_row_value, findings_document, pattern_value};
pub(super) use findings::{finding_values, findings_summary, run_values};

/// The version of the documents. It changes when a key changes its meaning or goes, not when one is added.
pub const DOCUMENT_VERSION: u64 = 1;

/// Renders reports as JSON.
pub(super) struct JsonRenderer {
    out: ReportWriter,
    is_first: bool,
}

impl JsonRenderer {
    /// Returns a document that is written to `out`.
    pub(super) fn new(out: ReportWriter) -> Self {
        Self { out, is_first: true }
    }

    /// Ends the document after the rows of objects.
    fn end_objects(&mut self, totals: &Totals<'_>, diagnostics: &[Diagnostic]) -> io::Result<()> {
        if self.is_first {
            write!(self.out, "{{\n\"version\": {DOCUMENT_VERSION},\n\"objects\": [],")?;
        } else {
            write!(self.out, "\n],")?;
        }
        if let Some(found) = totals.findings {
            write_json_list(&mut self.out, "findings", finding_values(found))?;
            write_json_list(&mut self.out, "patterns", run_values(found))?;
        }
        write_json_list(&mut self.out, "diagnostics", diagnostics.iter().map(diagnostic_value))?;
        write_summary(&mut self.out, &totals_value(totals))
    }
}

impl Renderer for JsonRenderer {
    fn object(&mut self, _row: &ObjectRow, prepared: &str) -> io::Result<()> {
        if std::mem::take(&mut self.is_first) {
            return write!(self.out, "{{\n\"version\": {DOCUMENT_VERSION},\n\"objects\": [\n{prepared}");
        }
        write!(self.out, ",\n{prepared}")
    }

    fn finish(&mut self, report: &Report<'_>) -> io::Result<()> {
        match &report.results {
            Results::Objects(totals) => self.end_objects(totals, report.diagnostics)?,
            Results::Findings(found) => {
                write!(self.out, "{{\n\"version\": {DOCUMENT_VERSION},")?;
                write_json_list(&mut self.out, "findings", finding_values(found))?;
                write_json_list(&mut self.out, "patterns", run_values(found))?;
                write_json_list(
                    &mut self.out,
                    "diagnostics",
                    report.diagnostics.iter().map(diagnostic_value),
                )?;
                write_summary(&mut self.out, &findings_summary(found))?;
            }
            Results::Diagnostics(totals) => {
                let document = diagnostics_value(totals, report.diagnostics);
                writeln!(self.out, "{}", json::to_shown_pretty(&document))?;
            }
            Results::Cases(tests) => cases::write_json_cases(tests, &mut self.out)?,
        }
        self.out.flush()
    }
}

/// Returns an object's row as JSON on one line.
pub(super) fn object_line(row: &ObjectRow) -> String {
    json::to_shown_string(&object_row_value(row))
}

/// Writes a list with each item on a line of its own.
fn write_json_list(out: &mut ReportWriter, key: &str, items: impl Iterator<Item = Value>) -> io::Result<()> {
    write!(out, "\n\"{key}\": [")?;
    let mut is_first = true;
    for item in items {
        let start = if std::mem::take(&mut is_first) { "\n" } else { ",\n" };
        write!(out, "{start}{}", json::to_shown_string(&item))?;
    }
    write!(out, "{}],", if is_first { "" } else { "\n" })
}

/// Writes the summary, which ends the document.
fn write_summary(out: &mut ReportWriter, summary: &Value) -> io::Result<()> {
    writeln!(out, "\n\"summary\": {}\n}}", json::to_shown_string(summary))
}

/// Returns an object's row as JSON.
#[must_use]
pub fn object_row_value(row: &ObjectRow) -> Value {
    Map::from([
        ("file", Value::from(row.location.file.clone())),
        ("line", u64::from(row.location.position.line).into()),
        ("apiVersion", row.api_version.clone().into()),
        ("kind", row.kind.clone().into()),
        ("namespace", row.namespace.clone().into()),
        ("name", row.name.clone().into()),
        ("allowed", row.is_allowed.into()),
        ("patch", patch_value(&row.patch)),
        (
            "outcomes",
            row.outcomes.iter().map(|outcome| outcome_value(outcome, row)).collect::<Vec<_>>().into(),
        ),
    ])
    .into()
}

fn outcome_value(row: &OutcomeRow, object: &ObjectRow) -> Value {
    let rule_location = location_values(row.rule_location.as_ref());
    let mut outcome = Map::from([
        ("rule", Value::from(row.rule.to_string())),
        ("dialect", row.rule.dialect.into()),
        ("policy", row.rule.policy.clone().into()),
        ("name", row.rule.rule.clone().into()),
        ("status", row.status.name().into()),
        ("message", row.message.as_str().into()),
        ("path", row.path.as_str().into()),
        ("ruleFile", rule_location.0),
        ("ruleLine", rule_location.1),
        ("ruleColumn", rule_location.2),
        ("file", object.location.file.clone().into()),
        ("line", u64::from(row.position.line).into()),
        ("patch", patch_value(&row.patch)),
    ]);
    if let Some(rendered) = &row.rendered {
        rendered.write_to(&mut outcome);
    }
    let about = &row.metadata;
    for (key, text) in [("severity", &about.severity), ("category", &about.category)] {
        if !text.is_empty() {
            outcome.insert(key.into(), text.clone().into());
        }
    }
    if row.is_refusal {
        outcome.insert("refuses".into(), true.into());
    }
    if !row.exceptions.is_empty() {
        outcome.insert("exceptions".into(), row.exceptions.clone().into());
    }
    if let Some(suppression) = &row.suppression {
        outcome.insert("suppression".into(), suppression.to_value());
    }
    if !row.writes.is_empty() {
        outcome.insert("writes".into(), Value::array(row.writes.iter().map(write_value).collect()));
    }
    if let Some(reason) = row.reason.as_ref().filter(|reason| !reason.text.is_empty()) {
        outcome.insert("reason".into(), reason.text.as_str().into());
    }
    if let Some(why) = why_command(row, object) {
        outcome.insert("why".into(), why.into());
    }
    if let Some(denial) = &row.denial {
        outcome.insert("denial".into(), denial.as_str().into());
    }
    outcome.into()
}

/// Returns the file, line and column of a location; null where there is none.
#[must_use]
pub fn location_values(location: Option<&Location>) -> (Value, Value, Value) {
    match location {
        Some(location) => (
            location.source.name.as_str().into(),
            u64::from(location.position.line).into(),
            u64::from(location.position.column).into(),
        ),
        None => (Value::Null, Value::Null, Value::Null),
    }
}

/// Returns a write as JSON.
fn write_value(write: &ObjectWrite) -> Value {
    Map::from([("verb", Value::from(write.verb.name())), ("object", write.object.clone())]).into()
}

/// Returns a patch as JSON.
fn patch_value(patch: &[patch::JsonPatchOperation]) -> Value {
    Value::array(patch.iter().map(patch::JsonPatchOperation::to_value).collect())
}

/// Returns a diagnostic as JSON.
#[must_use]
pub fn diagnostic_value(diagnostic: &Diagnostic) -> Value {
    let (file, line, column) = location_values(Some(&diagnostic.location));
    Map::from([
        ("code", Value::from(diagnostic.code.id)),
        ("severity", diagnostic.severity().name().into()),
        ("message", diagnostic.message.as_str().into()),
        ("file", file),
        ("line", line),
        ("column", column),
        ("help", diagnostic.help.as_str().into()),
    ])
    .into()
}

/// Returns the document of diagnostics alone.
pub(super) fn diagnostics_value(totals: &LintTotals<'_>, diagnostics: &[Diagnostic]) -> Value {
    let counts = DiagnosticCounts::of(diagnostics);
    let summary = Map::from([
        ("errors", Value::from(counts.errors)),
        ("warnings", counts.warnings.into()),
        ("hints", counts.hints.into()),
        ("unreadable", totals.unreadable.len().into()),
    ]);
    let all: Vec<Value> = diagnostics.iter().chain(totals.unreadable).map(diagnostic_value).collect();
    Map::from([
        ("version", Value::from(DOCUMENT_VERSION)),
        ("diagnostics", Value::array(all)),
        ("summary", summary.into()),
    ])
    .into()
}

/// Returns the totals of a review as JSON.
#[must_use]
pub fn totals_value(totals: &Totals<'_>) -> Value {
    let counts = totals.counts;
    let mut summary = Map::from([
        ("objects", Value::from(totals.objects)),
        ("pass", counts.pass.into()),
        ("fail", counts.fail.into()),
        ("warn", counts.warn.into()),
        ("error", counts.error.into()),
        ("skip", counts.skip.into()),
        ("patched", counts.patched.into()),
    ]);
    if counts.written > 0 {
        summary.insert("written".into(), counts.written.into());
    }
    for (key, count) in [("baselined", counts.baselined), ("ignored", counts.ignored)] {
        if count > 0 {
            summary.insert(key.into(), count.into());
        }
    }
    if let Some(found) = totals.findings {
        summary.insert("findings".into(), findings_summary(found));
    }
    summary.into()
}
