//! `AnyIn`, `AllIn` and their opposites, and the older `In` and `NotIn`.
//!
//! Everything is compared as text. What is looked for may have wildcards as well as what is looked through.

use std::borrow::Cow;

use kubewright_value::{Budget, Exhausted};

use super::operand::{Array, Item, Items, Operand, Shape, Wildcards};
use super::range::Range;

/// How many items of the key are wanted in the value, or not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    AnyIn,
    AllIn,
    AnyNotIn,
    AllNotIn,
}

pub(super) fn holds(
    wanted: Wanted,
    key: &Operand,
    value: &Operand,
    budget: &mut Budget,
) -> Result<bool, Exhausted> {
    // `*` in an object is as good as every name, so it is found where something is looked for, and is no way to be
    // somewhere it is not.
    let wildcards = match wanted {
        Wanted::AnyIn | Wanted::AllIn => Wildcards::All,
        Wanted::AnyNotIn | Wanted::AllNotIn => Wildcards::Own,
    };
    let Shape::List(keys) = &key.shape else {
        let is_in = scalar_is_in(key, value, wildcards, budget)?;
        return Ok(is_in.is_some_and(|is_in| is_in == matches!(wanted, Wanted::AnyIn | Wanted::AllIn)));
    };
    let keys = keys.items();
    let accepts_scalars = matches!(wanted, Wanted::AnyIn | Wanted::AnyNotIn);
    let Some(target) = Target::of(&keys, value, accepts_scalars) else { return Ok(false) };
    for item in &keys.list {
        let found = target.look(item, wildcards, budget)?;
        match wanted {
            Wanted::AnyIn if found == Found::In => return Ok(true),
            Wanted::AnyNotIn if found == Found::Out => return Ok(true),
            Wanted::AllIn if found != Found::In => return Ok(false),
            Wanted::AllNotIn if found == Found::In => return Ok(false),
            _ => {}
        }
    }
    Ok(matches!(wanted, Wanted::AllIn | Wanted::AllNotIn))
}

/// `In` and `NotIn`: without ranges, and without wildcards in lists.
pub(super) fn legacy(
    is_negated: bool,
    key: &Operand,
    value: &Operand,
    budget: &mut Budget,
) -> Result<bool, Exhausted> {
    let Shape::List(keys) = &key.shape else {
        let is_in = legacy_scalar_is_in(is_negated, key, value, budget)?;
        return Ok(is_in.is_some_and(|is_in| is_in != is_negated));
    };
    let keys = keys.items();
    let values = match &value.shape {
        Shape::List(values) => values.items(),
        // Both are true then.
        Shape::Text(words) if is_only(&keys, words.text()) => return Ok(true),
        Shape::Text(words) => match words.array() {
            Cow::Borrowed(Array::Texts(items)) => Cow::Borrowed(items),
            Cow::Owned(Array::Texts(items)) => Cow::Owned(items),
            _ => return Ok(false),
        },
        _ => return Ok(false),
    };
    let are_texts = |items: &Items| items.list.iter().all(|item| item.is_text);
    if are_texts(&keys) && !are_texts(&values) {
        return Ok(false);
    }
    for key in &keys.list {
        if !values.has(&key.text, budget)? {
            return Ok(is_negated);
        }
    }
    Ok(!is_negated)
}

/// What the items of a list are looked for in.
enum Target<'v> {
    /// The one item is the whole text.
    Same,
    Range(Cow<'v, Range>),
    Items(Cow<'v, Items>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    In,
    Out,
    /// It cannot be compared.
    Neither,
}

impl<'v> Target<'v> {
    fn of(keys: &Items, value: &'v Operand, accepts_scalars: bool) -> Option<Self> {
        match &value.shape {
            Shape::List(values) => Some(Self::Items(values.items())),
            Shape::Number(_) | Shape::Bool(_) if accepts_scalars => {
                let item = Item::of_scalar(value)?.into_owned();
                Some(Self::Items(Cow::Owned(Items::one(item))))
            }
            Shape::Text(words) if is_only(keys, words.text()) => Some(Self::Same),
            Shape::Text(words) => match words.range() {
                Some(range) => Some(Self::Range(range)),
                None => match words.array() {
                    Cow::Borrowed(Array::Texts(items)) => Some(Self::Items(Cow::Borrowed(items))),
                    Cow::Owned(Array::Texts(items)) => Some(Self::Items(Cow::Owned(items))),
                    other if matches!(*other, Array::NotJson) => {
                        Some(Self::Items(Cow::Owned(Items::one(words.item.clone()))))
                    }
                    _ => None,
                },
            },
            _ => None,
        }
    }

    fn look(&self, item: &Item, wildcards: Wildcards, budget: &mut Budget) -> Result<Found, Exhausted> {
        budget.step(1)?;
        let found = |is_in| if is_in { Found::In } else { Found::Out };
        match self {
            Self::Same => Ok(Found::In),
            Self::Range(range) if range.contains(&item.text) => Ok(Found::In),
            Self::Range(range) if range.excludes(&item.text) => Ok(Found::Out),
            Self::Range(_) => Ok(Found::Neither),
            Self::Items(items) => items.has_fitting(item, wildcards, budget).map(found),
        }
    }
}

/// Returns whether a scalar is in `value`; nothing when the two cannot be compared.
fn scalar_is_in(
    key: &Operand,
    value: &Operand,
    wildcards: Wildcards,
    budget: &mut Budget,
) -> Result<Option<bool>, Exhausted> {
    let Some(key) = Item::of_scalar(key) else { return Ok(None) };
    match &value.shape {
        Shape::List(values) => values.items().has_fitting(&key, wildcards, budget).map(Some),
        Shape::Text(words) if words.item.fits(&key.text, budget)? => Ok(Some(true)),
        Shape::Text(words) => match words.range() {
            Some(range) => Ok(Some(range.contains(&key.text))),
            None => match &*words.array() {
                Array::Texts(items) => items.has(&key.text, budget).map(Some),
                Array::NotJson => Ok(Some(false)),
                Array::Other => Ok(None),
            },
        },
        _ => Ok(None),
    }
}

fn legacy_scalar_is_in(
    is_negated: bool,
    key: &Operand,
    value: &Operand,
    budget: &mut Budget,
) -> Result<Option<bool>, Exhausted> {
    let Some(key) = Item::of_scalar(key) else { return Ok(None) };
    match &value.shape {
        Shape::List(values) => values
            .items()
            .has_fitting(&key, if is_negated { Wildcards::Own } else { Wildcards::All }, budget)
            .map(Some),
        Shape::Text(words) if words.item.fits(&key.text, budget)? => Ok(Some(true)),
        Shape::Text(words) => match &*words.array() {
            Array::Texts(items) => items.has(&key.text, budget).map(Some),
            Array::NotJson | Array::Other => Ok(None),
        },
        _ => Ok(None),
    }
}

/// Returns whether `text` is all there is in `keys`.
fn is_only(keys: &Items, text: &str) -> bool {
    matches!(keys.list.as_slice(), [only] if only.text == text)
}
