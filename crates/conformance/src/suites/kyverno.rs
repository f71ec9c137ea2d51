//! `kyverno`: folders of policies with their `kyverno-test.yaml` files, and probes as `{cases[]}`.
//!
//! Both are run by the program itself, as a person would run them.

mod patched;
mod probes;
mod program;
mod rows;
mod sorts;

use std::collections::BTreeSet;
use std::path::Path;

use kubewright_value::Value;

use super::{SuiteCaseResult, SuiteResult, case_list, case_text, json_files, read_suite};
use program::KubewrightProgram;

/// Runs the suites of `folder` whose names start with `prefix`.
pub(super) fn run_kyverno_suites(folder: &Path, prefix: &str) -> Result<Vec<SuiteResult>, String> {
    let mut results = Vec::new();
    let mut program = None;
    for tree in test_folders(folder) {
        let name = format!("kyverno/{tree}");
        if could_start(&name, prefix) {
            let program = program.get_or_insert_with(KubewrightProgram::find);
            let suites = rows::run_test_tree(folder, &tree, &uncounted(folder)?, program)?;
            results.extend(suites.into_iter().filter(|suite| suite.name.starts_with(prefix)));
        }
    }
    for file in json_files(folder)? {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let name = format!("kyverno/{stem}");
        let suite = if name.starts_with(prefix) { read_suite(&file)? } else { Value::Null };
        if suite.get("cases").is_some() {
            results.push(probes::run_probe_suite(
                &name,
                &suite,
                program.get_or_insert_with(KubewrightProgram::find),
            ));
        }
    }
    Ok(results)
}

/// Returns whether `name`, or a suite below it, can start with `prefix`.
fn could_start(name: &str, prefix: &str) -> bool {
    name.starts_with(prefix) || prefix.starts_with(&format!("{name}/"))
}

fn test_folders(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// A row of a test file: the file, the policy, the rule and the resource.
type TestRow = (String, String, String, String);

/// Reads the rows that the original passes because it found nothing to compare.
fn uncounted(folder: &Path) -> Result<BTreeSet<TestRow>, String> {
    let file = folder.join("uncounted.json");
    let rows = if file.is_file() { read_suite(&file)? } else { Value::Null };
    let row = |row: &Value| {
        let field = |key| case_text(row, key).to_owned();
        (field("file"), field("policy"), field("rule"), field("resource"))
    };
    Ok(rows.as_array().unwrap_or_default().iter().map(row).collect())
}

#[cfg(test)]
mod tests;
