//! Editing the places that a path means, which cannot fail any more.
//!
//! Places of one list are edited together, from a copy of no more than the levels above it.

use kubewright_value::{Budget, Map, Step, Text, Value};

use super::{Applied, Op, PatchError, Path, failure};
use crate::patch::charge;

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
    // All places are equally deep, so that no edit moves a place of another group.
    for group in places.chunk_by(|a, b| parent(a) == parent(b)) {
        let container = group.first().and_then(|place| reach(document, parent(place)));
        if let Some(container) = container {
            edit(op, value, group, container);
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
    Applied { places, is_insertion }
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
            let map = here.as_object_mut()?;
            if !map.contains_key(key) {
                map.insert(key.clone(), Value::Null);
            }
            map.get_mut(key)
        }
        Step::Index(index) => here.as_array_mut()?.get_mut(*index),
    })
}

/// Does `op` to those parts of `container` that the last steps of `places` lead to.
fn edit(op: Op, value: &Value, places: &[Vec<Step>], container: &mut Value) {
    if container.is_null() {
        *container = match places.first().and_then(|place| place.last()) {
            Some(Step::Index(_)) => Value::array(Vec::new()),
            _ => Value::object(Map::new()),
        };
    }
    let last = places.iter().filter_map(|place| place.last());
    if let Some(map) = container.as_object_mut() {
        for key in last.filter_map(|step| if let Step::Key(key) = step { Some(key) } else { None }) {
            edit_key(op, value, map, key);
        }
    } else if let Some(items) = container.as_array_mut() {
        let indices = last.filter_map(|step| if let Step::Index(index) = step { Some(*index) } else { None });
        edit_items(op, value, items, indices);
    }
}

fn edit_key(op: Op, value: &Value, map: &mut Map, key: &Text) {
    match (op, map.get_mut(key)) {
        (Op::Remove, _) => drop(map.remove(key)),
        (Op::Merge, Some(target)) => merge(target, value),
        (Op::Add | Op::Replace, Some(target)) => *target = value.clone(),
        (Op::Add | Op::Replace | Op::Merge, None) => drop(map.insert(key.clone(), value.clone())),
    }
}

/// Edits `items` at the ascending `indices`, all of which count before the edit.
fn edit_items(op: Op, value: &Value, items: &mut Vec<Value>, indices: impl Iterator<Item = usize>) {
    match op {
        Op::Replace | Op::Merge => {
            for index in indices {
                match items.get_mut(index) {
                    Some(item) if op == Op::Merge => merge(item, value),
                    Some(item) => *item = value.clone(),
                    None => {}
                }
            }
        }
        Op::Remove => {
            let mut indices = indices.peekable();
            let mut index = 0;
            items.retain(|_| {
                let is_kept = indices.next_if_eq(&index).is_none();
                index += 1;
                is_kept
            });
        }
        Op::Add => insert(value, items, indices),
    }
}

fn insert(value: &Value, items: &mut Vec<Value>, indices: impl Iterator<Item = usize>) {
    let mut indices = indices.peekable();
    let Some(first) = indices.next() else { return };
    if indices.peek().is_none() {
        items.insert(first.min(items.len()), value.clone());
        return;
    }
    let mut indices = std::iter::once(first).chain(indices).peekable();
    let old = std::mem::take(items);
    for (index, item) in old.into_iter().enumerate() {
        if indices.next_if_eq(&index).is_some() {
            items.push(value.clone());
        }
        items.push(item);
    }
}

/// Puts the entries of `value` into `target`; if that is no object, sets it.
fn merge(target: &mut Value, value: &Value) {
    match (target.as_object_mut(), value.as_object()) {
        (Some(target), Some(entries)) => {
            for (key, entry) in entries.iter() {
                target.insert(key.clone(), entry.clone());
            }
        }
        _ => *target = value.clone(),
    }
}
