//! Reading every policy that lies beside the repository, where there are any.

use std::fs;
use std::path::{Path, PathBuf};

use kubewright_engine::Diagnostic;
use kubewright_value::{Document, Source, Value, yaml};

use super::*;

/// Returns the folder of policies that other programs accept; it is not part of the repository.
fn policies() -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().map(|folder| folder.join("shared/conformance/kyverno")).find(|folder| folder.is_dir())
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.extension().and_then(|extension| extension.to_str()) {
            // Those of a cluster test: parts of policies that are expected, not policies.
            _ if path.ends_with(".chainsaw-test") => {}
            _ if path.is_dir() => files(&path, found),
            Some("yaml" | "yml") => found.push(path),
            _ => {}
        }
    }
}

fn documents(path: &Path) -> Vec<Document> {
    let text = fs::read_to_string(path).unwrap_or_default();
    yaml::read(&Source::new(path.display().to_string(), text)).documents
}

fn diagnostics(document: &Document) -> Vec<Diagnostic> {
    let text = |key: &str| document.value.get(key).and_then(Value::as_str).unwrap_or_default();
    match (text("apiVersion"), text("kind")) {
        ("kyverno.io/v1" | "kyverno.io/v2beta1", "ClusterPolicy" | "Policy") => read(document).1,
        ("kyverno.io/v2" | "kyverno.io/v2beta1", "PolicyException") => read_exception(document).1,
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
    let mut wrong = Vec::new();
    let mut count = 0;
    for path in &paths {
        for document in documents(path) {
            count += 1;
            wrong.extend(diagnostics(&document).into_iter().filter(Diagnostic::is_error));
        }
    }
    let wrong: Vec<String> = wrong.iter().map(ToString::to_string).collect();
    assert!(count > 100, "only {count} documents in {}", folder.display());
    assert!(wrong.is_empty(), "{} in {count} documents:\n{}", wrong.len(), wrong.join("\n"));
}
