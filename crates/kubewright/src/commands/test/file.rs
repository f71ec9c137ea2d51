//! A test file as it was written, checked field by field.

use kubewright_engine::{Code, Diagnostic, Operation, nearest};
use kubewright_value::{Document, Location, Step, Value};

use crate::codes::{TEST_FIELD, TEST_KIND, TEST_MISSING, TEST_VALUE};

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
/// What an outcome can be.
pub(super) const OUTCOMES: &[&str] = &["pass", "fail", "warn", "error", "skip", "patch"];

/// A test file.
#[derive(Debug)]
pub(super) struct TestFile {
    pub(super) name: Option<String>,
    pub(super) rules: Vec<String>,
    pub(super) resources: Vec<String>,
    pub(super) world: Vec<String>,
    pub(super) operation: Operation,
    pub(super) namespace: Option<String>,
    pub(super) user: Option<String>,
    pub(super) groups: Vec<String>,
    pub(super) cases: Vec<Case>,
}

/// One case.
#[derive(Debug)]
pub(super) struct Case {
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
/// With everything that is wrong with it.
pub(super) fn read(document: &Document) -> Result<TestFile, Vec<Diagnostic>> {
    let is_test = document.value.get("apiVersion").and_then(Value::as_str) == Some(API_VERSION)
        && document.value.get("kind").and_then(Value::as_str) == Some("Test");
    if !is_test {
        let message =
            format!("this is not a test file: expected `apiVersion: {API_VERSION}` and `kind: Test`");
        return Err(vec![Diagnostic::new(&TEST_KIND, message, document.locate(&["kind".into()]))]);
    }
    let mut reader = Reader { document, path: Vec::new(), problems: Vec::new() };
    let file = reader.file();
    if reader.problems.is_empty() { Ok(file) } else { Err(reader.problems) }
}

/// Reads fields at a place of the document and remembers what is wrong with them.
struct Reader<'a> {
    document: &'a Document,
    path: Vec<Step>,
    problems: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn file(&mut self) -> TestFile {
        self.check_fields(FIELDS);
        let (mut user, mut groups) = (None, Vec::new());
        if self.value("user").is_some() {
            self.within(&["user".into()], |reader| {
                reader.check_fields(USER_FIELDS);
                user = reader.text("username");
                groups = reader.texts("groups");
            });
        }
        let name = self.document.value.at(&["metadata", "name"]).and_then(Value::as_str).map(str::to_owned);
        let file = TestFile {
            name,
            rules: self.required_texts("rules"),
            resources: self.required_texts("resources"),
            world: self.texts("world"),
            operation: self.operation().unwrap_or(Operation::Create),
            namespace: self.text("namespace"),
            user,
            groups,
            cases: self.cases(),
        };
        self.problems.sort_by_key(|problem| problem.location.position);
        file
    }

    fn cases(&mut self) -> Vec<Case> {
        let Some(value) = self.value("cases").cloned() else {
            self.missing("cases", "a test file needs `cases`");
            return Vec::new();
        };
        let Some(items) = value.as_array() else {
            self.wrong("cases", format!("`cases` is a list, this is of type {}", value.kind()));
            return Vec::new();
        };
        (0..items.len()).map(|index| self.within(&["cases".into(), index.into()], Self::case)).collect()
    }

    fn case(&mut self) -> Case {
        self.check_fields(CASE_FIELDS);
        let outcome = self.text("outcome");
        if let Some(word) = outcome.as_deref().filter(|word| !OUTCOMES.contains(word)) {
            let help = match nearest(word, OUTCOMES.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("use one of {}", OUTCOMES.join(", ")),
            };
            self.problem(&TEST_VALUE, "outcome", format!("unknown outcome `{word}`"), help);
        }
        let resource = self.text("resource");
        if self.value("resource").is_none() {
            self.missing("resource", "a case needs a `resource`");
        }
        let case = Case {
            name: self.text("name"),
            rule: self.text("rule"),
            resource: resource.unwrap_or_default(),
            operation: self.operation(),
            outcome,
            message: self.text("message"),
            message_contains: self.text("messageContains"),
            patched: self.value("patched").cloned(),
            patch: self.value("patch").cloned(),
            allowed: self.flag("allowed"),
            rejection: self.text("rejection"),
            location: self.document.locate(&self.path),
        };
        self.check_case(&case);
        case
    }

    fn check_case(&mut self, case: &Case) {
        match &case.patched {
            None | Some(Value::Object(_) | Value::String(_)) => {}
            Some(other) => {
                self.wrong(
                    "patched",
                    format!("`patched` is an object or a file name, this is of type {}", other.kind()),
                );
            }
        }
        if let Some(other) = case.patch.as_ref().filter(|patch| patch.as_array().is_none()) {
            self.wrong("patch", format!("`patch` is a list of operations, this is of type {}", other.kind()));
        }
        let compares = ["outcome", "message", "messageContains", "patched", "patch", "allowed", "rejection"];
        if !compares.iter().any(|field| self.value(field).is_some()) {
            self.missing("resource", "this case compares nothing");
        }
    }

    fn within<T>(&mut self, steps: &[Step], read: impl FnOnce(&mut Self) -> T) -> T {
        let depth = self.path.len();
        self.path.extend_from_slice(steps);
        let read = read(self);
        self.path.truncate(depth);
        read
    }

    fn value(&self, field: &str) -> Option<&Value> {
        self.document.value.follow(&self.path)?.get(field).filter(|value| !value.is_null())
    }

    fn text(&mut self, field: &str) -> Option<String> {
        let value = self.value(field)?;
        match value.as_str() {
            Some(text) => Some(text.to_owned()),
            None => {
                let message = format!("`{field}` is text, this is of type {}", value.kind());
                self.wrong(field, message);
                None
            }
        }
    }

    fn flag(&mut self, field: &str) -> Option<bool> {
        let value = self.value(field)?;
        if value.as_bool().is_none() {
            let message = format!("`{field}` is true or false, this is of type {}", value.kind());
            self.wrong(field, message);
            return None;
        }
        value.as_bool()
    }

    /// Returns a list of texts; one text stands for a list of one.
    fn texts(&mut self, field: &str) -> Vec<String> {
        let Some(value) = self.value(field) else { return Vec::new() };
        if let Some(text) = value.as_str() {
            return vec![text.to_owned()];
        }
        let texts: Option<Vec<String>> = value
            .as_array()
            .and_then(|items| items.iter().map(|item| item.as_str().map(str::to_owned)).collect());
        let message = format!("`{field}` is a list of texts, this is of type {}", value.kind());
        texts.unwrap_or_else(|| {
            self.wrong(field, message);
            Vec::new()
        })
    }

    fn required_texts(&mut self, field: &str) -> Vec<String> {
        if self.value(field).is_none() {
            self.missing(field, &format!("a test file needs `{field}`"));
        }
        self.texts(field)
    }

    fn operation(&mut self) -> Option<Operation> {
        let word = self.text("operation")?;
        let operation = Operation::named(&word).filter(|operation| *operation != Operation::Connect);
        if operation.is_none() {
            self.problem(
                &TEST_VALUE,
                "operation",
                format!("unknown operation `{word}`"),
                "use one of CREATE, UPDATE, DELETE".to_owned(),
            );
        }
        operation
    }

    fn check_fields(&mut self, known: &[&str]) {
        let Some(value) = self.document.value.follow(&self.path) else { return };
        let Some(map) = value.as_object() else {
            let message = format!("expected an object with fields, found {}", value.kind());
            self.problems.push(Diagnostic::new(&TEST_VALUE, message, self.document.locate(&self.path)));
            return;
        };
        for field in map.keys().filter(|field| !known.contains(&field.as_str())) {
            let mut path = self.path.clone();
            path.push(Step::Key(field.clone()));
            let problem = Diagnostic::new(
                &TEST_FIELD,
                format!("unknown field `{field}`"),
                self.document.locate_key(&path),
            );
            self.problems.push(problem.help(match nearest(field, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the fields here are {}", known.join(", ")),
            }));
        }
    }

    fn missing(&mut self, field: &str, message: &str) {
        self.problem(&TEST_MISSING, field, message.to_owned(), String::new());
    }

    fn wrong(&mut self, field: &str, message: String) {
        self.problem(&TEST_VALUE, field, message, String::new());
    }

    fn problem(&mut self, code: &'static Code, field: &str, message: String, help: String) {
        let mut path = self.path.clone();
        path.push(field.into());
        self.problems.push(Diagnostic::new(code, message, self.document.locate(&path)).help(help));
    }
}
