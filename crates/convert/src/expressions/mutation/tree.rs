//! A `patchStrategicMerge` as a tree, with its anchors read.

use kubewright_value::{Step, Text, Value};

use crate::{ConversionResult, refuse_conversion};
use kubewright_dialect_kit::fields::child_path;

/// A part of a patch.
#[derive(Debug, Clone)]
pub(super) enum PatchPart {
    /// A scalar, as it is written.
    Scalar(Value),
    /// The fields of a map.
    Map(Vec<PatchField>),
    /// The items of a list.
    List(Vec<PatchPart>),
}

/// A field of a map.
#[derive(Debug, Clone)]
pub(super) struct PatchField {
    /// The anchor around the key.
    pub(super) anchor: FieldAnchor,
    /// The key without its anchor.
    pub(super) key: String,
    /// The value.
    pub(super) part: PatchPart,
    /// The path in the document.
    pub(super) path: Vec<Step>,
}

/// The anchor around a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldAnchor {
    /// `key`
    None,
    /// `(key)`
    Condition,
    /// `<(key)`
    Global,
    /// `+(key)`
    Add,
}

impl PatchPart {
    /// Reads the part `value`, which is at `at` in the document.
    pub(super) fn read(value: &Value, at: &[Step]) -> ConversionResult<Self> {
        Ok(match value {
            Value::Object(map) if map.is_empty() => {
                return refuse_conversion("an empty map, which a merge leaves out", at);
            }
            Value::Object(map) => {
                let field = |(key, value): (&Text, &Value)| PatchField::read(key, value, at);
                Self::Map(map.iter().map(field).collect::<ConversionResult<_>>()?)
            }
            Value::Array(items) => {
                let item = |(index, item): (usize, &Value)| Self::read(item, &child_path(at, index));
                Self::List(items.iter().enumerate().map(item).collect::<ConversionResult<_>>()?)
            }
            scalar => Self::Scalar(scalar.clone()),
        })
    }

    /// Returns whether there is an anchor in it, other than `+()` where `is_added`.
    pub(super) fn has_anchor(&self, is_added: bool) -> bool {
        match self {
            Self::Scalar(_) => false,
            Self::List(items) => items.iter().any(|item| item.has_anchor(is_added)),
            Self::Map(fields) => fields.iter().any(|field| {
                let is_plain =
                    field.anchor == FieldAnchor::None || (is_added && field.anchor == FieldAnchor::Add);
                !is_plain || field.part.has_anchor(is_added)
            }),
        }
    }

    /// Returns the value without its anchors.
    pub(super) fn plain(&self) -> Value {
        match self {
            Self::Scalar(value) => value.clone(),
            Self::List(items) => Value::array(items.iter().map(Self::plain).collect()),
            Self::Map(fields) => {
                let entry = |field: &PatchField| (Text::from(field.key.as_str()), field.part.plain());
                fields.iter().map(entry).collect::<kubewright_value::Map>().into()
            }
        }
    }
}

impl PatchField {
    fn read(key: &Text, value: &Value, at: &[Step]) -> ConversionResult<Self> {
        let path = child_path(at, key.as_str());
        let (anchor, name) = read_anchor(key);
        if name.starts_with('$') {
            return refuse_conversion(&format!("the directive `{name}`"), &path);
        }
        if name.contains("{{") || name.contains('(') {
            return refuse_conversion("a key has variables in it", &path);
        }
        Ok(Self { anchor, key: name.to_owned(), part: PatchPart::read(value, &path)?, path })
    }

    /// Returns a field without anchor around `part`.
    pub(super) fn around(key: &str, part: PatchPart, path: &[Step]) -> Self {
        Self { anchor: FieldAnchor::None, key: key.to_owned(), part, path: path.to_vec() }
    }
}

fn read_anchor(key: &str) -> (FieldAnchor, &str) {
    let inside = |prefix: &str| key.strip_prefix(prefix)?.strip_suffix(')');
    match (inside("+("), inside("<("), inside("(")) {
        (Some(key), _, _) => (FieldAnchor::Add, key),
        (_, Some(key), _) => (FieldAnchor::Global, key),
        (_, _, Some(key)) => (FieldAnchor::Condition, key),
        _ => (FieldAnchor::None, key),
    }
}
