//! Editing the places that a path means, which cannot fail any more.
//!
//! Places of one list are edited together, from a copy of no more than the levels above it.

use kubewright_value::{Budget, Map, Step, Text, Value};

use super::{Applied, Op, PatchError, Path, failure};
use crate::charge;

/// Charges for `value` at `count` places, as if each were written.
pub(super) fn charge(
    path: &Path,
    op: Op,
    value: &Value,
    count: usize,
    budget: &mut Budget,
) -> Result<(), PatchError> {
    let levels = path.segments.len();
    let last = levels.saturating_sub(1);
    // What is removed costs no more than the way to it.
    let value = if op == Op::Remove { &Value::Null } else { value };
    (0..count)
        .try_for_each(|_| charge::charge(levels, value, budget))
        .map_err(|exhausted| failure::limit(path, last, exhausted))
}

/// Does `op` at `places`, which are in document order and were found in `document` as it is.
pub(super) fn apply(
    op: Op,
    value: &Value,
    mut places: Vec<Vec<Step>>,
    is_insertion: bool,
    document: &mut Value,
) -> Applied {
    let mut was = Vec::with_capacity(places.len());
    // All places are equally deep, so that no edit moves a place of another group.
    for group in places.chunk_by(|a, b| parent(a) == parent(b)) {
        let container = group.first().and_then(|place| reach(document, parent(place)));
        if let Some(container) = container {
            edit(op, value, group, container, &mut was);
        }
    }
    if is_insertion {
        for group in places.chunk_by_mut(|a, b| parent(a) == parent(b)) {
            for (before, place) in group.iter_mut().enumerate() {
                if let Some(Step::Index(index)) = place.last_mut() {
                    *index += before;
                }
            }
        }
    }
    Applied { places, was, is_insertion }
}

fn parent(place: &[Step]) -> &[Step] {
    place.split_last().map_or(&[], |(_, parent)| parent)
}

/// Returns what stands at `steps`, made where it is missing.
fn reach<'d>(document: &'d mut Value, steps: &[Step]) -> Option<&'d mut Value> {
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
fn edit(op: Op, value: &Value, places: &[Vec<Step>], container: &mut Value, was: &mut Vec<Option<Value>>) {
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
            Op::Add => was.extend(insert(value, items, indices)),
            Op::Remove => was.extend(remove(items, indices).into_iter().map(Some)),
            Op::Replace | Op::Merge => {
                was.extend(indices.map(|index| items.get_mut(index).map(|item| set(op, value, item))));
            }
        }
    }
}

fn edit_key(op: Op, value: &Value, map: &mut Map, key: &Text) -> Option<Value> {
    match map.get_mut(key) {
        _ if op == Op::Remove => map.remove(key),
        Some(target) => Some(set(op, value, target)),
        None => map.insert(key.clone(), value.clone()),
    }
}

/// Sets `target` and returns what it was; `Merge` puts the entries of `value` into an object.
fn set(op: Op, value: &Value, target: &mut Value) -> Value {
    let was = match (op, value) {
        (Op::Merge, Value::Object(_)) => target.clone(),
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
fn remove(items: &mut Vec<Value>, indices: impl Iterator<Item = usize>) -> Vec<Value> {
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
fn insert(
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
