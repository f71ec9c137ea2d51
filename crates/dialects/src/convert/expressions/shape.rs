//! What the API server lets stand in the fields of the kinds that come with Kubernetes.
//!
//! Where a shape is known, expressions need not ask whether a text is a number; where it is not, they do.

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
}

impl Shape {
    /// Returns what stands under `key`.
    pub(super) fn field(self, key: &str) -> Self {
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

/// Any object.
pub(super) const OBJECT: Shape = Shape::Map(&[
    ("apiVersion", Shape::Word),
    ("kind", Shape::Word),
    ("metadata", METADATA),
]);

const METADATA: Shape = Shape::Map(&[
    ("name", Shape::Word),
    ("generateName", Shape::Word),
    ("namespace", Shape::Word),
    ("labels", Shape::MapOf(&Shape::Word)),
    ("annotations", Shape::MapOf(&Shape::Text)),
    ("finalizers", Shape::List(&Shape::Word)),
]);
