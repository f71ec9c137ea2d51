//! The folder of a migration: `policies/`, `remaining/` and `REPORT.md`, ready for a branch.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use kubewright_value::{Map, Value};

use super::super::conversion::{ConvertedDocument, safe_policy_name};
use super::report::MigrationReport;
use crate::failure::CommandFailure;
use crate::output::{refuse_input, refuse_link, write_named_by_object, yaml_text};

/// Fields of metadata that the API server sets.
const SERVER_METADATA: [&str; 6] =
    ["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"];

/// The annotation of `kubectl apply`.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Writes the folder.
///
/// # Errors
/// When it has policies of an earlier run that this one does not write, or cannot be written.
pub(super) fn write_folder(
    folder: &Path,
    converted: &[ConvertedDocument],
    report: &MigrationReport<'_>,
) -> Result<(), CommandFailure> {
    let mut taken: HashSet<PathBuf> = HashSet::new();
    let mut files: Vec<(PathBuf, String)> = Vec::new();
    for one in converted {
        let name = safe_policy_name(&one.conversion.policy);
        let texts: Vec<&str> = one.given_out().map(|(_, text)| text).collect();
        if !texts.is_empty() {
            files.push((free_path(&folder.join("policies"), &name, &mut taken), texts.join("---\n")));
        }
        if let Some(remaining) = remaining_policy(one) {
            let path = free_path(&folder.join("remaining"), &name, &mut taken);
            files.push((path, yaml_text(&remaining)));
        }
    }
    for part in ["policies", "remaining"] {
        let part = folder.join(part);
        refuse_leftovers(&part, &taken)?;
        fs::create_dir_all(&part).map_err(CommandFailure::writing(&part))?;
    }
    for (path, _) in &files {
        refuse_link(path)?;
        refuse_input(path)?;
    }
    files.iter().try_for_each(|(path, text)| write_named_by_object(path, text))?;
    write_named_by_object(&folder.join("REPORT.md"), &report.markdown())
}

/// Returns the policy with the rules that are not migrated; nothing where all are.
pub(super) fn remaining_policy(one: &ConvertedDocument) -> Option<Value> {
    let migrated: HashSet<&str> =
        one.given_out().flat_map(|(written, _)| &written.rules).map(|rule| rule.as_str()).collect();
    let mut document = one.document.value.clone();
    let map = document.as_object_mut()?;
    map.remove("status");
    clean_metadata(map.get_mut("metadata").and_then(Value::as_object_mut));
    if one.document.value.at(&["spec", "rules"]).is_none() {
        // It is a rule itself.
        return migrated.is_empty().then_some(document);
    }
    let rules = remaining_rules(&one.document.value, &migrated);
    if rules.is_empty() {
        return None;
    }
    map.get_mut("spec").and_then(Value::as_object_mut)?.insert("rules".into(), rules.into());
    Some(document)
}

/// Returns the rules of `policy` whose names are not in `migrated`.
pub(super) fn remaining_rules(policy: &Value, migrated: &HashSet<&str>) -> Vec<Value> {
    let rules = policy.at(&["spec", "rules"]).and_then(Value::as_array).unwrap_or_default();
    rules.iter().filter(|rule| !migrated.contains(rule.str_at(&["name"]))).cloned().collect()
}

fn clean_metadata(metadata: Option<&mut Map>) {
    let Some(metadata) = metadata else { return };
    for key in SERVER_METADATA {
        metadata.remove(key);
    }
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.remove(LAST_APPLIED);
    }
}

fn free_path(folder: &Path, name: &str, taken: &mut HashSet<PathBuf>) -> PathBuf {
    let mut path = folder.join(format!("{name}.yaml"));
    let mut number = 1;
    while !taken.insert(path.clone()) {
        number += 1;
        path = folder.join(format!("{name}-{number}.yaml"));
    }
    path
}

/// Refuses a folder with files that would be taken for a part of this migration.
fn refuse_leftovers(folder: &Path, taken: &HashSet<PathBuf>) -> Result<(), CommandFailure> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    match paths.find(|path| !taken.contains(path)) {
        None => Ok(()),
        Some(path) => Err(CommandFailure::usage(format!("`{}` is not of this migration", path.display()))
            .help("remove what an earlier run wrote, or name another folder; nothing was written")),
    }
}
