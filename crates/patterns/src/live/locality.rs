//! Which leaders a change can matter to.
//!
//! The result of a leader depends on the objects that its relationships lead to, role by role. So from what changed the
//! relationships are followed back to leaders, in the graph as it is now: of a way that existed before and is gone, the part
//! next to the leader is still there, and it ends at a node where an edge went ([`GraphChanges::touched`]).

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use kubewright_graph::{EdgeType, EdgeTypeSet, Graph, GraphChanges, Id, References};
use kubewright_k8s::ObjectName;
use kubewright_value::{Text, Value};

use super::super::criteria::Basis;
use super::super::detect::{DetectionSettings, OnDemandRole, is_local};
use super::super::pattern::{KindRef, Pattern, Presence, RelationshipLink};
use super::fields::{entry_edge_types, may_fill, pattern_edge_types};

/// How many objects are visited to find the leaders of one pattern; with more, all leaders are looked at again.
const MAX_VISITED: usize = 4_000;

/// Types of edges that are not followed back: their edges are found by comparing objects, not by following others.
const UNFOLLOWED_TYPES: [EdgeType; 3] = [EdgeType::TOLERATES, EdgeType::DEFINES_KIND, EdgeType::SAME_NETWORK];

/// How the objects of a pattern lead to each other.
#[derive(Debug)]
pub(super) struct Locality {
    leader: usize,
    entries: Vec<EntryReach>,
    /// The types whose changes matter.
    pub(super) types: EdgeTypeSet,
    /// Whether the way back leads to all leaders that a change can matter to.
    is_local: bool,
    /// Whether leaders cannot be looked at one by one: what one finds, another one does not.
    are_leaders_joined: bool,
    /// Whether it is a finding that there is no leader.
    emits_on_empty: bool,
    /// Whether any change of a set matters, also one that no role and no followed type has.
    is_about_all: bool,
    /// Kinds that matter by whether there are objects of them.
    if_listed: Vec<Text>,
}

/// How one relationship leads from one object to another.
#[derive(Debug)]
struct EntryReach {
    pairs: Vec<(usize, usize)>,
    reach: Reach,
}

#[derive(Debug)]
enum Reach {
    /// By edges of the types.
    Edges(Vec<EdgeType>),
    /// By what both have edges of the types with.
    Shared(Vec<EdgeType>),
    /// To owners and what is owned, at any distance.
    Ownership,
    /// To objects in the same namespace.
    Namespace,
    /// To any object.
    Everywhere,
}

/// What changed of the objects that a pattern reads.
#[derive(Debug, Default)]
pub(super) struct Seeds {
    /// The roles that an object may have filled before, or may fill now, one bit for each.
    pub(super) nodes: HashMap<Id, u64>,
    /// The roles that objects filled that are not there any more.
    pub(super) gone: Vec<(u64, ObjectName)>,
}

impl Seeds {
    /// Returns whether an object that leads, or led, has changed.
    fn has_leader(&self, leader: usize) -> bool {
        let roles = self.nodes.values().copied().chain(self.gone.iter().map(|(roles, _)| *roles));
        roles.into_iter().any(|roles| roles & role_bit(leader) != 0)
    }

    fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.gone.is_empty()
    }
}

/// The leaders to look at again.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Affected {
    Leaders(HashSet<Id>),
    All,
}

impl Locality {
    pub(super) fn of(pattern: &Pattern, references: &References) -> Self {
        let types = pattern_edge_types(pattern, references);
        let has_unfollowed = UNFOLLOWED_TYPES.iter().any(|kind| types.contains(*kind));
        let kinds = pattern.roles.iter().flat_map(|role| &role.kinds);
        let has_categories = kinds.into_iter().any(|kind| matches!(kind, KindRef::Category(_)));
        let entries = pattern.entries.iter().map(|entry| EntryReach {
            pairs: entry.pairs.clone(),
            reach: match &entry.link {
                RelationshipLink::Criteria(criteria) => match criteria.basis {
                    Basis::Owns | Basis::OwnedBy => Reach::Ownership,
                    _ if criteria.compares_namespaces() => Reach::Namespace,
                    _ => Reach::Everywhere,
                },
                RelationshipLink::Edge { options, .. } if options.is_transitive => Reach::Ownership,
                RelationshipLink::Edge { .. } => Reach::Edges(entry_edge_types(pattern, entry, references)),
                RelationshipLink::Common { .. } => {
                    Reach::Shared(entry_edge_types(pattern, entry, references))
                }
            },
        });
        Self {
            leader: pattern.leader,
            entries: entries.collect(),
            types: types.with_sources(),
            is_local: is_local(pattern),
            are_leaders_joined: pattern.is_unordered,
            emits_on_empty: pattern.emits_on_empty,
            is_about_all: has_unfollowed || has_categories,
            if_listed: pattern.roles.iter().flat_map(|role| role.if_listed.iter().cloned()).collect(),
        }
    }

    /// Returns whether it matters that `kind` has its first object, or has none any more.
    pub(super) fn counts_kind(&self, kind: &str) -> bool {
        self.if_listed.iter().any(|listed| *listed == kind || *listed == "*")
    }

    /// Returns whether a change that neither an object of a role nor a followed edge shows may matter.
    pub(super) fn is_about_all(&self) -> bool {
        self.is_about_all
    }

    /// Returns the leaders that `seeds` and `changes` can matter to.
    pub(super) fn affected(&self, walk: &Surroundings<'_>, seeds: &Seeds) -> Affected {
        let types = || walk.graph.edge_types().filter(|kind| self.types.contains(*kind));
        if seeds.is_empty() && !types().any(|kind| walk.changes.has_edges_of(kind)) {
            return Affected::Leaders(HashSet::new());
        }
        let is_joined = self.are_leaders_joined || self.emits_on_empty;
        if !self.is_local || (is_joined && seeds.has_leader(self.leader)) {
            return Affected::All;
        }
        let mut search = LeaderSearch::new(self, walk);
        let is_found = search.start(seeds) && search.follow();
        match is_found && (!self.are_leaders_joined || search.leaders.is_empty()) {
            true => Affected::Leaders(search.leaders),
            false => Affected::All,
        }
    }
}

/// What leaders are looked for in.
pub(super) struct Surroundings<'a> {
    pub(super) pattern: &'a Pattern,
    pub(super) graph: &'a Graph,
    pub(super) settings: &'a DetectionSettings,
    pub(super) changes: &'a GraphChanges,
}

/// Returns the roles of `pattern` that an object may fill: one bit for each.
pub(super) fn roles_of_object(
    (pattern, graph, settings): (&Pattern, &Graph, &DetectionSettings),
    (group, kind): (&str, &str),
    object: &Value,
) -> u64 {
    let roles = pattern.roles.iter().enumerate().filter(|(_, role)| may_fill(role, group, kind));
    let fills = roles.filter(|(_, role)| {
        // Whether an object is missing depends on others.
        role.presence == Presence::Absent || OnDemandRole::new(role, graph, settings).may_pass(object)
    });
    fills.fold(0, |bits, (at, _)| bits | role_bit(at))
}

fn role_bit(role: usize) -> u64 {
    u32::try_from(role).ok().and_then(|role| 1_u64.checked_shl(role)).unwrap_or(0)
}

/// The way back from what changed to leaders.
struct LeaderSearch<'a> {
    locality: &'a Locality,
    walk: &'a Surroundings<'a>,
    roles: Vec<OnDemandRole<'a>>,
    seen: HashSet<(usize, Id)>,
    open: Vec<(usize, Id)>,
    leaders: HashSet<Id>,
    /// Whether more objects own each other than are looked at.
    is_cut: Cell<bool>,
}

impl<'a> LeaderSearch<'a> {
    fn new(locality: &'a Locality, walk: &'a Surroundings<'a>) -> Self {
        let role = |role| OnDemandRole::new(role, walk.graph, walk.settings);
        Self {
            locality,
            walk,
            roles: walk.pattern.roles.iter().map(role).collect(),
            seen: HashSet::new(),
            open: Vec::new(),
            leaders: HashSet::new(),
            is_cut: Cell::new(false),
        }
    }

    /// Begins at everything that changed. Returns whether leaders can be named.
    fn start(&mut self, seeds: &Seeds) -> bool {
        for (id, roles) in &seeds.nodes {
            for role in (0..self.roles.len()).filter(|role| roles & role_bit(*role) != 0) {
                self.visit(role, *id);
            }
        }
        let graph = self.walk.graph;
        for (roles, name) in &seeds.gone {
            // Others may still name it.
            let node = graph.find(&name.group, &name.kind, &name.namespace, &name.name);
            for role in (0..self.roles.len()).filter(|role| roles & role_bit(*role) != 0) {
                if !self.step_from_gone(role, &name.namespace) {
                    return false;
                }
                node.into_iter().for_each(|id| self.visit(role, id));
            }
            for kind in graph.edge_types().filter(|kind| self.locality.types.contains(*kind)) {
                node.into_iter().for_each(|id| self.start_at_edge(kind, id));
            }
        }
        for kind in graph.edge_types().filter(|kind| self.locality.types.contains(*kind)) {
            let Some(touched) = self.walk.changes.touched(kind) else { return false };
            for id in touched {
                self.start_at_edge(kind, id);
                if self.is_too_much() {
                    return false;
                }
            }
        }
        !self.is_too_much()
    }

    /// Begins at a node where an edge came or went.
    fn start_at_edge(&mut self, kind: EdgeType, id: Id) {
        let locality = self.locality;
        for entry in &locality.entries {
            let (types, is_shared) = match &entry.reach {
                Reach::Edges(types) => (types.as_slice(), false),
                Reach::Shared(types) => (types.as_slice(), true),
                Reach::Ownership if kind == EdgeType::OWNS => (&[EdgeType::OWNS][..], false),
                Reach::Ownership | Reach::Namespace | Reach::Everywhere => continue,
            };
            let is_ownership = matches!(entry.reach, Reach::Ownership);
            for own in types.iter().filter(|own| follows_from(**own, kind)) {
                let mut ends = self.around(*own, id);
                if is_ownership {
                    ends.extend(self.relatives(id));
                }
                if is_shared || *own != kind {
                    // The node may be between two objects of the relationship.
                    let beyond: Vec<Id> =
                        ends.iter().flat_map(|end| self.walk.graph.neighbours(*end, *own)).collect();
                    ends.extend(beyond);
                }
                for role in entry.pairs.iter().flat_map(|(one, other)| [*one, *other]) {
                    ends.iter().for_each(|end| self.visit_if_fits(role, *end));
                }
            }
        }
    }

    /// Follows relationships back until only leaders are left. Returns whether they can be named.
    fn follow(&mut self) -> bool {
        while let Some((role, id)) = self.open.pop() {
            let locality = self.locality;
            for (entry, to) in locality.entries.iter().flat_map(|entry| entry.from_role(role)) {
                if !self.step(&entry.reach, id, to) {
                    return false;
                }
            }
            if self.is_too_much() {
                return false;
            }
        }
        true
    }

    /// Follows one relationship to objects for the role `to`.
    fn step(&mut self, reach: &Reach, id: Id, to: usize) -> bool {
        let graph = self.walk.graph;
        match reach {
            Reach::Everywhere => return false,
            Reach::Namespace => {
                let namespace = graph.node(id).map(|node| node.namespace.clone()).unwrap_or_default();
                self.visit_namespace(to, &namespace);
            }
            Reach::Ownership => {
                self.relatives(id).into_iter().for_each(|end| self.visit_if_fits(to, end));
            }
            Reach::Edges(types) => {
                for kind in types {
                    graph.neighbours(id, *kind).for_each(|end| self.visit_if_fits(to, end));
                }
            }
            Reach::Shared(types) => {
                for kind in types {
                    for shared in graph.neighbours(id, *kind) {
                        graph.neighbours(shared, *kind).for_each(|end| self.visit_if_fits(to, end));
                    }
                }
            }
        }
        true
    }

    /// Follows the relationships of an object that is gone, as far as no edge shows them.
    fn step_from_gone(&mut self, role: usize, namespace: &Text) -> bool {
        let locality = self.locality;
        for (entry, to) in locality.entries.iter().flat_map(|entry| entry.from_role(role)) {
            match &entry.reach {
                Reach::Everywhere => return false,
                Reach::Namespace => self.visit_namespace(to, namespace),
                Reach::Edges(types) | Reach::Shared(types) if types.contains(&EdgeType::IS_NAMESPACE_OF) => {
                    let node = self.walk.graph.find("", "Namespace", "", namespace);
                    node.into_iter().for_each(|node| self.visit_if_fits(to, node));
                    if matches!(entry.reach, Reach::Shared(_)) {
                        self.visit_namespace(to, namespace);
                    }
                }
                Reach::Edges(_) | Reach::Shared(_) | Reach::Ownership => {}
            }
        }
        true
    }

    fn visit_namespace(&mut self, role: usize, namespace: &str) {
        let ids = self.roles.get(role).map(|role| role.ids_in(namespace)).unwrap_or_default();
        ids.into_iter().for_each(|id| self.visit(role, id));
    }

    fn visit_if_fits(&mut self, role: usize, id: Id) {
        if self.roles.get(role).is_some_and(|role| role.admits(id)) {
            self.visit(role, id);
        }
    }

    fn visit(&mut self, role: usize, id: Id) {
        if role == self.locality.leader {
            self.leaders.insert(id);
        } else if self.seen.insert((role, id)) {
            self.open.push((role, id));
        }
    }

    fn is_too_much(&self) -> bool {
        self.is_cut.get() || self.seen.len() + self.leaders.len() > MAX_VISITED
    }

    /// Returns a node with those through which edges of `kind` are derived that have it on their way.
    fn around(&self, kind: EdgeType, id: Id) -> Vec<Id> {
        let mut all = vec![id];
        match kind {
            EdgeType::MOUNTS => all.extend(self.walk.graph.neighbours(id, EdgeType::BOUND_TO)),
            EdgeType::MANAGES => all.extend(self.relatives(id)),
            _ => {}
        }
        all
    }

    /// Returns everything that owns a node or that it owns, directly or not.
    fn relatives(&self, id: Id) -> Vec<Id> {
        let graph = self.walk.graph;
        let mut all = Vec::new();
        for is_up in [true, false] {
            let mut seen = HashSet::from([id]);
            let mut open = vec![id];
            while let Some(next) = open.pop() {
                for kind in [EdgeType::OWNS, EdgeType::MANAGES] {
                    let ends: Vec<Id> = match is_up {
                        true => graph.incoming(next, kind).map(|edge| edge.from).collect(),
                        false => graph.out(next, kind).map(|edge| edge.to).collect(),
                    };
                    let new = ends.into_iter().filter(|end| seen.insert(*end)).collect::<Vec<Id>>();
                    open.extend(&new);
                    all.extend(new);
                }
                if all.len() > MAX_VISITED {
                    self.is_cut.set(true);
                    return all;
                }
            }
        }
        all
    }
}

impl EntryReach {
    /// Returns the roles that the relationship leads to from `role`.
    fn from_role(&self, role: usize) -> impl Iterator<Item = (&Self, usize)> {
        self.pairs.iter().flat_map(move |(one, other)| {
            let there = (*one == role).then_some((self, *other));
            let back = (*other == role).then_some((self, *one));
            there.into_iter().chain(back)
        })
    }
}

/// Returns whether edges of the type `kind` depend on those of the type `source`.
fn follows_from(kind: EdgeType, source: EdgeType) -> bool {
    kind == source || std::iter::once(kind).collect::<EdgeTypeSet>().with_sources().contains(source)
}
