//! Edges, their strength and their types. The built-in types are rows of one table, `edge/table.rs`.

mod set;
mod table;
#[cfg(test)]
mod tests;

use kubewright_k8s::WorkloadKind;

use crate::Id;
pub use set::EdgeTypeSet;
pub use table::EDGE_TYPES;

/// The type of an edge. Built-in types are constants; References files add others by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EdgeType(pub(crate) u16);

/// How much the start of an edge needs its end. Whether an edge exists never depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Strength {
    /// The start does not work without the end.
    Required,
    /// The end may be absent, or the reference is declared but unused.
    Optional,
    /// A preference, such as a preferred affinity.
    Preferred,
    /// Not written in any field: a default, equal names or matching labels.
    Implicit,
}

impl Strength {
    /// Returns the name of the strength, as every output writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::Optional => "optional",
            Self::Preferred => "preferred",
            Self::Implicit => "implicit",
        }
    }
}

/// One relationship between two nodes. There may be several between the same two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge<'g> {
    /// The object that refers, owns or selects.
    pub from: Id,
    /// The object that is referred to, owned or selected.
    pub to: Id,
    /// The type.
    pub kind: EdgeType,
    /// The field that made the edge, such as `spec.volumes[1].configMap`: a field of `from`, or of `to` if that names its
    /// owner or namespace, or of the object in `through`.
    pub via: &'g str,
    /// How much `from` needs `to`.
    pub strength: Strength,
    /// The object in between: the NetworkPolicy that connects two Pods, the Job between a CronJob and its Pod.
    pub through: Option<Id>,
}

/// The properties of a built-in edge type: one row of [`EDGE_TYPES`].
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct EdgeTypeSpec {
    /// The name, such as `USES_SA`.
    pub name: &'static str,
    /// The type itself.
    pub edge_type: EdgeType,
    /// The objects at which edges start, in words.
    pub from: &'static str,
    /// The objects at which edges end, in words.
    pub to: &'static str,
    /// The fields that make edges, as Markdown.
    pub fields: &'static str,
    /// The strengths that edges have, in words.
    pub strength: &'static str,
    /// The kinds at which edges can start.
    pub from_kinds: KindSet,
    /// The kinds at which edges can end.
    pub to_kinds: KindSet,
    /// Whether the pattern contract has the type; the others are extensions.
    pub is_in_contract: bool,
    /// Whether edges are stored. The others are derived on each read, because there are as many as pairs of objects.
    pub is_stored: bool,
    /// Whether the type follows from structure (ownership, namespace, labels) rather than from a reference that an author
    /// wrote. `ANY` in a pattern leaves such types out.
    pub is_implied: bool,
    /// Whether pictures leave the type out unless it is asked for.
    pub is_noisy: bool,
    /// Whether edges have no direction.
    pub is_symmetric: bool,
    /// Whether edges lead from an owner to what it owns.
    pub is_ownership: bool,
    /// The number of the colour of lines in pictures; none for a colour that is free.
    pub colour: Option<usize>,
    /// The label selectors that make edges: the kind that has one, and its field below `spec`.
    pub selectors: &'static [(&'static str, &'static str)],
}

impl EdgeTypeSpec {
    const DEFAULT: Self = Self {
        name: "",
        edge_type: EdgeType(0),
        from: "",
        to: "",
        fields: "",
        strength: "",
        from_kinds: KindSet::Any,
        to_kinds: KindSet::Any,
        is_in_contract: false,
        is_stored: true,
        is_implied: false,
        is_noisy: false,
        is_symmetric: false,
        is_ownership: false,
        colour: None,
        selectors: &[],
    };

    /// Returns the built-in type called `name`.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        EDGE_TYPES.iter().find(|spec| spec.name == name)
    }

    /// Returns the field below `spec` of `kind` whose selector makes edges of this type.
    #[must_use]
    pub fn selector_field(&self, kind: &str) -> Option<&'static str> {
        // Workloads of `apps` select what they own.
        let is_owner = || WorkloadKind::named(kind).is_some_and(|workload| workload.group() == "apps");
        if self.is_ownership && is_owner() {
            return Some("selector");
        }
        self.selectors.iter().find(|(selecting, _)| *selecting == kind).map(|(_, field)| *field)
    }
}

impl EdgeType {
    /// Returns the row of a built-in type; none for a declared one.
    #[must_use]
    pub fn spec(self) -> Option<&'static EdgeTypeSpec> {
        EDGE_TYPES.get(usize::from(self.0))
    }
}

/// The kinds of Kubernetes that can be at one end of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KindSet {
    /// Any kind.
    Any,
    /// Pods and kinds with a Pod template.
    Workloads,
    /// Pods, kinds with a Pod template, and one kind more.
    WorkloadsAnd(&'static str),
    /// These kinds.
    Only(&'static [&'static str]),
    /// Any kind but one.
    Except(&'static str),
    /// Any namespaced kind.
    Namespaced,
    /// Kinds of custom resources.
    Custom,
}
