//! Reading the graph: from an object along its edges.
//!
//! Types with `is_stored: false` in the table of edge types are derived here. The objects of a namespace are adjacent in
//! canonical order, those of a kind in their list; a controller's Pods are found through what it owns, and two Pods
//! on one network through the policies that select them. Of MOUNTS those to a PersistentVolume are found through the claim
//! that is bound to it.

mod merged;
mod mounts;
mod network;

use std::collections::HashSet;
use std::slice;

use super::Graph;
use super::selections::{SelectionLink, SelectionSource};
use super::store::{CONTROLS, Half};
use crate::{Edge, EdgeType, GraphNode, Id, Sort, Strength};
use kubewright_value::CompactSort as _;
use merged::Merged;

/// How many owners above each other are followed from a Pod.
const MAX_OWNER_DEPTH: usize = 32;
/// How many owners are followed from one object in all, to what they own and to who owns them.
const MAX_OWNED_VISITS: usize = 16_384;
const MAX_OWNER_VISITS: usize = 1_024;

impl Graph {
    /// Returns the edges of type `kind` that start at `id`, by their ends in canonical order.
    #[must_use]
    pub fn out(&self, id: Id, kind: EdgeType) -> Edges<'_> {
        Edges(match kind {
            EdgeType::IS_NAMESPACE_OF => self.inhabitants(id),
            EdgeType::DEFINES_KIND => self.instances(id),
            EdgeType::MANAGES => self.managed(id),
            EdgeType::SAME_NETWORK => self.network_out(id),
            EdgeType::MOUNTS => self.mounted(id),
            EdgeType::TOLERATES => EdgeCursor::Listed(self.tolerated(id).into_iter()),
            _ => self.stored_out(id, kind),
        })
    }

    /// Returns the edges of type `kind` that end at `id`, by their starts in canonical order.
    #[must_use]
    pub fn incoming(&self, id: Id, kind: EdgeType) -> Edges<'_> {
        Edges(match kind {
            EdgeType::IS_NAMESPACE_OF => {
                EdgeCursor::Listed(self.namespace_of(id).into_iter().collect::<Vec<_>>().into_iter())
            }
            EdgeType::DEFINES_KIND => EdgeCursor::Listed(self.defined_by(id).into_iter()),
            EdgeType::MANAGES => EdgeCursor::Listed(self.managers(id).into_iter()),
            EdgeType::SAME_NETWORK => self.network_into(id),
            EdgeType::MOUNTS => self.mounting(id),
            EdgeType::TOLERATES => EdgeCursor::Listed(self.tolerating(id).into_iter()),
            _ => self.stored_into(id, kind),
        })
    }

    /// Returns the nodes that an edge of type `kind` joins with `id`, whatever its direction: in canonical order, none twice.
    #[must_use]
    pub fn neighbours(&self, id: Id, kind: EdgeType) -> std::vec::IntoIter<Id> {
        let mut ids: Vec<Id> = self.out(id, kind).map(|edge| edge.to).collect();
        ids.extend(self.incoming(id, kind).map(|edge| edge.from));
        if !ids.is_sorted_by_key(|id| self.rank(*id)) {
            self.sort_by_rank(&mut ids);
        }
        ids.dedup();
        ids.into_iter()
    }

    /// Returns an edge of type `kind` between the two, from `a` to `b` if there is one, otherwise from `b` to `a`. Costs
    /// no more than the logarithm of their edges, for SAME_NETWORK and MANAGES the number of policies and owners.
    #[must_use]
    pub fn between(&self, a: Id, b: Id, kind: EdgeType) -> Option<Edge<'_>> {
        match kind {
            EdgeType::SAME_NETWORK => self.network_between(a, b),
            _ => self.directed(a, b, kind).or_else(|| self.directed(b, a, kind)),
        }
    }

    /// Returns what the edges of type `kind` at `id` are made of, where all of them come from selectors: two nodes with equal
    /// answers have the same edges of this type. Nothing where an edge is the node's own.
    #[must_use]
    pub fn selection_key(&self, id: Id, kind: EdgeType) -> Option<SelectionKey> {
        let is_walked = [
            EdgeType::IS_NAMESPACE_OF,
            EdgeType::DEFINES_KIND,
            EdgeType::MANAGES,
            EdgeType::SAME_NETWORK,
            EdgeType::TOLERATES,
            EdgeType::MOUNTS,
            // Nothing attracts itself, so that two members of one group differ.
            EdgeType::HAS_AFFINITY_TO,
            EdgeType::HAS_ANTI_AFFINITY_TO,
        ]
        .contains(&kind);
        let has_own = [true, false].iter().any(|is_out| !self.halves(id, kind, *is_out).is_empty());
        let slot = self.slots.get(id.index()).filter(|_| !is_walked && !has_own)?;
        let mut selects: Vec<u32> = self.links(id, kind).map(|link| link.group).collect();
        selects.sort_unstable();
        let has_sources = |number: &&u32| {
            self.selections
                .group(**number)
                .is_some_and(|group| group.sources.iter().any(|source| source.kind == kind))
        };
        let mut selected_by: Vec<u32> = slot.selected_by.iter().filter(has_sources).copied().collect();
        selected_by.sort_unstable();
        Some(SelectionKey { selects, selected_by })
    }

    /// Returns whether one end of `edge` is an object that is not in the set.
    #[must_use]
    pub fn is_dangling(&self, edge: &Edge<'_>) -> bool {
        [edge.from, edge.to].iter().any(|id| self.node(*id).is_some_and(|node| node.sort == Sort::Absent))
    }

    /// Returns all edges in canonical order of their starts, then by type. Of SAME_NETWORK only those from policies, and
    /// none of TOLERATES: the others may be as many as there are pairs of objects.
    pub fn edges(&self) -> impl Iterator<Item = Edge<'_>> {
        self.ids()
            .flat_map(move |id| self.types_from(id).into_iter().flat_map(move |kind| self.out(id, kind)))
    }

    /// Returns the types of the edges that may start at `id`, ascending; without SAME_NETWORK between Pods and TOLERATES.
    #[must_use]
    pub fn types_from(&self, id: Id) -> Vec<EdgeType> {
        let Some(slot) = self.slots.get(id.index()).filter(|slot| slot.is_used) else { return Vec::new() };
        let mut kinds: Vec<EdgeType> = slot.out.iter().map(|half| half.kind).collect();
        kinds.extend(slot.links.iter().map(|link| link.kind));
        if kinds.contains(&EdgeType::OWNS) {
            kinds.push(EdgeType::MANAGES);
        }
        match (slot.node.group(), slot.node.kind.as_str()) {
            ("", "Namespace") => kinds.push(EdgeType::IS_NAMESPACE_OF),
            (_, "CustomResourceDefinition") => kinds.push(EdgeType::DEFINES_KIND),
            (_, "NetworkPolicy") => kinds.push(EdgeType::SAME_NETWORK),
            _ => {}
        }
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    fn directed(&self, from: Id, to: Id, kind: EdgeType) -> Option<Edge<'_>> {
        match kind {
            EdgeType::IS_NAMESPACE_OF => self.namespace_of(to).filter(|edge| edge.from == from),
            EdgeType::DEFINES_KIND => self.defined_by(to).into_iter().find(|edge| edge.from == from),
            EdgeType::MANAGES => self.managers(to).into_iter().find(|edge| edge.from == from),
            EdgeType::TOLERATES => self.tolerates_node(from, to),
            EdgeType::MOUNTS => self.stored_between(from, to, kind).or_else(|| self.mounts_volume(from, to)),
            _ => self.stored_between(from, to, kind),
        }
    }

    fn stored_between(&self, from: Id, to: Id, kind: EdgeType) -> Option<Edge<'_>> {
        let halves = self.halves(from, kind, true);
        let rank = self.rank(to);
        let place = halves.partition_point(|half| self.rank(half.other) < rank);
        if let Some(half) = halves.get(place).filter(|half| half.other == to) {
            return Some(self.edge_out(from, half));
        }
        let found = self.links(from, kind).find(|link| {
            let members = self.selections.group(link.group).map_or(&[][..], |group| &group.members);
            let place = members.partition_point(|other| self.rank(*other) < rank);
            members.get(place) == Some(&to) && admits(kind, from, to)
        });
        found.map(|link| self.edge_of_link(from, to, link))
    }

    fn stored_out(&self, id: Id, kind: EdgeType) -> EdgeCursor<'_> {
        let halves = self.halves(id, kind, true);
        let mut links = self.links(id, kind);
        let (first, second) = (links.next(), links.next());
        match first {
            None => EdgeCursor::Out(self, id, halves.iter()),
            Some(link) if second.is_none() && halves.is_empty() => {
                let members = self.selections.group(link.group).map_or(&[][..], |group| &group.members);
                EdgeCursor::Members(self, id, link, members.iter())
            }
            Some(_) => {
                let stored = Edges(EdgeCursor::Out(self, id, halves.iter()));
                let selected = self.links(id, kind).map(|link| {
                    let members = self.selections.group(link.group).map_or(&[][..], |group| &group.members);
                    Edges(EdgeCursor::Members(self, id, link, members.iter()))
                });
                let lists = std::iter::once(stored).chain(selected);
                EdgeCursor::Found(Box::new(Merged::new(lists, |edge| self.rank(edge.to))))
            }
        }
    }

    fn stored_into(&self, id: Id, kind: EdgeType) -> EdgeCursor<'_> {
        let halves = self.halves(id, kind, false);
        let mut groups = self.sources(id, kind);
        let (first, second) = (groups.next(), groups.next());
        match first {
            None => EdgeCursor::Into(self, id, halves.iter()),
            Some(sources) if second.is_none() && halves.is_empty() => {
                EdgeCursor::Sources(self, id, sources.iter())
            }
            Some(_) => {
                let stored = Edges(EdgeCursor::Into(self, id, halves.iter()));
                let selecting = self.sources(id, kind);
                let selecting = selecting.map(|sources| Edges(EdgeCursor::Sources(self, id, sources.iter())));
                let lists = std::iter::once(stored).chain(selecting);
                EdgeCursor::Found(Box::new(Merged::new(lists, |edge| self.rank(edge.from))))
            }
        }
    }

    fn halves(&self, id: Id, kind: EdgeType, is_out: bool) -> &[Half] {
        let Some(slot) = self.slots.get(id.index()) else { return &[] };
        let list = if is_out { &slot.out } else { &slot.incoming };
        let start = list.partition_point(|half| half.kind < kind);
        let end = list.partition_point(|half| half.kind <= kind);
        list.get(start..end).unwrap_or_default()
    }

    fn links(&self, id: Id, kind: EdgeType) -> impl Iterator<Item = &SelectionLink> {
        let links = self.slots.get(id.index()).map_or(&[][..], |slot| &slot.links);
        links.iter().filter(move |link| link.kind == kind)
    }

    /// Returns who selects `id` with edges of type `kind`, one list for each group that has any.
    fn sources(&self, id: Id, kind: EdgeType) -> impl Iterator<Item = &[SelectionSource]> {
        let numbers = self.slots.get(id.index()).map_or(&[][..], |slot| &slot.selected_by);
        let groups = numbers.iter().filter_map(|number| self.selections.group(*number));
        let lists = groups.map(move |group| {
            let start = group.sources.partition_point(|source| source.kind < kind);
            let end = group.sources.partition_point(|source| source.kind <= kind);
            group.sources.get(start..end).unwrap_or_default()
        });
        lists.filter(|list| !list.is_empty())
    }

    fn inhabitants(&self, id: Id) -> EdgeCursor<'_> {
        let Some(node) = self.node(id).filter(|node| node.kind == "Namespace" && node.group().is_empty())
        else {
            return EdgeCursor::Listed(Vec::new().into_iter());
        };
        // Cluster-scoped objects come first, under the empty name, and belong to no namespace.
        EdgeCursor::Inhabitants(self, id, self.in_namespace(&node.name).iter())
    }

    fn namespace_of(&self, id: Id) -> Option<Edge<'_>> {
        let node = self.node(id).filter(|node| node.sort == Sort::Object && !node.namespace.is_empty())?;
        let namespace = self.find("", "Namespace", "", &node.namespace)?;
        Some(inhabits(namespace, id))
    }

    fn instances(&self, id: Id) -> EdgeCursor<'_> {
        let defined = self.node(id).and_then(defined_kind);
        let instances = defined.map(|(group, kind)| {
            let all = self.of_kind(kind).iter();
            all.filter(move |id| self.node(**id).is_some_and(|node| node.group() == group))
                .map(|to| defines(id, *to))
                .collect::<Vec<_>>()
        });
        EdgeCursor::Listed(instances.unwrap_or_default().into_iter())
    }

    fn defined_by(&self, id: Id) -> Vec<Edge<'_>> {
        let Some(slot) = self.slots.get(id.index()).filter(|slot| slot.node.sort == Sort::Object) else {
            return Vec::new();
        };
        let mut edges: Vec<Edge<'_>> = self
            .definitions_of(slot.node.group(), &slot.node.kind)
            .iter()
            .map(|definition| defines(*definition, id))
            .collect();
        edges.compact_sort_by_key(|edge| self.rank(edge.from));
        edges
    }

    /// Returns the Pods below `id`.
    fn managed(&self, id: Id) -> EdgeCursor<'_> {
        let mut edges: Vec<Edge<'_>> = Vec::new();
        let mut visited = HashSet::from([id]);
        let mut open = vec![id];
        // The nearest first, so that an edge shows the shortest way.
        let mut reached = HashSet::new();
        // Owners that select alike select the same.
        let mut groups = HashSet::new();
        for _ in 0..MAX_OWNER_DEPTH {
            if open.is_empty() || visited.len() > MAX_OWNED_VISITS {
                break;
            }
            let mut next = Vec::new();
            for owner in open {
                let through = (owner != id).then_some(owner);
                let mut manage = |edge: Edge<'_>, via| {
                    if reached.insert(edge.to) {
                        edges.push(Edge { from: id, kind: EdgeType::MANAGES, through, via, ..edge });
                    }
                };
                for half in self.halves(owner, EdgeType::OWNS, true) {
                    if half.flags & CONTROLS != 0 {
                        manage(self.edge_out(owner, half), self.names.text(half.via));
                    }
                }
                for half in self.halves(owner, EdgeType::MANAGES, true) {
                    manage(self.edge_out(owner, half), self.names.text(half.via));
                }
                for link in self.links(owner, EdgeType::MANAGES).filter(|link| groups.insert(link.group)) {
                    let members = self.selections.group(link.group).map_or(&[][..], |group| &group.members);
                    for to in members {
                        manage(self.edge_of_link(owner, *to, link), self.names.text(link.via));
                    }
                }
                for link in self.links(owner, EdgeType::OWNS).filter(|link| groups.insert(link.group)) {
                    let members = self.selections.group(link.group).map_or(&[][..], |group| &group.members);
                    next.extend(members.iter().filter(|owned| visited.insert(**owned)));
                }
                let owned = self.halves(owner, EdgeType::OWNS, true).iter().map(|half| half.other);
                next.extend(owned.filter(|owned| visited.insert(*owned)));
            }
            open = next;
        }
        edges.compact_sort_by_key(|edge| self.rank(edge.to));
        EdgeCursor::Walked(edges.into_iter(), visited.len())
    }

    /// Returns what is above the Pod `id`.
    fn managers(&self, id: Id) -> Vec<Edge<'_>> {
        let direct = self.halves(id, EdgeType::OWNS, false).iter().filter(|half| half.flags & CONTROLS != 0);
        let mut edges: Vec<Edge<'_>> = direct.map(|half| self.edge_into(id, half)).collect();
        edges.extend(Edges(self.stored_into(id, EdgeType::MANAGES)));
        edges.iter_mut().for_each(|edge| edge.kind = EdgeType::MANAGES);
        let mut visited = HashSet::new();
        edges.retain(|edge| visited.insert(edge.from));
        let mut start = 0;
        let mut looked_at = 0;
        for _ in 1..MAX_OWNER_DEPTH {
            // What is above those that were found last.
            let last: Vec<Edge<'_>> = edges.get(start..).unwrap_or_default().to_vec();
            start = edges.len();
            for below in last {
                let left = MAX_OWNER_VISITS.saturating_sub(looked_at);
                if left == 0 {
                    break;
                }
                for above in Edges(self.stored_into(below.from, EdgeType::OWNS)).take(left) {
                    looked_at += 1;
                    if visited.insert(above.from) {
                        let through = Some(below.through.unwrap_or(below.from));
                        edges.push(Edge { from: above.from, through, ..below });
                    }
                }
            }
        }
        edges.compact_sort_by_key(|edge| self.rank(edge.from));
        edges
    }

    fn edge_out(&self, from: Id, half: &Half) -> Edge<'_> {
        let via = self.names.text(half.via);
        Edge { from, to: half.other, kind: half.kind, via, strength: half.strength, through: None }
    }

    fn edge_into(&self, to: Id, half: &Half) -> Edge<'_> {
        Edge { from: half.other, to, ..self.edge_out(to, half) }
    }

    fn edge_of_link(&self, from: Id, to: Id, link: &SelectionLink) -> Edge<'_> {
        let via = self.names.text(link.via);
        Edge { from, to, kind: link.kind, via, strength: link.strength, through: None }
    }

    fn edge_of_source(&self, to: Id, source: &SelectionSource) -> Edge<'_> {
        let via = self.names.text(source.via);
        Edge { from: source.id, to, kind: source.kind, via, strength: source.strength, through: None }
    }
}

/// The groups of selected objects that make the edges of one node and type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SelectionKey {
    selects: Vec<u32>,
    selected_by: Vec<u32>,
}

/// The edges of one node and type.
pub struct Edges<'g>(EdgeCursor<'g>);

enum EdgeCursor<'g> {
    Out(&'g Graph, Id, slice::Iter<'g, Half>),
    Into(&'g Graph, Id, slice::Iter<'g, Half>),
    Members(&'g Graph, Id, &'g SelectionLink, slice::Iter<'g, Id>),
    Sources(&'g Graph, Id, slice::Iter<'g, SelectionSource>),
    Inhabitants(&'g Graph, Id, slice::Iter<'g, Id>),
    Listed(std::vec::IntoIter<Edge<'g>>),
    /// With the number of nodes that were looked at to find them.
    Walked(std::vec::IntoIter<Edge<'g>>, usize),
    Found(Box<dyn Iterator<Item = Edge<'g>> + 'g>),
}

impl Edges<'_> {
    /// Returns the work that was done before the first edge is read, for callers with a budget.
    #[must_use]
    pub fn work(&self) -> usize {
        match &self.0 {
            EdgeCursor::Listed(edges) => edges.len(),
            // Each was looked up before it was listed.
            EdgeCursor::Walked(edges, visited) => (edges.len() + visited).saturating_mul(4),
            _ => 0,
        }
    }
}

impl<'g> Iterator for Edges<'g> {
    type Item = Edge<'g>;

    fn next(&mut self) -> Option<Edge<'g>> {
        match &mut self.0 {
            EdgeCursor::Out(graph, id, halves) => halves.next().map(|half| graph.edge_out(*id, half)),
            EdgeCursor::Into(graph, id, halves) => halves.next().map(|half| graph.edge_into(*id, half)),
            EdgeCursor::Members(graph, id, link, members) => {
                let to = members.find(|to| admits(link.kind, *id, **to))?;
                Some(graph.edge_of_link(*id, *to, link))
            }
            EdgeCursor::Sources(graph, id, sources) => {
                let source = sources.find(|source| admits(source.kind, source.id, *id))?;
                Some(graph.edge_of_source(*id, source))
            }
            EdgeCursor::Inhabitants(graph, id, all) => {
                all.find(|to| graph.is_object(**to)).map(|to| inhabits(*id, *to))
            }
            EdgeCursor::Listed(edges) | EdgeCursor::Walked(edges, _) => edges.next(),
            EdgeCursor::Found(edges) => edges.next(),
        }
    }
}

/// Returns whether a selection may lead from an object to itself.
fn admits(kind: EdgeType, from: Id, to: Id) -> bool {
    from != to || !matches!(kind, EdgeType::HAS_AFFINITY_TO | EdgeType::HAS_ANTI_AFFINITY_TO)
}

fn inhabits<'g>(namespace: Id, id: Id) -> Edge<'g> {
    let (kind, via) = (EdgeType::IS_NAMESPACE_OF, "metadata.namespace");
    Edge { from: namespace, to: id, kind, via, strength: Strength::Required, through: None }
}

fn defines<'g>(definition: Id, id: Id) -> Edge<'g> {
    let (kind, via) = (EdgeType::DEFINES_KIND, "spec.names.kind");
    Edge { from: definition, to: id, kind, via, strength: Strength::Required, through: None }
}

/// Returns the group and kind that a CustomResourceDefinition defines.
fn defined_kind(node: &GraphNode) -> Option<(&str, &str)> {
    let spec = node.object.as_ref().filter(|_| node.kind == "CustomResourceDefinition")?.get("spec")?;
    Some((spec.get("group")?.as_str()?, spec.at(&["names", "kind"])?.as_str()?))
}
