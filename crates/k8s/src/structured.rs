//! The types of Kubernetes' built-in kinds as structured merge needs them: which lists are keyed, sets or atomic, and
//! which maps and structures are replaced as a whole.
//!
//! They are written in `structured_types.txt`, one structure on a line, below the package that it belongs to:
//!
//! | text | type |
//! |---|---|
//! | `s`, `i`, `b`, `q`, `a` | text, number, boolean, any plain value, anything |
//! | `{T}`, `{T}!` | a map, an atomic map |
//! | `[T]`, `[T]+`, `[T]@a,b=x` | an atomic list, a set, a list keyed by `a` and `b`, which is `x` where it is missing |
//! | `Name`, `package.Name` | a structure of this or of another package; `!` behind its own name: it is atomic |

use std::collections::HashMap;
use std::sync::LazyLock;

const STRUCTURED_TYPES: &str = include_str!("structured_types.txt");

/// The line behind which the kinds are listed.
const KINDS_LINE: &str = "= kinds";

/// A type. It borrows from the table, so a copy costs nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StructuredType {
    text: &'static str,
    package: &'static str,
}

/// The form of a [`StructuredType`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StructuredShape {
    /// A text.
    Text,
    /// A number.
    Number,
    /// A boolean.
    Boolean,
    /// A plain value: a quantity, or a number that may be a text.
    Plain,
    /// Anything.
    Anything,
    /// A list that is replaced as a whole.
    AtomicList(StructuredType),
    /// A list of plain values that are unique.
    Set(StructuredType),
    /// A list whose items are found by keys.
    KeyedList(StructuredType, StructuredKeys),
    /// A map, and whether it is replaced as a whole.
    Map(StructuredType, bool),
    /// A structure, whose fields [`StructuredType::field`] finds, and whether it is replaced as a whole.
    Structure(bool),
}

/// The fields by which the items of a list are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StructuredKeys(&'static str);

impl StructuredKeys {
    /// Returns the names of the fields, each with its value where an item does not have it.
    pub fn iter(self) -> impl Iterator<Item = (&'static str, Option<&'static str>)> {
        self.0.split(',').map(|key| match key.split_once('=') {
            Some((name, default)) => (name, Some(default)),
            None => (key, None),
        })
    }
}

/// The lines of the table, read once.
struct StructuredTable {
    structures: HashMap<(&'static str, &'static str), StructureLine>,
    kinds: HashMap<(&'static str, &'static str), (&'static str, &'static str)>,
}

struct StructureLine {
    is_atomic: bool,
    // INVARIANT: sorted by name.
    fields: Vec<(&'static str, &'static str)>,
}

static TABLE: LazyLock<StructuredTable> = LazyLock::new(|| {
    let (types, kinds) = STRUCTURED_TYPES.split_once(KINDS_LINE).unwrap_or((STRUCTURED_TYPES, ""));
    let mut structures = HashMap::new();
    let mut package = "";
    for line in types.lines() {
        if let Some(name) = line.strip_prefix("# ") {
            package = name;
            continue;
        }
        let mut words = line.split(' ');
        let name = words.next().unwrap_or_default();
        let mut fields: Vec<_> = words.filter_map(|word| word.split_once(':')).collect();
        fields.sort_unstable();
        let (name, is_atomic) = name.strip_suffix('!').map_or((name, false), |name| (name, true));
        structures.insert((package, name), StructureLine { is_atomic, fields });
    }
    let kind = |line: &'static str| {
        let (version, rest) = line.split_once(' ')?;
        let (kind, name) = rest.split_once(' ')?;
        Some(((version, kind), name.rsplit_once('.')?))
    };
    StructuredTable { structures, kinds: kinds.lines().filter_map(kind).collect() }
});

impl StructuredType {
    /// Returns the type of the objects of a built-in kind.
    #[must_use]
    pub fn of_kind(api_version: &str, kind: &str) -> Option<Self> {
        let (package, text) = *TABLE.kinds.get(&(api_version, kind))?;
        Some(Self { text, package })
    }

    /// Returns the type of `metadata`.
    #[must_use]
    pub fn object_meta() -> Self {
        Self { text: "ObjectMeta", package: "meta.v1" }
    }

    /// Returns the form of the type.
    #[must_use]
    pub fn shape(self) -> StructuredShape {
        match self.text {
            "s" => StructuredShape::Text,
            "i" => StructuredShape::Number,
            "b" => StructuredShape::Boolean,
            "q" => StructuredShape::Plain,
            "a" => StructuredShape::Anything,
            text if text.starts_with('[') => self.list_shape(text),
            text if text.starts_with('{') => {
                let (text, is_atomic) = text.strip_suffix('!').map_or((text, false), |text| (text, true));
                let value = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
                StructuredShape::Map(self.inner(value), is_atomic)
            }
            _ => match self.structure() {
                Some(structure) => StructuredShape::Structure(structure.is_atomic),
                None => StructuredShape::Anything,
            },
        }
    }

    fn list_shape(self, text: &'static str) -> StructuredShape {
        let (item, behind) = text.rsplit_once(']').unwrap_or((text, ""));
        let item = self.inner(item.strip_prefix('['));
        match behind.strip_prefix('@') {
            Some(keys) => StructuredShape::KeyedList(item, StructuredKeys(keys)),
            None if behind == "+" => StructuredShape::Set(item),
            None => StructuredShape::AtomicList(item),
        }
    }

    fn inner(self, text: Option<&'static str>) -> Self {
        Self { text: text.unwrap_or("a"), ..self }
    }

    /// Returns the type of a field of a structure.
    #[must_use]
    pub fn field(self, name: &str) -> Option<Self> {
        let fields = &self.structure()?.fields;
        let place = fields.binary_search_by_key(&name, |(field, _)| field).ok()?;
        let (_, text) = fields.get(place)?;
        Some(Self { text, package: self.full_name().0 })
    }

    /// Returns the names of the fields of a structure, sorted.
    pub fn fields(self) -> impl Iterator<Item = &'static str> {
        self.structure().into_iter().flat_map(|structure| structure.fields.iter().map(|(name, _)| *name))
    }

    fn structure(self) -> Option<&'static StructureLine> {
        TABLE.structures.get(&self.full_name())
    }

    /// Returns the package and the name of a structure.
    fn full_name(self) -> (&'static str, &'static str) {
        self.text.rsplit_once('.').unwrap_or((self.package, self.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(kind: &str, path: &[&str]) -> StructuredType {
        let root = StructuredType::of_kind("v1", kind).expect("a built-in kind");
        path.iter().fold(root, |here, name| match here.shape() {
            StructuredShape::KeyedList(item, _) | StructuredShape::AtomicList(item) => {
                item.field(name).expect("a field of an item")
            }
            _ => here.field(name).unwrap_or_else(|| panic!("no field {name}")),
        })
    }

    #[test]
    fn lists_are_keyed_sets_or_atomic() {
        let StructuredShape::KeyedList(_, keys) = at("Pod", &["spec", "containers", "ports"]).shape() else {
            panic!("ports are keyed")
        };
        let keys: Vec<_> = keys.iter().collect();
        assert_eq!(keys, [("containerPort", Some("0")), ("protocol", Some("TCP"))]);
        assert!(matches!(at("Pod", &["spec", "tolerations"]).shape(), StructuredShape::AtomicList(_)));
        assert!(matches!(at("Pod", &["metadata", "finalizers"]).shape(), StructuredShape::Set(_)));
    }

    #[test]
    fn atomic_maps_and_structures_are_told_apart() {
        assert!(matches!(at("Pod", &["spec", "nodeSelector"]).shape(), StructuredShape::Map(_, true)));
        assert!(matches!(at("Pod", &["metadata", "labels"]).shape(), StructuredShape::Map(_, false)));
        let source = ["spec", "containers", "env", "valueFrom", "secretKeyRef"];
        assert_eq!(at("Pod", &source).shape(), StructuredShape::Structure(true));
        assert_eq!(at("Pod", &["spec", "securityContext"]).shape(), StructuredShape::Structure(false));
    }

    #[test]
    fn every_structure_that_is_named_exists() {
        for ((package, name), structure) in &TABLE.structures {
            for (field, text) in &structure.fields {
                let mut here = StructuredType { text, package };
                loop {
                    here = match here.shape() {
                        StructuredShape::AtomicList(item)
                        | StructuredShape::Set(item)
                        | StructuredShape::KeyedList(item, _)
                        | StructuredShape::Map(item, _) => item,
                        shape => {
                            let is_known = shape != StructuredShape::Anything || here.text == "a";
                            assert!(is_known, "{package}.{name}.{field}: {}", here.text);
                            break;
                        }
                    };
                }
            }
        }
        assert!(TABLE.kinds.values().all(|name| TABLE.structures.contains_key(name)));
    }
}
