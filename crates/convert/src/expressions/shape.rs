//! The possible values of fields in built-in kinds, as the API server validates them.
//!
//! Where a shape is known, expressions need not test whether a text is a number; otherwise they do.

mod schema;

/// The possible values of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ValueShape {
    /// Anything.
    Any,
    Bool,
    Int,
    /// A text of letters, digits and few other characters: a name, an enum value, a label.
    Word,
    /// Any text.
    Text,
    /// A quantity, which is written as a text, and by hand also as a number.
    Amount,
    /// A number or a name.
    Port,
    Map(&'static [(&'static str, ValueShape)]),
    MapOf(&'static ValueShape),
    List(&'static ValueShape),
    /// The fields of every object.
    Required(&'static ValueShape),
}

impl ValueShape {
    /// Returns the shape of the field `key`.
    pub(super) fn field(self, key: &str) -> Self {
        match self.raw_field(key) {
            Self::Required(shape) => *shape,
            shape => shape,
        }
    }

    /// Returns whether every object has the field `key`.
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

    /// Returns the shape of the elements of a list.
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

/// Returns the shape of objects of `kinds`, as a rule names them.
pub(super) fn shape_of_kinds<'k>(kinds: impl Iterator<Item = &'k str>) -> ValueShape {
    let known: Option<Vec<&'static str>> = kinds.map(schema::known_kind).collect();
    known.and_then(|known| schema::shared_shape(&known)).unwrap_or_else(object_shape)
}

/// Returns the shape of any object.
pub(super) fn object_shape() -> ValueShape {
    schema::any_object()
}
