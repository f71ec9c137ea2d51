//! A `kyverno-test.yaml` as it was written, checked field by field.
//!
//! The form of today (`cli.kyverno.io/v1alpha1`) and the older one without `apiVersion` and `kind` are read alike.

use kubewright_engine::Diagnostic;
use kubewright_k8s::Operation;
use kubewright_value::{Document, Location, Value};

use crate::fields::Reader;
use crate::fixtures::{Answers, Shared, VALUE_FIELDS, Values, read_shared};

const GROUP: &str = "cli.kyverno.io/";

const FIELDS: &[&str] = &[
    "apiVersion",
    "kind",
    "metadata",
    "name",
    "policies",
    "resources",
    "targetResources",
    "paramResources",
    "clusterResources",
    "jsonPayload",
    "jsonPayloads",
    "httpPayloads",
    "envoyPayloads",
    "variables",
    "values",
    "userinfo",
    "exceptions",
    "context",
    "apiCallResponses",
    "globalContextEntries",
    "results",
];
const RESULT_FIELDS: &[&str] = &[
    "policy",
    "rule",
    "result",
    "status",
    "kind",
    "resource",
    "resources",
    "resourceSpecs",
    "namespace",
    "operation",
    "patchedResource",
    "patchedResources",
    "generatedResource",
    "generatedResources",
    "cloneSourceResource",
    "failOnMissingResources",
    "isValidatingAdmissionPolicy",
    "isMutatingAdmissionPolicy",
    "isValidatingPolicy",
    "isMutatingPolicy",
    "isGeneratingPolicy",
    "isDeletingPolicy",
    "isImageValidatingPolicy",
];
/// Flags of a row, with the end of the kind of policy that they mean.
const FLAGS: [(&str, &str); 7] = [
    ("isValidatingAdmissionPolicy", "ValidatingAdmissionPolicy"),
    ("isMutatingAdmissionPolicy", "MutatingAdmissionPolicy"),
    ("isImageValidatingPolicy", "ImageValidatingPolicy"),
    ("isValidatingPolicy", "ValidatingPolicy"),
    ("isMutatingPolicy", "MutatingPolicy"),
    ("isGeneratingPolicy", "GeneratingPolicy"),
    ("isDeletingPolicy", "DeletingPolicy"),
];
const SPEC_FIELDS: &[&str] = &["group", "version", "kind", "namespace", "subresource", "name"];
/// The fields of payloads, with the evaluation mode of the policies that judge them.
const PAYLOADS: [(&str, &str); 4] =
    [("jsonPayload", "JSON"), ("jsonPayloads", "JSON"), ("httpPayloads", "HTTP"), ("envoyPayloads", "Envoy")];
const RESULTS: &[&str] = &["pass", "fail", "skip", "warn", "error"];

/// A test file.
#[derive(Debug)]
pub(super) struct TestFile {
    pub(super) name: Option<String>,
    pub(super) policies: Vec<String>,
    pub(super) resources: Vec<String>,
    /// Objects that rules look up or change, besides the resources.
    pub(super) others: Vec<String>,
    /// Files of objects that rules look up.
    pub(super) cluster_resources: Vec<String>,
    /// What is judged and is no Kubernetes object.
    pub(super) payloads: Vec<Payload>,
    /// A file of values.
    pub(super) variables: Option<String>,
    /// Values in the test file itself, which count instead of the file.
    pub(super) values: Option<Values>,
    pub(super) user: Option<String>,
    pub(super) exceptions: Vec<String>,
    pub(super) context: Option<String>,
    pub(super) answers: Answers,
    /// Whether the file itself answers what policies ask.
    pub(super) has_answers: bool,
    pub(super) shared: Vec<Shared>,
    pub(super) rows: Vec<Row>,
}

/// A file that is judged as a whole.
#[derive(Debug)]
pub(super) struct Payload {
    /// The evaluation mode of the policies that judge it.
    pub(super) mode: &'static str,
    /// As it is written, which is also its name.
    pub(super) path: String,
}

/// What is expected of a policy for some resources.
#[derive(Debug)]
pub(super) struct Row {
    /// `name` or `namespace/name`.
    pub(super) policy: String,
    /// How the kind of the policy ends, where the row says so.
    pub(super) policy_kind: Option<&'static str>,
    pub(super) rule: Option<String>,
    pub(super) result: String,
    pub(super) kind: Option<String>,
    /// None means all of them.
    pub(super) resources: Vec<Wanted>,
    pub(super) operation: Option<Operation>,
    pub(super) location: Location,
}

/// A resource as a row names it.
#[derive(Debug, Clone, Default)]
pub(super) struct Wanted {
    /// As it is written.
    pub(super) text: String,
    /// `group/version`.
    pub(super) api_version: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
}

/// Returns whether this is a test file of Kyverno's, well written or not.
pub(super) fn is_meant(document: &Document) -> bool {
    let version = document.value.str_at(&["apiVersion"]);
    // Kyverno reads whatever the version says, and people have files with other ones.
    let has = |key: &str| document.value.get(key).is_some();
    version.starts_with(GROUP) || (has("policies") && (has("results") || has("resources")))
}

/// Reads a test file.
///
/// # Errors
/// With everything that is wrong with it.
pub(super) fn read(document: &Document) -> Result<TestFile, Vec<Diagnostic>> {
    let mut reader = Reader::ignoring_case(document);
    let file = file(&mut reader, document);
    reader.finish(file)
}

fn file(reader: &mut Reader<'_>, document: &Document) -> TestFile {
    reader.check_fields(FIELDS);
    if reader.text("kind").is_some_and(|kind| kind != "Test") {
        reader.wrong("kind", "this is not a test file: expected `kind: Test`".to_owned());
    }
    let name = document.value.at(&["metadata", "name"]).and_then(Value::as_str).map(str::to_owned);
    let mut answers = Answers::default();
    answers.read_calls(reader);
    let mut payloads = Vec::new();
    for (field, mode) in PAYLOADS {
        payloads.extend(reader.texts(field).into_iter().map(|path| Payload { mode, path }));
    }
    let mut others = reader.texts("targetResources");
    others.extend(reader.texts("paramResources"));
    TestFile {
        name: reader.text("name").or(name),
        policies: reader.required_texts("policies", "a test file"),
        resources: reader.texts("resources"),
        others,
        cluster_resources: reader.texts("clusterResources"),
        payloads,
        variables: reader.text("variables"),
        values: reader.field("values", |reader| {
            reader.check_fields(VALUE_FIELDS);
            Values::fields(reader)
        }),
        user: reader.text("userinfo"),
        exceptions: reader.texts("exceptions"),
        context: reader.text("context"),
        answers,
        has_answers: ["apiCallResponses", "globalContextEntries"].iter().any(|f| reader.value(f).is_some()),
        shared: read_shared(reader),
        rows: reader.each("results", row),
    }
}

fn row(reader: &mut Reader<'_>) -> Row {
    reader.check_fields(RESULT_FIELDS);
    let field = if reader.value("result").is_none() { "status" } else { "result" };
    if reader.value(field).is_none() {
        reader.missing("result", "a result needs `result`");
    }
    let namespace = reader.text("namespace");
    let mut resources: Vec<Wanted> = reader.texts("resources").iter().map(|text| Wanted::new(text)).collect();
    if let Some(name) = reader.text("resource") {
        resources.push(Wanted { namespace, ..Wanted::new(&name) });
    }
    resources.extend(reader.each("resourceSpecs", spec));
    Row {
        policy: reader.required_text("policy", "a result"),
        policy_kind: FLAGS.iter().find(|(flag, _)| reader.flag(flag) == Some(true)).map(|(_, kind)| *kind),
        rule: reader.text("rule").filter(|rule| !rule.is_empty()),
        result: reader.word(field, "result", RESULTS).unwrap_or_default(),
        kind: reader.text("kind").filter(|kind| !kind.is_empty()),
        resources,
        operation: reader.operation(),
        location: reader.location(),
    }
}

fn spec(reader: &mut Reader<'_>) -> Wanted {
    reader.check_fields(SPEC_FIELDS);
    let version = reader.text("version");
    let api_version = match (reader.text("group"), version) {
        (Some(group), Some(version)) if !group.is_empty() => Some(format!("{group}/{version}")),
        (_, version) => version,
    };
    let name = reader.required_text("name", "a resource");
    let namespace = reader.text("namespace");
    let text = match &namespace {
        Some(namespace) if !namespace.is_empty() => format!("{namespace}/{name}"),
        _ => name.clone(),
    };
    Wanted { text, api_version, kind: reader.text("kind"), namespace, name }
}

impl Wanted {
    fn new(text: &str) -> Self {
        let (namespace, name) = match text.split_once('/') {
            Some((namespace, name)) => (Some(namespace.to_owned()), name),
            None => (None, text),
        };
        Self { text: text.to_owned(), namespace, name: name.to_owned(), ..Self::default() }
    }
}
