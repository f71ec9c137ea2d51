//! What the API server lets stand in the fields of the kinds that come with Kubernetes.
//!
//! Where a shape is known, expressions need not ask whether a text is a number; where it is not, they do.

mod schema;

/// What can stand somewhere.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Shape {
    /// Anything.
    Any,
    Bool,
    Int,
    /// A text of letters, digits and few other characters: a name, one of some words, a label.
    Word,
    /// Any text.
    Text,
    /// A quantity, which is written as a text, and by hand also as a number.
    Amount,
    /// A number or a name.
    Port,
    Map(&'static [(&'static str, Shape)]),
    MapOf(&'static Shape),
    List(&'static Shape),
    /// What is in every object.
    Required(&'static Shape),
}

impl Shape {
    /// Returns what stands under `key`.
    pub(super) fn field(self, key: &str) -> Self {
        match self.raw_field(key) {
            Self::Required(shape) => *shape,
            shape => shape,
        }
    }

    /// Returns whether something stands under `key` in every object.
    pub(super) fn requires(self, key: &str) -> bool {
        matches!(self.raw_field(key), Self::Required(_))
    }

    fn raw_field(self, key: &str) -> Self {
        match self {
            Self::Map(fields) => {
                fields.iter().find(|(name, _)| *name == key).map_or(Self::Any, |(_, shape)| *shape)
            }
            Self::MapOf(shape) => *shape,
            _ => Self::Any,
        }
    }

    /// Returns what the elements of a list are.
    pub(super) fn element(self) -> Self {
        if let Self::List(shape) = self { *shape } else { Self::Any }
    }

    pub(super) fn is_map(self) -> bool {
        matches!(self, Self::Map(_) | Self::MapOf(_))
    }

    pub(super) fn is_list(self) -> bool {
        matches!(self, Self::List(_))
    }

    pub(super) fn is_any(self) -> bool {
        self == Self::Any
    }
}

/// Returns what objects look like that are of one of `kinds`, as a rule names them.
pub(super) fn of_kinds<'k>(kinds: impl Iterator<Item = &'k str>) -> Shape {
    let known: Option<Vec<&'static str>> = kinds.map(schema::known_kind).collect();
    known.and_then(|known| schema::of_all(&known)).unwrap_or_else(object_shape)
}

/// Returns what any object looks like.
pub(super) fn object_shape() -> Shape {
    schema::any_object()
}
