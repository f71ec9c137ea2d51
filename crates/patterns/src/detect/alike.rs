//! A cache of results that are equal for many objects, because the same selectors select them.
//!
//! 2,000 Pods behind 2,000 Services are four million edges, and yet all Pods with the same labels have the same ones. So the
//! witnesses of a leader are kept for all leaders that are alike, what two objects may have in common is kept once for all that
//! are alike, and a witness that leads nowhere is tried once.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use kubewright_graph::{Edge, EdgeType, Graph, Id, SelectionKey};
use kubewright_value::{Budget, Exhausted};

use super::super::pattern::{RelationshipEffect, RelationshipLink, Topology};
use super::super::relate::EdgeOptions;
use super::{ActorBinding, PatternSearch};

/// Results that are reused within one search.
#[derive(Debug, Default)]
pub(super) struct SelectionCache {
    /// The binding of the other roles, by the key of the leader; none if there is no binding.
    bindings: HashMap<LeaderKey, Option<ActorBinding>>,
    /// The objects that can fill the other roles, by the key of the leader.
    pub(super) witnesses: HashMap<LeaderKey, Rc<Witnesses>>,
    /// By entry: what an object may have in common with others.
    neighbours: HashMap<(usize, SelectionKey), Rc<Vec<Id>>>,
    /// By entry: the first of the neighbours that are alike.
    representatives: HashMap<(usize, SelectionKey), Id>,
    /// Objects with which the roles after a step cannot be filled, for any leader.
    pub(super) dead_ends: HashSet<(usize, Id)>,
    /// By role: everything of an object that criteria compare, as text.
    pub(super) profiles: HashMap<(usize, Id), Rc<str>>,
}

/// The objects that can fill each role, in canonical order.
pub(super) type Witnesses = Vec<(usize, Vec<Id>)>;

/// The selections that make the required relationships of a leader.
pub(super) type LeaderKey = Vec<SelectionKey>;

impl PatternSearch<'_> {
    /// Returns a key that leaders have in common whose required relationships are the same. Nothing where it cannot be known.
    pub(super) fn leader_key(&self, leader: Id) -> Option<LeaderKey> {
        let pattern = self.pattern;
        let witnesses = self.plan.steps.get(1..)?;
        let may_be_witness =
            |role: usize| self.candidates.get(role).is_some_and(|candidates| candidates.contains(leader));
        let is_alone = witnesses.is_empty() || witnesses.iter().any(|step| may_be_witness(step.role));
        if pattern.topology != Topology::Single || is_alone || !self.frame.is_empty() {
            return None;
        }
        let mut key = Vec::new();
        for (at, entry) in pattern.entries.iter().enumerate() {
            let names = |pair: &(usize, usize)| pair.0 == pattern.leader || pair.1 == pattern.leader;
            if entry.rule != RelationshipEffect::Mandatory || !entry.pairs.iter().any(names) {
                continue;
            }
            match &entry.link {
                RelationshipLink::Edge { options, .. } if options.is_plain() => {}
                _ => return None,
            }
            for kind in self.types.get(at)?.iter() {
                key.push(self.graph.selection_key(leader, *kind)?);
            }
        }
        Some(key)
    }

    /// Returns the binding of `leader` that is known from another one that is alike; inside of it nothing where there is none.
    pub(super) fn known_binding(&self, key: &LeaderKey, leader: Id) -> Option<Option<ActorBinding>> {
        let known = self.alike.bindings.get(key)?;
        Some(known.clone().map(|mut binding| {
            if let Some(slot) = binding.get_mut(self.pattern.leader) {
                *slot = Some(leader);
            }
            binding
        }))
    }

    /// Keeps the binding of a leader for others that are alike.
    pub(super) fn keep_binding(&mut self, key: LeaderKey, binding: Option<ActorBinding>) {
        self.alike.bindings.insert(key, binding);
    }

    /// Returns what an object may have in common with others in `entry`: in canonical order, and of neighbours that are alike
    /// only the first.
    pub(super) fn neighbours(
        &mut self,
        entry: usize,
        id: Id,
        options: &EdgeOptions,
        budget: &mut Budget,
    ) -> Result<Rc<Vec<Id>>, Exhausted> {
        budget.step(1)?;
        let types = self.types.get(entry).map_or_else(Default::default, Rc::clone);
        let kind = match types.as_ref() {
            [kind] if !options.tests_edges() => Some(*kind),
            _ => None,
        };
        let key = kind.and_then(|kind| Some((entry, self.graph.selection_key(id, kind)?)));
        if let Some(known) = key.as_ref().and_then(|key| self.alike.neighbours.get(key)) {
            return Ok(Rc::clone(known));
        }
        let mut ids = shared_neighbours(self.graph, id, &types, options, budget)?;
        if let Some(kind) = kind {
            ids.retain(|neighbour| self.is_first_alike(entry, *neighbour, kind));
        }
        let ids = Rc::new(ids);
        if let Some(key) = key {
            self.alike.neighbours.insert(key, Rc::clone(&ids));
        }
        Ok(ids)
    }

    /// Returns whether `id` is the first of its equal neighbours. A neighbour that may fill a role itself always is.
    fn is_first_alike(&mut self, entry: usize, id: Id, kind: EdgeType) -> bool {
        let pairs = self.pattern.entries.get(entry).map_or(&[][..], |entry| entry.pairs.as_slice());
        let mut roles = pairs.iter().flat_map(|(one, other)| [*one, *other]);
        if roles.any(|role| self.candidates.get(role).is_some_and(|found| found.contains(id))) {
            return true;
        }
        let Some(key) = self.graph.selection_key(id, kind) else { return true };
        // Equal objects have the same neighbours, so the first one found is the first of all.
        *self.alike.representatives.entry((entry, key)).or_insert(id) == id
    }
}

/// Returns who has `shared` in common with others through edges of one of `types`, in canonical order: the opposite of
/// [`shared_neighbours`].
pub(super) fn sharers(
    graph: &Graph,
    shared: Id,
    types: &[EdgeType],
    options: &EdgeOptions,
    budget: &mut Budget,
) -> Result<Vec<Id>, Exhausted> {
    let counts = |edge: &Edge<'_>| options.counts(edge, graph);
    let mut ids: Vec<Id> = Vec::new();
    for kind in types {
        let is_network = *kind == EdgeType::SAME_NETWORK;
        let wanted = if is_network { EdgeType::ISOLATES } else { *kind };
        let (out, into) = (graph.out(shared, wanted), graph.incoming(shared, wanted));
        budget.step((out.work() + into.work()) as u64)?;
        if !is_network && *kind != EdgeType::IS_NAMESPACE_OF {
            ids.extend(into.filter(counts).map(|edge| edge.from));
        }
        if *kind != EdgeType::HAS_AFFINITY_TO {
            ids.extend(out.filter(counts).map(|edge| edge.to));
        }
    }
    budget.step(ids.len() as u64)?;
    graph.sort_by_rank(&mut ids);
    ids.dedup();
    Ok(ids)
}

/// Returns what an object may have in common with others through edges of one of `types`.
fn shared_neighbours(
    graph: &Graph,
    id: Id,
    types: &[EdgeType],
    options: &EdgeOptions,
    budget: &mut Budget,
) -> Result<Vec<Id>, Exhausted> {
    let [kind] = types else {
        let mut ids: Vec<Id> = Vec::new();
        for kind in types {
            ids.extend(shared_neighbours(graph, id, std::slice::from_ref(kind), options, budget)?);
        }
        graph.sort_by_rank(&mut ids);
        ids.dedup();
        return Ok(ids);
    };
    // One policy that selects both; that a policy lets one call the other makes them no members of it.
    let is_network = *kind == EdgeType::SAME_NETWORK;
    let wanted = if is_network { EdgeType::ISOLATES } else { *kind };
    let goes_out = !is_network && *kind != EdgeType::IS_NAMESPACE_OF;
    let counts = |edge: &Edge<'_>| options.counts(edge, graph);
    let mut ids: Vec<Id> = Vec::new();
    if goes_out {
        let edges = graph.out(id, wanted);
        budget.step(edges.work() as u64)?;
        ids.extend(edges.filter(counts).map(|edge| edge.to));
    }
    if *kind != EdgeType::HAS_AFFINITY_TO {
        let edges = graph.incoming(id, wanted);
        budget.step(edges.work() as u64)?;
        ids.extend(edges.filter(counts).map(|edge| edge.from));
    }
    budget.step(ids.len() as u64)?;
    if goes_out {
        if !ids.is_sorted_by_key(|id| graph.rank(*id)) {
            graph.sort_by_rank(&mut ids);
        }
        ids.dedup();
    }
    Ok(ids)
}
