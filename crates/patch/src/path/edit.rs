//! Editing the places that a path means, which cannot fail any more.
//!
//! Places of one list are edited together, from a copy of no more than the levels above it.

use kubewright_value::{Budget, Map, Step, Text, Value};

use super::{PatchPath, PathChange, PathOp, PathPatchError, failure};
use crate::charge;

/// Charges for `value` at `count` places, as if each were written.
pub(super) fn charge_places(
    path: &PatchPath,
    op: PathOp,
    value: &Value,
    count: usize,
    budget: &mut Budget,
) -> Result<(), PathPatchError> {
    let levels = path.segments.len();
    let last = levels.saturating_sub(1);
    // What is removed costs no more than the way to it.
    let value = if op == PathOp::Remove { &Value::Null } else { value };
    (0..count)
        .try_for_each(|_| charge::charge_at_depth(levels, value, budget))
        .map_err(|exhausted| failure::budget_exceeded(path, last, exhausted))
}

/// Does `op` at `places`, which are in document order and were found in `document` as it is.
pub(super) fn apply_at_places(
    op: PathOp,
    value: &Value,
    mut places: Vec<Vec<Step>>,
    is_insertion: bool,
    document: &mut Value,
) -> PathChange {
    let mut was = Vec::with_capacity(places.len());
    // All places are equally deep, so that no edit moves a place of another group.
    for group in places.chunk_by(|a, b| parent_steps(a) == parent_steps(b)) {
        let container = group.first().and_then(|place| reach_or_create(document, parent_steps(place)));
        if let Some(container) = container {
            edit_parent(op, value, group, container, &mut was);
        }
    }
    if is_insertion {
        for group in places.chunk_by_mut(|a, b| parent_steps(a) == parent_steps(b)) {
            for (before, place) in group.iter_mut().enumerate() {
                if let Some(Step::Index(index)) = place.last_mut() {
                    *index += before;
                }
            }
        }
    }
    PathChange { places, was, is_insertion }
}

fn parent_steps(place: &[Step]) -> &[Step] {
    place.split_last().map_or(&[], |(_, parent)| parent)
}

/// Returns the value at `steps`, created where it is missing.
fn reach_or_create<'d>(document: &'d mut Value, steps: &[Step]) -> Option<&'d mut Value> {
    steps.iter().try_fold(document, |here, step| match step {
        Step::Key(key) => {
            if here.is_null() {
                *here = Value::object(Map::new());
            }
            here.as_object_mut()?.get_or_insert(key)
        }
        Step::Index(index) => here.as_array_mut()?.get_mut(*index),
    })
}

/// Does `op` to those parts of `container` that the last steps of `places` lead to; what they were goes to `was`.
fn edit_parent(
    op: PathOp,
    value: &Value,
    places: &[Vec<Step>],
    container: &mut Value,
    was: &mut Vec<Option<Value>>,
) {
    if container.is_null() {
        *container = match places.first().and_then(|place| place.last()) {
            Some(Step::Index(_)) => Value::array(Vec::new()),
            _ => Value::object(Map::new()),
        };
    }
    let last = places.iter().filter_map(|place| place.last());
    if let Some(map) = container.as_object_mut() {
        let keys = last.filter_map(|step| if let Step::Key(key) = step { Some(key) } else { None });
        was.extend(keys.map(|key| edit_key(op, value, map, key)));
    } else if let Some(items) = container.as_array_mut() {
        let indices = last.filter_map(|step| if let Step::Index(index) = step { Some(*index) } else { None });
        match op {
            PathOp::Add => was.extend(insert_items(value, items, indices)),
            PathOp::Remove => was.extend(remove_items(items, indices).into_iter().map(Some)),
            PathOp::Replace | PathOp::Merge => {
                was.extend(indices.map(|index| items.get_mut(index).map(|item| set_value(op, value, item))));
            }
        }
    }
}

fn edit_key(op: PathOp, value: &Value, map: &mut Map, key: &Text) -> Option<Value> {
    match map.get_mut(key) {
        _ if op == PathOp::Remove => map.remove(key),
        Some(target) => Some(set_value(op, value, target)),
        None => map.insert(key.clone(), value.clone()),
    }
}

/// Sets `target` and returns what it was; `Merge` puts the entries of `value` into an object.
fn set_value(op: PathOp, value: &Value, target: &mut Value) -> Value {
    let was = match (op, value) {
        (PathOp::Merge, Value::Object(_)) => target.clone(),
        _ => return std::mem::replace(target, value.clone()),
    };
    match (target.as_object_mut(), value.as_object()) {
        (Some(target), Some(entries)) => {
            for (key, entry) in entries.iter() {
                target.insert(key.clone(), entry.clone());
            }
        }
        _ => *target = value.clone(),
    }
    was
}

/// Removes the items at the ascending `indices`, in one pass.
fn remove_items(items: &mut Vec<Value>, indices: impl Iterator<Item = usize>) -> Vec<Value> {
    let mut indices = indices.peekable();
    let first = indices.peek().copied().unwrap_or(items.len()).min(items.len());
    let mut removed = Vec::new();
    for (index, item) in items.split_off(first).into_iter().enumerate() {
        if indices.next_if_eq(&(first + index)).is_some() {
            removed.push(item);
        } else {
            items.push(item);
        }
    }
    removed
}

/// Inserts `value` before the items at the ascending `indices`, in one pass.
fn insert_items(
    value: &Value,
    items: &mut Vec<Value>,
    indices: impl Iterator<Item = usize>,
) -> impl Iterator<Item = Option<Value>> {
    let mut indices = indices.peekable();
    let first = indices.peek().copied().unwrap_or(items.len()).min(items.len());
    let mut count = 0;
    let mut old = items.split_off(first).into_iter();
    for index in indices {
        items.extend(old.by_ref().take((index + count).saturating_sub(items.len())));
        items.push(value.clone());
        count += 1;
    }
    items.extend(old);
    std::iter::repeat_n(None, count)
}
