//! Applying a patch.
//!
//! An operation looks before it writes, so one that fails has changed nothing. What the ones before it
//! wrote over is kept in an [`UndoLog`], one level at a time, so that a document that is not shared is edited in
//! place and still comes back whole.

use std::sync::Arc;

use kubewright_value::{Budget, Map, PositionHint, Text, Value, ValueKind};

use super::charge::{charge_at_depth, reindexing, shifting};
use super::failure::{OperationFailure, bad_index, index_out_of_range, missing_part, not_a_container};
use super::walk::{find_value, part_at, part_mut, part_position};
use super::{JsonPatchOperation, PatchError, PatchErrorKind, PatchOptions, Pointer, index};

/// Applies `operations` in order, all or none, and returns how many of them changed something.
///
/// # Errors
/// At the first operation that cannot be applied; `document` is then as it was.
pub fn apply_patch(
    document: &mut Value,
    operations: &[JsonPatchOperation],
    options: &PatchOptions,
    budget: &mut Budget,
) -> Result<usize, PatchError> {
    let mut changes = 0;
    apply_operations(document, operations, (options, &KeyPositions::default()), budget, |_| changes += 1)?;
    Ok(changes)
}

/// Applies `operations` as [`apply_patch`] does, and calls `changed` with the index of each one that changed something.
/// `positions` are those of the patch, which may be used for many objects.
///
/// # Errors
/// As [`apply_patch`].
pub fn apply_operations(
    document: &mut Value,
    operations: &[JsonPatchOperation],
    (options, positions): (&PatchOptions, &KeyPositions),
    budget: &mut Budget,
    mut changed: impl FnMut(usize),
) -> Result<(), PatchError> {
    let mut undo = UndoLog { kept: Vec::with_capacity(operations.len()) };
    for (number, operation) in operations.iter().enumerate() {
        let mut writer = PatchWriter { options, budget, undo: &mut undo, positions };
        match writer.apply(document, operation) {
            Ok(true) => changed(number),
            Ok(false) => {}
            Err(failure) => {
                undo.roll_back(document, options);
                return Err(failure.at(number, operation));
            }
        }
    }
    Ok(())
}

/// The context of applying an operation, besides the document.
struct PatchWriter<'w, 'o> {
    options: &'w PatchOptions,
    budget: &'w mut Budget,
    undo: &'w mut UndoLog<'o>,
    positions: &'w KeyPositions,
}

/// How many positions are kept, and how far apart those of the same key at two depths are.
const KEPT_POSITIONS: usize = 32;
const DEPTH_DISTANCE: usize = 3;

/// The positions of the keys on the way to what a patch changes, where they are looked up first: its operations mostly change
/// neighbours, and objects of one kind are often written alike.
#[derive(Debug, Default, Clone)]
pub struct KeyPositions([PositionHint; KEPT_POSITIONS]);

impl KeyPositions {
    /// Returns the position of the part of `here`, which is `depth` parts below the document, as [`part_position`] does.
    fn position(
        &self,
        (here, depth): (&Value, usize),
        token: &Text,
        options: &PatchOptions,
    ) -> Result<usize, OperationFailure> {
        // Keys that share a place by their length and depth only make each other be searched for.
        let place = depth.wrapping_mul(DEPTH_DISTANCE).wrapping_add(token.len()) % KEPT_POSITIONS;
        let (Value::Object(map), Some(hint)) = (here, self.0.get(place)) else {
            return part_position(here, token, options);
        };
        hint.position(map, token).ok_or_else(|| missing_part(token))
    }
}

impl<'o> PatchWriter<'_, 'o> {
    /// Applies one operation and returns whether it changed something.
    fn apply(
        &mut self,
        document: &mut Value,
        operation: &'o JsonPatchOperation,
    ) -> Result<bool, OperationFailure> {
        self.budget.step(1 + operation.path().tokens().len() as u64)?;
        match operation {
            JsonPatchOperation::Add { path, value } => {
                charge_at_depth(path.tokens().len(), value, self.budget)?;
                self.add(document, path, value.clone(), self.options.create_parents)
            }
            JsonPatchOperation::Remove { path }
                if path.is_root() && self.options.fixed_root && self.options.ignore_missing_removes =>
            {
                Ok(false)
            }
            JsonPatchOperation::Remove { path } => match find_value(document, path.tokens(), self.options) {
                Err(_)
                    if self.options.ignore_missing_removes
                        && could_be_there(document, path, self.options) =>
                {
                    Ok(false)
                }
                Err(failure) => Err(failure),
                Ok(_) => self.remove(document, path),
            },
            JsonPatchOperation::Replace { path, value } => {
                charge_at_depth(path.tokens().len(), value, self.budget)?;
                self.replace(document, path, value.clone())
            }
            JsonPatchOperation::Move { from, path } => self.relocate(document, from, path),
            JsonPatchOperation::Copy { from, path } => {
                let value = find_value(document, from.tokens(), self.options)?.clone();
                charge_at_depth(path.tokens().len(), &value, self.budget)?;
                self.add(document, path, value, false)
            }
            JsonPatchOperation::Test { path, value } => {
                test_value(document, path.tokens(), value, self.options)
            }
        }
    }

    fn relocate(
        &mut self,
        document: &mut Value,
        from: &'o Pointer,
        path: &'o Pointer,
    ) -> Result<bool, OperationFailure> {
        if path.is_below(from) {
            return Err(OperationFailure::new(
                PatchErrorKind::IntoItself,
                "a value cannot be moved into itself",
            ));
        }
        let value = find_value(document, from.tokens(), self.options)?.clone();
        charge_at_depth(path.tokens().len(), &value, self.budget)?;
        if !from.is_root() {
            self.remove(document, from)?;
        }
        self.add(document, path, value, false)?;
        Ok(from != path)
    }

    /// Sets the value at `path`; its parents exist, or are made when `makes_parents`.
    fn add(
        &mut self,
        document: &mut Value,
        path: &'o Pointer,
        value: Value,
        makes_parents: bool,
    ) -> Result<bool, OperationFailure> {
        let mut here = document;
        let mut rest = path.tokens();
        let mut depth = 0;
        while let [token, below @ ..] = rest {
            if here.is_null() && makes_parents {
                let made = create_parents(rest, value, self.options, self.budget)?;
                self.undo.keep(path.tokens(), depth, PreviousValue::Value(std::mem::replace(here, made)));
                return Ok(true);
            }
            if below.is_empty() {
                let (is_change, was) = add_part(here, token, value, self.options, self.budget)?;
                self.undo.keep(path.tokens(), depth, was);
                return Ok(is_change);
            }
            match self.positions.position((here, depth), token, self.options) {
                Ok(position) => here = part_at(here, position).ok_or_else(|| missing_part(token))?,
                Err(failure) if !makes_parents => return Err(failure),
                Err(_) => {
                    let was = add_parent(here, token, below, value, self.options, self.budget)?;
                    self.undo.keep(path.tokens(), depth, was);
                    return Ok(true);
                }
            }
            rest = below;
            depth += 1;
        }
        self.set_root(here, value)
    }

    /// Sets the value at `path`, which must be there.
    fn replace(
        &mut self,
        document: &mut Value,
        path: &'o Pointer,
        value: Value,
    ) -> Result<bool, OperationFailure> {
        if path.is_root() {
            return self.set_root(document, value);
        }
        let slot = self.find_mut(document, path.tokens())?;
        let is_change = *slot != value;
        let old = std::mem::replace(slot, value);
        self.undo.keep(path.tokens(), path.tokens().len(), PreviousValue::Value(old));
        Ok(is_change)
    }

    /// Removes the value at `path`, which is there.
    fn remove(&mut self, document: &mut Value, path: &'o Pointer) -> Result<bool, OperationFailure> {
        let Some((last, parents)) = path.tokens().split_last() else {
            return self.set_root(document, Value::Null);
        };
        let parent = self.find_mut(document, parents)?;
        let was = match parent {
            Value::Object(map) => {
                let place = map.position(last);
                self.budget.step(reindexing(map.len() - place.unwrap_or(0)))?;
                let removed = parent.as_object_mut().and_then(|map| map.remove(last));
                place.zip(removed).map(|(place, value)| PreviousValue::Entry(place, last.clone(), value))
            }
            Value::Array(items) => {
                let place = index::parse_index(last, self.options)
                    .and_then(|i| index::existing_index(i, items.len(), self.options));
                let place = place.ok_or_else(|| index_out_of_range(last, items.len()))?;
                self.budget.step(shifting(items.len() - place))?;
                parent.as_array_mut().map(|items| PreviousValue::Item(place, items.remove(place)))
            }
            scalar => return Err(not_a_container(last, scalar.kind())),
        };
        if let Some(was) = was {
            self.undo.keep(path.tokens(), parents.len(), was);
        }
        Ok(true)
    }

    /// Returns the value at `tokens` for editing.
    fn find_mut<'d>(
        &mut self,
        document: &'d mut Value,
        tokens: &[Text],
    ) -> Result<&'d mut Value, OperationFailure> {
        tokens.iter().enumerate().try_fold(document, |here, (depth, token)| {
            let position = self.positions.position((here, depth), token, self.options)?;
            part_at(here, position).ok_or_else(|| missing_part(token))
        })
    }

    fn set_root(&mut self, document: &mut Value, value: Value) -> Result<bool, OperationFailure> {
        if self.options.fixed_root {
            return Err(OperationFailure::new(
                PatchErrorKind::Root,
                "the path is empty, which is the whole document",
            ));
        }
        let is_change = *document != value;
        let old = std::mem::replace(document, value);
        self.undo.keep(&[], 0, PreviousValue::Value(old));
        Ok(is_change)
    }
}

/// The values that were overwritten, in order.
struct UndoLog<'o> {
    kept: Vec<UndoEntry<'o>>,
}

/// One thing that was written over, and where.
struct UndoEntry<'o> {
    way: &'o [Text],
    was: PreviousValue,
}

enum PreviousValue {
    /// The value itself was this.
    Value(Value),
    /// The object had this, or nothing, under this key.
    Key(Text, Option<Value>),
    /// The object had this entry at this place.
    Entry(usize, Text, Value),
    /// The list had no item at this place.
    NoItem(usize),
    /// The list had this item at this place.
    Item(usize, Value),
}

impl<'o> UndoLog<'o> {
    /// Keeps what was where the first `depth` of `tokens` lead.
    fn keep(&mut self, tokens: &'o [Text], depth: usize, was: PreviousValue) {
        self.kept.push(UndoEntry { way: tokens.get(..depth).unwrap_or(tokens), was });
    }

    /// Puts everything back, the last one first, so that each path leads where it led.
    fn roll_back(self, document: &mut Value, options: &PatchOptions) {
        for UndoEntry { way, was } in self.kept.into_iter().rev() {
            let Ok(here) = way.iter().try_fold(&mut *document, |here, token| part_mut(here, token, options))
            else {
                continue;
            };
            match was {
                PreviousValue::Value(value) => *here = value,
                PreviousValue::Key(key, Some(value)) => {
                    drop(here.as_object_mut().map(|map| map.insert(key, value)));
                }
                PreviousValue::Key(key, None) => drop(here.as_object_mut().map(|map| map.remove(&key))),
                PreviousValue::Entry(place, key, value) => {
                    drop(here.as_object_mut().map(|map| map.insert_at(place, key, value)));
                }
                PreviousValue::Item(place, value) => {
                    if let Some(items) = here.as_array_mut().filter(|items| place <= items.len()) {
                        items.insert(place, value);
                    }
                }
                PreviousValue::NoItem(place) => {
                    if let Some(items) = here.as_array_mut().filter(|items| place < items.len()) {
                        items.remove(place);
                    }
                }
            }
        }
    }
}

fn test_value(
    document: &Value,
    tokens: &[Text],
    expected: &Value,
    options: &PatchOptions,
) -> Result<bool, OperationFailure> {
    match find_value(document, tokens, options) {
        Ok(found) if found == expected => Ok(false),
        Ok(_) => Err(OperationFailure::new(PatchErrorKind::TestFailed, "the value is another one")),
        Err(_)
            if expected.is_null()
                && options.missing_tests_as_null
                && lacks_key(document, tokens, options) =>
        {
            Ok(false)
        }
        Err(failure) => Err(failure),
    }
}

/// Returns whether `tokens` lead to an object that does not have the last of them.
fn lacks_key(document: &Value, tokens: &[Text], options: &PatchOptions) -> bool {
    tokens.split_last().is_some_and(|(last, parents)| {
        find_value(document, parents, options)
            .is_ok_and(|parent| parent.as_object().is_some_and(|map| !map.contains_key(last)))
    })
}

/// Sets the part `token` of `here` to `value`; returns whether that is a change, and what was there.
fn add_part(
    here: &mut Value,
    token: &Text,
    value: Value,
    options: &PatchOptions,
    budget: &mut Budget,
) -> Result<(bool, PreviousValue), OperationFailure> {
    match here {
        Value::Array(items) => {
            let place = match index::parse_index(token, options) {
                _ if token == "-" => items.len(),
                Some(index) => index::insertion_index(index, items.len(), options)
                    .ok_or_else(|| index_out_of_range(token, items.len()))?,
                None => return Err(bad_index(token)),
            };
            let place = place.min(items.len());
            budget.step(shifting(items.len() - place))?;
            if let Some(items) = here.as_array_mut() {
                items.insert(place, value);
            }
            Ok((true, PreviousValue::NoItem(place)))
        }
        Value::Object(map) => {
            let map = Arc::make_mut(map);
            let (is_change, old) = match map.get_mut(token) {
                Some(slot) => (*slot != value, Some(std::mem::replace(slot, value))),
                None => (true, map.insert(token.clone(), value)),
            };
            Ok((is_change, PreviousValue::Key(token.clone(), old)))
        }
        scalar => Err(not_a_container(token, scalar.kind())),
    }
}

/// Makes the part `token` of `here`, which is not there yet, so that `below` leads to `value` in it; returns what was there.
fn add_parent(
    here: &mut Value,
    token: &Text,
    below: &[Text],
    value: Value,
    options: &PatchOptions,
    budget: &mut Budget,
) -> Result<PreviousValue, OperationFailure> {
    let Value::Array(items) = &*here else {
        if here.kind() != ValueKind::Object {
            return Err(not_a_container(token, here.kind()));
        }
        let parent = create_parents(below, value, options, budget)?;
        return add_part(here, token, parent, options, budget).map(|(_, was)| was);
    };
    let len = items.len();
    let index = index::parse_index(token, options).ok_or_else(|| bad_index(token))?;
    let parent = create_parents(below, value, options, budget)?;
    if let Some(gap) = usize::try_from(index).ok().and_then(|place| place.checked_sub(len)) {
        budget.produce(gap.saturating_mul(size_of::<Value>()))?;
        let before = here.clone();
        if let Some(items) = here.as_array_mut() {
            items.extend(std::iter::repeat_n(Value::Null, gap));
            items.push(parent);
        }
        return Ok(PreviousValue::Value(before));
    }
    add_part(here, token, parent, options, budget).map(|(_, was)| was)
}

/// Returns new containers in which `tokens` lead to `value`.
fn create_parents(
    tokens: &[Text],
    value: Value,
    options: &PatchOptions,
    budget: &mut Budget,
) -> Result<Value, OperationFailure> {
    tokens.iter().rev().try_fold(value, |value, token| {
        let gap = match index::parse_index(token, options) {
            Some(-1) if options.negative_indices => 0,
            Some(index) => usize::try_from(index).map_err(|_| index_out_of_range(token, 0))?,
            None if token == "-" && !options.dash_creates_object => 0,
            None => {
                budget.produce(size_of::<Map>())?;
                return Ok(Value::object(Map::from_iter([(token.clone(), value)])));
            }
        };
        budget.produce(gap.saturating_add(1).saturating_mul(size_of::<Value>()))?;
        let mut items = vec![Value::Null; gap];
        items.push(value);
        Ok(Value::array(items))
    })
}

/// Returns whether `path` only happens to name nothing: its last segment may not be one
/// that no item of the list before it could ever have.
fn could_be_there(document: &Value, path: &Pointer, options: &PatchOptions) -> bool {
    let Some((last, parents)) = path.tokens().split_last() else { return true };
    match find_value(document, parents, options) {
        Ok(Value::Array(_)) => {
            index::parse_index(last, options).is_some_and(|index| index >= 0 || options.negative_indices)
        }
        _ => true,
    }
}
