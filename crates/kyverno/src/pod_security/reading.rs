//! Fields of an object that should have the types that Kubernetes gives them.

use kubewright_engine::EvalError;
use kubewright_value::{Map, Value, ValueKind};

use kubewright_dialect_kit::fields::article;
use kubewright_k8s::PodTemplatePath;

/// A part that has another type than Kubernetes gives it.
pub(super) struct Malformed {
    path: String,
    found: ValueKind,
    expected: ValueKind,
}

impl Malformed {
    pub(super) fn new(key: &str, found: &Value, expected: ValueKind) -> Self {
        Self { path: key.to_owned(), found: found.kind(), expected }
    }

    pub(super) fn below(self, key: &str) -> Self {
        let path = if self.path.is_empty() { key.to_owned() } else { format!("{key}.{}", self.path) };
        Self { path, ..self }
    }

    pub(super) fn into_error(self, workload: PodTemplatePath) -> EvalError {
        let keys = workload.keys().iter().copied().chain([self.path.as_str()]);
        let keys: Vec<&str> = keys.filter(|key| !key.is_empty()).collect();
        let (found, expected) = (article(self.found), article(self.expected));
        EvalError::new(format!(
            "Error while getting new resource: `{}` is {found}, expected {expected}",
            keys.join(".")
        ))
    }
}

/// Returns the fields of an object; null has none, and a null field counts as missing.
pub(super) fn typed_entries(value: &Value) -> Result<impl Iterator<Item = (&str, &Value)>, Malformed> {
    let map = match value {
        Value::Object(map) => Some(map.as_ref()),
        Value::Null => None,
        other => return Err(Malformed::new("", other, ValueKind::Object)),
    };
    let filled = map.into_iter().flat_map(Map::iter).filter(|(_, value)| !value.is_null());
    Ok(filled.map(|(key, value)| (key.as_str(), value)))
}

/// Returns the field `key`; null counts as missing. `outer` is the name of the object.
pub(super) fn typed_child<'a>(
    object: &'a Value,
    key: &str,
    outer: &str,
) -> Result<Option<&'a Value>, Malformed> {
    match object {
        Value::Object(map) => Ok(map.get(key).filter(|value| !value.is_null())),
        Value::Null => Ok(None),
        other => Err(Malformed::new(outer, other, ValueKind::Object)),
    }
}

/// Returns a text in an object, empty when it is not there.
pub(super) fn typed_text_field<'a>(object: &'a Value, key: &str, outer: &str) -> Result<&'a str, Malformed> {
    match typed_child(object, key, outer)? {
        None => Ok(""),
        Some(value) => typed_text(value, key).map_err(|malformed| malformed.below(outer)),
    }
}

pub(super) fn typed_bool(value: &Value, key: &str) -> Result<bool, Malformed> {
    value.as_bool().ok_or_else(|| Malformed::new(key, value, ValueKind::Bool))
}

pub(super) fn typed_integer(value: &Value, key: &str) -> Result<i64, Malformed> {
    value.as_i64().ok_or_else(|| Malformed::new(key, value, ValueKind::Number))
}

pub(super) fn typed_text<'a>(value: &'a Value, key: &str) -> Result<&'a str, Malformed> {
    value.as_str().ok_or_else(|| Malformed::new(key, value, ValueKind::String))
}

pub(super) fn typed_list<'a>(value: &'a Value, key: &str) -> Result<&'a [Value], Malformed> {
    value.as_array().ok_or_else(|| Malformed::new(key, value, ValueKind::Array))
}

pub(super) fn typed_texts<'a>(value: &'a Value, key: &str) -> Result<Vec<&'a str>, Malformed> {
    let word = |value: &'a Value| if value.is_null() { Ok("") } else { typed_text(value, key) };
    typed_list(value, key)?.iter().map(word).collect()
}
