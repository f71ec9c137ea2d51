//! A metric, a diagnostic code, an edge type and a flag that `install` and `serve` share are each one row of one table.
//!
//! `CONTRIBUTING.md` promises that adding one touches at most three files. These tests follow the entries that exist:
//! the word that names an entry is written in its table and in no other production file.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;

use kubewright_conformance::workspace::{production_sources, workspace_root};
use kubewright_graph::EDGE_TYPES;

#[test]
fn a_metric_is_named_in_its_table_and_its_page() {
    let table = "crates/serve/src/metrics/table.rs";
    let names = words_of(table, |word| word.starts_with("kubewright_"));
    assert!(names.len() > 10, "only {names:?}");
    assert_eq!(elsewhere(table, &names), BTreeMap::new());
    let page = fs::read_to_string(workspace_root().join("docs/operations.md")).expect("a page");
    let missing: Vec<&String> = names.iter().filter(|name| !page.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "not in docs/operations.md: {missing:?}");
}

#[test]
fn an_edge_type_is_named_in_its_table_and_its_page() {
    let table = "crates/graph/src/edge/table.rs";
    let names: Vec<String> = EDGE_TYPES.iter().map(|spec| spec.name.to_owned()).collect();
    assert!(names.len() > 40, "only {names:?}");
    let page = fs::read_to_string(workspace_root().join("docs/graph-edges.md")).expect("a page");
    let missing: Vec<&String> = names.iter().filter(|name| !page.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "not in docs/graph-edges.md: {missing:?}");
    // The contract of patterns gives two types a meaning of their own.
    let crowded: Vec<_> = elsewhere(table, &names).into_iter().filter(|(_, files)| files.len() > 2).collect();
    assert!(crowded.is_empty(), "{crowded:#?}");
}

#[test]
fn a_diagnostic_code_is_declared_once_and_has_a_page() {
    let mut declared: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, text) in production_sources() {
        for line in text.lines().map(str::trim) {
            let mut words = line.split('"');
            let (Some(name), Some(code)) = (words.next(), words.next()) else { continue };
            let is_row = code.starts_with("KW-")
                && name
                    .trim_end()
                    .chars()
                    .all(|letter| letter.is_ascii_uppercase() || letter == '_' || letter.is_ascii_digit());
            if is_row && !name.trim().is_empty() {
                declared.entry(code.to_owned()).or_default().push(path.display().to_string());
            }
        }
    }
    assert!(declared.len() > 200, "only {} codes", declared.len());
    let repeated: Vec<_> = declared.iter().filter(|(_, files)| files.len() > 1).collect();
    assert!(repeated.is_empty(), "{repeated:#?}");
    let folder = workspace_root().join("docs/diagnostics");
    let missing: Vec<&String> =
        declared.keys().filter(|code| !folder.join(format!("{code}.md")).exists()).collect();
    assert!(missing.is_empty(), "without a page: {missing:?}");
}

/// Returns the quoted words of `file` for which `is_name` holds.
fn words_of(file: &str, is_name: impl Fn(&str) -> bool) -> Vec<String> {
    let text = fs::read_to_string(workspace_root().join(file)).expect("the table");
    let quoted = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let quoted = quoted.flat_map(|line| line.split('"').skip(1).step_by(2));
    let mut names: Vec<String> = quoted.filter(|word| is_name(word)).map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}

/// Returns the production files other than `table` that write one of `names` in quotes.
fn elsewhere(table: &str, names: &[String]) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, text) in production_sources().into_iter().filter(|(path, _)| !path.ends_with(table)) {
        for name in names.iter().filter(|name| text.contains(&format!("\"{name}\""))) {
            found.entry(name.clone()).or_default().push(path.display().to_string());
        }
    }
    found
}
