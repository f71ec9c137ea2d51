//! The object that a case of a probe leaves, held against the one that the original printed.

use std::path::Path;

use kubewright_value::{Map, Value, yaml};

/// The folder for the objects.
pub(super) const OBJECT_FOLDER: &str = "patched-objects";

/// Compares the object in `folder` with the one of `case`, if the case has one.
pub(super) fn compare_patched_object(case: &Value, folder: &Path) -> Result<(), String> {
    let Some(wanted) = case.get("patched").filter(|wanted| wanted.as_object().is_some()) else {
        return Ok(());
    };
    let mut found = Vec::new();
    read_objects(&folder.join(OBJECT_FOLDER), &mut found)?;
    let wanted = comparable(wanted);
    match found.as_slice() {
        [one] if comparable(one) == wanted => Ok(()),
        [one] => Err(format!("patched object: expected {wanted}, got {}", comparable(one))),
        several => Err(format!("{} patched objects in place of one", several.len())),
    }
}

fn read_objects(folder: &Path, found: &mut Vec<Value>) -> Result<(), String> {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            read_objects(&path, found)?;
            continue;
        }
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        found.push(yaml::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?);
    }
    Ok(())
}

/// The original writes the namespace `default` into objects that have none.
fn comparable(object: &Value) -> Value {
    let mut object = object.clone();
    let metadata = object.as_object_mut().and_then(|object| object.get_mut("metadata"));
    if let Some(metadata) = metadata.and_then(Value::as_object_mut)
        && metadata.get("namespace").and_then(Value::as_str) == Some("default")
    {
        metadata.remove("namespace");
    }
    sorted(&object)
}

/// Returns the value with the keys of objects in order, so that differences are easy to read.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::array(items.iter().map(sorted).collect()),
        Value::Object(map) => {
            let entries = map.sorted().into_iter().map(|(key, value)| (key.clone(), sorted(value)));
            entries.collect::<Map>().into()
        }
        plain => plain.clone(),
    }
}
