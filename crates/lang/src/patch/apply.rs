//! Applying a patch.
//!
//! An operation looks before it writes and writes in one place, so one that fails
//! has changed nothing. For those before it the old root is kept, which costs
//! nothing but a reference count.

use kubewright_value::{Budget, Exhausted, Kind, Map, Text, Value};

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

/// Why one operation fails, before it is known which one it is.
struct Failure {
    kind: PatchErrorKind,
    reason: String,
}

impl Failure {
    fn new(kind: PatchErrorKind, reason: impl Into<String>) -> Self {
        Self { kind, reason: reason.into() }
    }

    fn at(self, place: usize, operation: &Operation) -> PatchError {
        let path = operation.path().to_string();
        let message = match operation {
            Operation::Move { from, .. } | Operation::Copy { from, .. } => {
                format!("cannot {} `{from}` to `{path}`: {}", operation.name(), self.reason)
            }
            _ => format!("cannot {} `{path}`: {}", operation.name(), self.reason),
        };
        PatchError { operation: place, path, kind: self.kind, message }
    }
}

impl From<Exhausted> for Failure {
    fn from(exhausted: Exhausted) -> Self {
        Self::new(PatchErrorKind::Limit, exhausted.to_string())
    }
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
            Err(failure)
                if options.ignore_missing_removes && is_absence(&failure, path, document, options) =>
            {
                Ok(())
            }
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

/// Returns the value at `tokens`.
fn find<'a>(document: &'a Value, tokens: &[Text], options: &Options) -> Result<&'a Value, Failure> {
    tokens.iter().try_fold(document, |here, token| match here {
        Value::Object(map) => map.get(token).ok_or_else(|| missing(token)),
        Value::Array(items) => {
            let place = place_of(token, items.len(), options)?;
            items.get(place).ok_or_else(|| out_of_range(token, items.len()))
        }
        scalar => Err(not_a_container(token, scalar.kind())),
    })
}

/// Returns the part of `here` for editing.
fn part_mut<'a>(here: &'a mut Value, token: &Text, options: &Options) -> Result<&'a mut Value, Failure> {
    let kind = here.kind();
    match here {
        Value::Object(_) => {
            here.as_object_mut().and_then(|map| map.get_mut(token)).ok_or_else(|| missing(token))
        }
        Value::Array(items) => {
            let len = items.len();
            let place = place_of(token, len, options)?;
            let items = here.as_array_mut();
            items.and_then(|items| items.get_mut(place)).ok_or_else(|| out_of_range(token, len))
        }
        _ => Err(not_a_container(token, kind)),
    }
}

fn place_of(token: &Text, len: usize, options: &Options) -> Result<usize, Failure> {
    if token == "-" {
        return Err(Failure::new(PatchErrorKind::OutOfRange, "`-` is the place after the last item"));
    }
    let index = index::parse(token, options).ok_or_else(|| bad_index(token))?;
    index::existing(index, len, options).ok_or_else(|| out_of_range(token, len))
}

/// Returns whether a removal that found nothing may be ignored: whatever is missing, but
/// not a last segment that could never name an item of the list that is there.
fn is_absence(failure: &Failure, path: &Pointer, document: &Value, options: &Options) -> bool {
    if failure.kind == PatchErrorKind::Limit {
        return false;
    }
    let Some((last, parents)) = path.tokens().split_last() else { return true };
    match find(document, parents, options) {
        Ok(Value::Array(_)) => {
            index::parse(last, options).is_some_and(|i| i >= 0 || options.negative_indices)
        }
        _ => true,
    }
}

/// Charges for `value` at `path`: its size, and the levels that it reaches down to.
fn charge(path: &Pointer, value: &Value, budget: &mut Budget) -> Result<(), Exhausted> {
    let levels = path.tokens().len();
    let mut entered = 0;
    let mut charged = Ok(());
    while entered < levels && charged.is_ok() {
        charged = budget.enter();
        entered += usize::from(charged.is_ok());
    }
    if charged.is_ok() {
        charged = charge_value(value, budget);
    }
    for _ in 0..entered {
        budget.leave();
    }
    charged
}

fn charge_value(value: &Value, budget: &mut Budget) -> Result<(), Exhausted> {
    match value {
        Value::String(text) => budget.produce(size_of::<Value>() + text.len()),
        Value::Array(items) => charge_parts(items.iter(), items.len(), budget),
        Value::Object(map) => charge_parts(map.values(), map.len(), budget),
        _ => budget.produce(size_of::<Value>()),
    }
}

fn charge_parts<'a>(
    parts: impl Iterator<Item = &'a Value>,
    count: usize,
    budget: &mut Budget,
) -> Result<(), Exhausted> {
    budget.step(count as u64)?;
    budget.produce(size_of::<Value>())?;
    budget.enter()?;
    let charged = parts.into_iter().try_for_each(|part| charge_value(part, budget));
    budget.leave();
    charged
}

/// Returns the steps that moving `count` items costs.
fn shifting(count: usize) -> u64 {
    count as u64 / 16
}

fn missing(token: &Text) -> Failure {
    Failure::new(PatchErrorKind::Missing, format!("there is no key `{token}`"))
}

fn out_of_range(token: &Text, len: usize) -> Failure {
    Failure::new(
        PatchErrorKind::OutOfRange,
        format!("index `{token}` is out of range in a list of length {len}"),
    )
}

fn bad_index(token: &Text) -> Failure {
    Failure::new(PatchErrorKind::BadIndex, format!("`{token}` is no index of a list"))
}

fn not_a_container(token: &Text, kind: Kind) -> Failure {
    Failure::new(PatchErrorKind::NotAContainer, format!("a value of type {kind} has no part `{token}`"))
}
