//! Declared references: those of well-known kinds of other projects, and those that users declare.
//!
//! ```yaml
//! apiVersion: kubewright.dev/v1
//! kind: References
//! references:
//!   - fromKind: Database.example.com
//!     path: spec.backups[*].storeRef
//!     toKind: [Store.example.com, ClusterStore.example.com]
//!     type: BACKS_UP_TO
//! ```

mod path;
mod read;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, LazyLock};

use kubewright_value::{Source, Text, yaml};

use crate::{EDGE_TYPES, EdgeType, EdgeTypeSpec, Strength};
pub(crate) use path::ReferencePath;
pub use read::codes;

/// References of kinds that are not Kubernetes' own: built in and declared.
#[derive(Debug, Clone)]
pub struct References(Arc<ReferenceTable>);

#[derive(Debug, Clone)]
struct ReferenceTable {
    references: Vec<DeclaredReference>,
    // Positions in `references`, by the kind that refers; `*` for any.
    by_kind: HashMap<Text, Vec<usize>>,
    // The types that are not built in, sorted.
    types: Vec<Text>,
    // What selectors select beside Pods: `Kind.group`, or `Kind` of any group.
    classes: HashSet<Text>,
    volumes_match_by_name: bool,
}

/// One declared reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeclaredReference {
    pub(crate) from: KindName,
    pub(crate) path: ReferencePath,
    /// Never empty; the first one is meant where a reference does not say its kind.
    pub(crate) to: Vec<KindName>,
    pub(crate) edge_type: Text,
    pub(crate) namespace: Whereabouts,
    pub(crate) strength: Strength,
    /// Whether the value is a label selector, and not a name.
    pub(crate) is_selector: bool,
}

/// A kind, of any group if none is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KindName {
    pub(crate) kind: Text,
    pub(crate) group: Option<Text>,
}

impl KindName {
    /// Returns whether it is the Pod of Kubernetes, which selectors select in a way of their own.
    pub(crate) fn is_pod(&self) -> bool {
        self.kind == "Pod" && self.group.as_ref().is_none_or(|group| group.is_empty())
    }

    pub(crate) fn is(&self, group: &str, kind: &str) -> bool {
        (self.kind == "*" || self.kind == kind) && self.group.as_ref().is_none_or(|own| own == group)
    }
}

/// In which namespace the referent is, unless the reference says so itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whereabouts {
    /// As the kind suggests: in none for cluster-scoped kinds and those called `Cluster…`, otherwise in that of the referrer.
    Usual,
    /// In that of the referrer.
    Own,
    /// In none.
    None,
    /// For selectors: in all.
    Any,
}

/// Kinds other than Pod that selectors of Kubernetes' own kinds select.
const BUILT_IN_CLASSES: [&str; 4] =
    ["ReplicaSet.apps", "Node.", "Service.", "ClusterRole.rbac.authorization.k8s.io"];

/// The references of well-known kinds of other projects.
static SHIPPED_REFERENCES: LazyLock<References> = LazyLock::new(|| {
    let reading = yaml::read(&Source::new("<built-in references>", include_str!("references/shipped.yaml")));
    let nothing = References::of(Vec::new(), true);
    reading.documents.iter().fold(nothing, |known, document| known.with(document).0)
});

impl Default for References {
    fn default() -> Self {
        SHIPPED_REFERENCES.clone()
    }
}

impl References {
    /// Returns the type called `name`, built in or declared.
    #[must_use]
    pub fn edge_type(&self, name: &str) -> Option<EdgeType> {
        let declared = || {
            let place = self.0.types.binary_search_by(|known| known.as_str().cmp(name)).ok()?;
            u16::try_from(EDGE_TYPES.len() + place).ok().map(EdgeType)
        };
        EdgeTypeSpec::named(name).map(|spec| spec.edge_type).or_else(declared)
    }

    /// Returns the name of a type; empty if it is of another graph.
    #[must_use]
    pub fn edge_type_name(&self, kind: EdgeType) -> &str {
        let declared = || self.0.types.get(usize::from(kind.0).checked_sub(EDGE_TYPES.len())?);
        let built_in = kind.spec().map(|spec| spec.name);
        built_in.or_else(|| declared().map(Text::as_str)).unwrap_or_default()
    }

    /// Returns the names of the declared types that are not built in, sorted.
    #[must_use]
    pub fn own_types(&self) -> &[Text] {
        &self.0.types
    }

    /// Returns the references that objects of a kind may have.
    pub(crate) fn of_kind(&self, group: &str, kind: &str) -> impl Iterator<Item = &DeclaredReference> {
        let lists = [self.0.by_kind.get(kind), self.0.by_kind.get("*")];
        let found = lists.into_iter().flatten().flatten().filter_map(|at| self.0.references.get(*at));
        found.filter(move |reference| reference.from.is(group, kind))
    }

    /// Returns the classes by which selectors know objects of a kind, Pods aside.
    pub(crate) fn classes(&self, group: &str, kind: &str) -> Vec<Text> {
        let classes = [Text::new(kind), Text::from(format!("{kind}.{group}"))];
        classes.into_iter().filter(|class| self.0.classes.contains(class)).collect()
    }

    /// Returns whether volumes of the same name in one namespace count as shared.
    pub(crate) fn volumes_match_by_name(&self) -> bool {
        self.0.volumes_match_by_name
    }

    fn of(references: Vec<DeclaredReference>, volumes_match_by_name: bool) -> Self {
        let mut by_kind: HashMap<Text, Vec<usize>> = HashMap::new();
        let mut classes: HashSet<Text> = BUILT_IN_CLASSES.iter().copied().map(Text::new).collect();
        let mut types = BTreeSet::new();
        for (at, reference) in references.iter().enumerate() {
            by_kind.entry(reference.from.kind.clone()).or_default().push(at);
            if EdgeTypeSpec::named(&reference.edge_type).is_none() {
                types.insert(reference.edge_type.clone());
            }
            if reference.is_selector {
                classes.extend(reference.to.iter().filter(|to| !to.is_pod()).map(class_of));
            }
        }
        let types = types.into_iter().collect();
        Self(Arc::new(ReferenceTable { references, by_kind, types, classes, volumes_match_by_name }))
    }
}

/// Returns the class of a kind: `Kind.group`, or `Kind` where any group will do.
pub(crate) fn class_of(name: &KindName) -> Text {
    match &name.group {
        Some(group) => Text::from(format!("{}.{group}", name.kind)),
        None => name.kind.clone(),
    }
}

#[cfg(test)]
mod pages;
#[cfg(test)]
mod tests;
