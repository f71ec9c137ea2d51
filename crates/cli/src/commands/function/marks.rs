//! The annotations with which kustomize and kpt mark items on their way through functions.
//!
//! They are removed before traits run, so that the result does not depend on the caller, and restored afterwards, whatever
//! a trait has changed.

use std::path::{Component, Path};

use kubewright_value::{Map, Text, Value};

/// Where an item is kept, in the two forms there are.
pub(super) const PATHS: [&str; 2] = ["internal.config.kubernetes.io/path", "config.kubernetes.io/path"];
/// Which item of its file it is, in the same order.
pub(super) const INDICES: [&str; 2] = ["internal.config.kubernetes.io/index", "config.kubernetes.io/index"];

const PREFIXES: [&str; 2] = ["internal.config.kubernetes.io/", "kustomize.config.k8s.io/"];
const OTHERS: [&str; 4] = [
    "config.kubernetes.io/path",
    "config.kubernetes.io/index",
    "config.kubernetes.io/id",
    "config.k8s.io/id",
];

/// Returns `item` without its marks.
pub(super) fn without_marks(item: &Value) -> Value {
    let mut bare = item.clone();
    let Some(metadata) = bare.as_object_mut().and_then(|item| item.get_mut("metadata")) else { return bare };
    let Some(metadata) = metadata.as_object_mut() else { return bare };
    let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) else {
        return bare;
    };
    let marks: Vec<Text> = annotations.keys().filter(|key| is_mark_key(key)).cloned().collect();
    marks.iter().for_each(|mark| drop(annotations.remove(mark)));
    if !marks.is_empty() && annotations.is_empty() {
        metadata.remove("annotations");
    }
    bare
}

/// Gives `object` the marks of `item`, where they stood.
pub(super) fn put_back(object: &mut Value, item: &Value) {
    let all = annotations_map(item);
    let marks = all.into_iter().flat_map(Map::iter).enumerate().filter(|(_, (key, _))| is_mark_key(key));
    let marks: Vec<(usize, &Text, &Value)> = marks.map(|(place, (key, mark))| (place, key, mark)).collect();
    if marks.is_empty() {
        return;
    }
    let place = item.get("metadata").and_then(Value::as_object).and_then(|map| map.position("annotations"));
    // Where there were marks alone, a trait has made its own annotations in another place.
    if all.is_some_and(|all| all.len() == marks.len())
        && let Some(metadata) = object.as_object_mut().and_then(|object| object.get_mut("metadata"))
        && let Some(metadata) = metadata.as_object_mut()
        && let Some(made) = metadata.remove("annotations")
    {
        metadata.insert_at(place.unwrap_or(metadata.len()), "annotations".into(), made);
    }
    let Some(into) = annotations_of(object, place) else { return };
    for (place, key, mark) in marks {
        into.insert_at(place, key.clone(), mark.clone());
    }
}

/// Adds an annotation, unless there is one of that name.
pub(super) fn add_missing_annotation(object: &mut Value, key: &str, text: &str) {
    if let Some(annotations) = annotations_of(object, None).filter(|map| !map.contains_key(key)) {
        annotations.insert(key.into(), text.into());
    }
}

/// Returns the path and the index of the file in which `item` is kept.
pub(super) fn marked_file(item: &Value) -> Option<(&str, i64)> {
    let annotations = annotations_map(item)?;
    let text = |keys: [&str; 2]| keys.into_iter().find_map(|key| annotations.get(key)?.as_str());
    let index = text(INDICES).and_then(|index| index.parse().ok()).unwrap_or_default();
    text(PATHS).map(|path| (path, index))
}

/// Takes away where `object` says that it is kept, if that is outside of what the caller keeps.
pub(super) fn stay_inside(object: &mut Value) {
    let leads_out = |key: &&str| {
        let path =
            annotations_map(object).and_then(|annotations| annotations.get(key)).and_then(Value::as_str);
        path.is_some_and(|path| !stays_in_folder(Path::new(path)))
    };
    if !PATHS.iter().any(leads_out) {
        return;
    }
    if let Some(annotations) = annotations_of(object, None) {
        for key in PATHS.iter().chain(&INDICES) {
            annotations.remove(key);
        }
    }
}

/// Returns whether `path` stays in the folder that it starts in.
pub(super) fn stays_in_folder(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// Returns whether `item` has an annotation called `key`.
pub(super) fn has_annotation(item: &Value, key: &str) -> bool {
    annotations_map(item).is_some_and(|annotations| annotations.contains_key(key))
}

fn annotations_map(item: &Value) -> Option<&Map> {
    item.at(&["metadata", "annotations"])?.as_object()
}

/// Returns the annotations of `object`, new ones at `place` if it has none; nothing where there is something in the way.
fn annotations_of(object: &mut Value, place: Option<usize>) -> Option<&mut Map> {
    let object = object.as_object_mut()?;
    if object.get("metadata").is_none_or(Value::is_null) {
        object.insert("metadata".into(), Map::new().into());
    }
    let metadata = object.get_mut("metadata")?.as_object_mut()?;
    match metadata.get("annotations") {
        None => {
            let place = place.unwrap_or(metadata.len());
            metadata.insert_at(place, "annotations".into(), Map::new().into());
        }
        Some(Value::Null) => drop(metadata.insert("annotations".into(), Map::new().into())),
        Some(_) => {}
    }
    metadata.get_mut("annotations")?.as_object_mut()
}

fn is_mark_key(key: &str) -> bool {
    PREFIXES.iter().any(|prefix| key.starts_with(prefix)) || OTHERS.contains(&key)
}

#[cfg(test)]
mod tests;
