//! A case about a pattern as it was written, checked field by field.

use kubewright_patterns::Points;
use kubewright_value::{Document, Location, Value};

use super::super::traits::file::{Given, given, here};
use crate::fields::Reader;

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
/// Whose habits a pattern may be read with.
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
/// Where a leader may end without a finding.
pub(in crate::commands::test) const PHASES: &[&str] = &["veto", "threshold"];
const CONFIDENCES: &[&str] = &["LOW", "MEDIUM", "HIGH"];
const SEVERITIES: &[&str] = &["INFO", "LOW", "MEDIUM", "WARNING", "HIGH", "CRITICAL"];

/// A case about a pattern.
#[derive(Debug)]
pub(in crate::commands::test) struct PatternCase {
    pub(super) name: Option<String>,
    pub(super) subject: Subject,
    /// Objects beside those of the file.
    pub(super) objects: Vec<Given>,
    pub(super) namespace: Option<String>,
    pub(super) passes_unreachable: bool,
    pub(super) per_leader: Option<usize>,
    pub(super) per_pattern: Option<usize>,
    pub(super) witnesses: Option<usize>,
    pub(super) findings: Option<Findings>,
    pub(super) truncated: Option<bool>,
    /// Leaders, and the phase in which each ends.
    pub(super) discarded: Vec<(String, String)>,
    /// Codes; an empty list for none.
    pub(super) diagnostics: Option<Vec<String>>,
    pub(super) location: Location,
}

impl PatternCase {
    /// Returns whether its pattern stands in the case itself.
    pub(in crate::commands::test) fn is_inline(&self) -> bool {
        matches!(self.subject, Subject::Inline(_))
    }
}

/// The pattern that a case is about.
#[derive(Debug)]
pub(super) enum Subject {
    /// One of the file's, by name.
    Named(String),
    /// Written in the case.
    Inline(Document),
}

/// The findings that are expected.
#[derive(Debug)]
pub(super) enum Findings {
    /// So many, whatever they are.
    Count(usize),
    /// These and no others.
    Each(Vec<Expected>),
}

/// A finding that is expected.
#[derive(Debug, Default)]
pub(super) struct Expected {
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

/// Evidence that is expected.
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
pub(in crate::commands::test) fn case(reader: &mut Reader<'_>, document: &Document) -> PatternCase {
    reader.check_fields(CASE_FIELDS);
    let settings = reader.field("settings", settings).unwrap_or_default();
    let case = PatternCase {
        name: reader.text("name"),
        subject: subject(reader, document),
        objects: given(reader, document, "objects").unwrap_or_default(),
        namespace: reader.text("namespace"),
        passes_unreachable: settings.passes_unreachable,
        per_leader: settings.per_leader,
        per_pattern: settings.per_pattern,
        witnesses: settings.witnesses,
        findings: findings(reader, document),
        truncated: reader.flag("truncated"),
        discarded: discarded(reader),
        diagnostics: reader.value("diagnostics").is_some().then(|| codes(reader)),
        location: reader.location(),
    };
    if !["findings", "truncated", "discarded", "diagnostics"]
        .iter()
        .any(|field| reader.value(field).is_some())
    {
        let needs = "it needs `findings`, `discarded`, `truncated` or `diagnostics`";
        reader.missing("findings", &format!("this case compares nothing: {needs}"));
    }
    case
}

#[derive(Default)]
struct Settings {
    passes_unreachable: bool,
    per_leader: Option<usize>,
    per_pattern: Option<usize>,
    witnesses: Option<usize>,
}

fn settings(reader: &mut Reader<'_>) -> Settings {
    reader.check_fields(SETTING_FIELDS);
    Settings {
        passes_unreachable: reader.word("compat", "compatibility", COMPAT).is_some(),
        per_leader: count(reader, "perLeader"),
        per_pattern: count(reader, "perPattern"),
        witnesses: count(reader, "witnesses"),
    }
}

fn subject(reader: &mut Reader<'_>, document: &Document) -> Subject {
    let inline = reader.value(SUBJECT).filter(|value| value.as_object().is_some());
    let inline = inline.and_then(|_| reader.field(SUBJECT, |reader| document.part(reader.path())).flatten());
    match inline {
        Some(inline) => Subject::Inline(inline),
        None => Subject::Named(reader.text(SUBJECT).unwrap_or_default()),
    }
}

fn findings(reader: &mut Reader<'_>, document: &Document) -> Option<Findings> {
    match reader.value("findings")? {
        Value::Number(_) => count(reader, "findings").map(Findings::Count),
        Value::Array(_) => Some(Findings::Each(reader.each("findings", |reader| finding(reader, document)))),
        other => {
            let kind = other.kind();
            reader.wrong(
                "findings",
                format!("`findings` is a list or how many there are, this is of type {kind}"),
            );
            None
        }
    }
}

fn finding(reader: &mut Reader<'_>, document: &Document) -> Expected {
    // The leader alone is enough where nothing else is compared.
    if let Some(Value::String(leader)) = here(reader, document) {
        let leader = leader.to_string();
        if !is_object(&leader) {
            reader.wrong_here(no_object(&leader));
        }
        return Expected { roles: vec![(String::new(), leader)], ..Expected::default() };
    }
    reader.check_fields(FINDING_FIELDS);
    if reader.value("roles").is_none() {
        reader.missing("roles", "an expected finding needs `roles`");
    }
    Expected {
        roles: objects_by_id(reader, "roles"),
        points: points(reader, "points"),
        maximum: points(reader, "maximum"),
        confidence: reader.word("confidence", "confidence", CONFIDENCES),
        severity: reader.word("severity", "severity", SEVERITIES),
        message: reader.text("message"),
        message_contains: reader.text("messageContains"),
        witnesses: witnesses(reader),
        evidence: reader.each("evidence", evidence),
    }
}

fn evidence(reader: &mut Reader<'_>) -> ExpectedEvidence {
    reader.check_fields(EVIDENCE_FIELDS);
    ExpectedEvidence {
        entry: reader.required_text("entry", "expected evidence"),
        held: reader.flag("held"),
        from: object(reader, "from"),
        to: object(reader, "to"),
        through: object(reader, "through"),
        via: reader.text("via"),
        points: points(reader, "points"),
    }
}

fn objects_by_id(reader: &mut Reader<'_>, field: &str) -> Vec<(String, String)> {
    let ids = reader.entries(field);
    let read = |reader: &mut Reader<'_>| {
        ids.iter().filter_map(|(id, _)| Some((id.to_string(), object(reader, id)?))).collect()
    };
    reader.field(field, read).unwrap_or_default()
}

fn witnesses(reader: &mut Reader<'_>) -> Vec<(String, Vec<String>)> {
    let ids = reader.entries("witnesses");
    let read = |reader: &mut Reader<'_>| {
        let of = |reader: &mut Reader<'_>, id: &str| {
            let names = reader.texts(id);
            if let Some(wrong) = names.iter().find(|name| !is_object(name)) {
                reader.wrong(id, no_object(wrong));
            }
            names
        };
        ids.iter().map(|(id, _)| (id.to_string(), of(reader, id))).collect()
    };
    reader.field("witnesses", read).unwrap_or_default()
}

fn discarded(reader: &mut Reader<'_>) -> Vec<(String, String)> {
    let leaders = reader.entries("discarded");
    let read = |reader: &mut Reader<'_>| {
        let mut found = Vec::new();
        for (leader, _) in &leaders {
            if !is_object(leader) {
                reader.wrong_key(leader, no_object(leader), None);
            }
            let phase = reader.word(leader, "phase", PHASES).unwrap_or_default();
            found.push((leader.to_string(), phase));
        }
        found
    };
    reader.field("discarded", read).unwrap_or_default()
}

fn codes(reader: &mut Reader<'_>) -> Vec<String> {
    let codes = reader.texts("diagnostics");
    let known = crate::codes::all();
    if let Some(unknown) = codes.iter().find(|code| !known.iter().any(|known| known.id == code.as_str())) {
        let near = kubewright_engine::nearest_word(unknown, known.iter().map(|code| code.id));
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        reader.wrong("diagnostics", format!("there is no diagnostic `{unknown}`{near}"));
    }
    codes
}

fn object(reader: &mut Reader<'_>, field: &str) -> Option<String> {
    let name = reader.text(field)?;
    if !is_object(&name) {
        reader.wrong(field, no_object(&name));
    }
    Some(name)
}

fn is_object(name: &str) -> bool {
    name.split('/').count() >= 2 && name.split('/').all(|part| !part.is_empty())
}

fn no_object(name: &str) -> String {
    format!(
        "`{name}` names no object: write `Kind/namespace/name`, or `Kind/name` for one without a namespace"
    )
}

fn points(reader: &mut Reader<'_>, field: &str) -> Option<Points> {
    let value = reader.value(field)?;
    let points = match value {
        Value::Number(number) => Points::of(*number),
        _ => None,
    };
    if points.is_none() {
        reader.wrong(field, format!("`{field}` is a number from zero on, this is of type {}", value.kind()));
    }
    points
}

fn count(reader: &mut Reader<'_>, field: &str) -> Option<usize> {
    let value = reader.value(field)?;
    let count = value.as_i64().and_then(|count| usize::try_from(count).ok());
    if count.is_none() {
        reader.wrong(
            field,
            format!("`{field}` is a whole number from zero on, this is of type {}", value.kind()),
        );
    }
    count
}
