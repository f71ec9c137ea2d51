//! A value in which the parts of the policy's author are distinguished from those that came from data.
//!
//! Wildcards and operators count where the author wrote them. A text from an object, be it a name, a label or an
//! image, is compared literally, so that the author of the object cannot change the rule.

use std::borrow::Cow;

use kubewright_value::{Map, Text, Value};

/// A value, perhaps made from several sources.
#[derive(Debug, Clone, PartialEq)]
pub enum Tainted {
    /// The author wrote all of it.
    Trusted(Value),
    /// All of it came from data.
    Untrusted(Value),
    /// A text with parts of both.
    Text(Vec<TaintedPart>),
    /// An array in which something is not the author's.
    List(Vec<Tainted>),
    /// An object with a foreign part; keys in their original order.
    Map(Vec<(Vec<TaintedPart>, Tainted)>),
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaintedPart {
    /// The text.
    pub text: Text,
    /// Whether the author wrote it, so that wildcards and operators in it count.
    pub is_own: bool,
}

impl Tainted {
    /// Returns the value, foreign parts included.
    #[must_use]
    pub fn plain(&self) -> Cow<'_, Value> {
        match self {
            Self::Trusted(value) | Self::Untrusted(value) => Cow::Borrowed(value),
            Self::Text(parts) => Cow::Owned(Value::String(join_parts(parts))),
            Self::List(items) => {
                Cow::Owned(Value::array(items.iter().map(|item| item.plain().into_owned()).collect()))
            }
            Self::Map(entries) => {
                let mut map = Map::new();
                for (key, value) in entries {
                    map.insert(join_parts(key), value.plain().into_owned());
                }
                Cow::Owned(map.into())
            }
        }
    }

    /// Returns the parts of a text; nothing for anything else.
    #[must_use]
    pub fn parts(&self) -> Option<Cow<'_, [TaintedPart]>> {
        match self {
            Self::Trusted(Value::String(text)) => {
                Some(Cow::Owned(vec![TaintedPart { text: text.clone(), is_own: true }]))
            }
            Self::Untrusted(Value::String(text)) => {
                Some(Cow::Owned(vec![TaintedPart { text: text.clone(), is_own: false }]))
            }
            Self::Text(parts) => Some(Cow::Borrowed(parts)),
            _ => None,
        }
    }
}

/// Returns the whole text.
#[must_use]
pub fn join_parts(parts: &[TaintedPart]) -> Text {
    match parts {
        [only] => only.text.clone(),
        parts => parts.iter().map(|part| part.text.as_str()).collect::<String>().into(),
    }
}
