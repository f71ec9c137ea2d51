//! SARIF 2.1.0, for code scanning: a result for everything that is wrong, at the line of the manifest or rule.

mod findings;

use std::io::{self, Write as _};

use kubewright_engine::{Code, Diagnostic, Rule};
use kubewright_value::text::{TextLimit, shorten_text};
use kubewright_value::{Map, Position, Value, json};

use super::{Renderer, ReportWriter};
use crate::text::relative_file;
use crate::{
    Annotation, AnnotationLevel, Fingerprints, ObjectRow, OutcomeRow, Report, ReportedFindings, Results,
    Severity, why_command,
};
use kubewright_value::CompactSort as _;

const SARIF_SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// Where the tool is described.
const INFORMATION_URI: &str = "https://kubewright.dev";
/// The longest description of a rule that code hosts take.
const MAX_DESCRIPTION_CHARACTERS: usize = 1000;

/// Renders reports as SARIF.
pub(super) struct SarifRenderer {
    out: ReportWriter,
    files: SarifFiles,
    fingerprints: Fingerprints,
    // The rules that results of failed cases name, each once.
    case_rules: Vec<String>,
    is_first: bool,
}

/// How file names become addresses.
#[derive(Clone, Copy)]
struct SarifFiles {
    folder: &'static str,
}

impl SarifRenderer {
    /// Returns a document that is written to `out`, with file names relative to `folder`.
    pub(super) fn new(out: ReportWriter, folder: &'static str) -> Self {
        let files = SarifFiles { folder };
        Self { out, files, fingerprints: Fingerprints::default(), case_rules: Vec::new(), is_first: true }
    }

    /// Writes the result of `annotation`, of which `result` has what the annotation does not say.
    fn result(&mut self, annotation: &Annotation<'_>, mut result: Map) -> io::Result<()> {
        let (fingerprint, number) = self.fingerprints.next(annotation, self.files.folder);
        // GitHub reads this key alone.
        let fingerprints =
            Map::from([("primaryLocationLineHash", Value::from(format!("{fingerprint}:{number}")))]);
        result.insert("partialFingerprints".into(), fingerprints.into());
        let start = if std::mem::take(&mut self.is_first) { document_head() } else { ",\n".to_owned() };
        write!(self.out, "{start}{}", json::to_shown_string(&result.into()))
    }

    /// Writes findings, and returns what each pattern is about.
    fn findings(&mut self, found: &ReportedFindings<'_>) -> io::Result<Vec<Value>> {
        for row in &found.rows {
            let result = self.files.finding_result(found, row);
            self.result(&found.annotation(row), result)?;
        }
        Ok(found.runs.iter().map(|run| findings::pattern_descriptor(run.pattern)).collect())
    }

    /// Writes diagnostics, and what each rule is about.
    fn end(&mut self, rules: Vec<Value>, diagnostics: &[Diagnostic]) -> io::Result<()> {
        for diagnostic in diagnostics {
            let annotation = Annotation::of_diagnostic(diagnostic);
            self.result(&annotation, self.files.annotation_result(&annotation))?;
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
            // A suppressed outcome is a result with a suppression.
            let status =
                outcome.suppression.as_ref().map_or(outcome.status, |suppression| suppression.status);
            if let Some(annotation) = row.annotation_as(outcome, status) {
                let mut result = self.files.outcome_result(outcome, &annotation);
                if let Some(why) = why_command(outcome, row) {
                    result.insert("properties".into(), Map::from([("why", Value::from(why))]).into());
                }
                self.result(&annotation, result)?;
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
                    self.result(&annotation, self.files.annotation_result(&annotation))?;
                    if !self.case_rules.contains(&annotation.title) {
                        self.case_rules.push(annotation.title);
                    }
                }
                self.case_rules.iter().map(|title| case_descriptor(title)).collect()
            }
        };
        self.end(rules, report.diagnostics)
    }
}

fn document_head() -> String {
    format!("{{\"$schema\":{},\"version\":\"2.1.0\",\"runs\":[{{\"results\":[\n", json::quote(SARIF_SCHEMA))
}

impl SarifFiles {
    fn outcome_result(self, row: &OutcomeRow, annotation: &Annotation<'_>) -> Map {
        let mut result = self.annotation_result(annotation);
        if !row.path.is_empty() {
            let name = Map::from([("fullyQualifiedName", Value::from(row.path.as_str()))]);
            let place = Map::from([
                ("physicalLocation", self.physical_location(&annotation.file, annotation.position)),
                ("logicalLocations", vec![name].into()),
            ]);
            result.insert("locations".into(), vec![place].into());
        }
        if let Some(suppression) = &row.suppression {
            result.insert("suppressions".into(), vec![suppression.sarif_value()].into());
        }
        if let Some(location) = &row.rule_location {
            let related = Map::from([
                ("physicalLocation", self.physical_location(&location.source.name, location.position)),
                ("message", sarif_message("the rule")),
            ]);
            result.insert("relatedLocations".into(), vec![related].into());
        }
        result
    }

    /// Returns the result of a diagnostic or a failed case.
    fn annotation_result(self, annotation: &Annotation<'_>) -> Map {
        let place = self.physical_location(&annotation.file, annotation.position);
        Map::from([
            ("ruleId", Value::from(annotation.title.as_str())),
            ("level", annotation.level.name().into()),
            ("message", sarif_message(&annotation.text)),
            ("locations", vec![Map::from([("physicalLocation", place)])].into()),
        ])
    }

    /// Returns a position in a file as SARIF has it.
    fn physical_location(self, file: &str, position: Position) -> Value {
        let uri = file_uri(relative_file(file, self.folder));
        let mut location = Map::from([("artifactLocation", Map::from([("uri", Value::from(uri))]).into())]);
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
}

/// Returns a text as SARIF has it.
fn sarif_message(text: &str) -> Value {
    Map::from([("text", Value::from(text))]).into()
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
    codes.compact_sort_by_key(|code| code.id);
    codes.dedup_by_key(|code| code.id);
    let mut descriptors = rules;
    descriptors.extend(codes.into_iter().map(code_descriptor));
    let driver = Map::from([
        ("name", Value::from("kubewright")),
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("semanticVersion", env!("CARGO_PKG_VERSION").into()),
        ("informationUri", INFORMATION_URI.into()),
        ("rules", Value::array(descriptors)),
    ]);
    Map::from([("driver", Value::from(driver))]).into()
}

fn rule_descriptor(rule: &Rule) -> Value {
    let about = &rule.metadata;
    let name = if rule.id.rule.is_empty() { &rule.id.policy } else { &rule.id.rule };
    let short = format!("{} rule {}", rule.id.dialect, rule.id.short());
    let title = if about.title.is_empty() { short.clone() } else { format!("{}: {name}", about.title) };
    let text = if about.description.is_empty() { short } else { about.description.to_string() };
    let help = format!(
        "{text}\n\n`kubewright trace RULES -r MANIFESTS --rule {}` shows why the rule did what it did.",
        rule.id.short()
    );
    descriptor(DescriptorTexts { id: &rule.id.to_string(), name, title: &title, text: &text, help: &help })
        .with(Severity::of_rule(&about.severity), AnnotationLevel::Error, &about.category)
}

fn code_descriptor(code: &Code) -> Value {
    let level = AnnotationLevel::from(code.severity);
    let texts = DescriptorTexts {
        id: code.id,
        name: code.title,
        title: code.title,
        text: code.title,
        help: code.page(),
    };
    descriptor(texts).with(Severity::of_level(level), level, "")
}

/// Returns what a failed case is about.
fn case_descriptor(title: &str) -> Value {
    let text = format!("a test case of {title} fails");
    let texts = DescriptorTexts { id: title, name: title, title: &text, text: &text, help: &text };
    descriptor(texts).with(Severity::High, AnnotationLevel::Error, "")
}

/// The texts about a rule.
#[derive(Clone, Copy)]
struct DescriptorTexts<'t> {
    id: &'t str,
    name: &'t str,
    title: &'t str,
    text: &'t str,
    help: &'t str,
}

/// What code hosts show about a rule.
struct Descriptor(Map);

fn descriptor(texts: DescriptorTexts<'_>) -> Descriptor {
    let mut name = pascal_case(texts.name);
    // The standard wants a name that says more than the id.
    if name.eq_ignore_ascii_case(texts.id) {
        name.push_str("Rule");
    }
    Descriptor(Map::from([
        ("id", Value::from(texts.id)),
        ("name", name.into()),
        ("shortDescription", sarif_description(texts.title)),
        ("fullDescription", sarif_description(texts.text)),
        ("help", sarif_page(texts.help)),
    ]))
}

impl Descriptor {
    /// Adds the level, how GitHub sorts it, and the category.
    fn with(self, severity: Severity, level: AnnotationLevel, category: &str) -> Value {
        let problem = match level {
            AnnotationLevel::Error => "error",
            AnnotationLevel::Warning => "warning",
            AnnotationLevel::Notice => "recommendation",
        };
        let mut properties = Map::from([
            ("problem.severity", Value::from(problem)),
            ("security-severity", security_severity(severity).into()),
            ("severity", severity.name().into()),
        ]);
        let tags: Vec<&str> = ["security", category].into_iter().filter(|tag| !tag.is_empty()).collect();
        properties.insert("tags".into(), tags.into());
        let Self(mut rule) = self;
        rule.insert("defaultConfiguration".into(), Map::from([("level", Value::from(level.name()))]).into());
        rule.insert("properties".into(), properties.into());
        rule.into()
    }
}

/// Returns the score that GitHub turns into critical, high, medium or low.
fn security_severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "9.5",
        Severity::High => "8.0",
        Severity::Medium => "5.5",
        Severity::Low => "3.0",
        Severity::Info => "1.0",
    }
}

/// Returns `name` as the standard wants names of rules: `RequireDropAll`.
fn pascal_case(name: &str) -> String {
    let words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters
            .next()
            .map(|first| first.to_uppercase().chain(letters).collect::<String>())
            .unwrap_or_default()
    };
    words.map(capital).collect()
}

/// Returns a description as SARIF has it, cut where code hosts cut it.
fn sarif_description(text: &str) -> Value {
    let text = shorten_text(text, TextLimit::Chars(MAX_DESCRIPTION_CHARACTERS));
    sarif_message(&text)
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
