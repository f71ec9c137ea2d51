//! Reading every policy that lies beside the repository, where there are any.

use std::fs;
use std::path::{Path, PathBuf};

use kubewright_engine::{Diagnostic, Dialect as _};
use kubewright_value::{Document, Source, Value, yaml};

use super::super::Kyverno;
use super::super::check::check_exception;
use super::*;

/// Returns the folder of policies that other programs accept; it is not part of the repository.
fn policies() -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().map(|folder| folder.join("shared/conformance/kyverno")).find(|folder| folder.is_dir())
}

/// Adds the policies of the tests below `folder`: a policy with a passing test is accepted.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.ends_with("kyverno-test.yaml") {
            for test in documents(&path) {
                let named = test.value.get("policies").and_then(Value::as_array).unwrap_or_default();
                found.extend(named.iter().filter_map(Value::as_str).map(|name| folder.join(name)));
            }
        }
    }
}

fn documents(path: &Path) -> Vec<Document> {
    let text = fs::read_to_string(path).unwrap_or_default();
    yaml::read(&Source::new(path.display().to_string(), text)).documents
}

/// Returns the small policies that were run, each for the rows that it gives.
fn probes(folder: &Path) -> Vec<Document> {
    let text = fs::read_to_string(folder.join("probes.json")).unwrap_or_default();
    let probes = yaml::parse(&text).expect("probes");
    let cases = probes.get("cases").and_then(Value::as_array).unwrap_or_default();
    let rows =
        |case: &&Value| case.get("expected").and_then(Value::as_array).is_some_and(|rows| !rows.is_empty());
    let policies = cases.iter().filter(rows).filter_map(|case| {
        let name = case.str_at(&["name"]);
        Some(Source::new(name, case.get("policy").and_then(Value::as_str)?))
    });
    policies.flat_map(|source| yaml::read(&source).documents).collect()
}

fn diagnostics(document: &Document) -> Vec<Diagnostic> {
    let text = |key: &str| document.value.str_at(&[key]);
    match (text("apiVersion"), text("kind")) {
        ("kyverno.io/v1" | "kyverno.io/v2beta1", "ClusterPolicy" | "Policy") => {
            Kyverno::new(&[], Default::default()).compile(document, &[]).diagnostics
        }
        ("kyverno.io/v2" | "kyverno.io/v2beta1", "PolicyException") => {
            let (exception, mut diagnostics) = read_exception(document);
            if let Some(exception) = exception {
                diagnostics.extend(check_exception(document, &exception).0);
            }
            diagnostics
        }
        _ => Vec::new(),
    }
}

#[test]
fn every_policy_that_kyverno_accepts_is_read_without_an_error() {
    let Some(folder) = policies() else {
        eprintln!("there is no folder of policies beside the repository: nothing was read");
        return;
    };
    let mut paths = Vec::new();
    files(&folder, &mut paths);
    paths.sort();
    paths.dedup();
    let mut wrong = Vec::new();
    let mut count = 0;
    for path in &paths {
        for document in documents(path) {
            count += 1;
            wrong.extend(diagnostics(&document).into_iter().filter(Diagnostic::is_error));
        }
    }
    for document in probes(&folder) {
        count += 1;
        wrong.extend(diagnostics(&document).into_iter().filter(Diagnostic::is_error));
    }
    let wrong: Vec<String> = wrong.iter().map(ToString::to_string).collect();
    assert!(count > 100, "only {count} documents in {}", folder.display());
    assert!(wrong.is_empty(), "{} in {count} documents:\n{}", wrong.len(), wrong.join("\n"));
}
