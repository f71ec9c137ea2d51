//! A tree of `kyverno-test.yaml` files: a row passes when the program's result is the one that the row expects.
//!
//! The rows are read here too, so that one that the program leaves out is a failure.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use kubewright_value::Value;

use super::program::KubewrightProgram;
use super::sorts::{RuleSorts, read_policy_documents};
use super::{SuiteCaseResult, SuiteResult, TestRow, case_list, case_text};

const TEST_FILE: &str = "kyverno-test.yaml";

/// Runs the tests of `tree`, a folder below `folder`; one suite for each sort of rule.
pub(super) fn run_test_tree(
    folder: &Path,
    tree: &str,
    uncounted: &BTreeSet<TestRow>,
    program: &KubewrightProgram,
) -> Result<Vec<SuiteResult>, String> {
    let answer = program.run(folder, &["test", tree]);
    let mut results: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for result in answer.as_ref().map(|answer| case_list(&answer.document, "results")).unwrap_or_default() {
        results.entry(case_text(result, "file").to_owned()).or_default().push(result.clone());
    }
    let missing = answer.err().unwrap_or_else(|| "the program has no result for this row".to_owned());
    let mut suites: BTreeMap<String, SuiteResult> = BTreeMap::new();
    for path in test_files(&folder.join(tree))? {
        let file = path_in_folder(folder, &path);
        let test = KyvernoTestFile::read(&path, &file);
        for (row, failure) in test.judge(results.get(&file).map_or(&[], Vec::as_slice), &missing) {
            let name = format!("kyverno/{tree}/{}", test.sorts.of(&row.1, &row.2));
            let suite = suites.entry(name.clone()).or_insert_with(|| SuiteResult {
                name,
                cases: Vec::new(),
                uncounted: 0,
            });
            if uncounted.contains(&row) {
                suite.uncounted += 1;
            } else {
                let name = format!("{}#{}/{}/{}", row.0, row.1, row.2, row.3);
                suite.cases.push(SuiteCaseResult { name, failure });
            }
        }
    }
    Ok(suites.into_values().collect())
}

/// The rows of one test file.
pub(super) struct KyvernoTestFile {
    rows: Vec<TestRow>,
    sorts: RuleSorts,
}

impl KyvernoTestFile {
    fn read(path: &Path, file: &str) -> Self {
        let test = read_policy_documents(path).into_iter().next().unwrap_or_default();
        let sorts = RuleSorts::read(path.parent().unwrap_or(path), &test);
        Self::new(file, &test, sorts)
    }

    pub(super) fn new(file: &str, test: &Value, sorts: RuleSorts) -> Self {
        let mut rows = Vec::new();
        for row in case_list(test, "results") {
            for resource in row_resources(row) {
                let resource = resource.rsplit('/').next().unwrap_or_default().to_owned();
                rows.push((
                    file.to_owned(),
                    case_text(row, "policy").into(),
                    case_text(row, "rule").into(),
                    resource,
                ));
            }
        }
        Self { rows, sorts }
    }

    /// Returns each row of `results` with its failure, and the rows without a result.
    pub(super) fn judge(&self, results: &[Value], missing: &str) -> Vec<(TestRow, Option<String>)> {
        let mut judged: Vec<(TestRow, Option<String>)> =
            results.iter().map(|result| (row_of(result), row_failure(result))).collect();
        let answered: BTreeSet<TestRow> = judged.iter().map(|(row, _)| row.clone()).collect();
        let unanswered = self.rows.iter().filter(|row| {
            let is_any =
                row.3.is_empty() && answered.iter().any(|other| (&other.1, &other.2) == (&row.1, &row.2));
            !is_any && !answered.contains(*row)
        });
        judged.extend(unanswered.map(|row| (row.clone(), Some(missing.to_owned()))));
        judged
    }
}

/// Returns the resources of a row in all the ways to name them; one empty name when it names none.
fn row_resources(row: &Value) -> Vec<&str> {
    let specs = case_list(row, "resourceSpecs").iter().map(|spec| case_text(spec, "name"));
    let mut names: Vec<&str> =
        case_list(row, "resources").iter().filter_map(Value::as_str).chain(specs).collect();
    if names.is_empty() {
        names.push(case_text(row, "resource"));
    }
    names
}

fn row_of(result: &Value) -> TestRow {
    let resource = case_text(result, "resource").rsplit('/').next().unwrap_or_default();
    (
        case_text(result, "file").into(),
        case_text(result, "policy").into(),
        case_text(result, "rule").into(),
        resource.into(),
    )
}

fn row_failure(result: &Value) -> Option<String> {
    let (expected, actual) = (case_text(result, "expected"), case_text(result, "actual"));
    let is_ok = result.get("ok").and_then(Value::as_bool).unwrap_or(expected == actual);
    (!is_ok).then(|| format!("expected {expected}, got {actual}: {}", case_text(result, "message")))
}

/// Returns the test files of a tree, also those in hidden folders.
fn test_files(folder: &Path) -> Result<BTreeSet<PathBuf>, String> {
    let mut files = BTreeSet::new();
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            files.extend(test_files(&path)?);
        } else if path.ends_with(TEST_FILE) {
            files.insert(path);
        }
    }
    Ok(files)
}

fn path_in_folder(folder: &Path, path: &Path) -> String {
    path.strip_prefix(folder).unwrap_or(path).to_string_lossy().into_owned()
}
