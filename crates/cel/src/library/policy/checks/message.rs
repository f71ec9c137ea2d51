//! Messages of a proxy. Every field exists, whether it is set or not.

use std::any::Any;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_value::Value;

use super::MESSAGES;
use crate::Timestamp;
use crate::val::{CelKind, MapVal, Opaque, Val};

/// A message, with its set fields as JSON.
#[derive(Debug)]
pub(super) struct CheckMessageVal {
    kind: CelKind,
    value: Value,
}

/// Returns a message whose set fields are in `value`.
pub(super) fn check_message(kind: CelKind, value: Value) -> Val<'static> {
    Val::opaque(CheckMessageVal { kind, value })
}

impl CheckMessageVal {
    /// Returns the value of a field, if set. Its name in the JSON may be in camel case.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.value
            .get(name)
            .or_else(|| self.value.get(&snake_to_camel_case(name)))
            .filter(|value| !value.is_null())
    }
}

impl Opaque for CheckMessageVal {
    fn type_name(&self) -> &'static str {
        self.kind.name()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref().is_some_and(|other: &Self| self.value.is_same(&other.value))
    }

    fn field(&self, name: &str) -> Option<Val<'static>> {
        let (_, fields) = MESSAGES.iter().find(|(kind, _)| *kind == self.kind)?;
        let (_, kind) = fields.iter().find(|(known, _)| *known == name)?;
        Some(typed_field_val(*kind, self.get(name)))
    }

    fn is_zero(&self) -> bool {
        self.value.as_object().is_none_or(kubewright_value::Map::is_empty)
    }

    fn to_json(&self) -> Option<Value> {
        Some(self.value.clone())
    }
}

/// Returns the value of a field; the zero value of its kind if it is unset or has another type.
fn typed_field_val(kind: CelKind, value: Option<&Value>) -> Val<'static> {
    let text = value.and_then(Value::as_str);
    match kind {
        CelKind::String => Val::text(text.unwrap_or_default()),
        // The JSON form of protobuf messages has 64-bit numbers as strings.
        CelKind::Int => Val::Int(value.and_then(Value::as_i64).or_else(|| text?.parse().ok()).unwrap_or(0)),
        CelKind::UInt => {
            let signed = value.and_then(Value::as_i64).and_then(|value| u64::try_from(value).ok());
            Val::UInt(signed.or_else(|| text?.parse().ok()).unwrap_or(0))
        }
        CelKind::Bytes => {
            let bytes = text.and_then(|text| STANDARD.decode(text).ok()).unwrap_or_default();
            Val::Bytes(bytes.into())
        }
        CelKind::Map => match value {
            Some(Value::Object(map)) => Val::Map(MapVal::Shared(map.clone())),
            _ => Val::Map(MapVal::Shared(std::sync::Arc::default())),
        },
        CelKind::Timestamp => Val::Timestamp(text.and_then(Timestamp::parse).unwrap_or(Timestamp::EPOCH)),
        CelKind::Opaque(_) => check_message(kind, value.cloned().unwrap_or_default()),
        _ => value.cloned().map_or(Val::Null, Val::from),
    }
}

/// Returns `tlsSession` for `tls_session`.
fn snake_to_camel_case(name: &str) -> String {
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |mut made, part| {
        let mut letters = part.chars();
        made.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        made.push_str(letters.as_str());
        made
    })
}
