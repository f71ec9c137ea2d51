//! Whether a relationship holds between two objects, and with whom it holds for one.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use kubewright_graph::{Edge, EdgeType, Graph, Id};
use kubewright_value::{Budget, Exhausted, Text};

use super::super::pattern::{EdgeDirection, PatternRelationship, RelationshipLink};
use super::super::relate::EdgeOptions;
use super::agreement::ValueIndex;
use super::candidates::Candidates;
use super::{ActorBinding, PatternSearch, alike, edges};

/// How many neighbours are compared in one step.
const NEIGHBOURS_PER_STEP: usize = 16;

/// Lists of candidates by what they have, made when an entry first needs them.
#[derive(Debug, Default)]
pub(super) struct Buckets {
    /// By role and neighbour: the candidates of the role that have the neighbour.
    common: HashMap<usize, HashMap<Id, Rc<Vec<Id>>>>,
    /// For criteria, by role and namespace, which is empty for all: the candidates by a value that the other object must have too.
    pub(super) values: HashMap<(usize, Text), Option<Rc<ValueIndex>>>,
}

/// Candidates in canonical order, in one or several sorted lists.
#[derive(Debug, Default)]
pub(super) struct Adjacent {
    /// Each with the object that it is the list of, which is never in it.
    lists: Vec<(Option<Id>, Rc<Vec<Id>>)>,
}

/// The two ends between which a relationship holds.
#[derive(Debug, Clone, Copy)]
pub(super) struct HeldLink {
    pub(super) from: Id,
    pub(super) to: Id,
    pub(super) through: Option<Id>,
    /// Whether the edge had to lead away from `from`; nothing where both ways would do.
    pub(super) way: Option<bool>,
    /// The type of the edge, where there is one.
    pub(super) kind: Option<EdgeType>,
}

impl PatternSearch<'_> {
    /// Returns whether `entry` is there for `binding`: between bound objects, or with some candidate for a role that
    /// is not bound. Gives the objects of its last pair.
    pub(super) fn holds(
        &mut self,
        entry: usize,
        binding: &ActorBinding,
        budget: &mut Budget,
    ) -> Result<Option<HeldLink>, Exhausted> {
        let Some(found) = self.pattern.entries.get(entry) else { return Ok(None) };
        let mut last = None;
        for (one, other) in &found.pairs {
            // Where several are wanted, which of them is bound does not matter.
            let counts = |role: &usize| found.at_least == 1 || self.pattern.is_bound(*role);
            let bound = |role: &usize| binding.get(*role).copied().flatten().filter(|_| counts(role));
            let held = match (bound(one), bound(other)) {
                (Some(a), Some(b)) => self.linked(entry, (*one, a), (*other, b), budget)?,
                (Some(a), None) => self.some(entry, (*one, a), *other, budget)?,
                (None, Some(b)) => self.some(entry, (*other, b), *one, budget)?,
                (None, None) => self.anywhere(entry, *one, *other, budget)?,
            };
            let Some(held) = held else { return Ok(None) };
            last = Some(held);
        }
        Ok(last)
    }

    /// Returns how `entry` links two objects.
    pub(super) fn linked(
        &mut self,
        entry: usize,
        (one, a): (usize, Id),
        (other, b): (usize, Id),
        budget: &mut Budget,
    ) -> Result<Option<HeldLink>, Exhausted> {
        budget.step(1)?;
        let Some(found) = self.pattern.entries.get(entry) else { return Ok(None) };
        if a == b && !self.pattern.allows_same {
            return Ok(None);
        }
        let held = match &found.link {
            RelationshipLink::Edge { options, .. } => {
                let way = outward(found, options.direction, one);
                let mut held = None;
                for kind in self.types.get(entry).into_iter().flat_map(|types| types.iter()) {
                    let through = edges::link_through(self.graph, *kind, options, way, (a, b), budget)?;
                    held =
                        through.map(|through| HeldLink { from: a, to: b, through, way, kind: Some(*kind) });
                    if held.is_some() {
                        break;
                    }
                }
                held
            }
            RelationshipLink::Common { options, .. } => {
                let mine = self.neighbours(entry, a, options, budget)?;
                let theirs = self.neighbours(entry, b, options, budget)?;
                budget.step((mine.len() / NEIGHBOURS_PER_STEP) as u64)?;
                let rank = |id: &Id| self.graph.rank(*id);
                let is_theirs = |id: &Id| theirs.binary_search_by_key(&rank(id), rank).is_ok();
                let through = mine.iter().copied().find(|id| *id != a && *id != b && is_theirs(id));
                through.map(|through| HeldLink {
                    from: a,
                    to: b,
                    through: Some(through),
                    way: None,
                    kind: None,
                })
            }
            RelationshipLink::Criteria(_) => {
                Some(HeldLink { from: a, to: b, through: None, way: None, kind: None })
            }
        };
        match (held, found.link.criteria()) {
            (Some(held), Some(criteria)) => {
                let holds = self.meets(entry, criteria, (one, a), (other, b), budget)?;
                Ok(holds.then_some(held))
            }
            _ => Ok(held),
        }
    }

    /// Returns the first candidate of `to` that `entry` links with an object.
    fn some(
        &mut self,
        entry: usize,
        (from, a): (usize, Id),
        to: usize,
        budget: &mut Budget,
    ) -> Result<Option<HeldLink>, Exhausted> {
        let Some(found) = self.pattern.entries.get(entry) else { return Ok(None) };
        let is_empty = self
            .candidates
            .get(to)
            .is_none_or(|candidates| !candidates.is_on_demand() && candidates.ids().is_empty());
        if is_empty {
            return Ok(None);
        }
        if let RelationshipLink::Edge { options, .. } = &found.link
            && !options.is_transitive
            && options.criteria.is_none()
        {
            if !self.has_enough(entry, found, options, (from, a), to, budget)? {
                return Ok(None);
            }
            let Some(candidates) = self.candidates.get(to) else { return Ok(None) };
            let is_fine = |id: Id| candidates.contains(id) && (id != a || self.pattern.allows_same);
            let way = outward(found, options.direction, from);
            let mut best: Option<HeldLink> = None;
            for kind in self.types.get(entry).into_iter().flat_map(|types| types.iter()) {
                let (out, into) = edge_ends(self.graph, found, options, *kind, (from, a), budget)?;
                // Each direction comes in canonical order, so the first of each is enough.
                let firsts = [first_common(out, is_fine, budget)?, first_common(into, is_fine, budget)?];
                for to in firsts.into_iter().flatten() {
                    if best.is_none_or(|best| self.graph.rank(to) < self.graph.rank(best.to)) {
                        best = Some(HeldLink { from: a, to, through: None, way, kind: Some(*kind) });
                    }
                }
            }
            return Ok(best);
        }
        if let RelationshipLink::Criteria(criteria) = &found.link
            && found.at_least == 1
        {
            let first = self.first_agreeing(entry, criteria, (from, a), to, budget)?;
            return Ok(first.map(|to| HeldLink { from: a, to, through: None, way: None, kind: None }));
        }
        let adjacent = self.adjacent(entry, (from, a), to, budget)?;
        let mut others = adjacent.iter(self.graph).filter(|id| *id != a || self.pattern.allows_same);
        let Some(first) = others.next() else { return Ok(None) };
        if found.at_least > 1 {
            budget.step(found.at_least as u64)?;
            if others.nth(found.at_least - 2).is_none() {
                return Ok(None);
            }
        }
        drop(others);
        self.linked(entry, (from, a), (to, first), budget)
    }

    /// Returns whether `found`, which is entry number `entry`, links an object with as many candidates of `to` as it asks for.
    fn has_enough(
        &self,
        entry: usize,
        found: &PatternRelationship,
        options: &EdgeOptions,
        (from, a): (usize, Id),
        to: usize,
        budget: &mut Budget,
    ) -> Result<bool, Exhausted> {
        let Some(candidates) = self.candidates.get(to).filter(|_| found.at_least > 1) else {
            return Ok(true);
        };
        let mut different = HashSet::new();
        for kind in self.types.get(entry).into_iter().flat_map(|types| types.iter()) {
            let (out, into) = edge_ends(self.graph, found, options, *kind, (from, a), budget)?;
            for id in out.chain(into) {
                budget.step(1)?;
                let is_fine = candidates.contains(id) && (id != a || self.pattern.allows_same);
                if is_fine && different.insert(id) && different.len() >= found.at_least {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Returns whether `entry` links any two candidates at all.
    fn anywhere(
        &mut self,
        entry: usize,
        one: usize,
        other: usize,
        budget: &mut Budget,
    ) -> Result<Option<HeldLink>, Exhausted> {
        let candidate = |search: &Self, at: usize| search.candidates.get(one)?.ids().get(at).copied();
        let mut at = 0;
        while let Some(id) = candidate(self, at) {
            at += 1;
            budget.step(1)?;
            if let Some(held) = self.some(entry, (one, id), other, budget)? {
                return Ok(Some(held));
            }
        }
        Ok(None)
    }

    /// Returns the candidates of `to` that `entry` links with an object.
    pub(super) fn adjacent(
        &mut self,
        entry: usize,
        (from, a): (usize, Id),
        to: usize,
        budget: &mut Budget,
    ) -> Result<Adjacent, Exhausted> {
        let Some(found) = self.pattern.entries.get(entry) else { return Ok(Adjacent::default()) };
        let adjacent = self.adjacent_by_link(entry, found, (from, a), to, budget)?;
        let Some(criteria) = found.link.options().and_then(|options| options.criteria.as_deref()) else {
            return Ok(adjacent);
        };
        let mut ids = Vec::new();
        for id in adjacent.iter(self.graph) {
            if self.meets(entry, criteria, (from, a), (to, id), budget)? {
                ids.push(id);
            }
        }
        Ok(Adjacent { lists: vec![(None, Rc::new(ids))] })
    }

    /// Returns the candidates of `to` that the link of `entry` leads to, whatever else is compared.
    fn adjacent_by_link(
        &mut self,
        entry: usize,
        found: &PatternRelationship,
        (from, a): (usize, Id),
        to: usize,
        budget: &mut Budget,
    ) -> Result<Adjacent, Exhausted> {
        match &found.link {
            RelationshipLink::Edge { options, .. } => {
                let Some(candidates) = self.candidates.get(to) else { return Ok(Adjacent::default()) };
                let mut ids = Vec::new();
                if options.is_transitive {
                    let way = outward(found, options.direction, from);
                    let mut reached = Vec::new();
                    for owned in [true, false].into_iter().filter(|owned| way != Some(!owned)) {
                        reached.extend(edges::reached_by_ownership(self.graph, a, owned, budget)?);
                    }
                    ids.extend(reached.into_iter().filter(|id| candidates.contains(*id)));
                } else {
                    for kind in self.types.get(entry).into_iter().flat_map(|types| types.iter()) {
                        let (out, into) = edge_ends(self.graph, found, options, *kind, (from, a), budget)?;
                        for id in out.chain(into) {
                            budget.step(1)?;
                            if candidates.contains(id) {
                                ids.push(id);
                            }
                        }
                    }
                }
                if !ids.is_sorted_by_key(|id| self.graph.rank(*id)) {
                    self.graph.sort_by_rank(&mut ids);
                }
                ids.dedup();
                Ok(Adjacent { lists: vec![(None, Rc::new(ids))] })
            }
            RelationshipLink::Common { options, .. } => {
                if self.candidates.get(to).is_some_and(Candidates::is_on_demand) {
                    return self.sharing(entry, options, a, to, budget);
                }
                self.fill_common(entry, to, options, budget)?;
                let neighbours = self.neighbours(entry, a, options, budget)?;
                let lists = self.buckets.get(entry).and_then(|buckets| buckets.common.get(&to));
                let list = |id: Id| Some((Some(id), Rc::clone(lists?.get(&id)?)));
                let lists = neighbours.iter().copied().filter(|id| *id != a).filter_map(list).collect();
                Ok(Adjacent { lists })
            }
            RelationshipLink::Criteria(criteria) => {
                let ids = self.agreeing(entry, criteria, (from, a), to, budget)?;
                Ok(Adjacent { lists: vec![(None, Rc::new(ids))] })
            }
        }
    }

    /// Returns the candidates of `to` that have something in common with an object, found from what it has.
    fn sharing(
        &mut self,
        entry: usize,
        options: &EdgeOptions,
        a: Id,
        to: usize,
        budget: &mut Budget,
    ) -> Result<Adjacent, Exhausted> {
        let types = self.types.get(entry).map_or_else(Default::default, Rc::clone);
        let neighbours = self.neighbours(entry, a, options, budget)?;
        let mut lists = Vec::new();
        for shared in neighbours.iter().copied().filter(|id| *id != a) {
            let mut ids = alike::sharers(self.graph, shared, &types, options, budget)?;
            ids.retain(|id| {
                *id != shared && self.candidates.get(to).is_some_and(|found| found.contains(*id))
            });
            lists.push((Some(shared), Rc::new(ids)));
        }
        Ok(Adjacent { lists })
    }

    fn fill_common(
        &mut self,
        entry: usize,
        role: usize,
        options: &EdgeOptions,
        budget: &mut Budget,
    ) -> Result<(), Exhausted> {
        if self.buckets.get(entry).is_none_or(|buckets| buckets.common.contains_key(&role)) {
            return Ok(());
        }
        let mut lists: HashMap<Id, Vec<Id>> = HashMap::new();
        let candidates = self.candidates.get(role).map(|found| found.ids().to_vec()).unwrap_or_default();
        for id in candidates {
            let neighbours = self.neighbours(entry, id, options, budget)?;
            budget.step(neighbours.len() as u64)?;
            for neighbour in neighbours.iter().filter(|neighbour| **neighbour != id) {
                lists.entry(*neighbour).or_default().push(id);
            }
        }
        if let Some(buckets) = self.buckets.get_mut(entry) {
            buckets.common.insert(role, lists.into_iter().map(|(id, list)| (id, Rc::new(list))).collect());
        }
        Ok(())
    }
}

impl Adjacent {
    /// Returns how many there are at most.
    pub(super) fn size(&self) -> usize {
        self.lists.iter().map(|(_, list)| list.len()).sum()
    }

    pub(super) fn contains(&self, id: Id, graph: &Graph) -> bool {
        let rank = graph.rank(id);
        self.lists.iter().any(|(owner, list)| {
            let place = list.partition_point(|other| graph.rank(*other) < rank);
            *owner != Some(id) && list.get(place) == Some(&id)
        })
    }

    /// Returns all of them in canonical order, none twice.
    pub(super) fn iter<'a>(&'a self, graph: &'a Graph) -> impl Iterator<Item = Id> + 'a {
        let mut places = vec![0_usize; self.lists.len()];
        std::iter::from_fn(move || {
            loop {
                let heads = self.lists.iter().zip(&places).filter_map(|((_, list), at)| list.get(*at));
                let next = *heads.min_by_key(|id| graph.rank(**id))?;
                let mut is_other = false;
                for ((owner, list), at) in self.lists.iter().zip(&mut places) {
                    if list.get(*at) == Some(&next) {
                        *at += 1;
                        is_other |= *owner != Some(next);
                    }
                }
                if is_other {
                    return Some(next);
                }
            }
        })
    }
}

/// Returns whether the edge must lead away from `role`; nothing where both ways will do.
fn outward(entry: &PatternRelationship, direction: EdgeDirection, role: usize) -> Option<bool> {
    let is_first = entry.pairs.iter().any(|pair| pair.0 == role);
    match direction {
        EdgeDirection::Any => None,
        EdgeDirection::Forward => Some(is_first),
        EdgeDirection::Backward => Some(!is_first),
    }
}

/// Returns the other ends of the edges at an object: those that lead away, and those that lead to it.
fn edge_ends<'g>(
    graph: &'g Graph,
    entry: &PatternRelationship,
    options: &'g EdgeOptions,
    kind: EdgeType,
    (role, id): (usize, Id),
    budget: &mut Budget,
) -> Result<(impl Iterator<Item = Id> + use<'g>, impl Iterator<Item = Id> + use<'g>), Exhausted> {
    let way = outward(entry, options.direction, role);
    let counts = move |edge: &Edge<'_>| options.counts(edge, graph);
    let out = (way != Some(false)).then(|| graph.out(id, kind));
    let into = (way != Some(true)).then(|| graph.incoming(id, kind));
    budget.step(out.iter().chain(&into).map(|edges| edges.work() as u64).sum())?;
    let out = out.into_iter().flatten().filter(counts).map(|edge| edge.to);
    Ok((out, into.into_iter().flatten().filter(counts).map(|edge| edge.from)))
}

fn first_common(
    ids: impl Iterator<Item = Id>,
    is_fine: impl Fn(Id) -> bool,
    budget: &mut Budget,
) -> Result<Option<Id>, Exhausted> {
    for id in ids {
        budget.step(1)?;
        if is_fine(id) {
            return Ok(Some(id));
        }
    }
    Ok(None)
}
