//! One JSON document with stable keys: see `docs/output.md`. Each object stands on a line of its own, made by
//! the thread that reviewed it, because there may be many.

use std::io::{self, Write as _};

use kubewright_engine::Diagnostic;
use kubewright_patch as patch;
use kubewright_value::{Location, Map, Value, json};

use super::{Ending, Show, Target};
use crate::review::{Counts, ObjectReport, OutcomeRow};

/// Shows reports as JSON.
pub(crate) struct Json {
    out: Target,
    is_first: bool,
}

impl Json {
    /// Returns a document that is written to `out`.
    pub(crate) fn new(out: Target) -> Self {
        Self { out, is_first: true }
    }
}

impl Show for Json {
    fn object(&mut self, report: &ObjectReport) -> io::Result<()> {
        let start = if std::mem::take(&mut self.is_first) { "{\n\"objects\": [\n" } else { ",\n" };
        write!(self.out, "{start}{}", report.json)
    }

    fn finish(&mut self, ending: &Ending<'_>) -> io::Result<()> {
        let start = if self.is_first { "{\n\"objects\": [" } else { "\n" };
        let diagnostics: Vec<String> =
            ending.diagnostics.iter().map(|each| format!("\n{}", diagnostic(each))).collect();
        let end = if diagnostics.is_empty() { "" } else { "\n" };
        let diagnostics = diagnostics.join(",");
        let summary = summary(ending.objects, ending.counts);
        writeln!(self.out, "{start}],\n\"diagnostics\": [{diagnostics}{end}],\n\"summary\": {summary}\n}}")?;
        self.out.flush()
    }
}

/// Returns an object as JSON on one line.
pub(crate) fn object_text(report: &ObjectReport) -> String {
    json::to_shown_string(&object(report))
}

fn object(report: &ObjectReport) -> Value {
    Map::from([
        ("file", Value::from(report.location.file.clone())),
        ("line", u64::from(report.location.position.line).into()),
        ("apiVersion", report.api_version.clone().into()),
        ("kind", report.kind.clone().into()),
        ("namespace", report.namespace.clone().into()),
        ("name", report.name.clone().into()),
        ("allowed", report.is_allowed.into()),
        ("patch", operations(&report.patch)),
        ("outcomes", report.outcomes.iter().map(|row| outcome(row, report)).collect::<Vec<_>>().into()),
    ])
    .into()
}

fn outcome(row: &OutcomeRow, report: &ObjectReport) -> Value {
    let rule_place = place(row.rule_location.as_ref());
    let mut outcome = Map::from([
        ("rule", Value::from(row.rule.to_string())),
        ("dialect", row.rule.dialect.into()),
        ("policy", row.rule.policy.clone().into()),
        ("name", row.rule.rule.clone().into()),
        ("status", row.status.name().into()),
        ("message", row.message.as_str().into()),
        ("path", row.path.as_str().into()),
        ("ruleFile", rule_place.0),
        ("ruleLine", rule_place.1),
        ("ruleColumn", rule_place.2),
        ("file", report.location.file.clone().into()),
        ("line", u64::from(row.position.line).into()),
        ("patch", operations(&row.patch)),
    ]);
    let about = &row.about;
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
    if let Some(denial) = &row.denial {
        outcome.insert("denial".into(), denial.as_str().into());
    }
    outcome.into()
}

/// Returns the file, line and column of a place; null where there is none.
pub(crate) fn place(location: Option<&Location>) -> (Value, Value, Value) {
    match location {
        Some(location) => (
            location.source.name.as_str().into(),
            u64::from(location.position.line).into(),
            u64::from(location.position.column).into(),
        ),
        None => (Value::Null, Value::Null, Value::Null),
    }
}

/// Returns a patch as JSON.
pub(super) fn operations(patch: &[patch::JsonPatchOperation]) -> Value {
    Value::array(patch.iter().map(patch::JsonPatchOperation::to_value).collect())
}

/// Returns a diagnostic as JSON.
pub(crate) fn diagnostic(diagnostic: &Diagnostic) -> Value {
    let (file, line, column) = place(Some(&diagnostic.location));
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

fn summary(objects: usize, counts: Counts) -> Value {
    Map::from([
        ("objects", Value::from(objects)),
        ("pass", counts.pass.into()),
        ("fail", counts.fail.into()),
        ("warn", counts.warn.into()),
        ("error", counts.error.into()),
        ("skip", counts.skip.into()),
        ("patched", counts.patched.into()),
    ])
    .into()
}
