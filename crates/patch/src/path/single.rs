//! The common case: a path that means one place, which is there or can be made.
//!
//! One walk instead of two. Whatever is not as plain as that is left to the walk that finds all places first and can
//! say what is wrong; nothing has been changed by then.

use std::sync::Arc;

use kubewright_value::{Budget, Map, Step, Text, Value};

use super::edit::charge_places;
use super::{PatchPath, PathChange, PathOp, PathPatchError, PathSegment, SegmentSpan, failure, filter};
use crate::charge::shifting;

/// Does `op` at the one place that `path` means; nothing where the general way has to be gone.
pub(super) fn apply_at_single(
    path: &PatchPath,
    op: PathOp,
    value: &Value,
    document: &mut Value,
    budget: &mut Budget,
) -> Result<Option<PathChange>, PathPatchError> {
    let Some((last, way)) = path.segments.split_last() else { return Ok(None) };
    if op == PathOp::Merge || path.segments().any(|segment| matches!(segment, PathSegment::Every)) {
        return Ok(None);
    }
    charge_places(path, op, value, 1, budget)?;
    let mut place = Vec::with_capacity(path.segments.len());
    let mut here = document;
    for (number, written) in way.iter().enumerate() {
        charge_step(path, number, here, budget)?;
        match (&written.segment, here) {
            (PathSegment::Key(key) | PathSegment::Number(key, _), Value::Object(map)) => {
                place.push(Step::Key(key.clone()));
                let map = Arc::make_mut(map);
                let Some(position) = map.position(key) else {
                    return Ok(apply_below_missing_key(path, op, value, number, place, map));
                };
                let Some(part) = map.entry_mut(position) else { return Ok(None) };
                here = part;
            }
            (PathSegment::Index(index) | PathSegment::Number(_, Some(index)), Value::Array(items)) => {
                place.push(Step::Index(*index));
                let Some(item) = Arc::make_mut(items).get_mut(*index) else { return Ok(None) };
                here = item;
            }
            (PathSegment::Filter { field, value }, Value::Array(items)) => {
                let Some(index) = only_matching_item(path, number, field, value, items, budget)? else {
                    return Ok(None);
                };
                place.push(Step::Index(index));
                let Some(item) = Arc::make_mut(items).get_mut(index) else { return Ok(None) };
                here = item;
            }
            _ => return Ok(None),
        }
    }
    charge_step(path, way.len(), here, budget)?;
    // A filter at the end is the index of the item that it chooses.
    if let (PathSegment::Filter { field, value: text }, Value::Array(items)) = (&last.segment, &*here) {
        let Some(index) = only_matching_item(path, way.len(), field, text, items, budget)? else {
            return Ok(None);
        };
        return Ok(apply_last_segment(op, value, &PathSegment::Index(index), here, place));
    }
    Ok(apply_last_segment(op, value, &last.segment, here, place))
}

/// Does `op` at the last segment.
fn apply_last_segment(
    op: PathOp,
    value: &Value,
    last: &PathSegment,
    here: &mut Value,
    mut place: Vec<Step>,
) -> Option<PathChange> {
    let mut is_insertion = false;
    let was = match (last, here) {
        (PathSegment::Key(key) | PathSegment::Number(key, _), Value::Object(map)) => {
            let map = Arc::make_mut(map);
            place.push(Step::Key(key.clone()));
            match (op, map.get_mut(key)) {
                (PathOp::Remove, Some(_)) => map.remove(key),
                (PathOp::Remove, None) => return Some(PathChange::default()),
                (_, Some(target)) => Some(std::mem::replace(target, value.clone())),
                (PathOp::Replace, None) => return None,
                (_, None) => map.insert(key.clone(), value.clone()),
            }
        }
        (PathSegment::Index(index) | PathSegment::Number(_, Some(index)), Value::Array(items)) => {
            let items = Arc::make_mut(items);
            place.push(Step::Index(*index));
            let target = items.get_mut(*index)?;
            match op {
                PathOp::Remove => Some(items.remove(*index)),
                PathOp::Add => {
                    is_insertion = true;
                    items.insert(*index, value.clone());
                    None
                }
                _ => Some(std::mem::replace(target, value.clone())),
            }
        }
        (PathSegment::Append, Value::Array(items)) if op == PathOp::Add => {
            let items = Arc::make_mut(items);
            place.push(Step::Index(items.len()));
            is_insertion = true;
            items.push(value.clone());
            None
        }
        _ => return None,
    };
    Some(PathChange { places: vec![place], was: vec![was], is_insertion })
}

/// Does `op` beyond the key of segment `number`, which `map` does not have: makes everything from there on, or has
/// nothing to remove.
fn apply_below_missing_key(
    path: &PatchPath,
    op: PathOp,
    value: &Value,
    number: usize,
    mut place: Vec<Step>,
    map: &mut Map,
) -> Option<PathChange> {
    let rest = path.segments.get(number + 1..).unwrap_or_default();
    let (last, inner) = rest.split_last()?;
    let key_of = |written: &SegmentSpan| match &written.segment {
        PathSegment::Key(key) => Some(key.clone()),
        _ => None,
    };
    let keys: Vec<Text> = inner.iter().map(key_of).collect::<Option<_>>()?;
    let (step, made) = match &last.segment {
        PathSegment::Key(key) => {
            (Step::Key(key.clone()), Value::object([(key.clone(), value.clone())].into_iter().collect()))
        }
        PathSegment::Append if op == PathOp::Add => (Step::Index(0), Value::array(vec![value.clone()])),
        _ => return None,
    };
    match op {
        PathOp::Remove => return Some(PathChange::default()),
        PathOp::Add => {}
        _ => return None,
    }
    let is_insertion = matches!(step, Step::Index(_));
    let made =
        keys.iter().rev().fold(made, |made, key| Value::object([(key.clone(), made)].into_iter().collect()));
    let Some(Step::Key(first)) = place.last() else { return None };
    map.insert(first.clone(), made);
    place.extend(keys.into_iter().map(Step::Key));
    place.push(step);
    Some(PathChange { places: vec![place], was: vec![None], is_insertion })
}

/// Returns the index of the item whose field has the text, if it is the only one.
fn only_matching_item(
    path: &PatchPath,
    number: usize,
    field: &[Text],
    text: &Text,
    items: &[Value],
    budget: &mut Budget,
) -> Result<Option<usize>, PathPatchError> {
    let cost = items.len().saturating_mul(field.len());
    budget.step(cost as u64).map_err(|exhausted| failure::budget_exceeded(path, number, exhausted))?;
    let is_meant =
        |item: &Value| filter::field_of(item, field).is_some_and(|found| filter::is_text(found, text));
    let mut meant = items.iter().enumerate().filter(|(_, item)| is_meant(item));
    Ok(match (meant.next(), meant.next()) {
        (Some((index, _)), None) => Some(index),
        _ => None,
    })
}

/// Charges for one step, and for the copy of what is here, in case that it is shared.
fn charge_step(
    path: &PatchPath,
    number: usize,
    here: &Value,
    budget: &mut Budget,
) -> Result<(), PathPatchError> {
    let parts = match here {
        Value::Object(map) => map.len(),
        Value::Array(items) => items.len(),
        _ => 0,
    };
    budget.step(1 + shifting(parts)).map_err(|exhausted| failure::budget_exceeded(path, number, exhausted))
}
