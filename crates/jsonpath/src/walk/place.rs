//! Values on the way: parts of the object, or what a script made of them.

use kubewright_value::Value;

use super::super::ast::Key;
use super::super::fault::{Fault, FaultKind, What};
use super::super::item::Item;
use super::Captured;

/// A value on the way.
#[derive(Debug, Clone)]
pub(in super::super) enum Place<'a> {
    Ref(&'a Value),
    Own(Value),
}

impl<'a> Place<'a> {
    pub(super) fn value(&self) -> &Value {
        match self {
            Self::Ref(value) => value,
            Self::Own(value) => value,
        }
    }

    pub(in super::super) fn into_item(self) -> Item<'a> {
        match self {
            Self::Ref(value) => Item::Ref(value),
            Self::Own(value) => Item::Own(value),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self.value() {
            Value::Array(items) => items.len(),
            Value::Object(map) => map.len(),
            _ => 0,
        }
    }

    /// Returns the child at `position`.
    pub(super) fn child(&self, position: usize) -> Option<Self> {
        match self {
            Self::Ref(Value::Array(items)) => items.get(position).map(Self::Ref),
            Self::Ref(Value::Object(map)) => map.entry(position).map(|(_, value)| Self::Ref(value)),
            Self::Own(Value::Array(items)) => items.get(position).cloned().map(Self::Own),
            Self::Own(Value::Object(map)) => map.entry(position).map(|(_, value)| Self::Own(value.clone())),
            _ => None,
        }
    }

    /// Returns the key of the child at `position`.
    pub(super) fn key(&self, position: usize) -> Captured {
        let entry = self.value().as_object().and_then(|map| map.entry(position));
        entry.map_or(Captured::Index(position), |(key, _)| Captured::Name(key.clone()))
    }
}

/// Returns which child `key` means; `None` when the value has no such key.
pub(super) fn position_of(value: &Value, key: &Key, at: u32) -> Result<Option<usize>, Fault> {
    let kind = match value {
        Value::Object(map) => return Ok(map.position(&key.name)),
        Value::Null => return Ok(None),
        Value::Array(items) => match key.index {
            Some(index) => match usize::try_from(index).ok().filter(|index| *index < items.len()) {
                Some(index) => return Ok(Some(index)),
                None => FaultKind::OutOfBounds { index, length: items.len() },
            },
            None => FaultKind::NoSuchIndex(What::Value(kubewright_value::Kind::String)),
        },
        scalar => FaultKind::NotSelectable(What::Value(scalar.kind())),
    };
    Err(Fault { kind, at })
}
