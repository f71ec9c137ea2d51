//! GitLab code quality: one JSON list with an entry for everything that is wrong.

use std::io::{self, Write as _};

use kubewright_value::{Map, Value, json};

use super::{Renderer, ReportWriter};
use crate::text::relative_file;
use crate::{Annotation, Fingerprints, ObjectRow, Report, Severity, visible};

/// Renders reports as a code quality list.
pub(super) struct GitlabRenderer {
    out: ReportWriter,
    folder: &'static str,
    fingerprints: Fingerprints,
    is_first: bool,
}

impl GitlabRenderer {
    /// Returns a list that is written to `out`, with file names relative to `folder`.
    pub(super) fn new(out: ReportWriter, folder: &'static str) -> Self {
        Self { out, folder, fingerprints: Fingerprints::default(), is_first: true }
    }

    fn entry(&mut self, annotation: &Annotation<'_>) -> io::Result<()> {
        let start = if std::mem::take(&mut self.is_first) { "[\n" } else { ",\n" };
        // An entry needs a line, and a resource of a cluster has none.
        let line = u64::from(annotation.position.line.max(1));
        let location = Map::from([
            ("path", Value::from(relative_file(&annotation.file, self.folder))),
            ("lines", Map::from([("begin", Value::from(line))]).into()),
        ]);
        let fingerprint = match self.fingerprints.next(annotation, self.folder) {
            (fingerprint, 1) => fingerprint,
            (fingerprint, number) => format!("{fingerprint}-{number}"),
        };
        let entry = Map::from([
            ("description", Value::from(visible(&annotation.text.replace('\n', " ")).into_owned())),
            ("check_name", annotation.title.as_str().into()),
            ("fingerprint", fingerprint.into()),
            ("severity", code_quality_severity(annotation.severity).into()),
            ("location", location.into()),
        ]);
        write!(self.out, "{start}{}", json::to_shown_string(&entry.into()))
    }
}

impl Renderer for GitlabRenderer {
    fn object(&mut self, row: &ObjectRow, _prepared: &str) -> io::Result<()> {
        row.annotations().try_for_each(|annotation| self.entry(&annotation))
    }

    fn finish(&mut self, report: &Report<'_>) -> io::Result<()> {
        report.annotations().iter().try_for_each(|annotation| self.entry(annotation))?;
        writeln!(self.out, "{}]", if self.is_first { "[" } else { "\n" })?;
        self.out.flush()
    }
}

/// Returns GitLab's word for a severity.
fn code_quality_severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "blocker",
        Severity::High => "critical",
        Severity::Medium => "major",
        Severity::Low => "minor",
        Severity::Info => "info",
    }
}
