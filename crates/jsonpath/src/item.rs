//! The results of evaluating, borrowed from the object where they can be.

use std::borrow::Cow;

use kubewright_value::{Budget, Exhausted, Value};

use super::fault::FoundType;
use super::render;

/// The result of an expression, borrowed where possible.
#[derive(Debug, Clone)]
pub enum JsonPathItem<'a> {
    /// Nothing. Not the same as `null`.
    Undefined,
    /// A part of the object, or a literal of the expression.
    Ref(&'a Value),
    /// A value that was computed.
    Own(Value),
    /// The values that a path with wildcards or a list literal found. Only a list literal has undefined members.
    Many(Vec<JsonPathItem<'a>>),
}

/// The result of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JsonPathResult {
    /// Nothing. Not the same as `null`.
    Undefined,
    /// One value, which may be an array.
    One(Value),
    /// The values that a path with wildcards or a list literal found; `None` is an undefined member.
    Many(Vec<Option<Value>>),
}

impl JsonPathItem<'_> {
    /// Returns the value, if there is exactly one.
    #[must_use]
    pub fn as_value(&self) -> Option<&Value> {
        match self {
            Self::Ref(value) => Some(value),
            Self::Own(value) => Some(value),
            Self::Undefined | Self::Many(_) => None,
        }
    }

    /// Returns whether this is nothing.
    #[must_use]
    pub fn is_undefined(&self) -> bool {
        matches!(self, Self::Undefined)
    }

    /// Returns the item as one value: a list for many, with `null` for undefined members.
    #[must_use]
    pub fn into_value(self) -> Option<Value> {
        match self {
            Self::Undefined => None,
            Self::Ref(value) => Some(value.clone()),
            Self::Own(value) => Some(value),
            Self::Many(items) => Some(Value::array(
                items.into_iter().map(|item| item.into_value().unwrap_or_default()).collect(),
            )),
        }
    }

    /// Returns the item on its own.
    #[must_use]
    pub fn into_found(self) -> JsonPathResult {
        match self {
            Self::Undefined => JsonPathResult::Undefined,
            Self::Ref(value) => JsonPathResult::One(value.clone()),
            Self::Own(value) => JsonPathResult::One(value),
            Self::Many(items) => {
                JsonPathResult::Many(items.into_iter().map(JsonPathItem::into_value).collect())
            }
        }
    }

    pub(super) fn what(&self) -> FoundType {
        match self {
            Self::Undefined => FoundType::Undefined,
            Self::Ref(value) => FoundType::Value(value.kind()),
            Self::Own(value) => FoundType::Value(value.kind()),
            Self::Many(_) => FoundType::Value(kubewright_value::ValueKind::Array),
        }
    }

    /// Returns the item as text; undefined is empty. Charges what has to be written for it.
    pub(super) fn text(&self, budget: &mut Budget) -> Result<Cow<'_, str>, Exhausted> {
        let text = match self {
            Self::Undefined => Cow::Borrowed(""),
            Self::Ref(value) => render::render_limited(value)?,
            Self::Own(value) => render::render_limited(value)?,
            Self::Many(items) => Cow::Owned(render::render_items(items)?),
        };
        if let Cow::Owned(written) = &text {
            budget.produce(written.len())?;
            budget.step(written.len() as u64 / 8)?;
        }
        Ok(text)
    }
}

impl JsonPathResult {
    /// Returns the found values one by one: the items of an array or list, or the one value.
    /// `None` is an undefined member of a list literal.
    pub fn members(&self) -> impl Iterator<Item = Option<&Value>> {
        let (array, one, many): (&[Value], Option<&Value>, &[Option<Value>]) = match self {
            Self::Undefined => (&[], None, &[]),
            Self::One(Value::Array(items)) => (items, None, &[]),
            Self::One(value) => (&[], Some(value), &[]),
            Self::Many(items) => (&[], None, items),
        };
        array.iter().chain(one).map(Some).chain(many.iter().map(Option::as_ref))
    }
}
