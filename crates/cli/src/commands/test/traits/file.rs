//! A case about traits as it was written, checked field by field.

use kubewright_engine::Diagnostic;
use kubewright_files as files;
use kubewright_patch::path::PatchPath;
use kubewright_value::{Document, Location, Step, Value};

use crate::commands::render::stack::{self, StackInstance};
use crate::fields::InputFieldReader;

/// The fields that can be the subject of a case.
pub(in crate::commands::test) const SUBJECTS: &[&str] = &["trait", "traits", "stack", "component"];
/// The fields of a case about traits.
pub(in crate::commands::test) const CASE_FIELDS: &[&str] = &[
    "name",
    "trait",
    "kind",
    "instanceName",
    "parameters",
    "environmentConfigs",
    "traits",
    "stack",
    "component",
    "environment",
    "base",
    "metadata",
    "context",
    "strict",
    "manifests",
    "ordered",
    "expect",
    "fails",
    "warns",
    "idempotent",
];
/// The fields of a single trait.
const OF_ONE: [&str; 4] = ["kind", "instanceName", "parameters", "environmentConfigs"];
/// The fields of an expected manifest.
pub(in crate::commands::test) const EXPECT_FIELDS: &[&str] =
    &["kind", "name", "namespace", "apiVersion", "targetPlane", "present", "fields", "absent", "rule"];
/// The planes of manifests.
pub(in crate::commands::test) const PLANES: &[&str] = &["dataplane", "observabilityplane"];
/// The fields of an expected error or warning.
pub(in crate::commands::test) const FINDING_FIELDS: &[&str] = &["code", "message"];

/// A case about traits.
#[derive(Debug)]
pub(in crate::commands::test) struct TraitCase {
    pub(super) name: Option<String>,
    pub(in crate::commands::test) subject: TraitSubject,
    /// The manifests that the traits are applied to; by default those of the file.
    pub(in crate::commands::test) base: Option<Vec<CaseManifests>>,
    /// The `metadata` of the context.
    pub(super) metadata: Document,
    /// The rest of the context.
    pub(super) context: Document,
    pub(super) is_strict: bool,
    pub(super) manifests: Option<Vec<CaseManifests>>,
    pub(super) is_ordered: bool,
    pub(super) expect: Vec<ExpectedManifest>,
    pub(super) fails: Option<ExpectedDiagnostics>,
    pub(super) warns: Option<ExpectedDiagnostics>,
    pub(super) is_idempotent: bool,
    pub(super) location: Location,
}

impl TraitCase {
    /// Returns whether it needs the resources of the file. The documents of a component may be among the rules.
    pub(in crate::commands::test) fn needs_resources(&self) -> bool {
        self.base.is_none() && !matches!(self.subject, TraitSubject::Component(..))
    }
}

/// The subject of a case.
#[derive(Debug)]
pub(in crate::commands::test) enum TraitSubject {
    /// Traits in their order.
    Instances(Vec<StackInstance>),
    /// The instances of a stack file.
    Stack(String),
    /// A component with its type and traits, in the only environment or in this one.
    Component(String, Option<String>),
}

/// Given or expected manifests.
#[derive(Debug)]
pub(in crate::commands::test) enum CaseManifests {
    /// A file, folder or glob.
    Files(String),
    /// An inline object.
    Inline(Document),
}

impl CaseManifests {
    /// Returns the manifests in `all`, inline or from files, or the diagnostic of the first invalid one.
    pub(in crate::commands::test) fn read(
        all: &[Self],
        folder: &std::path::Path,
    ) -> Result<Vec<Document>, Box<Diagnostic>> {
        let (mut documents, mut problems) = (Vec::new(), Vec::new());
        for given in all {
            match given {
                Self::Inline(document) => documents.push(document.clone()),
                Self::Files(path) => {
                    let named = files::resolve_paths(folder, std::slice::from_ref(path), &mut problems);
                    let found = files::find_manifests(&named);
                    problems.extend(found.problems);
                    documents.extend(files::read_documents(&found.inputs, &mut problems));
                }
            }
        }
        let objects = files::objects_of(documents, &mut problems);
        match problems.into_iter().next() {
            None => Ok(objects),
            Some(problem) => Err(Box::new(problem)),
        }
    }
}

/// The expectations for one manifest.
#[derive(Debug)]
pub(super) struct ExpectedManifest {
    pub(super) kind: String,
    pub(super) name: Option<String>,
    pub(super) namespace: Option<String>,
    pub(super) api_version: Option<String>,
    pub(super) plane: Option<String>,
    pub(super) is_present: bool,
    pub(super) fields: Vec<(PatchPath, Value)>,
    pub(super) absent: Vec<PatchPath>,
    pub(super) rules: Vec<String>,
}

/// Expected errors or warnings.
#[derive(Debug)]
pub(super) enum ExpectedDiagnostics {
    /// There is none.
    Nothing,
    /// At least one.
    Something,
    /// One for each of these.
    Each(Vec<ExpectedDiagnostic>),
}

/// An expected error or warning.
#[derive(Debug)]
pub(super) struct ExpectedDiagnostic {
    pub(super) code: Option<String>,
    /// A part of its message.
    pub(super) message: Option<String>,
}

/// Reads a case about traits.
pub(in crate::commands::test) fn read_trait_case(
    reader: &mut InputFieldReader<'_>,
    document: &Document,
) -> TraitCase {
    reader.check_fields(CASE_FIELDS);
    let case = TraitCase {
        name: reader.text("name"),
        subject: read_trait_subject(reader, document),
        base: given(reader, document, "base"),
        metadata: stack::read_stack_map(reader, document, "metadata"),
        context: stack::read_stack_map(reader, document, "context"),
        is_strict: reader.flag("strict").unwrap_or_default(),
        manifests: given(reader, document, "manifests"),
        is_ordered: reader.flag("ordered").unwrap_or_default(),
        expect: reader.each("expect", read_expected_manifest),
        fails: read_expected_diagnostics(reader, document, "fails"),
        warns: read_expected_diagnostics(reader, document, "warns"),
        is_idempotent: reader.flag("idempotent").unwrap_or_default(),
        location: reader.location(),
    };
    check_trait_case(reader, &case);
    case
}

fn check_trait_case(reader: &mut InputFieldReader<'_>, case: &TraitCase) {
    let has = |reader: &InputFieldReader<'_>, field: &str| reader.value(field).is_some();
    let compares = case.manifests.is_some() || case.fails.is_some() || case.warns.is_some();
    if !compares && case.expect.is_empty() && !case.is_idempotent {
        let needs = "it needs `manifests`, `expect`, `fails`, `warns` or `idempotent`";
        reader.missing("expect", &format!("this case has no expectation: {needs}"));
    }
    if case.is_ordered && !has(reader, "manifests") {
        reader.wrong("ordered", "`ordered` needs `manifests`".to_owned());
    }
    if case.is_idempotent && matches!(case.subject, TraitSubject::Component(..)) {
        let message = "`idempotent` applies to traits; a component has no base manifests";
        reader.wrong("idempotent", message.to_owned());
    }
    let fails = matches!(case.fails, Some(ExpectedDiagnostics::Something | ExpectedDiagnostics::Each(_)));
    for field in ["manifests", "expect", "idempotent"].into_iter().filter(|_| fails) {
        if has(reader, field) {
            reader.wrong(
                field,
                format!("`{field}` cannot be combined with `fails`: a failed rendering has no manifests"),
            );
        }
    }
}

fn read_trait_subject(reader: &mut InputFieldReader<'_>, document: &Document) -> TraitSubject {
    let mut named = SUBJECTS.iter().copied().filter(|field| reader.value(field).is_some());
    let (first, second) = (named.next().unwrap_or_default(), named.next());
    if let Some(second) = second {
        let message = format!("`{second}` and `{first}` are both the subject of the case; use one of them");
        reader.wrong(second, message);
    }
    if first != "trait" {
        for field in OF_ONE.into_iter().filter(|field| reader.value(field).is_some()).collect::<Vec<_>>() {
            let message = match first {
                "traits" => format!("`{field}` belongs to one trait; put it into the item of `traits`"),
                _ => format!("`{field}` belongs to one `trait`, and this case is about a {first}"),
            };
            reader.wrong(field, message);
        }
    }
    if first != "component" && reader.value("environment").is_some() {
        reader.wrong("environment", "`environment` needs `component`".to_owned());
    }
    match first {
        "stack" => TraitSubject::Stack(reader.text("stack").unwrap_or_default()),
        "component" => {
            TraitSubject::Component(reader.text("component").unwrap_or_default(), reader.text("environment"))
        }
        "trait" => {
            let of = reader.text("trait").unwrap_or_default();
            TraitSubject::Instances(vec![used(reader, document, of)])
        }
        _ => {
            let uses = reader.each("traits", |reader| match here(reader, document).and_then(Value::as_str) {
                Some(name) => used(reader, document, name.to_owned()),
                None => stack::read_stack_instance(reader, document),
            });
            stack::duplicate_instances(&uses).into_iter().for_each(|problem| reader.report(problem));
            TraitSubject::Instances(uses)
        }
    }
}

/// Reads the trait called `of`, with the fields next to it.
fn used(reader: &mut InputFieldReader<'_>, document: &Document, of: String) -> StackInstance {
    StackInstance {
        name: reader.text("instanceName").unwrap_or_else(|| of.clone()),
        of,
        kind: reader.word("kind", "kind", stack::KINDS),
        parameters: stack::read_stack_map(reader, document, "parameters"),
        environment_configs: stack::read_stack_map(reader, document, "environmentConfigs"),
        location: reader.location(),
    }
}

/// Reads manifests: files, objects, or a list of both.
pub(in crate::commands::test) fn given(
    reader: &mut InputFieldReader<'_>,
    document: &Document,
    field: &str,
) -> Option<Vec<CaseManifests>> {
    let value = reader.value(field)?;
    if value.as_array().is_some() {
        return Some(
            reader
                .each(field, |reader| read_one_manifest(reader, document, field))
                .into_iter()
                .flatten()
                .collect(),
        );
    }
    reader.field(field, |reader| read_one_manifest(reader, document, field).into_iter().collect())
}

fn read_one_manifest(
    reader: &mut InputFieldReader<'_>,
    document: &Document,
    field: &str,
) -> Option<CaseManifests> {
    match here(reader, document) {
        Some(Value::String(path)) => Some(CaseManifests::Files(path.to_string())),
        Some(Value::Object(_)) => document.part(reader.path()).map(CaseManifests::Inline),
        other => {
            let kind = other.unwrap_or(&Value::Null).kind();
            reader.wrong_here(format!("`{field}` are objects or file names, this is of type {kind}"));
            None
        }
    }
}

fn read_expected_manifest(reader: &mut InputFieldReader<'_>) -> ExpectedManifest {
    reader.check_fields(EXPECT_FIELDS);
    let expected = ExpectedManifest {
        kind: reader.required_text("kind", "what is expected of a manifest"),
        name: reader.text("name"),
        namespace: reader.text("namespace"),
        api_version: reader.text("apiVersion"),
        plane: reader.word("targetPlane", "plane", PLANES),
        is_present: reader.flag("present").unwrap_or(true),
        fields: read_expected_fields(reader),
        absent: read_absent_paths(reader),
        rules: reader.texts("rule"),
    };
    for field in ["fields", "absent", "rule"].into_iter().filter(|_| !expected.is_present) {
        if reader.value(field).is_some() {
            reader.wrong(field, format!("`{field}` cannot be combined with `present: false`"));
        }
    }
    expected
}

fn read_expected_fields(reader: &mut InputFieldReader<'_>) -> Vec<(PatchPath, Value)> {
    let entries = reader.entries("fields");
    let parsed = reader.field("fields", |reader| {
        let mut parsed = Vec::new();
        for (text, value) in entries {
            match PatchPath::parse(&text) {
                Ok(path) => parsed.push((path, value)),
                Err(error) => reader.wrong_key(&text, no_path(&text, &error.message), error.help),
            }
        }
        parsed
    });
    parsed.unwrap_or_default()
}

fn read_absent_paths(reader: &mut InputFieldReader<'_>) -> Vec<PatchPath> {
    let texts = reader.texts("absent");
    let mut parsed = Vec::new();
    for text in texts {
        match PatchPath::parse(&text) {
            Ok(path) => parsed.push(path),
            Err(error) => reader.wrong("absent", no_path(&text, &error.message)),
        }
    }
    parsed
}

fn no_path(text: &str, why: &str) -> String {
    format!("`{text}` is not a path: {why}")
}

/// Reads expected errors or warnings: whether there are any, or a part of each.
fn read_expected_diagnostics(
    reader: &mut InputFieldReader<'_>,
    document: &Document,
    field: &str,
) -> Option<ExpectedDiagnostics> {
    match reader.value(field)? {
        Value::Bool(true) => Some(ExpectedDiagnostics::Something),
        Value::Bool(false) => Some(ExpectedDiagnostics::Nothing),
        Value::Array(_) => {
            let each = reader.each(field, |reader| read_expected_diagnostic(reader, document, field));
            Some(ExpectedDiagnostics::Each(each.into_iter().flatten().collect()))
        }
        _ => {
            let one = reader.field(field, |reader| read_expected_diagnostic(reader, document, field));
            Some(ExpectedDiagnostics::Each(one.flatten().into_iter().collect()))
        }
    }
}

fn read_expected_diagnostic(
    reader: &mut InputFieldReader<'_>,
    document: &Document,
    field: &str,
) -> Option<ExpectedDiagnostic> {
    match here(reader, document) {
        Some(Value::String(text)) if is_code(text) => {
            Some(ExpectedDiagnostic { code: Some(text.to_ascii_uppercase()), message: None })
        }
        Some(Value::String(text)) => Some(ExpectedDiagnostic { code: None, message: Some(text.to_string()) }),
        Some(Value::Object(_)) => {
            reader.check_fields(FINDING_FIELDS);
            let code = reader.text("code").map(|code| code.to_ascii_uppercase());
            let message = reader.text("message");
            if code.is_none() && message.is_none() {
                reader.missing("message", &format!("`{field}` needs `message` or `code`"));
            }
            Some(ExpectedDiagnostic { code, message })
        }
        other => {
            let kind = other.unwrap_or(&Value::Null).kind();
            let message =
                format!("`{field}` is true, false, a code, or a part of the message; this is of type {kind}");
            reader.wrong_here(message);
            None
        }
    }
}

/// Returns whether `text` is the name of a diagnostic, such as `KW-R030`.
fn is_code(text: &str) -> bool {
    let is_code = |code: &str| code.len() == 4 && code.bytes().skip(1).all(|digit| digit.is_ascii_digit());
    text.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("KW-")) && text.get(3..).is_some_and(is_code)
}

/// Returns the value at the reader's position.
pub(in crate::commands::test) fn here<'d>(
    reader: &InputFieldReader<'_>,
    document: &'d Document,
) -> Option<&'d Value> {
    let path: &[Step] = reader.path();
    document.value.follow(path)
}
