//! Sets of edge types.

use super::EdgeType;

/// A set of edge types of one graph.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EdgeTypeSet(Vec<u64>);

impl EdgeTypeSet {
    /// Adds a type.
    pub fn insert(&mut self, kind: EdgeType) {
        let place = usize::from(kind.0) / 64;
        if self.0.len() <= place {
            self.0.resize(place + 1, 0);
        }
        self.0.get_mut(place).into_iter().for_each(|word| *word |= 1 << (kind.0 % 64));
    }

    /// Returns whether the type is in the set.
    #[must_use]
    pub fn contains(&self, kind: EdgeType) -> bool {
        self.0.get(usize::from(kind.0) / 64).is_some_and(|word| word & (1 << (kind.0 % 64)) != 0)
    }

    /// Returns the set with the types that are stored for those that are derived on each read.
    #[must_use]
    pub fn with_sources(&self) -> Self {
        let mut all = self.clone();
        for (derived, sources) in DERIVED_FROM {
            if self.contains(*derived) {
                sources.iter().for_each(|source| all.insert(*source));
            }
        }
        all
    }
}

impl FromIterator<EdgeType> for EdgeTypeSet {
    fn from_iter<T: IntoIterator<Item = EdgeType>>(types: T) -> Self {
        let mut set = Self::default();
        types.into_iter().for_each(|kind| set.insert(kind));
        set
    }
}

/// What `graph/walk.rs` follows to find edges that are not stored.
const DERIVED_FROM: &[(EdgeType, &[EdgeType])] = &[
    (EdgeType::MANAGES, &[EdgeType::OWNS]),
    (EdgeType::MOUNTS, &[EdgeType::BOUND_TO]),
    (EdgeType::SAME_NETWORK, &[EdgeType::ISOLATES, EdgeType::ALLOWS_FROM, EdgeType::ALLOWS_TO]),
];
