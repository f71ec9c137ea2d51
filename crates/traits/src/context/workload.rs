//! The variable `workload`, and the overrides of its environment variables and files.

use std::collections::HashMap;

use kubewright_value::{Map, Text, Value};

use super::super::source::{Endpoint, Workload};
use super::insert_present;

/// The visibility that every endpoint has: inside its project.
pub(super) const PROJECT: &str = "project";

/// Returns `workload`.
pub(crate) fn workload_variable(workload: Option<&Workload>) -> Value {
    let mut container = Map::new();
    let mut endpoints = Map::new();
    if let Some(workload) = workload {
        insert_present(&mut container, "image", workload.image.clone());
        insert_present(&mut container, "command", non_empty_texts(&workload.command));
        insert_present(&mut container, "args", non_empty_texts(&workload.args));
        for found in &workload.endpoints {
            endpoints.insert(found.name.clone(), workload_endpoint_value(found));
        }
    }
    Value::object(Map::from([
        ("container", Value::object(container)),
        ("endpoints", Value::object(endpoints)),
    ]))
}

/// Returns `base` with items of the same key replaced by those of `over`, and the others appended.
pub fn merge_by_key<T: Clone>(base: &[T], over: &[T], key: impl Fn(&T) -> &str) -> Vec<T> {
    let mut merged = base.to_vec();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (place, item) in base.iter().enumerate() {
        places.entry(key(item)).or_insert(place);
    }
    for item in over {
        let place = *places.entry(key(item)).or_insert(merged.len());
        match merged.get_mut(place) {
            Some(known) => *known = item.clone(),
            None => merged.push(item.clone()),
        }
    }
    merged
}

fn non_empty_texts(texts: &[Text]) -> Option<Value> {
    (!texts.is_empty()).then(|| Value::from(texts.to_vec()))
}

fn workload_endpoint_value(endpoint: &Endpoint) -> Value {
    let mut visibility = vec![Text::new(PROJECT)];
    for word in &endpoint.visibility {
        if !visibility.contains(word) {
            visibility.push(word.clone());
        }
    }
    let mut map = Map::new();
    insert_present(&mut map, "displayName", endpoint.display_name.clone());
    insert_present(&mut map, "port", Some(endpoint.port));
    insert_present(&mut map, "targetPort", Some(endpoint.target_port.unwrap_or(endpoint.port)));
    insert_present(&mut map, "type", Some(endpoint.kind.clone()));
    insert_present(&mut map, "basePath", endpoint.base_path.clone());
    insert_present(&mut map, "visibility", Some(visibility));
    Value::object(map)
}
