//! A test file as it was written, checked field by field.

use kubewright_engine::Diagnostic;
use kubewright_k8s::Operation;
use kubewright_value::{Document, Location, Value};

use super::patterns::file::{self as pattern_file, PatternCase};
use super::traits::file::{self as trait_file, TraitCase};
use crate::codes::TEST_KIND;
use crate::commands::render::stack;
use crate::fields::InputFieldReader;

const API_VERSION: &str = "kubewright.dev/v1alpha1";

/// The fields of a test file.
pub(super) const FIELDS: &[&str] = &[
    "apiVersion",
    "kind",
    "metadata",
    "rules",
    "resources",
    "world",
    "operation",
    "namespace",
    "user",
    "context",
    "cases",
];
/// The fields of a case.
pub(super) const CASE_FIELDS: &[&str] = &[
    "name",
    "rule",
    "resource",
    "operation",
    "outcome",
    "message",
    "messageContains",
    "patched",
    "patch",
    "allowed",
    "rejection",
];
/// The fields of a user.
pub(super) const USER_FIELDS: &[&str] = &["username", "groups"];
/// Words for outcomes.
pub(super) const OUTCOMES: &[&str] = &["pass", "fail", "warn", "error", "skip", "patch"];

/// A test file.
#[derive(Debug)]
pub(super) struct TestCaseFile {
    pub(super) name: Option<String>,
    pub(super) rules: Vec<String>,
    pub(super) resources: Vec<String>,
    pub(super) world: Vec<String>,
    pub(super) operation: Operation,
    pub(super) namespace: Option<String>,
    pub(super) user: Option<String>,
    pub(super) groups: Vec<String>,
    /// The context of traits in all cases.
    pub(super) context: Document,
    pub(super) cases: Vec<AnyCase>,
}

/// A case of any kind.
#[derive(Debug)]
pub(super) enum AnyCase {
    /// About rules that judge or change one object.
    Rules(Box<RuleCase>),
    /// About traits that are applied to a set of manifests.
    Traits(Box<TraitCase>),
    /// About a pattern that is looked for in a set of objects.
    Pattern(Box<PatternCase>),
}

impl TestCaseFile {
    /// Returns the cases about traits.
    pub(super) fn trait_cases(&self) -> impl Iterator<Item = &TraitCase> {
        self.cases.iter().filter_map(|case| match case {
            AnyCase::Traits(case) => Some(&**case),
            AnyCase::Rules(_) | AnyCase::Pattern(_) => None,
        })
    }

    /// Returns the cases about patterns.
    pub(super) fn pattern_cases(&self) -> impl Iterator<Item = &PatternCase> {
        self.cases.iter().filter_map(|case| match case {
            AnyCase::Pattern(case) => Some(&**case),
            AnyCase::Rules(_) | AnyCase::Traits(_) => None,
        })
    }

    /// Returns whether a case is about the resources of the file.
    fn needs_resources(&self) -> bool {
        self.cases.iter().any(|case| match case {
            AnyCase::Traits(case) => case.needs_resources(),
            AnyCase::Rules(_) => true,
            AnyCase::Pattern(_) => false,
        })
    }

    /// Returns whether a case is about the rules of the file.
    fn needs_rules(&self) -> bool {
        let brings_its_own = |case: &AnyCase| matches!(case, AnyCase::Pattern(case) if case.is_inline());
        self.cases.is_empty() || !self.cases.iter().all(brings_its_own)
    }
}

/// A case about rules.
#[derive(Debug)]
pub(super) struct RuleCase {
    pub(super) name: Option<String>,
    pub(super) rule: Option<String>,
    pub(super) resource: String,
    pub(super) operation: Option<Operation>,
    pub(super) outcome: Option<String>,
    pub(super) message: Option<String>,
    pub(super) message_contains: Option<String>,
    pub(super) patched: Option<Value>,
    pub(super) patch: Option<Value>,
    pub(super) allowed: Option<bool>,
    pub(super) rejection: Option<String>,
    pub(super) location: Location,
}

/// Reads a test file.
///
/// # Errors
/// With all diagnostics.
pub(super) fn read_test_file(document: &Document) -> Result<TestCaseFile, Vec<Diagnostic>> {
    let is_test = document.value.get("apiVersion").and_then(Value::as_str) == Some(API_VERSION)
        && document.value.get("kind").and_then(Value::as_str) == Some("Test");
    if !is_test {
        let message =
            format!("this is not a test file: expected `apiVersion: {API_VERSION}` and `kind: Test`");
        let problem = Diagnostic::new(&TEST_KIND, message, document.locate(&["kind".into()]));
        return Err(vec![problem.help("test files of Kyverno have `apiVersion: cli.kyverno.io/v1alpha1`")]);
    }
    let mut reader = InputFieldReader::new(document);
    let name = document.value.at(&["metadata", "name"]).and_then(Value::as_str).map(str::to_owned);
    let file = read_test_fields(&mut reader, document, name);
    reader.finish(file)
}

fn read_test_fields(
    reader: &mut InputFieldReader<'_>,
    document: &Document,
    name: Option<String>,
) -> TestCaseFile {
    reader.check_fields(FIELDS);
    let user = reader.field("user", |reader| {
        reader.check_fields(USER_FIELDS);
        (reader.text("username"), reader.texts("groups"))
    });
    let (user, groups) = user.unwrap_or_default();
    if reader.value("cases").is_none() {
        reader.missing("cases", "a test file needs `cases`");
    }
    let file = TestCaseFile {
        name,
        rules: reader.texts("rules"),
        resources: reader.texts("resources"),
        world: reader.texts("world"),
        operation: reader.operation().unwrap_or(Operation::Create),
        namespace: reader.text("namespace"),
        user,
        groups,
        context: stack::read_stack_map(reader, document, "context"),
        cases: reader.each("cases", |reader| read_any_case(reader, document)).into_iter().flatten().collect(),
    };
    if file.needs_rules() && reader.value("rules").is_none() {
        reader.missing("rules", "a test file needs `rules`");
    }
    if file.needs_resources() && reader.value("resources").is_none() {
        reader.missing("resources", "a test file needs `resources`");
    }
    file
}

/// Reads a case; `None` if it has no subject.
fn read_any_case(reader: &mut InputFieldReader<'_>, document: &Document) -> Option<AnyCase> {
    if trait_file::SUBJECTS.iter().any(|field| reader.value(field).is_some()) {
        return Some(AnyCase::Traits(Box::new(trait_file::read_trait_case(reader, document))));
    }
    if reader.value(pattern_file::SUBJECT).is_some() {
        return Some(AnyCase::Pattern(Box::new(pattern_file::read_pattern_case(reader, document))));
    }
    if reader.value("resource").is_some() {
        return Some(AnyCase::Rules(Box::new(read_rule_case(reader))));
    }
    let known = CASE_FIELDS.iter().chain(trait_file::CASE_FIELDS).chain(pattern_file::CASE_FIELDS);
    let known: Vec<&str> = known.copied().collect();
    reader.check_fields(&known);
    reader.missing(
        "resource",
        "a case needs a `resource`, a `pattern`, or one of `trait`, `traits`, `stack` and `component`",
    );
    None
}

fn read_rule_case(reader: &mut InputFieldReader<'_>) -> RuleCase {
    reader.check_fields(CASE_FIELDS);
    let case = RuleCase {
        name: reader.text("name"),
        rule: reader.text("rule"),
        resource: reader.required_text("resource", "a case"),
        operation: reader.operation(),
        outcome: reader.word("outcome", "outcome", OUTCOMES),
        message: reader.text("message"),
        message_contains: reader.text("messageContains"),
        patched: reader.value("patched").cloned(),
        patch: reader.value("patch").cloned(),
        allowed: reader.flag("allowed"),
        rejection: reader.text("rejection"),
        location: reader.location(),
    };
    check_case(reader, &case);
    case
}

fn check_case(reader: &mut InputFieldReader<'_>, case: &RuleCase) {
    match &case.patched {
        None | Some(Value::Object(_) | Value::String(_)) => {}
        Some(other) => {
            reader.wrong(
                "patched",
                format!("`patched` is an object or a file name, this is of type {}", other.kind()),
            );
        }
    }
    if let Some(other) = case.patch.as_ref().filter(|patch| patch.as_array().is_none()) {
        reader.wrong("patch", format!("`patch` is a list of operations, this is of type {}", other.kind()));
    }
    let compares = ["outcome", "message", "messageContains", "patched", "patch", "allowed", "rejection"];
    if !compares.iter().any(|field| reader.value(field).is_some()) {
        reader.missing("resource", "this case has no expectation");
    }
}
