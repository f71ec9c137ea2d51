//! The suites: one file for each folder of the corpus.
//!
//! A suite without its folder is not run; a case of an unknown shape fails.

mod cel;
mod jmespath;
mod jsonpatch;
mod kyverno;
mod modrule;
mod patterns;
mod podsecurity;
mod traits;

use std::path::{Path, PathBuf};

use kubewright_value::{Value, json};

/// The result of one suite.
pub(crate) struct SuiteResult {
    pub(crate) name: String,
    pub(crate) cases: Vec<SuiteCaseResult>,
    /// The number of cases that do not count, because the original is wrong or varies.
    pub(crate) uncounted: usize,
}

/// The result of one case.
pub(crate) struct SuiteCaseResult {
    pub(crate) name: String,
    /// Why it failed.
    pub(crate) failure: Option<String>,
}

/// Runs the suites of `corpus` whose names start with `prefix`.
pub(crate) fn run_suites(corpus: &Path, prefix: &str) -> Result<Vec<SuiteResult>, String> {
    if !corpus.is_dir() {
        return Err(format!("{} is not a folder", corpus.display()));
    }
    let mut results = Vec::new();
    for (folder, run) in [
        ("modrule", modrule::run_modrule_suite as fn(&str, &Value) -> SuiteResult),
        ("jsonpatch", jsonpatch::run_json_patch_suite),
        ("jmespath", jmespath::run_jmespath_suite),
        ("cel", cel::run_cel_suite),
        ("trait", traits::run_trait_suite),
    ] {
        for file in json_files(&corpus.join(folder))? {
            let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let name = format!("{folder}/{stem}");
            if name.starts_with(prefix) {
                results.push(run(&name, &read_suite(&file)?));
            }
        }
    }
    results.extend(kyverno::run_kyverno_suites(&corpus.join("kyverno"), prefix)?);
    results.extend(podsecurity::run_pod_security_suites(&corpus.join("podsecurity"), prefix)?);
    results.extend(patterns::run_pattern_suites(&corpus.join("pattern"), prefix)?);
    results.extend(traits::published::run_published_traits(&corpus.join("trait").join("published"), prefix)?);
    Ok(results)
}

fn json_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| format!("{}: {error}", folder.display()))?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn read_suite(file: &Path) -> Result<Value, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    json::parse(&text).map_err(|error| format!("{}: {error}", file.display()))
}

/// Passes when both are equal.
fn expect_equal(actual: &Value, expected: &Value) -> Result<(), String> {
    if is_equal_as_double(actual, expected) {
        Ok(())
    } else {
        Err(format!("expected {expected}, got {actual}"))
    }
}

/// Compares numbers as doubles, as the originals do: a large integer in the corpus may have lost digits.
fn is_equal_as_double(actual: &Value, expected: &Value) -> bool {
    match (actual, expected) {
        (Value::Number(a), Value::Number(b)) => a == b || (a.as_f64() - b.as_f64()).abs() < f64::EPSILON,
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| is_equal_as_double(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| is_equal_as_double(a, b)))
        }
        _ => actual == expected,
    }
}

fn case_text<'v>(case: &'v Value, key: &str) -> &'v str {
    case.str_at(&[key])
}

fn case_list<'v>(case: &'v Value, key: &str) -> &'v [Value] {
    case.get(key).and_then(Value::as_array).unwrap_or_default()
}
