//! `AnyIn`, `AllIn` and their opposites, and the older `In` and `NotIn`.
//!
//! Everything is compared as text. Both sides may have wildcards.

use std::borrow::Cow;

use kubewright_value::{Budget, Exhausted};

use super::operand::{Array, ComparedOperand, OperandItem, OperandItems, OperandShape, Wildcards};
use super::range::ValueRange;

/// How many items of the key are wanted in the value, or not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MembershipTest {
    OneIn,
    AllIn,
    OneOut,
    AllOut,
}

/// The consequence for the object when a condition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// It is judged, or denied.
    Accuses,
    /// An exception is made for it.
    Excuses,
}

impl Meaning {
    /// Returns whose wildcards count. `*` in an object matches every name where that is to its disadvantage, and is
    /// compared literally where it would be to its advantage.
    fn wildcards(self, is_wanted_in: bool) -> Wildcards {
        match is_wanted_in == (self == Self::Accuses) {
            true => Wildcards::All,
            false => Wildcards::Own,
        }
    }
}

pub(super) fn is_member(
    wanted: MembershipTest,
    key: &ComparedOperand,
    value: &ComparedOperand,
    meaning: Meaning,
    budget: &mut Budget,
) -> Result<bool, Exhausted> {
    let wildcards = meaning.wildcards(matches!(wanted, MembershipTest::OneIn | MembershipTest::AllIn));
    let OperandShape::List(keys) = &key.shape else {
        let is_in = scalar_is_in(key, value, wildcards, budget)?;
        return Ok(is_in
            .is_some_and(|is_in| is_in == matches!(wanted, MembershipTest::OneIn | MembershipTest::AllIn)));
    };
    let keys = keys.items(budget)?;
    let accepts_scalars = matches!(wanted, MembershipTest::OneIn | MembershipTest::OneOut);
    let Some(target) = MembershipHaystack::of(&keys, value, accepts_scalars, budget)? else {
        return Ok(false);
    };
    for item in &keys.list {
        let found = target.look(item, wildcards, budget)?;
        match wanted {
            MembershipTest::OneIn if found == MembershipResult::In => return Ok(true),
            MembershipTest::OneOut if found == MembershipResult::Out => return Ok(true),
            MembershipTest::AllIn if found != MembershipResult::In => return Ok(false),
            MembershipTest::AllOut if found == MembershipResult::In => return Ok(false),
            _ => {}
        }
    }
    Ok(matches!(wanted, MembershipTest::AllIn | MembershipTest::AllOut))
}

/// `In` and `NotIn`: without ranges, and without wildcards in lists.
pub(super) fn legacy(
    is_negated: bool,
    key: &ComparedOperand,
    value: &ComparedOperand,
    meaning: Meaning,
    budget: &mut Budget,
) -> Result<bool, Exhausted> {
    let OperandShape::List(keys) = &key.shape else {
        let is_in = legacy_scalar_is_in(meaning.wildcards(!is_negated), key, value, budget)?;
        return Ok(is_in.is_some_and(|is_in| is_in != is_negated));
    };
    let keys = keys.items(budget)?;
    let values = match &value.shape {
        OperandShape::List(values) => values.items(budget)?,
        // Both are true then.
        OperandShape::Text(words) if is_only(&keys, words.text()) => return Ok(true),
        OperandShape::Text(words) => match words.array(budget)? {
            Cow::Borrowed(Array::Texts(items)) => Cow::Borrowed(items),
            Cow::Owned(Array::Texts(items)) => Cow::Owned(items),
            _ => return Ok(false),
        },
        _ => return Ok(false),
    };
    let are_texts = |items: &OperandItems| items.list.iter().all(|item| item.is_text);
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

/// The list or text that is searched for items.
enum MembershipHaystack<'v> {
    /// The one item is the whole text.
    Same,
    Range(Cow<'v, ValueRange>),
    Items(Cow<'v, OperandItems>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MembershipResult {
    In,
    Out,
    /// It cannot be compared.
    Neither,
}

impl<'v> MembershipHaystack<'v> {
    /// Returns nothing when nothing can be looked for in `value`.
    fn of(
        keys: &OperandItems,
        value: &'v ComparedOperand,
        accepts_scalars: bool,
        budget: &mut Budget,
    ) -> Result<Option<Self>, Exhausted> {
        Ok(match &value.shape {
            OperandShape::List(values) => Some(Self::Items(values.items(budget)?)),
            OperandShape::Number(_) | OperandShape::Bool(_) if accepts_scalars => {
                OperandItem::of_scalar(value)
                    .map(|item| Self::Items(Cow::Owned(OperandItems::one(item.into_owned()))))
            }
            OperandShape::Text(words) if is_only(keys, words.text()) => Some(Self::Same),
            OperandShape::Text(words) => match words.range() {
                Some(range) => Some(Self::Range(range)),
                None => match words.array(budget)? {
                    Cow::Borrowed(Array::Texts(items)) => Some(Self::Items(Cow::Borrowed(items))),
                    Cow::Owned(Array::Texts(items)) => Some(Self::Items(Cow::Owned(items))),
                    Cow::Borrowed(Array::NotJson) | Cow::Owned(Array::NotJson) => {
                        Some(Self::Items(Cow::Owned(OperandItems::one(words.item.clone()))))
                    }
                    Cow::Borrowed(Array::Other) | Cow::Owned(Array::Other) => None,
                },
            },
            _ => None,
        })
    }

    fn look(
        &self,
        item: &OperandItem,
        wildcards: Wildcards,
        budget: &mut Budget,
    ) -> Result<MembershipResult, Exhausted> {
        budget.step(1)?;
        let found = |is_in| if is_in { MembershipResult::In } else { MembershipResult::Out };
        match self {
            Self::Same => Ok(MembershipResult::In),
            Self::Range(range) if range.contains(&item.text) => Ok(MembershipResult::In),
            Self::Range(range) if range.excludes(&item.text) => Ok(MembershipResult::Out),
            Self::Range(_) => Ok(MembershipResult::Neither),
            Self::Items(items) => items.has_fitting(item, wildcards, budget).map(found),
        }
    }
}

/// Returns whether a scalar is in `value`; nothing when the two cannot be compared.
fn scalar_is_in(
    key: &ComparedOperand,
    value: &ComparedOperand,
    wildcards: Wildcards,
    budget: &mut Budget,
) -> Result<Option<bool>, Exhausted> {
    let Some(key) = OperandItem::of_scalar(key) else { return Ok(None) };
    match &value.shape {
        OperandShape::List(values) => values.items(budget)?.has_fitting(&key, wildcards, budget).map(Some),
        OperandShape::Text(words) if words.item.fits(&key.text, budget)? => Ok(Some(true)),
        OperandShape::Text(words) => match words.range() {
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
    key: &ComparedOperand,
    value: &ComparedOperand,
    budget: &mut Budget,
) -> Result<Option<bool>, Exhausted> {
    let Some(key) = OperandItem::of_scalar(key) else { return Ok(None) };
    match &value.shape {
        OperandShape::List(values) => values.items(budget)?.has_fitting(&key, wildcards, budget).map(Some),
        OperandShape::Text(words) if words.item.fits(&key.text, budget)? => Ok(Some(true)),
        OperandShape::Text(words) => match &*words.array(budget)? {
            Array::Texts(items) => items.has(&key.text, budget).map(Some),
            Array::NotJson | Array::Other => Ok(None),
        },
        _ => Ok(None),
    }
}

/// Returns whether `text` is all there is in `keys`.
fn is_only(keys: &OperandItems, text: &str) -> bool {
    matches!(keys.list.as_slice(), [only] if only.text == text)
}
