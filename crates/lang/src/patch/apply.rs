//! Applying a patch.
//!
//! An operation looks before it writes and writes in one place, so one that fails
//! has changed nothing. For those before it the old root is kept, which costs
//! nothing but a reference count.

use kubewright_value::{Budget, Kind, Map, Text, Value};

use super::charge::{charge, shifting};
use super::failure::{Failure, bad_index, not_a_container, out_of_range};
use super::walk::{find, part_mut};
use super::{Operation, Options, PatchError, PatchErrorKind, Pointer, index};

/// Applies `operations` in order, all or none.
///
/// # Errors
/// At the first operation that cannot be applied; `document` is then as it was.
pub fn apply(
    document: &mut Value,
    operations: &[Operation],
    options: &Options,
    budget: &mut Budget,
) -> Result<(), PatchError> {
    let takes_several_writes = operations.len() > 1 || matches!(operations, [Operation::Move { .. }]);
    let before = takes_several_writes.then(|| document.clone());
    for (place, operation) in operations.iter().enumerate() {
        if let Err(failure) = apply_one(document, operation, options, budget) {
            if let Some(before) = before {
                *document = before;
            }
            return Err(failure.at(place, operation));
        }
    }
    Ok(())
}

fn apply_one(
    document: &mut Value,
    operation: &Operation,
    options: &Options,
    budget: &mut Budget,
) -> Result<(), Failure> {
    budget.step(1 + operation.path().tokens().len() as u64)?;
    match operation {
        Operation::Add { path, value } => {
            charge(path, value, budget)?;
            add(document, path.tokens(), value.clone(), options, budget)
        }
        Operation::Remove { path }
            if path.is_root() && options.fixed_root && options.ignore_missing_removes =>
        {
            Ok(())
        }
        Operation::Remove { path } => match find(document, path.tokens(), options) {
            Err(_) if options.ignore_missing_removes && could_be_there(document, path, options) => Ok(()),
            Err(failure) => Err(failure),
            Ok(_) => remove(document, path.tokens(), options, budget),
        },
        Operation::Replace { path, value } => {
            charge(path, value, budget)?;
            find(document, path.tokens(), options)?;
            replace(document, path.tokens(), value.clone(), options)
        }
        Operation::Move { from, path } => relocate(document, from, path, options, budget),
        Operation::Copy { from, path } => {
            let value = find(document, from.tokens(), options)?.clone();
            charge(path, &value, budget)?;
            add(document, path.tokens(), value, &Options { create_parents: false, ..*options }, budget)
        }
        Operation::Test { path, value } => test(document, path.tokens(), value, options),
    }
}

fn relocate(
    document: &mut Value,
    from: &Pointer,
    path: &Pointer,
    options: &Options,
    budget: &mut Budget,
) -> Result<(), Failure> {
    if path.is_below(from) {
        return Err(Failure::new(PatchErrorKind::IntoItself, "a value cannot be moved into itself"));
    }
    let value = find(document, from.tokens(), options)?.clone();
    charge(path, &value, budget)?;
    if !from.is_root() {
        remove(document, from.tokens(), options, budget)?;
    }
    add(document, path.tokens(), value, &Options { create_parents: false, ..*options }, budget)
}

fn test(document: &Value, tokens: &[Text], expected: &Value, options: &Options) -> Result<(), Failure> {
    match find(document, tokens, options) {
        Ok(found) if found == expected => Ok(()),
        Ok(_) => Err(Failure::new(PatchErrorKind::TestFailed, "the value is another one")),
        Err(_)
            if expected.is_null()
                && options.missing_tests_as_null
                && lacks_key(document, tokens, options) =>
        {
            Ok(())
        }
        Err(failure) => Err(failure),
    }
}

/// Returns whether `tokens` lead to an object that does not have the last of them.
fn lacks_key(document: &Value, tokens: &[Text], options: &Options) -> bool {
    tokens.split_last().is_some_and(|(last, parents)| {
        find(document, parents, options)
            .is_ok_and(|parent| parent.as_object().is_some_and(|map| !map.contains_key(last)))
    })
}

/// Sets the value at `tokens`, whose parents exist or are made.
fn add(
    document: &mut Value,
    tokens: &[Text],
    value: Value,
    options: &Options,
    budget: &mut Budget,
) -> Result<(), Failure> {
    if tokens.is_empty() {
        return set_root(document, value, options);
    }
    let mut here = document;
    let mut rest = tokens;
    while let [token, below @ ..] = rest {
        if here.is_null() && options.create_parents {
            *here = create(rest, value, options, budget)?;
            return Ok(());
        }
        if below.is_empty() {
            return add_part(here, token, value, options, budget);
        }
        match find(here, std::slice::from_ref(token), options) {
            Ok(_) => here = part_mut(here, token, options)?,
            Err(failure) if !options.create_parents => return Err(failure),
            Err(_) => return add_parent(here, token, below, value, options, budget),
        }
        rest = below;
    }
    Ok(())
}

/// Sets the part `token` of `here` to `value`.
fn add_part(
    here: &mut Value,
    token: &Text,
    value: Value,
    options: &Options,
    budget: &mut Budget,
) -> Result<(), Failure> {
    match here {
        Value::Array(items) => {
            let place = match index::parse(token, options) {
                _ if token == "-" => items.len(),
                Some(index) => index::insertion(index, items.len(), options)
                    .ok_or_else(|| out_of_range(token, items.len()))?,
                None => return Err(bad_index(token)),
            };
            insert(here, place, value, budget)
        }
        Value::Object(_) => {
            if let Some(map) = here.as_object_mut() {
                map.insert(token.clone(), value);
            }
            Ok(())
        }
        scalar => Err(not_a_container(token, scalar.kind())),
    }
}

/// Makes the part `token` of `here`, which is not there yet, so that `below` leads to `value` in it.
fn add_parent(
    here: &mut Value,
    token: &Text,
    below: &[Text],
    value: Value,
    options: &Options,
    budget: &mut Budget,
) -> Result<(), Failure> {
    let Value::Array(items) = &*here else {
        if here.kind() != Kind::Object {
            return Err(not_a_container(token, here.kind()));
        }
        let parent = create(below, value, options, budget)?;
        return add_part(here, token, parent, options, budget);
    };
    let len = items.len();
    let index = index::parse(token, options).ok_or_else(|| bad_index(token))?;
    let parent = create(below, value, options, budget)?;
    if let Some(gap) = usize::try_from(index).ok().and_then(|place| place.checked_sub(len)) {
        budget.produce(gap.saturating_mul(size_of::<Value>()))?;
        if let Some(items) = here.as_array_mut() {
            items.extend(std::iter::repeat_n(Value::Null, gap));
            items.push(parent);
        }
        return Ok(());
    }
    add_part(here, token, parent, options, budget)
}

/// Returns new containers in which `tokens` lead to `value`.
fn create(tokens: &[Text], value: Value, options: &Options, budget: &mut Budget) -> Result<Value, Failure> {
    tokens.iter().rev().try_fold(value, |value, token| {
        let gap = match index::parse(token, options) {
            Some(-1) if options.negative_indices => 0,
            Some(index) => usize::try_from(index).map_err(|_| out_of_range(token, 0))?,
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

fn insert(list: &mut Value, place: usize, value: Value, budget: &mut Budget) -> Result<(), Failure> {
    if let Some(items) = list.as_array_mut() {
        budget.step(shifting(items.len().saturating_sub(place)))?;
        items.insert(place.min(items.len()), value);
    }
    Ok(())
}

/// Sets the value at `tokens`, which is there.
fn replace(document: &mut Value, tokens: &[Text], value: Value, options: &Options) -> Result<(), Failure> {
    if tokens.is_empty() {
        return set_root(document, value, options);
    }
    let slot = tokens.iter().try_fold(document, |here, token| part_mut(here, token, options))?;
    *slot = value;
    Ok(())
}

/// Removes the value at `tokens`, which is there.
fn remove(
    document: &mut Value,
    tokens: &[Text],
    options: &Options,
    budget: &mut Budget,
) -> Result<(), Failure> {
    let Some((last, parents)) = tokens.split_last() else {
        return set_root(document, Value::Null, options);
    };
    let parent = parents.iter().try_fold(document, |here, token| part_mut(here, token, options))?;
    match parent {
        Value::Object(map) => {
            budget.step(shifting(map.len()))?;
            if let Some(map) = parent.as_object_mut() {
                map.remove(last);
            }
        }
        Value::Array(items) => {
            let place = index::parse(last, options).and_then(|i| index::existing(i, items.len(), options));
            let place = place.ok_or_else(|| out_of_range(last, items.len()))?;
            budget.step(shifting(items.len() - place))?;
            if let Some(items) = parent.as_array_mut() {
                items.remove(place);
            }
        }
        scalar => return Err(not_a_container(last, scalar.kind())),
    }
    Ok(())
}

fn set_root(document: &mut Value, value: Value, options: &Options) -> Result<(), Failure> {
    if options.fixed_root {
        return Err(Failure::new(PatchErrorKind::Root, "the path is empty, which is the whole document"));
    }
    *document = value;
    Ok(())
}

/// Returns whether `path` only happens to name nothing: its last segment may not be one
/// that no item of the list before it could ever have.
fn could_be_there(document: &Value, path: &Pointer, options: &Options) -> bool {
    let Some((last, parents)) = path.tokens().split_last() else { return true };
    match find(document, parents, options) {
        Ok(Value::Array(_)) => {
            index::parse(last, options).is_some_and(|index| index >= 0 || options.negative_indices)
        }
        _ => true,
    }
}
