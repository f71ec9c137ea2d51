//! JSON Patch as the older Go library applies it, which the API server uses for patches of admission policies.
//!
//! It departs from the standard in more than options could say: parents are not created, `replace` of a missing key sets
//! it, `copy` of a missing one copies null, the text before the first slash of a path is ignored, and a `test` that does
//! not hold drops the whole patch without an error.

use std::fmt;

use kubewright_value::{Budget, Exhausted, Text, Value};
use thiserror::Error;

use super::charge::charge_at_depth;

/// An operation as it is written; nothing of it has been checked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OlderOperation {
    /// `add`, `remove`, `replace`, `move`, `copy` or `test`.
    pub op: Text,
    /// Where it takes effect.
    pub path: Text,
    /// Where `move` and `copy` read.
    pub from: Text,
    /// The value; null if there is none.
    pub value: Value,
}

/// What became of a patch.
#[derive(Debug, Clone, PartialEq)]
pub enum OlderPatchResult {
    /// All operations were applied.
    Applied(Value),
    /// The `test` at this index does not hold, so nothing was applied.
    Dropped(usize),
}

/// Why a patch cannot be applied, in the words of the library.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum OlderPatchError {
    /// An operation fails.
    #[error("{0}")]
    Failed(String),
    /// The budget is used up.
    #[error("{0}")]
    Limit(#[from] Exhausted),
}

/// Returns what `operations` make of `document`.
///
/// # Errors
/// At the first operation that cannot be applied.
pub fn apply_older_patch(
    document: &Value,
    operations: &[OlderOperation],
    budget: &mut Budget,
) -> Result<OlderPatchResult, OlderPatchError> {
    let mut document = document.clone();
    for (index, operation) in operations.iter().enumerate() {
        budget.step(1 + operation.path.len() as u64 / 8)?;
        match operation.op.as_str() {
            "add" => add(&mut document, operation, budget)?,
            "remove" => remove(&mut document, operation)?,
            "replace" => replace(&mut document, operation, budget)?,
            "move" => relocate(&mut document, operation, budget)?,
            "copy" => copy(&mut document, operation, budget)?,
            "test" if !test(&mut document, operation)? => return Ok(OlderPatchResult::Dropped(index)),
            "test" => {}
            other => return Err(OlderPatchError::Failed(format!("Unexpected kind: {other}"))),
        }
    }
    Ok(OlderPatchResult::Applied(document))
}

fn add(document: &mut Value, operation: &OlderOperation, budget: &mut Budget) -> Result<(), OlderPatchError> {
    let OlderOperation { path, value, .. } = operation;
    charge_at_depth(depth(path), value, budget)?;
    let (parent, key) = find_parent(document, path)
        .ok_or_else(|| missing(format!("add operation does not apply: doc is missing path: \"{path}\"")))?;
    insert(parent, &key, value.clone(), budget)
        .map_err(|error| error.within(&format!("error in add for path: '{path}'")))
}

fn remove(document: &mut Value, operation: &OlderOperation) -> Result<(), OlderPatchError> {
    let path = &operation.path;
    let (parent, key) = find_parent(document, path).ok_or_else(|| {
        missing(format!("remove operation does not apply: doc is missing path: \"{path}\""))
    })?;
    take(parent, &key).map_err(|error| error.within(&format!("error in remove for path: '{path}'")))?;
    Ok(())
}

fn replace(
    document: &mut Value,
    operation: &OlderOperation,
    budget: &mut Budget,
) -> Result<(), OlderPatchError> {
    let OlderOperation { path, value, .. } = operation;
    charge_at_depth(depth(path), value, budget)?;
    if path.is_empty() {
        *document = value.clone();
        return Ok(());
    }
    let (parent, key) = find_parent(document, path)
        .ok_or_else(|| missing(format!("replace operation does not apply: doc is missing path: {path}")))?;
    if let Some(map) = parent.as_object_mut() {
        map.insert(key, value.clone());
        return Ok(());
    }
    let length = parent.as_array().map_or(0, <[Value]>::len);
    let place = list_index(&key, length);
    let slot = place.ok().and_then(|place| parent.as_array_mut()?.get_mut(place));
    let slot =
        slot.ok_or_else(|| missing(format!("replace operation does not apply: doc is missing key: {path}")))?;
    *slot = value.clone();
    Ok(())
}

fn relocate(
    document: &mut Value,
    operation: &OlderOperation,
    budget: &mut Budget,
) -> Result<(), OlderPatchError> {
    let OlderOperation { path, from, .. } = operation;
    let (parent, key) = find_parent(document, from)
        .ok_or_else(|| missing(format!("move operation does not apply: doc is missing from path: {from}")))?;
    let value =
        take(parent, &key).map_err(|error| error.within(&format!("error in move for path: '{key}'")))?;
    charge_at_depth(depth(path), &value, budget)?;
    let (parent, key) = find_parent(document, path).ok_or_else(|| {
        missing(format!("move operation does not apply: doc is missing destination path: {path}"))
    })?;
    insert(parent, &key, value, budget)
        .map_err(|error| error.within(&format!("error in move for path: '{path}'")))
}

fn copy(
    document: &mut Value,
    operation: &OlderOperation,
    budget: &mut Budget,
) -> Result<(), OlderPatchError> {
    let OlderOperation { path, from, .. } = operation;
    let (parent, key) = find_parent(document, from)
        .ok_or_else(|| missing(format!("copy operation does not apply: doc is missing from path: {from}")))?;
    let value = read(parent, &key)
        .map_err(|error| error.within(&format!("error in copy for from: '{from}'")))?
        .unwrap_or_default();
    charge_at_depth(depth(path), &value, budget)?;
    let (parent, key) = find_parent(document, path).ok_or_else(|| {
        missing(format!("copy operation does not apply: doc is missing destination path: {path}"))
    })?;
    insert(parent, &key, value, budget).map_err(|error| error.within("error while adding value during copy"))
}

/// Returns whether the `test` holds.
fn test(document: &mut Value, operation: &OlderOperation) -> Result<bool, OlderPatchError> {
    let OlderOperation { path, value, .. } = operation;
    if path.is_empty() {
        return Ok(document == value);
    }
    let (parent, key) = find_parent(document, path)
        .ok_or_else(|| missing(format!("test operation does not apply: is missing path: {path}")))?;
    let found =
        read(parent, &key).map_err(|error| error.within(&format!("error in test for path: '{path}'")))?;
    Ok(found.as_ref() == Some(value))
}

fn depth(path: &str) -> usize {
    path.matches('/').count()
}

/// Returns the list or object around the end of `path`, and its key there.
fn find_parent<'d>(document: &'d mut Value, path: &str) -> Option<(&'d mut Value, Text)> {
    let (_, path) = path.split_once('/')?;
    let (parents, last) = path.rsplit_once('/').map_or((None, path), |(parents, last)| (Some(parents), last));
    let mut here = document;
    for token in parents.into_iter().flat_map(|parents| parents.split('/')) {
        let token = decoded(token);
        here = match here {
            Value::Object(_) => here.as_object_mut()?.get_mut(&token)?,
            Value::Array(_) => {
                let items = here.as_array_mut()?;
                let place = list_index(&token, items.len()).ok()?;
                items.get_mut(place)?
            }
            _ => return None,
        };
    }
    matches!(here, Value::Object(_) | Value::Array(_)).then(|| (here, decoded(last)))
}

/// `~1` means `/` and `~0` means `~`; any other `~` means itself.
fn decoded(token: &str) -> Text {
    match token.contains('~') {
        true => token.replace("~1", "/").replace("~0", "~").into(),
        false => token.into(),
    }
}

fn read(parent: &Value, key: &str) -> Result<Option<Value>, OlderPatchError> {
    match parent {
        Value::Array(items) => list_index(key, items.len()).map(|place| items.get(place).cloned()),
        other => Ok(other.get(key).cloned()),
    }
}

fn insert(parent: &mut Value, key: &Text, value: Value, budget: &mut Budget) -> Result<(), OlderPatchError> {
    if let Some(map) = parent.as_object_mut() {
        map.insert(key.clone(), value);
        return Ok(());
    }
    let Some(items) = parent.as_array_mut() else { return Ok(()) };
    if key == "-" {
        items.push(value);
        return Ok(());
    }
    let index = parse_list_index(key)
        .map_err(|error| error.within(&format!("value was not a proper array index: '{key}'")))?;
    let place = place_of(index, items.len() + 1)?;
    budget.step(items.len() as u64 / 16)?;
    items.insert(place, value);
    Ok(())
}

fn take(parent: &mut Value, key: &Text) -> Result<Value, OlderPatchError> {
    if let Some(map) = parent.as_object_mut() {
        let missing =
            || OlderPatchError::Failed(format!("Unable to remove nonexistent key: {key}: missing value"));
        return map.remove(key).ok_or_else(missing);
    }
    let Some(items) = parent.as_array_mut() else { return Ok(Value::Null) };
    let place = list_index(key, items.len())?;
    Ok(items.remove(place))
}

/// Returns the place that `key` names in a list of `length` items; negative numbers count from the end.
fn list_index(key: &str, length: usize) -> Result<usize, OlderPatchError> {
    place_of(parse_list_index(key)?, length)
}

fn parse_list_index(key: &str) -> Result<i64, OlderPatchError> {
    key.parse().map_err(|_| OlderPatchError::Failed(format!("strconv.Atoi: parsing {key:?}: invalid syntax")))
}

fn place_of(index: i64, length: usize) -> Result<usize, OlderPatchError> {
    let place = match usize::try_from(index) {
        Ok(place) => Some(place),
        Err(_) => usize::try_from(index.unsigned_abs()).ok().and_then(|back| length.checked_sub(back)),
    };
    place.filter(|place| *place < length).ok_or_else(|| {
        OlderPatchError::Failed(format!("Unable to access invalid index: {index}: invalid index referenced"))
    })
}

impl OlderPatchError {
    fn within(self, around: &str) -> Self {
        match self {
            Self::Failed(text) => Self::Failed(format!("{around}: {text}")),
            Self::Limit(exhausted) => Self::Limit(exhausted),
        }
    }
}

fn missing(message: String) -> OlderPatchError {
    OlderPatchError::Failed(format!("{message}: missing value"))
}

/// As JSON shows it.
impl fmt::Display for OlderOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { op, path, from, .. } = self;
        match from.as_str() {
            "" => write!(f, "{op} {path}"),
            from => write!(f, "{op} {from} {path}"),
        }
    }
}

#[cfg(test)]
mod tests;
