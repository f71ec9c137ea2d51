//! Traits that people run, as files: each must be read without an error.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kubewright_dialects::traits;
use kubewright_engine::Severity;
use kubewright_value::{Source, yaml};

use super::super::{CaseResult, SuiteResult};

/// Runs the files of `folder`, if it is there.
pub(in super::super) fn run(folder: &Path, prefix: &str) -> Result<Vec<SuiteResult>, String> {
    const NAME: &str = "trait/published";
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(Vec::new()) };
    if !NAME.starts_with(prefix) {
        return Ok(Vec::new());
    }
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        cases.push(CaseResult { failure: load(&Source::new(name.clone(), without_helm(&text))).err(), name });
    }
    Ok(vec![SuiteResult { name: NAME.to_owned(), cases, uncounted: 0 }])
}

fn load(source: &Arc<Source>) -> Result<(), String> {
    let reading = yaml::read(source);
    if let Some(problem) = reading.problems.first() {
        return Err(problem.message.clone());
    }
    let known: Vec<_> = reading.documents.iter().filter(|document| traits::is_known(document)).collect();
    if known.is_empty() {
        return Err("no document of the file is known".to_owned());
    }
    let found: Vec<String> = known
        .into_iter()
        .flat_map(traits::check)
        .filter(|diagnostic| diagnostic.severity() == Severity::Error)
        .map(|diagnostic| diagnostic.to_string())
        .collect();
    if found.is_empty() { Ok(()) } else { Err(found.join("\n        ")) }
}

/// Some files are templates of Helm: lines that only steer it go, and what it would put in becomes a word.
fn without_helm(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.starts_with("{{") && trimmed.ends_with("}}") {
            continue;
        }
        let mut rest = line;
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((_, behind)) = after.split_once("}}") else { break };
            plain.push_str(before);
            plain.push_str("helm");
            rest = behind;
        }
        plain.push_str(rest);
        plain.push('\n');
    }
    plain
}
