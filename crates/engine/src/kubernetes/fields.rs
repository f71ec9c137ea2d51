//! Which fields the objects of Kubernetes' built-in kinds have.

use std::collections::HashMap;
use std::sync::LazyLock;

use kubewright_value::suggest::nearest_word;

/// The step of a path that stands for any item of a list or any value of a map.
pub const ANY: &str = "*";

const TABLE: &str = include_str!("fields.txt");

/// The fields of each type.
static TYPES: LazyLock<HashMap<&str, Vec<Field>>> = LazyLock::new(|| {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let mut words = line.split_whitespace();
            (words.next().unwrap_or_default(), words.map(Field::parse).collect())
        })
        .collect()
});

struct Field {
    name: &'static str,
    /// `[]` and `{}` for each list and map around the value, then `?` for a value that may be anything.
    around: &'static str,
    kind: Option<&'static str>,
}

impl Field {
    fn parse(word: &'static str) -> Self {
        let (word, kind) = word.split_once(':').map_or((word, None), |(word, kind)| (word, Some(kind)));
        let (name, around) = word.split_at(word.find(['[', '{', '?']).unwrap_or(word.len()));
        Self { name, around, kind }
    }
}

/// A field that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unknown {
    /// Which step of the path it is.
    pub at: usize,
    /// The field that was meant, perhaps.
    pub nearest: Option<&'static str>,
}

/// Returns whether the fields of objects of this kind are known.
#[must_use]
pub fn is_known_kind(kind: &str) -> bool {
    fields_of(kind).is_some_and(|fields| fields.iter().any(|field| field.name == "apiVersion"))
}

/// Returns the kinds whose fields are known.
pub(super) fn kinds() -> impl Iterator<Item = &'static str> {
    TYPES.keys().copied().filter(|kind| is_known_kind(kind))
}

/// Returns the first step of `path` that objects of the built-in kind `kind` never have.
///
/// A step is the name of a field, a key, or an index or [`ANY`] for the items of a list. Nothing is said
/// about kinds that are not known, about keys of maps, and about what is in values that may be anything.
/// Kinds of other groups may have the same name: that is for the caller to find out.
#[must_use]
pub fn unknown_field(kind: &str, path: &[&str]) -> Option<Unknown> {
    if !is_known_kind(kind) {
        return None;
    }
    let mut around = "";
    let mut fields = fields_of(kind);
    for (at, step) in path.iter().enumerate() {
        if let Some(inner) = around.strip_prefix("[]") {
            if *step != ANY && step.parse::<u64>().is_err() {
                return Some(Unknown { at, nearest: None });
            }
            around = inner;
        } else if let Some(inner) = around.strip_prefix("{}") {
            around = inner;
        } else {
            let known = fields.filter(|_| around.is_empty() && *step != ANY)?;
            let Some(field) = known.iter().find(|field| field.name == *step) else {
                return Some(Unknown {
                    at,
                    nearest: nearest_word(step, known.iter().map(|field| field.name)),
                });
            };
            around = field.around;
            fields = field.kind.and_then(fields_of);
        }
    }
    None
}

fn fields_of(kind: &str) -> Option<&'static [Field]> {
    TYPES.get(kind).map(Vec::as_slice)
}

#[cfg(test)]
mod tests;
