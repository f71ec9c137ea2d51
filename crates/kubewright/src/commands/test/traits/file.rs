//! A case about traits as it was written, checked field by field.

use kubewright_engine::Diagnostic;
use kubewright_files as files;
use kubewright_patch::path::PatchPath;
use kubewright_value::{Document, Location, Step, Value};

use crate::commands::render::stack::{self, Use};
use crate::fields::Reader;

/// The fields of which one says what is rendered.
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
/// Those of them that belong to one trait.
const OF_ONE: [&str; 4] = ["kind", "instanceName", "parameters", "environmentConfigs"];
/// The fields of what is expected of a manifest.
pub(in crate::commands::test) const EXPECT_FIELDS: &[&str] =
    &["kind", "name", "namespace", "apiVersion", "targetPlane", "present", "fields", "absent", "rule"];
/// Where a manifest can go.
pub(in crate::commands::test) const PLANES: &[&str] = &["dataplane", "observabilityplane"];
/// The fields of an expected error or warning.
pub(in crate::commands::test) const FINDING_FIELDS: &[&str] = &["code", "message"];

/// A case about traits.
#[derive(Debug)]
pub(in crate::commands::test) struct TraitCase {
    pub(super) name: Option<String>,
    pub(in crate::commands::test) subject: Subject,
    /// The manifests that the traits are applied to; those of the file where nothing is said.
    pub(in crate::commands::test) base: Option<Vec<Given>>,
    /// What expressions see as `metadata`.
    pub(super) metadata: Document,
    /// What else expressions see.
    pub(super) context: Document,
    pub(super) is_strict: bool,
    pub(super) manifests: Option<Vec<Given>>,
    pub(super) is_ordered: bool,
    pub(super) expect: Vec<Expected>,
    pub(super) fails: Option<Findings>,
    pub(super) warns: Option<Findings>,
    pub(super) is_idempotent: bool,
    pub(super) location: Location,
}

impl TraitCase {
    /// Returns whether it is about the resources of the file. What a component needs may stand among the rules.
    pub(in crate::commands::test) fn needs_resources(&self) -> bool {
        self.base.is_none() && !matches!(self.subject, Subject::Component(..))
    }
}

/// What is rendered.
#[derive(Debug)]
pub(in crate::commands::test) enum Subject {
    /// Traits in their order.
    Instances(Vec<Use>),
    /// Those of a stack file.
    Stack(String),
    /// A component with its type and traits, in the only environment or in this one.
    Component(String, Option<String>),
}

/// Manifests that are given or expected.
#[derive(Debug)]
pub(in crate::commands::test) enum Given {
    /// A file, folder or pattern.
    Files(String),
    /// Written in the test file.
    Inline(Document),
}

impl Given {
    /// Returns the manifests that `all` are or name, or what is wrong with the first that is none.
    pub(in crate::commands::test) fn read(
        all: &[Self],
        folder: &std::path::Path,
    ) -> Result<Vec<Document>, Diagnostic> {
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
            Some(problem) => Err(problem),
        }
    }
}

/// What is expected of one manifest.
#[derive(Debug)]
pub(super) struct Expected {
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

/// Errors or warnings that are expected.
#[derive(Debug)]
pub(super) enum Findings {
    /// There is none.
    Nothing,
    /// There is one, whatever it is.
    Something,
    /// There is one for each of these.
    Each(Vec<Finding>),
}

/// An error or warning that is expected.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) code: Option<String>,
    /// A part of its message.
    pub(super) message: Option<String>,
}

/// Reads a case about traits.
pub(in crate::commands::test) fn case(reader: &mut Reader<'_>, document: &Document) -> TraitCase {
    reader.check_fields(CASE_FIELDS);
    let case = TraitCase {
        name: reader.text("name"),
        subject: subject(reader, document),
        base: given(reader, document, "base"),
        metadata: stack::part(reader, document, "metadata"),
        context: stack::part(reader, document, "context"),
        is_strict: reader.flag("strict").unwrap_or_default(),
        manifests: given(reader, document, "manifests"),
        is_ordered: reader.flag("ordered").unwrap_or_default(),
        expect: reader.each("expect", expected),
        fails: findings(reader, document, "fails"),
        warns: findings(reader, document, "warns"),
        is_idempotent: reader.flag("idempotent").unwrap_or_default(),
        location: reader.location(),
    };
    check(reader, &case);
    case
}

fn check(reader: &mut Reader<'_>, case: &TraitCase) {
    let has = |reader: &Reader<'_>, field: &str| reader.value(field).is_some();
    let compares = case.manifests.is_some() || case.fails.is_some() || case.warns.is_some();
    if !compares && case.expect.is_empty() && !case.is_idempotent {
        let needs = "it needs `manifests`, `expect`, `fails`, `warns` or `idempotent`";
        reader.missing("expect", &format!("this case compares nothing: {needs}"));
    }
    if case.is_ordered && !has(reader, "manifests") {
        reader.wrong("ordered", "`ordered` is about `manifests`, which this case does not have".to_owned());
    }
    if case.is_idempotent && matches!(case.subject, Subject::Component(..)) {
        let message = "`idempotent` is about traits, and a component is rendered from nothing";
        reader.wrong("idempotent", message.to_owned());
    }
    let fails = matches!(case.fails, Some(Findings::Something | Findings::Each(_)));
    for field in ["manifests", "expect", "idempotent"].into_iter().filter(|_| fails) {
        if has(reader, field) {
            reader
                .wrong(field, format!("`{field}` stands beside `fails`, and what fails makes no manifests"));
        }
    }
}

fn subject(reader: &mut Reader<'_>, document: &Document) -> Subject {
    let mut named = SUBJECTS.iter().copied().filter(|field| reader.value(field).is_some());
    let (first, second) = (named.next().unwrap_or_default(), named.next());
    if let Some(second) = second {
        let message = format!("`{second}` stands beside `{first}`, and both say what is rendered");
        reader.wrong(second, message);
    }
    if first != "trait" {
        for field in OF_ONE.into_iter().filter(|field| reader.value(field).is_some()).collect::<Vec<_>>() {
            let message = match first {
                "traits" => format!("`{field}` is of one trait; write it into the item of `traits`"),
                _ => format!("`{field}` is of one `trait`, and this case is about a {first}"),
            };
            reader.wrong(field, message);
        }
    }
    if first != "component" && reader.value("environment").is_some() {
        reader.wrong("environment", "`environment` is of a `component`".to_owned());
    }
    match first {
        "stack" => Subject::Stack(reader.text("stack").unwrap_or_default()),
        "component" => {
            Subject::Component(reader.text("component").unwrap_or_default(), reader.text("environment"))
        }
        "trait" => {
            let of = reader.text("trait").unwrap_or_default();
            Subject::Instances(vec![used(reader, document, of)])
        }
        _ => {
            let uses = reader.each("traits", |reader| match here(reader, document).and_then(Value::as_str) {
                Some(name) => used(reader, document, name.to_owned()),
                None => stack::instance(reader, document),
            });
            stack::twice(&uses).into_iter().for_each(|problem| reader.report(problem));
            Subject::Instances(uses)
        }
    }
}

/// Reads the trait that `of` names, with what stands beside it.
fn used(reader: &mut Reader<'_>, document: &Document, of: String) -> Use {
    Use {
        name: reader.text("instanceName").unwrap_or_else(|| of.clone()),
        of,
        kind: reader.word("kind", "kind", stack::KINDS),
        parameters: stack::part(reader, document, "parameters"),
        environment_configs: stack::part(reader, document, "environmentConfigs"),
        location: reader.location(),
    }
}

/// Reads manifests: files, objects, or a list of both.
pub(in crate::commands::test) fn given(
    reader: &mut Reader<'_>,
    document: &Document,
    field: &str,
) -> Option<Vec<Given>> {
    let value = reader.value(field)?;
    if value.as_array().is_some() {
        return Some(
            reader.each(field, |reader| one(reader, document, field)).into_iter().flatten().collect(),
        );
    }
    reader.field(field, |reader| one(reader, document, field).into_iter().collect())
}

fn one(reader: &mut Reader<'_>, document: &Document, field: &str) -> Option<Given> {
    match here(reader, document) {
        Some(Value::String(path)) => Some(Given::Files(path.to_string())),
        Some(Value::Object(_)) => document.part(reader.path()).map(Given::Inline),
        other => {
            let kind = other.unwrap_or(&Value::Null).kind();
            reader.wrong_here(format!("`{field}` are objects or file names, this is of type {kind}"));
            None
        }
    }
}

fn expected(reader: &mut Reader<'_>) -> Expected {
    reader.check_fields(EXPECT_FIELDS);
    let expected = Expected {
        kind: reader.required_text("kind", "what is expected of a manifest"),
        name: reader.text("name"),
        namespace: reader.text("namespace"),
        api_version: reader.text("apiVersion"),
        plane: reader.word("targetPlane", "plane", PLANES),
        is_present: reader.flag("present").unwrap_or(true),
        fields: fields(reader),
        absent: absent(reader),
        rules: reader.texts("rule"),
    };
    for field in ["fields", "absent", "rule"].into_iter().filter(|_| !expected.is_present) {
        if reader.value(field).is_some() {
            reader.wrong(field, format!("`{field}` is about a manifest that is not `present`"));
        }
    }
    expected
}

fn fields(reader: &mut Reader<'_>) -> Vec<(PatchPath, Value)> {
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

fn absent(reader: &mut Reader<'_>) -> Vec<PatchPath> {
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
    format!("`{text}` is no path: {why}")
}

/// Reads expected errors or warnings: whether there are any, or a part of each.
fn findings(reader: &mut Reader<'_>, document: &Document, field: &str) -> Option<Findings> {
    match reader.value(field)? {
        Value::Bool(true) => Some(Findings::Something),
        Value::Bool(false) => Some(Findings::Nothing),
        Value::Array(_) => {
            let each = reader.each(field, |reader| finding(reader, document, field));
            Some(Findings::Each(each.into_iter().flatten().collect()))
        }
        _ => {
            let one = reader.field(field, |reader| finding(reader, document, field));
            Some(Findings::Each(one.flatten().into_iter().collect()))
        }
    }
}

fn finding(reader: &mut Reader<'_>, document: &Document, field: &str) -> Option<Finding> {
    match here(reader, document) {
        Some(Value::String(text)) if is_code(text) => {
            Some(Finding { code: Some(text.to_ascii_uppercase()), message: None })
        }
        Some(Value::String(text)) => Some(Finding { code: None, message: Some(text.to_string()) }),
        Some(Value::Object(_)) => {
            reader.check_fields(FINDING_FIELDS);
            let code = reader.text("code").map(|code| code.to_ascii_uppercase());
            let message = reader.text("message");
            if code.is_none() && message.is_none() {
                reader.missing("message", &format!("`{field}` needs `message` or `code`"));
            }
            Some(Finding { code, message })
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

/// Returns what stands where the reader is.
pub(in crate::commands::test) fn here<'d>(reader: &Reader<'_>, document: &'d Document) -> Option<&'d Value> {
    let path: &[Step] = reader.path();
    document.value.follow(path)
}
