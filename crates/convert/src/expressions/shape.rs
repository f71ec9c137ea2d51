//! What the API server lets stand in the fields of the kinds that come with Kubernetes.
//!
//! Where a shape is known, expressions need not ask whether a text is a number; where it is not, they do.

mod kinds;

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
    let mut found: Option<&'static Shape> = None;
    for kind in kinds {
        let Some(shape) = of_kind(kind) else { return OBJECT };
        found = match found {
            Some(found) if *found == *shape => Some(found),
            Some(found) if kinds::is_workload(found) && kinds::is_workload(shape) => Some(&kinds::WORKLOAD),
            Some(_) => return OBJECT,
            None => Some(shape),
        };
    }
    found.copied().unwrap_or(OBJECT)
}

/// `Pod`, `v1/Pod`, `apps/v1/Deployment`
fn of_kind(written: &str) -> Option<&'static Shape> {
    let parts: Vec<&str> = written.split('/').collect();
    match parts.as_slice() {
        [kind] => kinds::object(None, kind),
        [version, kind] if version.starts_with('v') || *version == "*" => kinds::object(Some(""), kind),
        [group, _, kind] => kinds::object(Some(group), kind),
        _ => None,
    }
}

/// Any object.
pub(super) const OBJECT: Shape = Shape::Map(&[
    ("apiVersion", Shape::Required(&Shape::Word)),
    ("kind", Shape::Required(&Shape::Word)),
    ("metadata", Shape::Required(&kinds::METADATA)),
]);
