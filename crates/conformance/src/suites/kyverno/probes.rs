//! Small policies and what the original reports for them: the rows, their messages, and whether it exits with 0.

use std::path::{Path, PathBuf};

use kubewright_patch::{self as patch, PatchOptions};
use kubewright_value::{Budget, Map, Value, yaml};

use super::program::{KubewrightProgram, ProgramOutput};
use super::{SuiteCaseResult, SuiteResult, case_list, case_text};
use crate::suites::expect_equal;

pub(super) fn run_probe_suite(name: &str, suite: &Value, program: &KubewrightProgram) -> SuiteResult {
    let cases = case_list(suite, "cases").iter().map(|case| SuiteCaseResult {
        name: case_text(case, "name").to_owned(),
        failure: check_probe(case, program).err(),
    });
    SuiteResult { name: name.to_owned(), cases: cases.collect(), uncounted: 0 }
}

fn check_probe(case: &Value, program: &KubewrightProgram) -> Result<(), String> {
    let folder = ProbeFolder::with(case)?;
    let mut words = vec!["apply", "policy.yaml", "-r", "resources.yaml"];
    words.extend(case_list(case, "flags").iter().filter_map(Value::as_str));
    let answer = program.run(&folder.path, &words)?;
    let is_refused = case.get("refused").and_then(Value::as_bool) == Some(true);
    if (is_refused || case.get("stderr").is_some()) && case_list(case, "expected").is_empty() {
        return expect_refused(&answer);
    }
    let expected: Vec<ProbeRow> = case_list(case, "expected").iter().map(ProbeRow::recorded).collect();
    compare_rows(&expected, &report_rows(&answer.document))?;
    compare_patched(case, &answer.document)?;
    let is_clean = |code: Option<i64>| code == Some(0);
    let (wanted, code) = (case.get("exitCode").and_then(Value::as_i64), answer.code.map(i64::from));
    if is_clean(wanted) == is_clean(code) {
        Ok(())
    } else {
        Err(format!("exit code: expected {}, got {}", wanted.unwrap_or(0), code.unwrap_or(-1)))
    }
}

/// Compares the object after all changes with the recorded one. After an error the original empties the object, which
/// says nothing; and it drops empty maps that a patch has.
fn compare_patched(case: &Value, answer: &Value) -> Result<(), String> {
    let wanted = case.get("patched").and_then(Value::as_object);
    let Some(wanted) = wanted.filter(|wanted| !wanted.is_empty()) else { return Ok(()) };
    let wanted = Value::from(wanted.clone());
    let original = yaml::parse(case_text(case, "resources")).map_err(|error| error.to_string())?;
    let row = case_list(answer, "objects").first().cloned().unwrap_or_default();
    let operations = patch::JsonPatchOperation::list(row.get("patch").unwrap_or(&Value::Null));
    let mut found = original;
    let operations = operations.map_err(|error| error.to_string())?;
    patch::apply_patch(&mut found, &operations, &PatchOptions::rfc6902(), &mut Budget::default())
        .map_err(|error| error.to_string())?;
    let namespace = wanted.str_at(&["metadata", "namespace"]);
    if let Some(metadata) = found.as_object_mut().and_then(|map| map.get_mut("metadata"))
        && metadata.get("namespace").is_none()
        && !namespace.is_empty()
        && let Some(metadata) = metadata.as_object_mut()
    {
        metadata.insert("namespace".into(), namespace.into());
    }
    match expect_equal(&found, &wanted).is_ok()
        || expect_equal(&without_empty_maps(&found), &without_empty_maps(&wanted)).is_ok()
    {
        true => Ok(()),
        false => Err(format!("the object: expected {wanted}, got {found}")),
    }
}

fn without_empty_maps(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::array(items.iter().map(without_empty_maps).collect()),
        Value::Object(map) => {
            let parts = map.iter().map(|(key, value)| (key.clone(), without_empty_maps(value)));
            let is_filled = |value: &Value| value.as_object().is_none_or(|map| !map.is_empty());
            Value::object(parts.filter(|(_, value)| is_filled(value)).collect())
        }
        other => other.clone(),
    }
}

/// A policy that the original refuses must be refused with a reason.
fn expect_refused(answer: &ProgramOutput) -> Result<(), String> {
    let is_error = |diagnostic: &Value| case_text(diagnostic, "severity") == "error";
    match case_list(&answer.document, "diagnostics").iter().any(is_error) && answer.code != Some(0) {
        true => Ok(()),
        false => Err("the policy is to be refused, and was not".to_owned()),
    }
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ProbeRow {
    pub(super) resource: String,
    pub(super) rule: String,
    pub(super) result: String,
    pub(super) message: String,
}

impl ProbeRow {
    /// Reads a row of the corpus, where a message that was left out was written down as `None`.
    fn recorded(row: &Value) -> Self {
        let mut row = Self::of(row, "resource", "rule", "result");
        if row.message == "None" {
            row.message.clear();
        }
        row
    }

    fn of(row: &Value, resource: &str, rule: &str, result: &str) -> Self {
        let field = |key: &str| case_text(row, key).to_owned();
        Self {
            resource: field(resource),
            rule: field(rule),
            result: field(result),
            message: field("message"),
        }
    }
}

fn report_rows(document: &Value) -> Vec<ProbeRow> {
    let mut rows = Vec::new();
    for object in case_list(document, "objects") {
        for outcome in case_list(object, "outcomes") {
            let row = ProbeRow::of(outcome, "", "name", "status");
            rows.push(ProbeRow { resource: case_text(object, "name").to_owned(), ..row });
        }
    }
    rows
}

/// Compares rows in any order. Messages are compared only if the original has one. A difference in messages
/// alone is reported as such, because it matters less.
pub(super) fn compare_rows(expected: &[ProbeRow], actual: &[ProbeRow]) -> Result<(), String> {
    let result = |row: &ProbeRow| format!("{}/{} {}", row.resource, row.rule, row.result);
    let fits = |expected: &ProbeRow, actual: &ProbeRow| {
        result(expected) == result(actual)
            && (expected.message.is_empty() || expected.message == actual.message)
    };
    let mut missing: Vec<&ProbeRow> =
        expected.iter().filter(|row| !actual.iter().any(|found| fits(row, found))).collect();
    let mut surplus: Vec<&ProbeRow> =
        actual.iter().filter(|row| !expected.iter().any(|wanted| fits(wanted, row))).collect();
    if expected.len() == actual.len() && missing.is_empty() && surplus.is_empty() {
        return Ok(());
    }
    missing.sort();
    surplus.sort();
    let is_message_only = missing.iter().map(|row| result(row)).eq(surplus.iter().map(|row| result(row)));
    let show = |rows: &[&ProbeRow]| -> String {
        let texts: Vec<String> =
            rows.iter().map(|row| format!("{} {:?}", result(row), row.message)).collect();
        if texts.is_empty() { "nothing".to_owned() } else { texts.join(", ") }
    };
    let what = if is_message_only && expected.len() == actual.len() { "message only: " } else { "" };
    Err(format!("{what}expected {}, got {}", show(&missing), show(&surplus)))
}

/// A folder with the files of a case, removed at the end.
struct ProbeFolder {
    path: PathBuf,
}

impl ProbeFolder {
    fn with(case: &Value) -> Result<Self, String> {
        let name = format!("kubewright-conformance-{}", std::process::id());
        let folder = Self { path: std::env::temp_dir().join(name) };
        std::fs::create_dir_all(&folder.path)
            .map_err(|error| format!("{}: {error}", folder.path.display()))?;
        folder.write("policy.yaml", case_text(case, "policy"))?;
        folder.write("resources.yaml", case_text(case, "resources"))?;
        for (name, content) in case.get("files").and_then(Value::as_object).into_iter().flat_map(Map::iter) {
            folder.write(name, content.as_str().unwrap_or_default())?;
        }
        Ok(folder)
    }

    fn write(&self, name: &str, content: &str) -> Result<(), String> {
        let name = Path::new(name).file_name().unwrap_or_default();
        let file = self.path.join(name);
        std::fs::write(&file, content).map_err(|error| format!("{}: {error}", file.display()))
    }
}

impl Drop for ProbeFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
