//! The field schema of Kubernetes' built-in kinds.
//!
//! It is written once, in `fields.txt`. Checks of expressions and patterns ask [`unknown_field_of_kind`]; conversion, which
//! needs to know what is in a field, reads the types through [`fields_of`].

use std::collections::HashMap;
use std::sync::LazyLock;

/// The step of a path that matches any item of a list or any value of a map.
pub const ANY_ITEM: &str = "*";

const FIELD_TABLE: &str = include_str!("fields.txt");

/// The fields of each type.
static SCHEMA_TYPES: LazyLock<HashMap<&str, Vec<SchemaField>>> = LazyLock::new(|| {
    let lines = FIELD_TABLE.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let mut words = line.split_whitespace();
            (words.next().unwrap_or_default(), words.map(SchemaField::parse).collect())
        })
        .collect()
});

/// A field of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaField {
    /// The name.
    pub name: &'static str,
    /// Whether every object has it.
    pub is_required: bool,
    /// What is in it, or in the lists and maps around that.
    pub value: FieldValue,
    /// `[]` and `{}` for each list and map around the value, then `?` for a value that may be anything.
    around: &'static str,
}

/// What is in a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldValue {
    /// A plain value of a type that is not known, or anything.
    Unknown,
    /// A plain value.
    Scalar(ScalarType),
    /// An object of the type with this name.
    Object(&'static str),
}

/// The type of a plain value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScalarType {
    /// True or false.
    Bool,
    /// A whole number.
    Int,
    /// A text of letters, digits and few other characters: a name, one of some words, a label.
    Word,
    /// Any text.
    Text,
    /// A quantity, which is written as a text, and by hand also as a number.
    Quantity,
    /// A number or a name, such as a port.
    IntOrString,
}

/// A list or map around the value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collection {
    /// A list.
    List,
    /// A map with any keys.
    Map,
}

impl SchemaField {
    fn parse(word: &'static str) -> Self {
        let (word, value) = word.split_once(':').unwrap_or((word, ""));
        let (name, around) = word.split_at(word.find(['[', '{', '?', '!']).unwrap_or(word.len()));
        let is_required = around.starts_with('!');
        Self {
            name,
            is_required,
            value: FieldValue::parse(value),
            around: around.strip_prefix('!').unwrap_or(around),
        }
    }

    /// Returns the lists and maps around the value, the outermost first.
    #[must_use]
    pub fn collections(&self) -> impl DoubleEndedIterator<Item = Collection> {
        self.around.matches(['[', '{']).map(|open| match open {
            "[" => Collection::List,
            _ => Collection::Map,
        })
    }
}

impl FieldValue {
    fn parse(name: &'static str) -> Self {
        match name {
            "" => Self::Unknown,
            "bool" => Self::Scalar(ScalarType::Bool),
            "int" => Self::Scalar(ScalarType::Int),
            "word" => Self::Scalar(ScalarType::Word),
            "text" => Self::Scalar(ScalarType::Text),
            "quantity" => Self::Scalar(ScalarType::Quantity),
            "intOrString" => Self::Scalar(ScalarType::IntOrString),
            name => Self::Object(name),
        }
    }
}

/// A step of a path that names a field which does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownField {
    /// The index of the step in the path.
    pub at: usize,
    /// The fields that exist there; empty where the value is a list.
    pub known: Vec<&'static str>,
}

/// Returns whether the fields of objects of this kind are known.
#[must_use]
pub fn is_known_kind(kind: &str) -> bool {
    fields_of(kind).is_some_and(|fields| fields.iter().any(|field| field.name == "apiVersion"))
}

/// Returns the kinds whose fields are known.
pub fn schema_kinds() -> impl Iterator<Item = &'static str> {
    schema_types().filter(|kind| is_known_kind(kind))
}

/// Returns the names of all types, those of kinds among them.
pub fn schema_types() -> impl Iterator<Item = &'static str> {
    SCHEMA_TYPES.keys().copied()
}

/// Returns the fields of the type or kind called `name`.
#[must_use]
pub fn fields_of(name: &str) -> Option<&'static [SchemaField]> {
    SCHEMA_TYPES.get(name).map(Vec::as_slice)
}

/// Returns the first step of `path` that objects of the built-in kind `kind` never have.
///
/// A step is the name of a field, a key, or an index or [`ANY_ITEM`] for the items of a list. Nothing is said
/// about kinds that are not known, about keys of maps, and about what is in values that may be anything.
/// Kinds of other groups may have the same name: that is for the caller to find out.
#[must_use]
pub fn unknown_field_of_kind(kind: &str, path: &[&str]) -> Option<UnknownField> {
    if is_known_kind(kind) { unknown_field_of_type(kind, path) } else { None }
}

/// Returns the first step of `path` that objects of the type called `name`, such as `PodTemplateSpec`, never have.
#[must_use]
pub fn unknown_field_of_type(name: &str, path: &[&str]) -> Option<UnknownField> {
    let mut around = "";
    let mut fields = fields_of(name);
    for (at, step) in path.iter().enumerate() {
        if let Some(inner) = around.strip_prefix("[]") {
            if *step != ANY_ITEM && step.parse::<u64>().is_err() {
                return Some(UnknownField { at, known: Vec::new() });
            }
            around = inner;
        } else if let Some(inner) = around.strip_prefix("{}") {
            around = inner;
        } else {
            let known = fields.filter(|_| around.is_empty() && *step != ANY_ITEM)?;
            let Some(field) = known.iter().find(|field| field.name == *step) else {
                return Some(UnknownField { at, known: known.iter().map(|field| field.name).collect() });
            };
            around = field.around;
            fields = match field.value {
                FieldValue::Object(name) => fields_of(name),
                FieldValue::Scalar(_) | FieldValue::Unknown => None,
            };
        }
    }
    None
}

#[cfg(test)]
mod tests;
