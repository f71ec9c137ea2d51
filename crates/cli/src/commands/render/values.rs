//! Values merged from a stack file, files and `--set`.
//!
//! The result is a document with positions, so that an invalid parameter is shown in its file. Merged values are shown in
//! the merged text.

use std::sync::Arc;

use kubewright_engine::Diagnostic;
use kubewright_files as files;
use kubewright_value::{Document, Map, Source, Text, Value, yaml};

use super::setting::{self, PathSetting};
use crate::codes::{self, BAD_VALUES};
use crate::output::yaml_text;

/// The maximum depth of merging; below it, the later map replaces the earlier one.
const MAX_VALUE_DEPTH: usize = 100;

/// Reads the map in each of the files at `paths`.
pub(super) fn read_value_files(
    paths: &[String],
    what: &str,
    problems: &mut Vec<Diagnostic>,
) -> Vec<Document> {
    let mut maps = Vec::new();
    for path in paths {
        let found = files::find_files(std::slice::from_ref(path));
        problems.extend(found.problems);
        for input in &found.inputs {
            let documents = files::read_documents(std::slice::from_ref(input), problems);
            if let Some(second) = documents.get(1) {
                let message = format!("a file of {what} contains a second document");
                problems.push(Diagnostic::new(&BAD_VALUES, message, second.locate(&[])));
            }
            let Some(first) = documents.into_iter().next() else { continue };
            if first.value.as_object().is_none() {
                let message = format!("{what} are a map, this is of type {}", first.value.kind());
                problems.push(Diagnostic::new(&BAD_VALUES, message, first.locate(&[])));
                continue;
            }
            maps.push(first);
        }
    }
    maps
}

/// Returns `layers` merged in order, with `settings` on top.
///
/// # Errors
/// When a setting conflicts with an existing value.
pub(super) fn merge_layers(
    layers: &[Document],
    settings: &[PathSetting],
    none: &str,
) -> Result<Document, Box<Diagnostic>> {
    let is_full = |layer: &&Document| layer.value.as_object().is_some_and(|map| !map.is_empty());
    let layers: Vec<&Document> = layers.iter().filter(is_full).collect();
    if settings.is_empty() {
        match layers.as_slice() {
            [] => return Ok(Document::made(Map::new().into(), Source::new(none, ""))),
            [one] => return Ok((*one).clone()),
            _ => {}
        }
    }
    let mut value = Value::from(Map::new());
    let mut names: Vec<String> = Vec::new();
    for layer in layers {
        lay_over(&mut value, &layer.value, MAX_VALUE_DEPTH);
        names.push(layer.source.name.clone());
    }
    if !settings.is_empty() {
        setting::apply_settings(&mut value, settings.iter())
            .map_err(|why| Box::new(codes::about_path(&BAD_VALUES, "--set", why)))?;
        names.push("--set".to_owned());
    }
    names.dedup();
    Ok(document_from_value(value, &Source::new(names.join(" with "), "")))
}

/// Merges `over` into `value`: maps are merged, everything else is replaced.
pub(super) fn lay_over(value: &mut Value, over: &Value, deeper: usize) {
    match (value.as_object_mut(), over.as_object()) {
        (Some(map), Some(over)) if deeper > 0 => {
            for (key, over) in over.iter() {
                match map.get_mut(key) {
                    Some(value) => lay_over(value, over, deeper - 1),
                    None => drop(map.insert(key.clone(), over.clone())),
                }
            }
        }
        _ => *value = over.clone(),
    }
}

/// Returns the values of each of the instances called `names`: the whole map if there is one instance, otherwise the map
/// under its name.
pub(super) fn split_by_instance(
    whole: &Document,
    names: &[Text],
    what: &str,
    problems: &mut Vec<Diagnostic>,
) -> Vec<Document> {
    let none = || Document::made(Map::new().into(), Arc::clone(&whole.source));
    if names.len() < 2 {
        return names.iter().map(|_| whole.clone()).collect();
    }
    let keys = whole.value.as_object().into_iter().flat_map(Map::iter);
    for (key, value) in keys {
        if !names.contains(key) {
            let location = whole.locate_key(&[key.as_str().into()]);
            let message = format!("there is no instance `{key}` for these {what}");
            let known: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            let help = format!(
                "if there are several instances, {what} are a map by instance name: {}",
                known.join(", ")
            );
            problems.push(Diagnostic::new(&BAD_VALUES, message, location).help(help));
        } else if !value.is_null() && value.as_object().is_none() {
            let location = whole.locate(&[key.as_str().into()]);
            let message = format!("the {what} of `{key}` are a map, this is of type {}", value.kind());
            problems.push(Diagnostic::new(&BAD_VALUES, message, location));
        }
    }
    let part =
        |name: &Text| whole.part(&[name.as_str().into()]).filter(|part| part.value.as_object().is_some());
    names.iter().map(|name| part(name).unwrap_or_else(none)).collect()
}

/// Returns `value` as a document with the YAML text that represents it.
fn document_from_value(value: Value, source: &Source) -> Document {
    let source = Source::new(source.name.clone(), yaml_text(&value));
    let read = yaml::read(&source).documents.into_iter().next();
    // The YAML reads back as the same value; if it ever did not, only positions would be lost.
    match read {
        Some(read) if read.value == value => read,
        _ => Document::made(value, source),
    }
}
