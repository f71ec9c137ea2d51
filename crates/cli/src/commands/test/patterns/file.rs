//! A case about a pattern as it was written, checked field by field.

use kubewright_patterns::Points;
use kubewright_value::{Document, Location, Value};

use super::super::traits::file::{CaseManifests, given, here};
use crate::fields::InputFieldReader;

/// The field that makes a case one about a pattern.
pub(in crate::commands::test) const SUBJECT: &str = "pattern";
/// The fields of a case about a pattern.
pub(in crate::commands::test) const CASE_FIELDS: &[&str] = &[
    "name",
    "pattern",
    "objects",
    "namespace",
    "settings",
    "findings",
    "truncated",
    "discarded",
    "diagnostics",
];
/// The fields of the settings.
pub(in crate::commands::test) const SETTING_FIELDS: &[&str] =
    &["compat", "perLeader", "perPattern", "witnesses"];
/// Values of `compat`.
const COMPAT: &[&str] = &["registry"];
/// The fields of an expected finding.
pub(in crate::commands::test) const FINDING_FIELDS: &[&str] = &[
    "roles",
    "points",
    "maximum",
    "confidence",
    "severity",
    "message",
    "messageContains",
    "witnesses",
    "evidence",
];
/// The fields of expected evidence.
pub(in crate::commands::test) const EVIDENCE_FIELDS: &[&str] =
    &["entry", "held", "from", "to", "through", "via", "points"];
/// Phases in which a leader may be discarded.
pub(in crate::commands::test) const PHASES: &[&str] = &["veto", "threshold"];
const CONFIDENCES: &[&str] = &["LOW", "MEDIUM", "HIGH"];
const SEVERITIES: &[&str] = &["INFO", "LOW", "MEDIUM", "WARNING", "HIGH", "CRITICAL"];

/// A case about a pattern.
#[derive(Debug)]
pub(in crate::commands::test) struct PatternCase {
    pub(super) name: Option<String>,
    pub(super) subject: PatternSubject,
    /// Objects in addition to those of the file.
    pub(super) objects: Vec<CaseManifests>,
    pub(super) namespace: Option<String>,
    pub(super) passes_unreachable: bool,
    pub(super) per_leader: Option<usize>,
    pub(super) per_pattern: Option<usize>,
    pub(super) witnesses: Option<usize>,
    pub(super) findings: Option<ExpectedFindings>,
    pub(super) truncated: Option<bool>,
    /// Leaders, and the phase in which each ends.
    pub(super) discarded: Vec<(String, String)>,
    /// Codes; an empty list for none.
    pub(super) diagnostics: Option<Vec<String>>,
    pub(super) location: Location,
}

impl PatternCase {
    /// Returns whether the pattern is inline.
    pub(in crate::commands::test) fn is_inline(&self) -> bool {
        matches!(self.subject, PatternSubject::Inline(_))
    }
}

/// The pattern that a case is about.
#[derive(Debug)]
pub(super) enum PatternSubject {
    /// One of the file's, by name.
    Named(String),
    /// Written in the case.
    Inline(Document),
}

/// The expected findings.
#[derive(Debug)]
pub(super) enum ExpectedFindings {
    /// The number of findings.
    Count(usize),
    /// Exactly these findings.
    Each(Vec<ExpectedFinding>),
}

/// An expected finding.
#[derive(Debug, Default)]
pub(super) struct ExpectedFinding {
    /// Resource ids with objects, as `Kind/[namespace/]name`.
    pub(super) roles: Vec<(String, String)>,
    pub(super) points: Option<Points>,
    pub(super) maximum: Option<Points>,
    pub(super) confidence: Option<String>,
    pub(super) severity: Option<String>,
    pub(super) message: Option<String>,
    pub(super) message_contains: Option<String>,
    pub(super) witnesses: Vec<(String, Vec<String>)>,
    pub(super) evidence: Vec<ExpectedEvidence>,
}

/// Expected evidence.
#[derive(Debug)]
pub(super) struct ExpectedEvidence {
    pub(super) entry: String,
    pub(super) held: Option<bool>,
    pub(super) from: Option<String>,
    pub(super) to: Option<String>,
    pub(super) through: Option<String>,
    pub(super) via: Option<String>,
    pub(super) points: Option<Points>,
}

/// Reads a case about a pattern.
pub(in crate::commands::test) fn read_pattern_case(
    reader: &mut InputFieldReader<'_>,
    document: &Document,
) -> PatternCase {
    reader.check_fields(CASE_FIELDS);
    let settings = reader.field("settings", read_case_settings).unwrap_or_default();
    let case = PatternCase {
        name: reader.text("name"),
        subject: read_pattern_subject(reader, document),
        objects: given(reader, document, "objects").unwrap_or_default(),
        namespace: reader.text("namespace"),
        passes_unreachable: settings.passes_unreachable,
        per_leader: settings.per_leader,
        per_pattern: settings.per_pattern,
        witnesses: settings.witnesses,
        findings: read_expected_findings(reader, document),
        truncated: reader.flag("truncated"),
        discarded: read_discarded(reader),
        diagnostics: reader.value("diagnostics").is_some().then(|| read_expected_codes(reader)),
        location: reader.location(),
    };
    if !["findings", "truncated", "discarded", "diagnostics"]
        .iter()
        .any(|field| reader.value(field).is_some())
    {
        let needs = "it needs `findings`, `discarded`, `truncated` or `diagnostics`";
        reader.missing("findings", &format!("this case has no expectation: {needs}"));
    }
    case
}

#[derive(Default)]
struct PatternCaseSettings {
    passes_unreachable: bool,
    per_leader: Option<usize>,
    per_pattern: Option<usize>,
    witnesses: Option<usize>,
}

fn read_case_settings(reader: &mut InputFieldReader<'_>) -> PatternCaseSettings {
    reader.check_fields(SETTING_FIELDS);
    PatternCaseSettings {
        passes_unreachable: reader.word("compat", "compatibility", COMPAT).is_some(),
        per_leader: read_finding_count(reader, "perLeader"),
        per_pattern: read_finding_count(reader, "perPattern"),
        witnesses: read_finding_count(reader, "witnesses"),
    }
}

fn read_pattern_subject(reader: &mut InputFieldReader<'_>, document: &Document) -> PatternSubject {
    let inline = reader.value(SUBJECT).filter(|value| value.as_object().is_some());
    let inline = inline.and_then(|_| reader.field(SUBJECT, |reader| document.part(reader.path())).flatten());
    match inline {
        Some(inline) => PatternSubject::Inline(inline),
        None => PatternSubject::Named(reader.text(SUBJECT).unwrap_or_default()),
    }
}

fn read_expected_findings(
    reader: &mut InputFieldReader<'_>,
    document: &Document,
) -> Option<ExpectedFindings> {
    match reader.value("findings")? {
        Value::Number(_) => read_finding_count(reader, "findings").map(ExpectedFindings::Count),
        Value::Array(_) => Some(ExpectedFindings::Each(
            reader.each("findings", |reader| read_expected_finding(reader, document)),
        )),
        other => {
            let kind = other.kind();
            reader.wrong("findings", format!("`findings` is a list or a number, this is of type {kind}"));
            None
        }
    }
}

fn read_expected_finding(reader: &mut InputFieldReader<'_>, document: &Document) -> ExpectedFinding {
    // The leader alone is enough where nothing else is compared.
    if let Some(Value::String(leader)) = here(reader, document) {
        let leader = leader.to_string();
        if !is_object(&leader) {
            reader.wrong_here(bad_object_name(&leader));
        }
        return ExpectedFinding { roles: vec![(String::new(), leader)], ..ExpectedFinding::default() };
    }
    reader.check_fields(FINDING_FIELDS);
    if reader.value("roles").is_none() {
        reader.missing("roles", "an expected finding needs `roles`");
    }
    ExpectedFinding {
        roles: objects_by_id(reader, "roles"),
        points: points(reader, "points"),
        maximum: points(reader, "maximum"),
        confidence: reader.word("confidence", "confidence", CONFIDENCES),
        severity: reader.word("severity", "severity", SEVERITIES),
        message: reader.text("message"),
        message_contains: reader.text("messageContains"),
        witnesses: witnesses(reader),
        evidence: reader.each("evidence", read_expected_evidence),
    }
}

fn read_expected_evidence(reader: &mut InputFieldReader<'_>) -> ExpectedEvidence {
    reader.check_fields(EVIDENCE_FIELDS);
    ExpectedEvidence {
        entry: reader.required_text("entry", "expected evidence"),
        held: reader.flag("held"),
        from: read_object_name(reader, "from"),
        to: read_object_name(reader, "to"),
        through: read_object_name(reader, "through"),
        via: reader.text("via"),
        points: points(reader, "points"),
    }
}

fn objects_by_id(reader: &mut InputFieldReader<'_>, field: &str) -> Vec<(String, String)> {
    let ids = reader.entries(field);
    let read = |reader: &mut InputFieldReader<'_>| {
        ids.iter().filter_map(|(id, _)| Some((id.to_string(), read_object_name(reader, id)?))).collect()
    };
    reader.field(field, read).unwrap_or_default()
}

fn witnesses(reader: &mut InputFieldReader<'_>) -> Vec<(String, Vec<String>)> {
    let ids = reader.entries("witnesses");
    let read = |reader: &mut InputFieldReader<'_>| {
        let of = |reader: &mut InputFieldReader<'_>, id: &str| {
            let names = reader.texts(id);
            if let Some(wrong) = names.iter().find(|name| !is_object(name)) {
                reader.wrong(id, bad_object_name(wrong));
            }
            names
        };
        ids.iter().map(|(id, _)| (id.to_string(), of(reader, id))).collect()
    };
    reader.field("witnesses", read).unwrap_or_default()
}

fn read_discarded(reader: &mut InputFieldReader<'_>) -> Vec<(String, String)> {
    let leaders = reader.entries("discarded");
    let read = |reader: &mut InputFieldReader<'_>| {
        let mut found = Vec::new();
        for (leader, _) in &leaders {
            if !is_object(leader) {
                reader.wrong_key(leader, bad_object_name(leader), None);
            }
            let phase = reader.word(leader, "phase", PHASES).unwrap_or_default();
            found.push((leader.to_string(), phase));
        }
        found
    };
    reader.field("discarded", read).unwrap_or_default()
}

fn read_expected_codes(reader: &mut InputFieldReader<'_>) -> Vec<String> {
    let codes = reader.texts("diagnostics");
    let known = crate::codes::all_codes();
    if let Some(unknown) = codes.iter().find(|code| !known.iter().any(|known| known.id == code.as_str())) {
        let near = kubewright_engine::nearest_word(unknown, known.iter().map(|code| code.id));
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        reader.wrong("diagnostics", format!("there is no diagnostic `{unknown}`{near}"));
    }
    codes
}

fn read_object_name(reader: &mut InputFieldReader<'_>, field: &str) -> Option<String> {
    let name = reader.text(field)?;
    if !is_object(&name) {
        reader.wrong(field, bad_object_name(&name));
    }
    Some(name)
}

fn is_object(name: &str) -> bool {
    name.split('/').count() >= 2 && name.split('/').all(|part| !part.is_empty())
}

fn bad_object_name(name: &str) -> String {
    format!(
        "`{name}` is not an object name: write `Kind/namespace/name`, or `Kind/name` for one without a namespace"
    )
}

fn points(reader: &mut InputFieldReader<'_>, field: &str) -> Option<Points> {
    let value = reader.value(field)?;
    let points = match value {
        Value::Number(number) => Points::of(*number),
        _ => None,
    };
    if points.is_none() {
        reader.wrong(field, format!("`{field}` is a non-negative number, this is of type {}", value.kind()));
    }
    points
}

fn read_finding_count(reader: &mut InputFieldReader<'_>, field: &str) -> Option<usize> {
    let value = reader.value(field)?;
    let count = value.as_i64().and_then(|count| usize::try_from(count).ok());
    if count.is_none() {
        reader.wrong(field, format!("`{field}` is a non-negative integer, this is of type {}", value.kind()));
    }
    count
}
