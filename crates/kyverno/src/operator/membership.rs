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
    OneIn,
    AllIn,
    OneOut,
    AllOut,
}

/// What it means for the object that a condition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// It is judged, or denied.
    Accuses,
    /// An exception is made for it.
    Excuses,
}

impl Meaning {
    /// Returns whose wildcards count. `*` in an object is as good as every name where that is to its disadvantage,
    /// and stands for itself where it would be to its advantage.
    fn wildcards(self, is_wanted_in: bool) -> Wildcards {
        match is_wanted_in == (self == Self::Accuses) {
            true => Wildcards::All,
            false => Wildcards::Own,
        }
    }
}

pub(super) fn holds(
    wanted: Wanted,
    key: &Operand,
    value: &Operand,
    meaning: Meaning,
    budget: &mut Budget,
) -> Result<bool, Exhausted> {
    let wildcards = meaning.wildcards(matches!(wanted, Wanted::OneIn | Wanted::AllIn));
    let Shape::List(keys) = &key.shape else {
        let is_in = scalar_is_in(key, value, wildcards, budget)?;
        return Ok(is_in.is_some_and(|is_in| is_in == matches!(wanted, Wanted::OneIn | Wanted::AllIn)));
    };
    let keys = keys.items(budget)?;
    let accepts_scalars = matches!(wanted, Wanted::OneIn | Wanted::OneOut);
    let Some(target) = Target::of(&keys, value, accepts_scalars, budget)? else { return Ok(false) };
    for item in &keys.list {
        let found = target.look(item, wildcards, budget)?;
        match wanted {
            Wanted::OneIn if found == Found::In => return Ok(true),
            Wanted::OneOut if found == Found::Out => return Ok(true),
            Wanted::AllIn if found != Found::In => return Ok(false),
            Wanted::AllOut if found == Found::In => return Ok(false),
            _ => {}
        }
    }
    Ok(matches!(wanted, Wanted::AllIn | Wanted::AllOut))
}

/// `In` and `NotIn`: without ranges, and without wildcards in lists.
pub(super) fn legacy(
    is_negated: bool,
    key: &Operand,
    value: &Operand,
    meaning: Meaning,
    budget: &mut Budget,
) -> Result<bool, Exhausted> {
    let Shape::List(keys) = &key.shape else {
        let is_in = legacy_scalar_is_in(meaning.wildcards(!is_negated), key, value, budget)?;
        return Ok(is_in.is_some_and(|is_in| is_in != is_negated));
    };
    let keys = keys.items(budget)?;
    let values = match &value.shape {
        Shape::List(values) => values.items(budget)?,
        // Both are true then.
        Shape::Text(words) if is_only(&keys, words.text()) => return Ok(true),
        Shape::Text(words) => match words.array(budget)? {
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
    /// Returns nothing when nothing can be looked for in `value`.
    fn of(
        keys: &Items,
        value: &'v Operand,
        accepts_scalars: bool,
        budget: &mut Budget,
    ) -> Result<Option<Self>, Exhausted> {
        Ok(match &value.shape {
            Shape::List(values) => Some(Self::Items(values.items(budget)?)),
            Shape::Number(_) | Shape::Bool(_) if accepts_scalars => {
                Item::of_scalar(value).map(|item| Self::Items(Cow::Owned(Items::one(item.into_owned()))))
            }
            Shape::Text(words) if is_only(keys, words.text()) => Some(Self::Same),
            Shape::Text(words) => match words.range() {
                Some(range) => Some(Self::Range(range)),
                None => match words.array(budget)? {
                    Cow::Borrowed(Array::Texts(items)) => Some(Self::Items(Cow::Borrowed(items))),
                    Cow::Owned(Array::Texts(items)) => Some(Self::Items(Cow::Owned(items))),
                    Cow::Borrowed(Array::NotJson) | Cow::Owned(Array::NotJson) => {
                        Some(Self::Items(Cow::Owned(Items::one(words.item.clone()))))
                    }
                    Cow::Borrowed(Array::Other) | Cow::Owned(Array::Other) => None,
                },
            },
            _ => None,
        })
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
        Shape::List(values) => values.items(budget)?.has_fitting(&key, wildcards, budget).map(Some),
        Shape::Text(words) if words.item.fits(&key.text, budget)? => Ok(Some(true)),
        Shape::Text(words) => match words.range() {
            Some(range) => Ok(Some(range.contains(&key.text))),
            None => match &*words.array(budget)? {
                Array::Texts(items) => items.has(&key.text, budget).map(Some),
                Array::NotJson => Ok(Some(false)),
                Array::Other => Ok(None),
            },
        },
        _ => Ok(None),
    }
}

fn legacy_scalar_is_in(
    wildcards: Wildcards,
    key: &Operand,
    value: &Operand,
    budget: &mut Budget,
) -> Result<Option<bool>, Exhausted> {
    let Some(key) = Item::of_scalar(key) else { return Ok(None) };
    match &value.shape {
        Shape::List(values) => values.items(budget)?.has_fitting(&key, wildcards, budget).map(Some),
        Shape::Text(words) if words.item.fits(&key.text, budget)? => Ok(Some(true)),
        Shape::Text(words) => match &*words.array(budget)? {
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
