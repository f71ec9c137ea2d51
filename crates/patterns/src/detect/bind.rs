//! Bindings: which objects fill the roles together with a leader.

use std::collections::HashSet;
use std::rc::Rc;

use kubewright_graph::Id;
use kubewright_value::{Budget, Exhausted};

use super::super::pattern::RelationshipLink;
use super::links::{Adjacent, HeldLink};
use super::plan::BindingPlan;
use super::{ActorBinding, PatternSearch};
use kubewright_value::CompactSort as _;

/// An entry with criteria, and the role and object that it compares another one with.
type ComparedRoles = (usize, usize, Id);

/// The bindings that a search has found, and those it still needs.
#[derive(Default)]
pub(super) struct Goal<'g> {
    /// How many different bindings of the actors are wanted.
    pub(super) room: usize,
    pub(super) found: Vec<ActorBinding>,
    known: HashSet<Vec<Id>>,
    /// Whether there were more than wanted.
    pub(super) is_more: bool,
    /// Whether there were some of which the same objects were found before, in other roles.
    pub(super) is_repeated: bool,
    /// An entry that must hold as well.
    also: Option<usize>,
    /// Called with every complete binding, if all are wanted and not only those that differ in actors.
    visit: Option<&'g mut dyn FnMut(&ActorBinding) -> bool>,
}

impl Goal<'_> {
    /// Returns the goal to find `room` bindings.
    pub(super) fn of(room: usize) -> Self {
        Self { room, ..Self::default() }
    }
}

impl PatternSearch<'_> {
    /// Binds the role of step `at` and all behind it. Returns whether a whole binding was found.
    pub(super) fn bind(
        &mut self,
        at: usize,
        binding: &mut ActorBinding,
        goal: &mut Goal<'_>,
        budget: &mut Budget,
    ) -> Result<bool, Exhausted> {
        budget.step(STEPS_PER_BINDING)?;
        let Some(step) = self.plan.steps.get(at) else { return self.whole(binding, goal, budget) };
        let role = step.role;
        if at == 0 {
            return if self.is_clear(at, binding, budget)? {
                self.bind(1, binding, goal, budget)
            } else {
                Ok(false)
            };
        }
        let (joins, is_independent) = (step.joins.clone(), step.is_independent);
        let (adjacent, compared) = self.joined(&joins, role, binding, budget)?;
        let scope = if adjacent.is_empty() { self.scope(role, binding) } else { Vec::new() };
        budget.step((scope.len() / BINDINGS_COPIED_PER_STEP) as u64)?;
        let graph = self.graph;
        let (first, others) = match adjacent.split_first() {
            Some((first, others)) => (Some(first), others),
            None => (None, &[][..]),
        };
        let ids: Box<dyn Iterator<Item = Id>> = match first {
            Some(first) => Box::new(first.iter(graph)),
            None => Box::new(scope.into_iter()),
        };
        let is_witness = at >= self.plan.actor_steps;
        // If one is enough and only criteria distinguish objects, one of each set of equal objects is tried.
        let may_skip =
            is_witness && self.plan.is_told_by_criteria(at) && goal.visit.is_none() && goal.also.is_none();
        let mut tried: HashSet<Rc<str>> = HashSet::new();
        let mut any = false;
        for id in ids {
            budget.step(1)?;
            let is_taken = !self.pattern.allows_same && binding.contains(&Some(id));
            if is_taken || !others.iter().all(|list| list.contains(id, graph)) {
                continue;
            }
            if may_skip && !tried.insert(self.profile(role, id, budget)?) {
                continue;
            }
            if let Some(slot) = binding.get_mut(role) {
                *slot = Some(id);
            }
            let found = self.agrees(&compared, (role, id), budget)?
                && self.is_clear(at, binding, budget)?
                && !(is_independent && self.alike.dead_ends.contains(&(at, id)))
                && self.bind_next(at, id, binding, goal, budget)?;
            if let Some(slot) = binding.get_mut(role) {
                *slot = None;
            }
            any |= found;
            let is_enough = found && is_witness && goal.visit.is_none();
            if is_enough || goal.is_more {
                break;
            }
        }
        Ok(any)
    }

    /// Binds the roles behind step `at`, whose role is bound to `id`. Whatever cannot go on without looking at who was bound
    /// before is not tried again.
    fn bind_next(
        &mut self,
        at: usize,
        id: Id,
        binding: &mut ActorBinding,
        goal: &mut Goal<'_>,
        budget: &mut Budget,
    ) -> Result<bool, Exhausted> {
        let found = self.bind(at + 1, binding, goal, budget)?;
        let is_independent = self.plan.steps.get(at).is_some_and(|step| step.is_independent);
        let is_last = at + 1 >= self.plan.steps.len();
        if !found && is_independent && !is_last && goal.also.is_none() && !goal.is_more {
            self.alike.dead_ends.insert((at, id));
        }
        Ok(found)
    }

    /// Returns the lists that must contain an object for `role`, the shortest first, and the criteria that it must meet with
    /// objects that are bound. Criteria are a list of their own only where no other list is shorter.
    fn joined(
        &mut self,
        joins: &[(usize, usize)],
        role: usize,
        binding: &ActorBinding,
        budget: &mut Budget,
    ) -> Result<(Vec<Adjacent>, Vec<ComparedRoles>), Exhausted> {
        let mut adjacent: Vec<Adjacent> = Vec::with_capacity(joins.len());
        let mut compared = Vec::new();
        for (entry, from) in joins {
            let Some(bound) = binding.get(*from).copied().flatten() else { continue };
            budget.step(STEPS_PER_BINDING)?;
            match self.pattern.entries.get(*entry).map(|entry| &entry.link) {
                Some(RelationshipLink::Criteria(_)) => compared.push((*entry, *from, bound)),
                _ => adjacent.push(self.adjacent(*entry, (*from, bound), role, budget)?),
            }
        }
        adjacent.compact_sort_by_key(Adjacent::size);
        let mut left = Vec::new();
        for (entry, from, bound) in compared {
            let shortest = adjacent.first().map_or(usize::MAX, Adjacent::size);
            if self.narrowed_size(entry, (from, bound), role, budget)? < shortest {
                adjacent.push(self.adjacent(entry, (from, bound), role, budget)?);
                adjacent.compact_sort_by_key(Adjacent::size);
            } else {
                left.push((entry, from, bound));
            }
        }
        Ok((adjacent, left))
    }

    /// Returns whether an object meets all of `compared`: entries, and the roles and objects that they compare it with.
    fn agrees(
        &mut self,
        compared: &[ComparedRoles],
        (role, id): (usize, Id),
        budget: &mut Budget,
    ) -> Result<bool, Exhausted> {
        for (entry, from, bound) in compared {
            if self.linked(*entry, (*from, *bound), (role, id), budget)?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes note of a binding in which every role is filled. Returns whether it counts.
    fn whole(
        &mut self,
        binding: &ActorBinding,
        goal: &mut Goal<'_>,
        budget: &mut Budget,
    ) -> Result<bool, Exhausted> {
        if let Some(also) = goal.also
            && self.holds(also, binding, budget)?.is_none()
        {
            return Ok(false);
        }
        if let Some(visit) = &mut goal.visit {
            goal.is_more = !visit(binding);
            return Ok(true);
        }
        let actors = self.actors(binding);
        if goal.known.contains(&actors) {
            return Ok(true);
        }
        if self.pattern.is_unordered && self.reported.contains(&sorted_objects(&actors)) {
            goal.is_repeated = true;
            return Ok(true);
        }
        if goal.found.len() >= goal.room {
            goal.is_more = true;
            return Ok(true);
        }
        goal.known.insert(actors);
        goal.found.push(binding.clone());
        Ok(true)
    }

    /// Returns whether no forbidden relationship is there that can be judged at step `at`, and each with several
    /// objects is.
    fn is_clear(
        &mut self,
        at: usize,
        binding: &ActorBinding,
        budget: &mut Budget,
    ) -> Result<bool, Exhausted> {
        let judged = |plan: &BindingPlan, next: usize| {
            let step = plan.steps.get(at)?;
            let vetoes = step.vetoes.iter().map(|entry| (*entry, false));
            vetoes.chain(step.counts.iter().map(|entry| (*entry, true))).nth(next)
        };
        let mut next = 0;
        while let Some((entry, is_wanted)) = judged(&self.plan, next) {
            if self.holds(entry, binding, budget)?.is_some() != is_wanted {
                return Ok(false);
            }
            next += 1;
        }
        Ok(true)
    }

    /// Returns where an actor is looked for that nothing connects: in the leader's namespace, or everywhere.
    fn scope(&self, role: usize, binding: &ActorBinding) -> Vec<Id> {
        let Some(candidates) = self.candidates.get(role) else { return Vec::new() };
        let node =
            binding.get(self.pattern.leader).copied().flatten().and_then(|leader| self.graph.node(leader));
        let namespace = node.map_or("", |node| node.namespace.as_str());
        let is_actor = self.pattern.actors.contains(&role);
        if namespace.is_empty() || !is_actor {
            return candidates.ids().to_vec();
        }
        let of = |id: &Id| self.graph.node(*id).map_or("", |node| node.namespace.as_str());
        // Canonical order is by namespace first.
        let ids = candidates.ids();
        let start = ids.partition_point(|id| of(id) < namespace);
        let end = ids.partition_point(|id| of(id) <= namespace);
        ids.get(start..end).unwrap_or_default().to_vec()
    }

    /// Returns whether `entry` holds for some witnesses that go with the actors.
    pub(super) fn among_witnesses(
        &mut self,
        entry: usize,
        actors: &ActorBinding,
        budget: &mut Budget,
    ) -> Result<Option<HeldLink>, Exhausted> {
        let mut goal = Goal { room: 1, also: Some(entry), ..Goal::default() };
        let mut binding = actors.clone();
        self.bind_witnesses(&mut binding, &mut goal, budget)?;
        match goal.found.first() {
            Some(binding) => self.holds(entry, &binding.clone(), budget),
            None => Ok(None),
        }
    }

    /// Binds what is not bound yet, with the actors as they are.
    fn bind_witnesses(
        &mut self,
        binding: &mut ActorBinding,
        goal: &mut Goal<'_>,
        budget: &mut Budget,
    ) -> Result<bool, Exhausted> {
        self.bind(self.plan.actor_steps.max(1), binding, goal, budget)
    }

    /// Calls `visit` with every way to fill the other roles beside the actors, until it says to stop.
    pub(super) fn each_witness(
        &mut self,
        actors: &ActorBinding,
        visit: &mut dyn FnMut(&ActorBinding) -> bool,
        budget: &mut Budget,
    ) -> Result<(), Exhausted> {
        let mut goal = Goal { room: usize::MAX, visit: Some(visit), ..Goal::default() };
        let mut binding = actors.clone();
        self.bind_witnesses(&mut binding, &mut goal, budget)?;
        Ok(())
    }
}

/// Returns objects whatever their roles.
pub(super) fn sorted_objects(actors: &[Id]) -> Vec<Id> {
    let mut ids = actors.to_vec();
    ids.sort_unstable();
    ids
}

/// How many steps it is to bind a role, and to find out what is related to an object.
const STEPS_PER_BINDING: u64 = 10;

/// How many candidates are copied in one step.
const BINDINGS_COPIED_PER_STEP: usize = 16;
