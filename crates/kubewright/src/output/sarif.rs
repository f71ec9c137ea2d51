//! SARIF 2.1.0, for code scanning: a result for each outcome that is wrong, at the line of the manifest.

use std::io::{self, Write as _};

use kubewright_engine::{Code, Diagnostic, Rule, RuleMetadata, Severity, Status};
use kubewright_value::{Map, Position, Value, json};

use super::{Ending, Show, Target};
use crate::review::{ObjectReport, OutcomeRow};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// Shows reports as SARIF.
pub(crate) struct Sarif {
    out: Target,
    is_first: bool,
}

impl Sarif {
    /// Returns a document that is written to `out`.
    pub(crate) fn new(out: Target) -> Self {
        Self { out, is_first: true }
    }

    /// Writes one result.
    pub(crate) fn result(&mut self, result: &Value) -> io::Result<()> {
        let start = if std::mem::take(&mut self.is_first) { head() } else { ",\n".to_owned() };
        write!(self.out, "{start}{}", json::to_shown_string(result))
    }

    /// Writes diagnostics, and what each rule is about.
    pub(crate) fn end(&mut self, rules: Vec<Value>, diagnostics: &[Diagnostic]) -> io::Result<()> {
        for diagnostic in diagnostics {
            self.result(&of_diagnostic(diagnostic))?;
        }
        let start = if self.is_first { head() } else { "\n".to_owned() };
        let tool = json::to_shown_string(&tool(rules, diagnostics));
        writeln!(self.out, "{start}],\n\"columnKind\":\"unicodeCodePoints\",\n\"tool\":{tool}}}]}}")?;
        self.out.flush()
    }
}

impl Show for Sarif {
    fn object(&mut self, report: &ObjectReport) -> io::Result<()> {
        for row in &report.outcomes {
            if let Some(level) = level(row.status, &row.about) {
                self.result(&of_outcome(row, level, report))?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, ending: &Ending<'_>) -> io::Result<()> {
        self.end(ending.rules.iter().map(|rule| rule_descriptor(rule)).collect(), ending.diagnostics)
    }
}

/// Writes diagnostics alone.
pub(crate) fn diagnostics(out: Target, diagnostics: &[Diagnostic]) -> io::Result<()> {
    Sarif::new(out).end(Vec::new(), diagnostics)
}

fn head() -> String {
    format!("{{\"$schema\":{},\"version\":\"2.1.0\",\"runs\":[{{\"results\":[\n", json::quote(SCHEMA))
}

fn level(status: Status, about: &RuleMetadata) -> Option<&'static str> {
    match status {
        Status::Error => Some("error"),
        Status::Fail => Some(failure_level(about)),
        Status::Warn if failure_level(about) == "note" => Some("note"),
        Status::Warn => Some("warning"),
        Status::Pass | Status::Skip => None,
    }
}

/// Returns the level of a failure, which follows from the severity where that is said.
fn failure_level(about: &RuleMetadata) -> &'static str {
    match about.severity.as_str() {
        "medium" => "warning",
        "low" | "info" => "note",
        _ => "error",
    }
}

fn of_outcome(row: &OutcomeRow, level: &str, report: &ObjectReport) -> Value {
    let text = format!("{}: {}", report.subject, row.text());
    let mut place = Map::from([("physicalLocation", physical(&report.location.file, row.position))]);
    if !row.path.is_empty() {
        let name = Map::from([("fullyQualifiedName", Value::from(row.path.as_str()))]);
        place.insert("logicalLocations".into(), vec![name].into());
    }
    let mut result = Map::from([
        ("ruleId", Value::from(row.rule.to_string())),
        ("level", level.into()),
        ("message", message(&text)),
        ("locations", vec![place].into()),
    ]);
    if let Some(location) = &row.rule_location {
        let related = Map::from([
            ("physicalLocation", physical(&location.source.name, location.position)),
            ("message", message("the rule")),
        ]);
        result.insert("relatedLocations".into(), vec![related].into());
    }
    result.into()
}

fn of_diagnostic(diagnostic: &Diagnostic) -> Value {
    let text = match diagnostic.help.as_str() {
        "" => diagnostic.message.clone(),
        help => format!("{}\nhelp: {help}", diagnostic.message),
    };
    let location = &diagnostic.location;
    let place = Map::from([("physicalLocation", physical(&location.source.name, location.position))]);
    Map::from([
        ("ruleId", Value::from(diagnostic.code.id)),
        ("level", severity_level(diagnostic.severity()).into()),
        ("message", message(&text)),
        ("locations", vec![place].into()),
    ])
    .into()
}

/// Returns a text as SARIF has it.
pub(crate) fn message(text: &str) -> Value {
    Map::from([("text", Value::from(text))]).into()
}

/// Returns a place in a file as SARIF has it.
pub(crate) fn physical(file: &str, position: Position) -> Value {
    let region = Map::from([
        ("startLine", Value::from(u64::from(position.line))),
        ("startColumn", u64::from(position.column).into()),
    ]);
    Map::from([
        ("artifactLocation", Map::from([("uri", Value::from(uri(file)))]).into()),
        ("region", region.into()),
    ])
    .into()
}

/// Returns a file name as a relative or `file:` address.
fn uri(file: &str) -> String {
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

fn tool(rules: Vec<Value>, diagnostics: &[Diagnostic]) -> Value {
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
        ("shortDescription", message(&text)),
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
    let level = severity_level(code.severity);
    Map::from([
        ("id", Value::from(code.id)),
        ("shortDescription", message(code.title)),
        ("help", page(code.page)),
        ("defaultConfiguration", Map::from([("level", Value::from(level))]).into()),
    ])
    .into()
}

/// Returns SARIF's word for a severity.
fn severity_level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Hint => "note",
    }
}

/// Returns a page as SARIF has it.
pub(crate) fn page(text: &str) -> Value {
    Map::from([("text", Value::from(text)), ("markdown", text.into())]).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_become_addresses() {
        assert_eq!(uri("a b/ü.yaml"), "a%20b/%C3%BC.yaml");
        assert_eq!(uri("/x/y"), "file:///x/y");
        assert_eq!(uri("-"), "stdin");
    }
}
