//! A `kyverno-test.yaml` as it was written, checked field by field.
//!
//! The current form (`cli.kyverno.io/v1alpha1`) and the older one without `apiVersion` and `kind` are both read.

use kubewright_engine::Diagnostic;
use kubewright_k8s::Operation;
use kubewright_value::{Document, Step, Value};

use crate::fields::InputFieldReader;
use crate::fixtures::{FixtureAnswers, FixtureValues, SharedEntryFixture, VALUE_FIELDS, read_shared};

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
/// Flags of a row, with the suffix of the policy kind they select.
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
/// The fields of payloads, with the evaluation mode of the policies that evaluate them.
const PAYLOADS: [(&str, &str); 4] =
    [("jsonPayload", "JSON"), ("jsonPayloads", "JSON"), ("httpPayloads", "HTTP"), ("envoyPayloads", "Envoy")];
const RESULTS: &[&str] = &["pass", "fail", "skip", "warn", "error"];

/// A test file.
#[derive(Debug)]
pub(super) struct KyvernoTestDocument {
    pub(super) name: Option<String>,
    pub(super) policies: Vec<String>,
    pub(super) resources: Vec<String>,
    /// Objects that rules look up or change, besides the resources.
    pub(super) others: Vec<String>,
    /// Whether rows name the sources of copies: what these files do not have does not exist.
    pub(super) has_sources: bool,
    /// Files of objects that rules look up.
    pub(super) cluster_resources: Vec<String>,
    /// Payloads: documents that are not Kubernetes objects.
    pub(super) payloads: Vec<PayloadFixture>,
    /// A file of values.
    pub(super) variables: Option<String>,
    /// Inline values, which override the file.
    pub(super) values: Option<FixtureValues>,
    pub(super) user: Option<String>,
    pub(super) exceptions: Vec<String>,
    pub(super) context: Option<String>,
    pub(super) answers: FixtureAnswers,
    /// Whether the test contains responses to API calls.
    pub(super) has_answers: bool,
    pub(super) shared: Vec<SharedEntryFixture>,
    pub(super) rows: Vec<ResultRow>,
}

/// A file that is evaluated as a whole.
#[derive(Debug)]
pub(super) struct PayloadFixture {
    /// The evaluation mode of the policies that evaluate it.
    pub(super) mode: &'static str,
    /// As it is written, which is also its name.
    pub(super) path: String,
}

/// The expected result of a policy for some resources.
#[derive(Debug)]
pub(super) struct ResultRow {
    /// `name` or `namespace/name`.
    pub(super) policy: String,
    /// The suffix of the policy's kind, if the row has a flag for it.
    pub(super) policy_kind: Option<&'static str>,
    pub(super) rule: Option<String>,
    pub(super) result: String,
    pub(super) kind: Option<String>,
    /// None means all of them.
    pub(super) resources: Vec<WantedResource>,
    pub(super) operation: Option<Operation>,
    /// Files with the objects that are expected after the rules: changed ones and generated ones.
    pub(super) expected_files: Vec<String>,
    /// Files with the objects that rules clone.
    clone_sources: Vec<String>,
    /// Its path in the test file.
    pub(super) path: Vec<Step>,
}

/// A resource as a row names it.
#[derive(Debug, Clone, Default)]
pub(super) struct WantedResource {
    /// As it is written.
    pub(super) text: String,
    /// `group/version`.
    pub(super) api_version: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
}

/// Returns whether this is a Kyverno test file, valid or not.
pub(super) fn has_kyverno_test_kind(document: &Document) -> bool {
    let version = document.value.str_at(&["apiVersion"]);
    // Kyverno ignores the version, and existing files have others.
    let has = |key: &str| document.value.get(key).is_some();
    version.starts_with(GROUP) || (has("policies") && (has("results") || has("resources")))
}

/// Reads a test file.
///
/// # Errors
/// With all diagnostics.
pub(super) fn read_kyverno_test(document: &Document) -> Result<KyvernoTestDocument, Vec<Diagnostic>> {
    let mut reader = InputFieldReader::ignoring_case(document);
    let file = read_kyverno_fields(&mut reader, document);
    reader.finish(file)
}

fn read_kyverno_fields(reader: &mut InputFieldReader<'_>, document: &Document) -> KyvernoTestDocument {
    reader.check_fields(FIELDS);
    if reader.text("kind").is_some_and(|kind| kind != "Test") {
        reader.wrong("kind", "this is not a test file: expected `kind: Test`".to_owned());
    }
    let name = document.value.at(&["metadata", "name"]).and_then(Value::as_str).map(str::to_owned);
    let mut answers = FixtureAnswers::default();
    answers.read_calls(reader);
    let mut payloads = Vec::new();
    for (field, mode) in PAYLOADS {
        payloads.extend(reader.texts(field).into_iter().map(|path| PayloadFixture { mode, path }));
    }
    let mut others = reader.texts("targetResources");
    others.extend(reader.texts("paramResources"));
    let rows = reader.each("results", read_result_row);
    // The objects that a rule clones exist beside those under review.
    let before_sources = others.len();
    for source in rows.iter().flat_map(|row| &row.clone_sources) {
        if !others.contains(source) {
            others.push(source.clone());
        }
    }
    KyvernoTestDocument {
        name: reader.text("name").or(name),
        policies: reader.required_texts("policies", "a test file"),
        resources: reader.texts("resources"),
        has_sources: others.len() > before_sources,
        others,
        cluster_resources: reader.texts("clusterResources"),
        payloads,
        variables: reader.text("variables"),
        values: reader.field("values", |reader| {
            reader.check_fields(VALUE_FIELDS);
            FixtureValues::fields(reader)
        }),
        user: reader.text("userinfo"),
        exceptions: reader.texts("exceptions"),
        context: reader.text("context"),
        answers,
        has_answers: ["apiCallResponses", "globalContextEntries"].iter().any(|f| reader.value(f).is_some()),
        shared: read_shared(reader),
        rows,
    }
}

fn read_result_row(reader: &mut InputFieldReader<'_>) -> ResultRow {
    reader.check_fields(RESULT_FIELDS);
    let field = if reader.value("result").is_none() { "status" } else { "result" };
    if reader.value(field).is_none() {
        reader.missing("result", "a result needs `result`");
    }
    let namespace = reader.text("namespace");
    let mut resources: Vec<WantedResource> =
        reader.texts("resources").iter().map(|text| WantedResource::new(text)).collect();
    if let Some(name) = reader.text("resource") {
        resources.push(WantedResource { namespace, ..WantedResource::new(&name) });
    }
    resources.extend(reader.each("resourceSpecs", read_resource_spec));
    let named = ["patchedResources", "patchedResource", "generatedResource", "generatedResources"];
    let expected_files = named.iter().flat_map(|field| reader.texts(field)).collect();
    ResultRow {
        expected_files,
        clone_sources: reader.texts("cloneSourceResource"),
        policy: reader.required_text("policy", "a result"),
        policy_kind: FLAGS.iter().find(|(flag, _)| reader.flag(flag) == Some(true)).map(|(_, kind)| *kind),
        rule: reader.text("rule").filter(|rule| !rule.is_empty()),
        result: reader.word(field, "result", RESULTS).unwrap_or_default(),
        kind: reader.text("kind").filter(|kind| !kind.is_empty()),
        resources,
        operation: reader.operation(),
        path: reader.path().to_vec(),
    }
}

fn read_resource_spec(reader: &mut InputFieldReader<'_>) -> WantedResource {
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
    WantedResource { text, api_version, kind: reader.text("kind"), namespace, name }
}

impl WantedResource {
    fn new(text: &str) -> Self {
        let (namespace, name) = match text.split_once('/') {
            Some((namespace, name)) => (Some(namespace.to_owned()), name),
            None => (None, text),
        };
        Self { text: text.to_owned(), namespace, name: name.to_owned(), ..Self::default() }
    }
}
