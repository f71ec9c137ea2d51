//! Values on the way: parts of the object, or what a script made of them.

use kubewright_value::Value;

use super::super::ast::StaticKey;
use super::super::fault::{FoundType, PathFault, PathFaultKind};
use super::super::item::JsonPathItem;
use super::CapturedKey;

/// A value on the way.
#[derive(Debug, Clone)]
pub(in super::super) enum WalkPlace<'a> {
    Ref(&'a Value),
    Own(Value),
}

impl<'a> WalkPlace<'a> {
    pub(super) fn value(&self) -> &Value {
        match self {
            Self::Ref(value) => value,
            Self::Own(value) => value,
        }
    }

    pub(in super::super) fn into_item(self) -> JsonPathItem<'a> {
        match self {
            Self::Ref(value) => JsonPathItem::Ref(value),
            Self::Own(value) => JsonPathItem::Own(value),
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
    pub(super) fn key(&self, position: usize) -> CapturedKey {
        let entry = self.value().as_object().and_then(|map| map.entry(position));
        entry.map_or(CapturedKey::Index(position), |(key, _)| CapturedKey::Name(key.clone()))
    }
}

/// Returns which child `key` means; `None` when the value has no such key.
pub(super) fn child_position(value: &Value, key: &StaticKey, at: u32) -> Result<Option<usize>, PathFault> {
    let kind = match value {
        Value::Object(map) => return Ok(map.position(&key.name)),
        Value::Null => return Ok(None),
        Value::Array(items) => match key.index {
            Some(index) => match usize::try_from(index).ok().filter(|index| *index < items.len()) {
                Some(index) => return Ok(Some(index)),
                None => PathFaultKind::OutOfBounds { index, length: items.len() },
            },
            None => PathFaultKind::NoSuchIndex(FoundType::Value(kubewright_value::ValueKind::String)),
        },
        scalar => PathFaultKind::NotSelectable(FoundType::Value(scalar.kind())),
    };
    Err(PathFault { kind, at })
}
