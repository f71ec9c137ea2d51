//! SARIF 2.1.0, for code scanning: a result for everything that is wrong, at the line of the manifest or rule.

mod findings;

use std::io::{self, Write as _};

use kubewright_engine::{Code, Diagnostic, Rule, RuleMetadata, RuleStatus};
use kubewright_value::{Map, Position, Value, json};

use super::{Renderer, ReportWriter};
use crate::{
    Annotation, AnnotationLevel, ObjectRow, OutcomeRow, Report, ReportedFindings, Results, Severity,
};

const SARIF_SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// Renders reports as SARIF.
pub(super) struct SarifRenderer {
    out: ReportWriter,
    is_first: bool,
}

impl SarifRenderer {
    /// Returns a document that is written to `out`.
    pub(super) fn new(out: ReportWriter) -> Self {
        Self { out, is_first: true }
    }

    /// Writes one result.
    fn result(&mut self, result: &Value) -> io::Result<()> {
        let start = if std::mem::take(&mut self.is_first) { document_head() } else { ",\n".to_owned() };
        write!(self.out, "{start}{}", json::to_shown_string(result))
    }

    /// Writes findings, and returns what each pattern is about.
    fn findings(&mut self, found: &ReportedFindings<'_>) -> io::Result<Vec<Value>> {
        for row in &found.rows {
            self.result(&findings::sarif_finding_result(found, row))?;
        }
        Ok(found.runs.iter().map(|run| findings::pattern_descriptor(run.pattern)).collect())
    }

    /// Writes diagnostics, and what each rule is about.
    fn end(&mut self, rules: Vec<Value>, diagnostics: &[Diagnostic]) -> io::Result<()> {
        for diagnostic in diagnostics {
            self.result(&annotation_result(&Annotation::of_diagnostic(diagnostic)))?;
        }
        let start = if self.is_first { document_head() } else { "\n".to_owned() };
        let tool = json::to_shown_string(&sarif_tool(rules, diagnostics));
        writeln!(self.out, "{start}],\n\"columnKind\":\"unicodeCodePoints\",\n\"tool\":{tool}}}]}}")?;
        self.out.flush()
    }
}

impl Renderer for SarifRenderer {
    fn object(&mut self, row: &ObjectRow, _prepared: &str) -> io::Result<()> {
        for outcome in &row.outcomes {
            let status =
                outcome.suppression.as_ref().map_or(outcome.status, |suppression| suppression.status);
            if let Some(level) = outcome_level(status, &outcome.metadata) {
                self.result(&sarif_outcome_result(outcome, level, row))?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, report: &Report<'_>) -> io::Result<()> {
        let rules = match &report.results {
            Results::Objects(totals) => {
                let mut rules: Vec<Value> = totals.rules.iter().map(|rule| rule_descriptor(rule)).collect();
                if let Some(found) = totals.findings {
                    rules.extend(self.findings(found)?);
                }
                rules
            }
            Results::Findings(found) => self.findings(found)?,
            Results::Diagnostics(_) => Vec::new(),
            Results::Cases(tests) => {
                for annotation in tests.annotations() {
                    self.result(&annotation_result(&annotation))?;
                }
                Vec::new()
            }
        };
        self.end(rules, report.diagnostics)
    }
}

fn document_head() -> String {
    format!("{{\"$schema\":{},\"version\":\"2.1.0\",\"runs\":[{{\"results\":[\n", json::quote(SARIF_SCHEMA))
}

fn outcome_level(status: RuleStatus, about: &RuleMetadata) -> Option<&'static str> {
    match status {
        RuleStatus::Error => Some("error"),
        RuleStatus::Fail => Some(failure_level(about)),
        RuleStatus::Warn if failure_level(about) == "note" => Some("note"),
        RuleStatus::Warn => Some("warning"),
        RuleStatus::Pass | RuleStatus::Skip => None,
    }
}

/// Returns the level of a failure, which follows from the severity that the rule's author wrote.
fn failure_level(about: &RuleMetadata) -> &'static str {
    Severity::named(&about.severity).map_or("error", |severity| sarif_level(severity.into()))
}

/// Returns SARIF's word for a level.
fn sarif_level(level: AnnotationLevel) -> &'static str {
    match level {
        AnnotationLevel::Error => "error",
        AnnotationLevel::Warning => "warning",
        AnnotationLevel::Notice => "note",
    }
}

fn sarif_outcome_result(row: &OutcomeRow, level: &str, object: &ObjectRow) -> Value {
    let text = format!("{}: {}", object.subject, row.text());
    let mut place = Map::from([("physicalLocation", physical_location(&object.location.file, row.position))]);
    if !row.path.is_empty() {
        let name = Map::from([("fullyQualifiedName", Value::from(row.path.as_str()))]);
        place.insert("logicalLocations".into(), vec![name].into());
    }
    let mut result = Map::from([
        ("ruleId", Value::from(row.rule.to_string())),
        ("level", level.into()),
        ("message", sarif_message(&text)),
        ("locations", vec![place].into()),
    ]);
    if let Some(suppression) = &row.suppression {
        result.insert("suppressions".into(), vec![suppression.sarif_value()].into());
    }
    if let Some(location) = &row.rule_location {
        let related = Map::from([
            ("physicalLocation", physical_location(&location.source.name, location.position)),
            ("message", sarif_message("the rule")),
        ]);
        result.insert("relatedLocations".into(), vec![related].into());
    }
    result.into()
}

/// Returns the result of a diagnostic or a failed case.
fn annotation_result(annotation: &Annotation<'_>) -> Value {
    let place = Map::from([("physicalLocation", physical_location(&annotation.file, annotation.position))]);
    Map::from([
        ("ruleId", Value::from(annotation.title.as_str())),
        ("level", sarif_level(annotation.level).into()),
        ("message", sarif_message(&annotation.text)),
        ("locations", vec![place].into()),
    ])
    .into()
}

/// Returns a text as SARIF has it.
fn sarif_message(text: &str) -> Value {
    Map::from([("text", Value::from(text))]).into()
}

/// Returns a position in a file as SARIF has it.
fn physical_location(file: &str, position: Position) -> Value {
    let mut location =
        Map::from([("artifactLocation", Map::from([("uri", Value::from(file_uri(file)))]).into())]);
    // A resource of a cluster has no lines.
    if position.line > 0 {
        let region = Map::from([
            ("startLine", Value::from(u64::from(position.line))),
            ("startColumn", u64::from(position.column).into()),
        ]);
        location.insert("region".into(), region.into());
    }
    location.into()
}

/// Returns a file name as a relative or `file:` address.
fn file_uri(file: &str) -> String {
    let start = match file {
        "-" => return "stdin".to_owned(),
        file if file.starts_with('/') => "file://",
        _ => "",
    };
    let mut uri = start.to_owned();
    for byte in file.bytes() {
        match byte {
            b'\\' => uri.push('/'),
            b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

fn sarif_tool(rules: Vec<Value>, diagnostics: &[Diagnostic]) -> Value {
    let mut codes: Vec<&Code> = diagnostics.iter().map(|diagnostic| diagnostic.code).collect();
    codes.sort_by_key(|code| code.id);
    codes.dedup_by_key(|code| code.id);
    let mut descriptors = rules;
    descriptors.extend(codes.into_iter().map(code_descriptor));
    let driver = Map::from([
        ("name", Value::from("kubewright")),
        ("semanticVersion", env!("CARGO_PKG_VERSION").into()),
        ("rules", Value::array(descriptors)),
    ]);
    Map::from([("driver", Value::from(driver))]).into()
}

fn rule_descriptor(rule: &Rule) -> Value {
    let id = rule.id.to_string();
    let name = if rule.id.rule.is_empty() { &rule.id.policy } else { &rule.id.rule };
    let text = format!("{} rule {}", rule.id.dialect, rule.id.short());
    let level = failure_level(&rule.metadata);
    let mut descriptor = Map::from([
        ("id", Value::from(id)),
        ("name", name.clone().into()),
        ("shortDescription", sarif_message(&text)),
        ("defaultConfiguration", Map::from([("level", Value::from(level))]).into()),
    ]);
    let mut properties = Map::new();
    if !rule.metadata.category.is_empty() {
        properties.insert("tags".into(), vec![rule.metadata.category.clone()].into());
    }
    if !rule.metadata.severity.is_empty() {
        properties.insert("problem.severity".into(), rule.metadata.severity.clone().into());
    }
    if !properties.is_empty() {
        descriptor.insert("properties".into(), properties.into());
    }
    descriptor.into()
}

fn code_descriptor(code: &Code) -> Value {
    let level = sarif_level(code.severity.into());
    Map::from([
        ("id", Value::from(code.id)),
        ("shortDescription", sarif_message(code.title)),
        ("help", sarif_page(code.page)),
        ("defaultConfiguration", Map::from([("level", Value::from(level))]).into()),
    ])
    .into()
}

/// Returns a page as SARIF has it.
fn sarif_page(text: &str) -> Value {
    Map::from([("text", Value::from(text)), ("markdown", text.into())]).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uri_escapes_file_names() {
        assert_eq!(file_uri("a b/ü.yaml"), "a%20b/%C3%BC.yaml");
        assert_eq!(file_uri("/x/y"), "file:///x/y");
        assert_eq!(file_uri("-"), "stdin");
    }
}
