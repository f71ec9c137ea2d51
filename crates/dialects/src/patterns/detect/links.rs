//! Whether a relationship holds between two objects, and with whom it holds for one.

use std::collections::HashMap;
use std::rc::Rc;

use kubewright_graph::{Edge, EdgeType, Graph, Id};
use kubewright_value::{Budget, Exhausted};

use super::super::pattern::{Direction, Entry, Link};
use super::super::relate::Options;
use super::agreement::ValueIndex;
use super::{Binding, Search, edges};

/// Lists of candidates by what they have, made when an entry first needs them.
#[derive(Debug, Default)]
pub(super) struct Buckets {
    /// By role and neighbour: the candidates of the role that have the neighbour.
    common: HashMap<usize, HashMap<Id, Rc<Vec<Id>>>>,
    /// For criteria, by role: the candidates by a value that the other object must have too.
    pub(super) values: HashMap<usize, Option<Rc<ValueIndex>>>,
}

/// Candidates in canonical order, in one or several sorted lists.
#[derive(Debug, Default)]
pub(super) struct Adjacent {
    /// Each with the object that it is the list of, which is never in it.
    lists: Vec<(Option<Id>, Rc<Vec<Id>>)>,
}

/// Whom a relationship holds with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held {
    pub(super) from: Id,
    pub(super) to: Id,
    pub(super) through: Option<Id>,
    /// Whether the edge had to lead away from `from`; nothing where both ways would do.
    pub(super) way: Option<bool>,
}

impl Search<'_> {
    /// Returns whether `entry` is there for `binding`: between bound objects, or with some candidate for a role that
    /// is not bound. Gives the objects of its last pair.
    pub(super) fn holds(
        &mut self,
        entry: usize,
        binding: &Binding,
        budget: &mut Budget,
    ) -> Result<Option<Held>, Exhausted> {
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
    ) -> Result<Option<Held>, Exhausted> {
        budget.step(1)?;
        let Some(found) = self.pattern.entries.get(entry) else { return Ok(None) };
        if a == b && !self.pattern.allows_same {
            return Ok(None);
        }
        let held = match &found.link {
            Link::Edge { name, options } => {
                let Some(kind) = self.graph.edge_type(name) else { return Ok(None) };
                let way = outward(found, options.direction, one);
                edges::through(self.graph, kind, options, way, (a, b), budget)?.map(|through| Held {
                    from: a,
                    to: b,
                    through,
                    way,
                })
            }
            Link::Common { name, options } => {
                let Some(kind) = self.graph.edge_type(name) else { return Ok(None) };
                let (mine, theirs) =
                    (shared(self.graph, a, kind, options), shared(self.graph, b, kind, options));
                budget.step((mine.len() + theirs.len()) as u64)?;
                let theirs: std::collections::HashSet<Id> = theirs.into_iter().collect();
                let through = mine.into_iter().find(|id| *id != a && *id != b && theirs.contains(id));
                through.map(|through| Held { from: a, to: b, through: Some(through), way: None })
            }
            Link::Criteria(_) => Some(Held { from: a, to: b, through: None, way: None }),
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
    ) -> Result<Option<Held>, Exhausted> {
        let Some(found) = self.pattern.entries.get(entry) else { return Ok(None) };
        let is_empty = self.candidates.get(to).is_none_or(|candidates| candidates.ids.is_empty());
        if is_empty {
            return Ok(None);
        }
        if let Link::Edge { name, options } = &found.link
            && options.is_plain()
            && found.at_least == 1
        {
            let Some(kind) = self.graph.edge_type(name) else { return Ok(None) };
            let Some(candidates) = self.candidates.get(to) else { return Ok(None) };
            let (out, into) = ends(self.graph, found, options, kind, (from, a));
            let is_fine = |id: Id| candidates.contains(id) && (id != a || self.pattern.allows_same);
            // Each direction comes in canonical order, so the first of each is enough.
            let firsts = [first(out, is_fine, budget)?, first(into, is_fine, budget)?];
            let first = firsts.into_iter().flatten().min_by_key(|id| self.graph.rank(*id));
            let way = outward(found, options.direction, from);
            return Ok(first.map(|to| Held { from: a, to, through: None, way }));
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

    /// Returns whether `entry` links any two candidates at all.
    fn anywhere(
        &mut self,
        entry: usize,
        one: usize,
        other: usize,
        budget: &mut Budget,
    ) -> Result<Option<Held>, Exhausted> {
        let ids = self.candidates.get(one).map(|found| found.ids.clone()).unwrap_or_default();
        for id in ids {
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
        found: &Entry,
        (from, a): (usize, Id),
        to: usize,
        budget: &mut Budget,
    ) -> Result<Adjacent, Exhausted> {
        match &found.link {
            Link::Edge { name, options } => {
                let (Some(kind), Some(candidates)) = (self.graph.edge_type(name), self.candidates.get(to))
                else {
                    return Ok(Adjacent::default());
                };
                let mut ids = Vec::new();
                if options.is_transitive {
                    let way = outward(found, options.direction, from);
                    let mut reached = Vec::new();
                    for owned in [true, false].into_iter().filter(|owned| way != Some(!owned)) {
                        reached.extend(edges::reached(self.graph, a, owned, budget)?);
                    }
                    ids.extend(reached.into_iter().filter(|id| candidates.contains(*id)));
                } else {
                    let (out, into) = ends(self.graph, found, options, kind, (from, a));
                    for id in out.chain(into) {
                        budget.step(1)?;
                        if candidates.contains(id) {
                            ids.push(id);
                        }
                    }
                }
                if !ids.is_sorted_by_key(|id| self.graph.rank(*id)) {
                    ids.sort_by_key(|id| self.graph.rank(*id));
                }
                ids.dedup();
                Ok(Adjacent { lists: vec![(None, Rc::new(ids))] })
            }
            Link::Common { name, options } => {
                let Some(kind) = self.graph.edge_type(name) else { return Ok(Adjacent::default()) };
                self.fill_common(entry, to, (kind, options), budget)?;
                let lists = self.buckets.get(entry).and_then(|buckets| buckets.common.get(&to));
                let neighbours = shared(self.graph, a, kind, options);
                budget.step(neighbours.len() as u64)?;
                let list = |id: Id| Some((Some(id), Rc::clone(lists?.get(&id)?)));
                let lists = neighbours.into_iter().filter(|id| *id != a).filter_map(list).collect();
                Ok(Adjacent { lists })
            }
            Link::Criteria(criteria) => {
                let ids = self.agreeing(entry, criteria, (from, a), to, budget)?;
                Ok(Adjacent { lists: vec![(None, Rc::new(ids))] })
            }
        }
    }

    fn fill_common(
        &mut self,
        entry: usize,
        role: usize,
        (kind, options): (EdgeType, &Options),
        budget: &mut Budget,
    ) -> Result<(), Exhausted> {
        let Some(buckets) = self.buckets.get_mut(entry) else { return Ok(()) };
        if buckets.common.contains_key(&role) {
            return Ok(());
        }
        let mut lists: HashMap<Id, Vec<Id>> = HashMap::new();
        for id in self.candidates.get(role).map_or(&[][..], |found| found.ids.as_slice()) {
            let neighbours = shared(self.graph, *id, kind, options);
            budget.step(neighbours.len() as u64 + 1)?;
            for neighbour in neighbours.into_iter().filter(|neighbour| neighbour != id) {
                lists.entry(neighbour).or_default().push(*id);
            }
        }
        buckets.common.insert(role, lists.into_iter().map(|(id, list)| (id, Rc::new(list))).collect());
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
fn outward(entry: &Entry, direction: Direction, role: usize) -> Option<bool> {
    let is_first = entry.pairs.iter().any(|pair| pair.0 == role);
    match direction {
        Direction::Any => None,
        Direction::Forward => Some(is_first),
        Direction::Backward => Some(!is_first),
    }
}

/// Returns the other ends of the edges at an object: those that lead away, and those that lead to it.
fn ends<'g>(
    graph: &'g Graph,
    entry: &Entry,
    options: &'g Options,
    kind: EdgeType,
    (role, id): (usize, Id),
) -> (impl Iterator<Item = Id> + use<'g>, impl Iterator<Item = Id> + use<'g>) {
    let way = outward(entry, options.direction, role);
    let counts = move |edge: &Edge<'_>| options.counts(edge, graph);
    let out = (way != Some(false)).then(|| graph.out(id, kind).filter(counts).map(|edge| edge.to));
    let into = (way != Some(true)).then(|| graph.into(id, kind).filter(counts).map(|edge| edge.from));
    (out.into_iter().flatten(), into.into_iter().flatten())
}

fn first(
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

/// Returns what an object may have in common with others through edges of a type.
fn shared(graph: &Graph, id: Id, kind: EdgeType, options: &Options) -> Vec<Id> {
    let counts = |edge: &Edge<'_>| options.counts(edge, graph);
    match kind {
        // One policy that selects both; that a policy lets one call the other makes them no members of it.
        EdgeType::SAME_NETWORK => {
            graph.into(id, EdgeType::ISOLATES).filter(counts).map(|edge| edge.from).collect()
        }
        EdgeType::HAS_AFFINITY_TO => graph.out(id, kind).filter(counts).map(|edge| edge.to).collect(),
        EdgeType::IS_NAMESPACE_OF => graph.into(id, kind).filter(counts).map(|edge| edge.from).collect(),
        _ if !options.tests_edges() => graph.neighbours(id, kind).collect(),
        _ => {
            let mut ids: Vec<Id> = graph.out(id, kind).filter(counts).map(|edge| edge.to).collect();
            ids.extend(graph.into(id, kind).filter(counts).map(|edge| edge.from));
            ids.sort_by_key(|id| graph.rank(*id));
            ids.dedup();
            ids
        }
    }
}
