//! Near misses: objects that a relationship would be with, if a label, a name or a namespace were another.
//!
//! A Service that selects nothing usually selects a label that was renamed. This finds the object with the nearest labels.

mod selector;

use std::cmp::Reverse;
use std::collections::HashMap;

use kubewright_graph::{Graph, GraphNode, Id, Sort};
use kubewright_k8s::{LabelRequirement, LabelSelector};
use kubewright_value::suggest::edit_distance;
use kubewright_value::{Budget, Exhausted, Text, Value};

use super::criteria::Basis;
use super::key::ElementFrame;
use super::pattern::{
    EdgeDirection, KindRef, Pattern, PatternRelationship, Presence, RelationshipLink, Role,
};
use super::relate::EdgeOptions;
use kubewright_value::CompactSort as _;
use selector::{differs, pod_labels_of, selector_field};

/// The near misses of a relationship that does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NearMisses {
    /// The id of the resource that is missing at the other end.
    pub role: Text,
    /// Its kinds in words: `Pod`, `Pod or Deployment`; `object` for more than two.
    pub kinds: String,
    /// The namespace that was searched; empty for all.
    pub namespace: Text,
    /// How many objects of these kinds are there.
    pub looked_at: usize,
    /// Whether the labels that differ are those of the leader, and the objects have the selectors.
    pub is_selected: bool,
    /// The nearest ones, the nearest first.
    pub near: Vec<NearMiss>,
}

/// An object that nearly matches.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NearMiss {
    /// The object.
    pub id: Id,
    /// Why it does not match.
    pub miss: MissReason,
}

/// Why an object does not match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MissReason {
    /// Labels are not as the selector wants them.
    Labels(Vec<LabelDifference>),
    /// The filter of its resource leaves it out.
    LeftOut,
    /// It is in another namespace.
    Elsewhere,
    /// It is named, and is not among the objects.
    Absent,
    /// There is such an edge, but not in the direction, of the strength or by the field that the pattern asks for.
    Edge,
    /// There is such an edge, but the criteria do not hold.
    Criteria,
    /// Both have such an edge, and with different objects: the first is that of the leader.
    Apart {
        /// The neighbour of the leader.
        own: Id,
        /// The neighbour of the object.
        theirs: Id,
        /// The type of the edges.
        relationship: Text,
    },
}

/// A label that is not as a selector wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LabelDifference {
    /// The label.
    pub label: Text,
    /// The requirement of the selector: `app=web`, `tier in (a, b)`, `!legacy`.
    pub wanted: String,
    /// The value of the label, if the object has it.
    pub found: Option<Text>,
}

/// Looks for up to `most` objects that nearly are in the relationship `entry` of `pattern` with `leader`. Nothing
/// if the relationship does not depend on labels or names, or does not include the leader.
///
/// # Errors
/// When the budget is used up.
pub fn near_misses(
    pattern: &Pattern,
    entry: &str,
    leader: Id,
    graph: &Graph,
    most: usize,
    budget: &mut Budget,
) -> Result<Option<NearMisses>, Exhausted> {
    let Some(entry) = pattern.entries.iter().find(|known| known.id == entry) else { return Ok(None) };
    let other = entry.pairs.iter().find_map(|(one, other)| match pattern.leader {
        leader if leader == *one => Some((*other, true)),
        leader if leader == *other => Some((*one, false)),
        _ => None,
    });
    let Some((other, is_first)) = other else { return Ok(None) };
    let Some(role) = pattern.roles.get(other) else { return Ok(None) };
    let Some(node) = graph.node(leader).filter(|_| role.presence == Presence::Present) else {
        return Ok(None);
    };
    let search = NearMissSearch { entry, role, graph, leader: node, is_first };
    let mut found = match search.by_labels(budget)? {
        Some(found) => found,
        None => match search.by_edges(leader, budget)? {
            Some(found) => found,
            None => match search.by_neighbours(leader, budget)? {
                Some(found) => found,
                None => return Ok(None),
            },
        },
    };
    found.near.truncate(most);
    Ok(Some(found))
}

struct NearMissSearch<'s> {
    entry: &'s PatternRelationship,
    role: &'s Role,
    graph: &'s Graph,
    leader: &'s GraphNode,
    /// Whether the leader is the first of the two ids.
    is_first: bool,
}

impl NearMissSearch<'_> {
    /// Looks for objects that a selector of the leader nearly selects, or whose selectors nearly select the leader.
    fn by_labels(&self, budget: &mut Budget) -> Result<Option<NearMisses>, Exhausted> {
        let own = self.selector(self.leader, true, budget)?;
        let own_labels = pod_labels_of(self.leader);
        let (mut looked_at, mut has_selectors) = (0, false);
        let mut near: Vec<(Rank, NearMiss)> = Vec::new();
        for id in self.candidates() {
            budget.step(8)?;
            let Some(node) = self.graph.node(id) else { continue };
            let is_here = node.namespace == self.leader.namespace;
            looked_at += usize::from(is_here);
            let (requirements, labels) = match &own {
                Some(own) => (own.clone(), pod_labels_of(node)),
                None => match self.selector(node, false, budget)? {
                    Some(theirs) => (theirs, own_labels),
                    None => continue,
                },
            };
            has_selectors = true;
            let differences: Vec<LabelDifference> =
                requirements.iter().filter_map(|requirement| differs(requirement, labels)).collect();
            let miss = match (differences.is_empty(), is_here) {
                (true, true) if self.is_left_out(node, budget)? => MissReason::LeftOut,
                // It fits, and something else is in the way.
                (true, true) => continue,
                (true, false) => MissReason::Elsewhere,
                (false, true) => MissReason::Labels(differences),
                (false, false) => continue,
            };
            let rank = Rank::of(&miss, requirements.len(), self.graph.rank(id));
            near.push((rank, NearMiss { id, miss }));
        }
        if own.is_none() && !has_selectors {
            return Ok(None);
        }
        near.compact_sort_by(|one, other| one.0.cmp(&other.0));
        // An object that has nothing of what is wanted is not near.
        let near = near.into_iter().filter(|(rank, _)| rank.is_near).map(|(_, near)| near).collect();
        Ok(Some(NearMisses { is_selected: own.is_none(), ..self.nearest(looked_at, near) }))
    }

    /// Looks for objects that the leader has such an edge with, and that do not fit all the same.
    fn by_edges(&self, leader: Id, budget: &mut Budget) -> Result<Option<NearMisses>, Exhausted> {
        let RelationshipLink::Edge { types, options } = &self.entry.link else { return Ok(None) };
        let kinds = types.names.iter().filter_map(|name| self.graph.edge_type(name));
        // The other ends in their order, and whether any edge with each counts.
        let (mut linked, mut counted): (Vec<Id>, HashMap<Id, bool>) = Default::default();
        for kind in kinds {
            let out = self.graph.out(leader, kind).map(|edge| (edge, true));
            for (edge, is_out) in out.chain(self.graph.incoming(leader, kind).map(|edge| (edge, false))) {
                budget.step(1)?;
                let other = if is_out { edge.to } else { edge.from };
                if self.graph.node(other).is_some_and(|node| is_of_kind_refs(&self.role.kinds, node)) {
                    let counts = options.counts(&edge, self.graph) && self.is_direction(options, is_out);
                    if !counted.contains_key(&other) {
                        linked.push(other);
                    }
                    *counted.entry(other).or_default() |= counts;
                }
            }
        }
        let mut near: Vec<NearMiss> = Vec::new();
        for id in linked {
            let Some(node) = self.graph.node(id) else { continue };
            let counts = counted.get(&id).copied().unwrap_or_default();
            let miss = match node.sort {
                Sort::Absent => MissReason::Absent,
                _ if self.is_left_out(node, budget)? => MissReason::LeftOut,
                _ if !counts => MissReason::Edge,
                _ if options.criteria.is_some() => MissReason::Criteria,
                // It fits, and something else is in the way.
                _ => continue,
            };
            near.push(NearMiss { id, miss });
        }
        let is_here =
            |id: &Id| self.graph.node(*id).is_some_and(|node| node.namespace == self.leader.namespace);
        let looked_at = self.candidates().filter(is_here).count();
        Ok((!near.is_empty()).then(|| self.nearest(looked_at, near)))
    }

    /// Looks for objects whose neighbours are called nearly as those of the leader, where both must have one in common.
    fn by_neighbours(&self, leader: Id, budget: &mut Budget) -> Result<Option<NearMisses>, Exhausted> {
        let RelationshipLink::Common { types, .. } = &self.entry.link else { return Ok(None) };
        let (mut near, mut looked_at) = (Vec::new(), 0);
        for name in &types.names {
            let Some(kind) = self.graph.edge_type(name) else { continue };
            let own: Vec<Id> = self.graph.out(leader, kind).map(|edge| edge.to).collect();
            for id in self.candidates().filter(|id| *id != leader) {
                budget.step(1 + own.len() as u64)?;
                let Some(node) = self.graph.node(id) else { continue };
                if node.namespace != self.leader.namespace || self.is_left_out(node, budget)? {
                    continue;
                }
                looked_at += 1;
                let theirs = self.graph.out(id, kind).map(|edge| edge.to);
                let pairs = theirs.flat_map(|theirs| own.iter().map(move |own| (*own, theirs)));
                let nearest =
                    pairs.filter_map(|pair| Some((self.distance(pair)?, pair))).min_by_key(|one| one.0);
                if let Some((distance, (own, theirs))) = nearest {
                    let relationship = name.clone();
                    near.push((
                        distance,
                        NearMiss { id, miss: MissReason::Apart { own, theirs, relationship } },
                    ));
                }
            }
        }
        near.compact_sort_by(|one, other| one.0.cmp(&other.0));
        let near: Vec<NearMiss> = near.into_iter().map(|(_, near)| near).collect();
        Ok((!near.is_empty()).then(|| self.nearest(looked_at, near)))
    }

    /// Returns how much the names of two objects of one kind differ; nothing for what is not an object.
    fn distance(&self, (own, theirs): (Id, Id)) -> Option<usize> {
        let (own, theirs) = (self.graph.node(own)?, self.graph.node(theirs)?);
        let are_objects = own.sort != Sort::Virtual && theirs.sort != Sort::Virtual;
        let is_pair = are_objects && own.kind == theirs.kind && own.name != theirs.name;
        is_pair.then(|| edit_distance(&own.name, &theirs.name))
    }

    /// Returns whether an edge that leads away from the leader, or to it, leads as the pattern asks.
    fn is_direction(&self, options: &EdgeOptions, is_out: bool) -> bool {
        match options.direction {
            EdgeDirection::Any => true,
            EdgeDirection::Forward => is_out == self.is_first,
            EdgeDirection::Backward => is_out != self.is_first,
        }
    }

    fn nearest(&self, looked_at: usize, near: Vec<NearMiss>) -> NearMisses {
        let kinds: Vec<&str> = self.kinds().collect();
        NearMisses {
            role: self.role.id.clone(),
            kinds: if kinds.len() > 2 { "object".to_owned() } else { kinds.join(" or ") },
            namespace: self.leader.namespace.clone(),
            looked_at,
            is_selected: false,
            near,
        }
    }

    fn kinds(&self) -> impl Iterator<Item = &str> {
        self.role.kinds.iter().filter_map(|kind| match kind {
            KindRef::Kind { kind, .. } => kind.as_deref(),
            KindRef::Category(_) => None,
        })
    }

    /// Returns the objects of the kinds of the other resource, whatever its filter says.
    fn candidates(&self) -> impl Iterator<Item = Id> {
        let fits = |id: &Id| {
            let node = self.graph.node(*id);
            node.is_some_and(|node| node.sort == Sort::Object && is_of_kind_refs(&self.role.kinds, node))
        };
        self.kinds().flat_map(|kind| self.graph.of_kind(kind)).copied().filter(fits)
    }

    fn is_left_out(&self, node: &GraphNode, budget: &mut Budget) -> Result<bool, Exhausted> {
        let Some(object) = self.role.object_of(node) else { return Ok(true) };
        Ok(!self.role.filter.passes(&object, &ElementFrame::default(), budget, &mut false)?)
    }

    /// Returns what the selector of an object asks for, where the relationship is one of selecting.
    fn selector(
        &self,
        node: &GraphNode,
        is_leader: bool,
        budget: &mut Budget,
    ) -> Result<Option<Vec<LabelRequirement>>, Exhausted> {
        let Some(object) = &node.object else { return Ok(None) };
        let found = match &self.entry.link {
            RelationshipLink::Edge { types, .. } => {
                let field = types.names.iter().find_map(|name| selector_field(name, node));
                field.and_then(|field| object.at(&["spec", field]))
            }
            RelationshipLink::Common { .. } => None,
            RelationshipLink::Criteria(criteria) => match (&criteria.basis, is_leader) {
                (Basis::Selects(key), true) | (Basis::SelectedBy(key), false) => {
                    key.values(object, &ElementFrame::default(), budget)?.first().copied()
                }
                _ => None,
            },
        };
        Ok(found
            .and_then(Value::as_object)
            .map(|map| LabelSelector::read_leniently(map).requirements)
            .filter(|all| !all.is_empty()))
    }
}

fn is_of_kind_refs(kinds: &[KindRef], node: &GraphNode) -> bool {
    kinds.iter().any(|known| match known {
        KindRef::Kind { kind, group, .. } => {
            kind.as_ref().is_none_or(|kind| *kind == node.kind)
                && group.as_ref().is_none_or(|group| group == node.group())
        }
        KindRef::Category(_) => false,
    })
}

/// How near something is; less is nearer.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    // Fits but for its namespace or a filter: 0.
    differences: usize,
    /// How much of the wanted values is there.
    alike: Reverse<usize>,
    order: u64,
    is_near: bool,
}

impl Rank {
    fn of(miss: &MissReason, requirements: usize, order: u64) -> Self {
        let MissReason::Labels(differences) = miss else {
            return Self { differences: 0, alike: Reverse(0), order, is_near: true };
        };
        let alike = |difference: &LabelDifference| {
            let wanted = difference.wanted.split_once('=').map_or("", |(_, value)| value);
            let found = difference.found.as_deref().unwrap_or_default();
            wanted.chars().zip(found.chars()).take_while(|(one, other)| one == other).count()
        };
        let has_label = differences.iter().any(|difference| difference.found.is_some());
        Self {
            differences: differences.len(),
            alike: Reverse(differences.iter().map(alike).sum()),
            order,
            is_near: has_label || differences.len() < requirements,
        }
    }
}

impl NearMisses {
    /// Returns the hint in one line: ``3 Pods in `shop`, nearest: `web-2` has app=web-2 instead of app=web``.
    #[must_use]
    pub fn hint(&self, graph: &Graph) -> String {
        let plural = if self.looked_at == 1 { "" } else { "s" };
        let count = match self.looked_at {
            0 => format!("no {}", self.kinds),
            count => format!("{count} {}{plural}", self.kinds),
        };
        let place = match self.namespace.as_str() {
            "" => String::new(),
            namespace => format!(" in `{namespace}`"),
        };
        let near: Vec<String> = self.near.iter().filter_map(|near| self.hint_for(near, graph)).collect();
        match near.as_slice() {
            [] => format!("{count}{place}"),
            near => format!("{count}{place}, nearest: {}", near.join("; ")),
        }
    }

    fn hint_for(&self, near: &NearMiss, graph: &Graph) -> Option<String> {
        let node = graph.node(near.id)?;
        Some(match &near.miss {
            MissReason::Labels(differences) => {
                let one = |difference: &LabelDifference| match (&difference.found, self.is_selected) {
                    (Some(found), false) => {
                        format!("{}={found} instead of {}", difference.label, difference.wanted)
                    }
                    (Some(found), true) => {
                        format!("{} instead of {}={found}", difference.wanted, difference.label)
                    }
                    (None, false) => format!("no {}", difference.wanted),
                    (None, true) => difference.wanted.clone(),
                };
                let all: Vec<String> = differences.iter().map(one).collect();
                let does = if self.is_selected { "wants" } else { "has" };
                format!("`{}` {does} {}", node.name, all.join(" and "))
            }
            MissReason::LeftOut => format!("`{}`, which the filter of `{}` leaves out", node.name, self.role),
            MissReason::Elsewhere => format!("`{}` in `{}` would match", node.name, node.namespace),
            MissReason::Absent => format!("`{}` is referred to and absent", node.name),
            MissReason::Edge => format!("`{}`, but with another direction, strength or field", node.name),
            MissReason::Criteria => format!("`{}`, but the criteria do not hold", node.name),
            MissReason::Apart { own, theirs, relationship } => {
                let label = |id: Id| graph.node(id).map(|node| format!("{} `{}`", node.kind, node.name));
                format!("`{}` {relationship} {} instead of {}", node.name, label(*theirs)?, label(*own)?)
            }
        })
    }
}

#[cfg(test)]
mod tests;
