//! One leader: veto phase, scoring, threshold.

use std::collections::HashSet;

use kubewright_graph::Id;
use kubewright_value::{Budget, Exhausted, Text};

use super::super::finding::{Phase, Trace, TraceStep};
use super::super::key::Frame;
use super::super::pattern::{List, Rule};
use super::super::points::Points;
use super::links::Held;
use super::plan::Plan;
use super::report::Score;
use super::{Binding, Search};

/// What the search for bindings is after.
struct Goal<'g> {
    /// How many different bindings of the actors are wanted.
    room: usize,
    found: Vec<Binding>,
    known: HashSet<Vec<Id>>,
    /// Whether there were more than wanted.
    is_more: bool,
    /// Whether there were some of which the same objects were found before, in other roles.
    is_repeated: bool,
    /// An entry that must hold as well.
    also: Option<usize>,
    /// Told of every whole binding, where all are wanted and not only those that differ in actors.
    visit: Option<&'g mut dyn FnMut(&Binding) -> bool>,
}

impl Search<'_> {
    /// Looks for findings that `leader` leads, at most `room` of them.
    pub(super) fn leader(&mut self, leader: Id, room: usize, budget: &mut Budget) -> Result<(), Exhausted> {
        let frames = self.frames(leader, budget)?;
        let mut last = None;
        for frame in frames {
            self.frame = frame;
            let trace = self.judge(leader, room, budget)?;
            let is_match = trace.phase == Phase::Matched;
            last = Some(trace);
            if is_match {
                break;
            }
        }
        self.frame = Frame::default();
        if let Some(trace) = last {
            self.trace(|| trace);
        }
        Ok(())
    }

    /// Returns the elements of the leader that may be meant throughout.
    fn frames(&self, leader: Id, budget: &mut Budget) -> Result<Vec<Frame>, Exhausted> {
        let compares = self.pattern.entries.iter().any(|entry| entry.link.criteria().is_some());
        if self.pattern.leader_anchors.is_empty() || !compares {
            return Ok(vec![Frame::default()]);
        }
        let object = self.object(leader);
        let (Some(object), Some(role)) = (object, self.pattern.roles.get(self.pattern.leader)) else {
            return Ok(Vec::new());
        };
        let mut frames = Vec::new();
        for frame in Frame::all(&self.pattern.leader_anchors, object, budget)? {
            if role.filter.passes(object, &frame, budget, &mut false)? {
                frames.push(frame);
            }
        }
        Ok(frames)
    }

    fn judge(&mut self, leader: Id, room: usize, budget: &mut Budget) -> Result<Trace, Exhausted> {
        let mut alone: Binding = vec![None; self.pattern.roles.len()];
        if let Some(slot) = alone.get_mut(self.pattern.leader) {
            *slot = Some(leader);
        }
        let mut trace = Trace {
            leader,
            phase: Phase::Veto,
            reason: String::new(),
            steps: Vec::new(),
            roles: Vec::new(),
            points: None,
        };
        if let Some(reason) = self.vetoed(&alone, &mut trace, budget)? {
            trace.reason = reason;
            return Ok(trace);
        }
        let mut goal = Goal {
            room: usize::MAX,
            found: Vec::new(),
            known: HashSet::new(),
            is_more: false,
            is_repeated: false,
            also: None,
            visit: None,
        };
        // A binding may still fail at the threshold, so without scores there is no need for more than `room`.
        let can_fail = !self.plan.scores.is_empty();
        if !can_fail {
            goal.room = room;
        } else {
            goal.room = room.saturating_mul(MORE_FOR_SCORES);
        }
        self.bind(0, &mut alone, &mut goal, budget)?;
        self.found.truncated |= goal.is_more;
        if goal.found.is_empty() && goal.is_repeated {
            trace.phase = Phase::Matched;
            trace.reason = "found before with the roles exchanged".to_owned();
            return Ok(trace);
        }
        if goal.found.is_empty() {
            trace.reason = self.unbound(&alone, &mut trace, budget)?;
            return Ok(trace);
        }
        self.score_all(leader, goal.found, room, &mut trace, budget)?;
        Ok(trace)
    }

    /// Returns why the leader is discarded by itself.
    fn vetoed(
        &mut self,
        alone: &Binding,
        trace: &mut Trace,
        budget: &mut Budget,
    ) -> Result<Option<String>, Exhausted> {
        for at in 0..self.plan.vetoes.len() {
            let Some(entry) = self.plan.vetoes.get(at).copied() else { continue };
            let held = self.holds(entry, alone, budget)?;
            self.step(trace, entry, held, &Points::zero(), budget)?;
            if let Some(held) = held {
                return Ok(Some(format!(
                    "`{}` forbids the relationship with {}",
                    self.id(entry),
                    self.name(held.to)
                )));
            }
        }
        for at in 0..self.plan.groups.len() {
            let members = self.plan.groups.get(at).cloned().unwrap_or_default();
            let mut any = false;
            for entry in &members {
                let held = self.holds(*entry, alone, budget)?;
                self.step(trace, *entry, held, &Points::zero(), budget)?;
                any |= held.is_some();
                if any {
                    break;
                }
            }
            if !any {
                let ids: Vec<String> = members.iter().map(|entry| format!("`{}`", self.id(*entry))).collect();
                return Ok(Some(format!("none of {} holds", ids.join(", "))));
            }
        }
        Ok(None)
    }

    /// Returns why no binding was found, by looking at each mandatory relationship of the leader alone.
    fn unbound(
        &mut self,
        alone: &Binding,
        trace: &mut Trace,
        budget: &mut Budget,
    ) -> Result<String, Exhausted> {
        for entry in 0..self.pattern.entries.len() {
            let Some(found) = self.pattern.entries.get(entry) else { continue };
            let names =
                |pair: &(usize, usize)| pair.0 == self.pattern.leader || pair.1 == self.pattern.leader;
            if found.rule != Rule::Mandatory || !found.pairs.iter().any(names) {
                continue;
            }
            let held = self.holds(entry, alone, budget)?;
            self.step(trace, entry, held, &Points::zero(), budget)?;
            if held.is_none() {
                return Ok(format!("`{}` is required and not there", self.id(entry)));
            }
        }
        Ok("no objects fill the other roles together".to_owned())
    }

    /// Binds the role of step `at` and all behind it. Returns whether a whole binding was found.
    fn bind(
        &mut self,
        at: usize,
        binding: &mut Binding,
        goal: &mut Goal<'_>,
        budget: &mut Budget,
    ) -> Result<bool, Exhausted> {
        budget.step(1)?;
        let Some(step) = self.plan.steps.get(at) else { return self.whole(binding, goal, budget) };
        let role = step.role;
        if at == 0 {
            return if self.is_clear(at, binding, budget)? {
                self.bind(1, binding, goal, budget)
            } else {
                Ok(false)
            };
        }
        let joins = step.joins.clone();
        let mut adjacent = Vec::with_capacity(joins.len());
        for (entry, from) in joins {
            let Some(bound) = binding.get(from).copied().flatten() else { continue };
            adjacent.push(self.adjacent(entry, (from, bound), role, budget)?);
        }
        adjacent.sort_by_key(super::links::Adjacent::size);
        let scope = if adjacent.is_empty() { self.scope(role, binding) } else { Vec::new() };
        let graph = self.graph;
        let (first, others) = match adjacent.split_first() {
            Some((first, others)) => (Some(first), others),
            None => (None, &[][..]),
        };
        let ids: Box<dyn Iterator<Item = Id>> = match first {
            Some(first) => Box::new(first.iter(graph)),
            None => Box::new(scope.into_iter()),
        };
        let mut any = false;
        for id in ids {
            budget.step(1)?;
            let is_taken = !self.pattern.allows_same && binding.contains(&Some(id));
            if is_taken || !others.iter().all(|list| list.contains(id, graph)) {
                continue;
            }
            if let Some(slot) = binding.get_mut(role) {
                *slot = Some(id);
            }
            let found = self.is_clear(at, binding, budget)? && self.bind(at + 1, binding, goal, budget)?;
            if let Some(slot) = binding.get_mut(role) {
                *slot = None;
            }
            any |= found;
            let is_witness = at >= self.plan.actor_steps;
            let is_enough = found && is_witness && goal.visit.is_none();
            if is_enough || goal.is_more {
                break;
            }
        }
        Ok(any)
    }

    /// Takes note of a binding in which every role is filled. Returns whether it counts.
    fn whole(
        &mut self,
        binding: &Binding,
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
        if self.pattern.is_unordered && self.reported.contains(&sorted(&actors)) {
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
    fn is_clear(&mut self, at: usize, binding: &Binding, budget: &mut Budget) -> Result<bool, Exhausted> {
        let judged = |plan: &Plan, next: usize| {
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
    fn scope(&self, role: usize, binding: &Binding) -> Vec<Id> {
        let Some(candidates) = self.candidates.get(role) else { return Vec::new() };
        let node =
            binding.get(self.pattern.leader).copied().flatten().and_then(|leader| self.graph.node(leader));
        let namespace = node.map_or("", |node| node.namespace.as_str());
        let is_actor = self.pattern.actors.contains(&role);
        if namespace.is_empty() || !is_actor {
            return candidates.ids.clone();
        }
        let of = |id: &Id| self.graph.node(*id).map_or("", |node| node.namespace.as_str());
        // Canonical order is by namespace first.
        let start = candidates.ids.partition_point(|id| of(id) < namespace);
        let end = candidates.ids.partition_point(|id| of(id) <= namespace);
        candidates.ids.get(start..end).unwrap_or_default().to_vec()
    }

    /// Scores `bindings` and reports those that reach the threshold.
    fn score_all(
        &mut self,
        leader: Id,
        bindings: Vec<Binding>,
        room: usize,
        trace: &mut Trace,
        budget: &mut Budget,
    ) -> Result<(), Exhausted> {
        let mut bindings = bindings;
        bindings.sort_by_cached_key(|binding| {
            self.actors(binding).iter().map(|id| self.graph.rank(*id)).collect::<Vec<u64>>()
        });
        let (mut matched, mut best) = (0, None::<Points>);
        let before = trace.steps.len();
        for binding in bindings {
            let score = self.score(&binding, budget)?;
            if let Some(reason) = self.too_few(&score) {
                if matched == 0 && best.as_ref().is_none_or(|best| *best < score.total()) {
                    best = Some(score.total());
                    trace.reason = reason;
                    self.tell(trace, before, &binding, &score, budget)?;
                }
                continue;
            }
            let objects = self.pattern.is_unordered.then(|| sorted(&self.actors(&binding)));
            if objects.as_ref().is_some_and(|objects| self.reported.contains(objects)) {
                continue;
            }
            if matched == room {
                self.found.truncated = true;
                break;
            }
            self.reported.extend(objects);
            if matched == 0 {
                self.tell(trace, before, &binding, &score, budget)?;
            }
            matched += 1;
            let finding = self.finding(&binding, &score, budget)?;
            self.found.findings.push(finding);
        }
        trace.leader = leader;
        trace.phase = if matched == 0 { Phase::Threshold } else { Phase::Matched };
        if matched > 0 {
            trace.reason = if matched == 1 { "1 finding".to_owned() } else { format!("{matched} findings") };
        }
        Ok(())
    }

    fn score(&mut self, binding: &Binding, budget: &mut Budget) -> Result<Score, Exhausted> {
        let mut score = Score::new();
        let actors = self.actors_only(binding);
        for at in 0..self.plan.scores.len() {
            let Some(entry) = self.plan.scores.get(at).copied() else { continue };
            let Some(found) = self.pattern.entries.get(entry) else { continue };
            let are_witnesses = found.pairs.iter().all(|(one, other)| {
                let is_free = |role: &usize| actors.get(*role).copied().flatten().is_none();
                is_free(one) && is_free(other) && (self.plan.binds(*one) || self.plan.binds(*other))
            });
            let held = match are_witnesses {
                true => self.among_witnesses(entry, &actors, budget)?,
                false => self.holds(entry, &actors, budget)?,
            };
            let points = match (found.rule, held) {
                (Rule::Present, Some(_)) | (Rule::Absent, None) => found.weight.clone(),
                _ => Points::zero(),
            };
            score.add(entry, found.list, held, points);
        }
        Ok(score)
    }

    /// Returns whether `entry` holds for some witnesses that go with the actors.
    fn among_witnesses(
        &mut self,
        entry: usize,
        actors: &Binding,
        budget: &mut Budget,
    ) -> Result<Option<Held>, Exhausted> {
        let mut goal = Goal {
            room: 1,
            found: Vec::new(),
            known: HashSet::new(),
            is_more: false,
            is_repeated: false,
            also: Some(entry),
            visit: None,
        };
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
        binding: &mut Binding,
        goal: &mut Goal<'_>,
        budget: &mut Budget,
    ) -> Result<bool, Exhausted> {
        self.bind(self.plan.actor_steps.max(1), binding, goal, budget)
    }

    /// Calls `visit` with every way to fill the other roles beside the actors, until it says to stop.
    pub(super) fn each_witness(
        &mut self,
        actors: &Binding,
        visit: &mut dyn FnMut(&Binding) -> bool,
        budget: &mut Budget,
    ) -> Result<(), Exhausted> {
        let mut goal = Goal {
            room: usize::MAX,
            found: Vec::new(),
            known: HashSet::new(),
            is_more: false,
            is_repeated: false,
            also: None,
            visit: Some(visit),
        };
        let mut binding = actors.clone();
        self.bind_witnesses(&mut binding, &mut goal, budget)?;
        Ok(())
    }

    /// Returns why the points do not suffice.
    fn too_few(&self, score: &Score) -> Option<String> {
        if self.settings.passes_unreachable && self.pattern.maximum().is_zero() {
            return None;
        }
        let (points, common) = (score.of(List::Relationships), score.of(List::Common));
        let least = &self.pattern.minimum;
        match &self.pattern.common_minimum {
            Some(_) if points < *least => Some(format!("{points} points of {least}")),
            Some(wanted) if common < *wanted => Some(format!("{common} common points of {wanted}")),
            None if score.total() < *least => Some(format!("{} points of {least}", score.total())),
            _ => None,
        }
    }

    /// Returns the objects of the actors, the leader first.
    pub(super) fn actors(&self, binding: &Binding) -> Vec<Id> {
        self.actor_roles().filter_map(|role| binding.get(role).copied().flatten()).collect()
    }

    /// Returns the roles of the actors that a finding names, the leader first.
    pub(super) fn actor_roles(&self) -> impl Iterator<Item = usize> {
        let is_single = self.pattern.topology == super::super::pattern::Topology::Single;
        let others = self
            .pattern
            .actors
            .iter()
            .copied()
            .filter(move |role| !is_single && *role != self.pattern.leader);
        std::iter::once(self.pattern.leader).chain(others)
    }

    /// Returns `binding` without the roles that are no actors.
    pub(super) fn actors_only(&self, binding: &Binding) -> Binding {
        let mut only: Binding = vec![None; binding.len()];
        for role in self.actor_roles() {
            if let (Some(slot), Some(bound)) = (only.get_mut(role), binding.get(role)) {
                *slot = *bound;
            }
        }
        only
    }

    /// Takes note of a binding and its points, in place of what was noted behind the first `before` steps.
    fn tell(
        &mut self,
        trace: &mut Trace,
        before: usize,
        binding: &Binding,
        score: &Score,
        budget: &mut Budget,
    ) -> Result<(), Exhausted> {
        if !self.settings.traces {
            return Ok(());
        }
        trace.steps.truncate(before);
        trace.points = Some(score.total());
        let role_id = |role: usize| self.pattern.roles.get(role).map(|role| role.id.clone());
        let bound = |role: usize| Some((role_id(role)?, binding.get(role).copied().flatten()?));
        trace.roles = self.actor_roles().filter_map(bound).collect();
        for entry in 0..self.pattern.entries.len() {
            let is_mandatory =
                self.pattern.entries.get(entry).is_some_and(|entry| entry.rule == Rule::Mandatory);
            if is_mandatory {
                let held = self.holds(entry, binding, budget)?;
                self.step(trace, entry, held, &Points::zero(), budget)?;
            }
        }
        for (entry, held, points) in &score.entries {
            self.step(trace, *entry, *held, points, budget)?;
        }
        Ok(())
    }

    fn step(
        &self,
        trace: &mut Trace,
        entry: usize,
        held: Option<Held>,
        points: &Points,
        budget: &mut Budget,
    ) -> Result<(), Exhausted> {
        if !self.settings.traces {
            return Ok(());
        }
        let Some(found) = self.pattern.entries.get(entry) else { return Ok(()) };
        let via = match held {
            Some(held) => self.via(found, held, budget)?,
            None => Text::default(),
        };
        trace.steps.push(TraceStep {
            entry: found.id.clone(),
            relationship: found.link.name().into(),
            rule: super::report::rule_name(found.rule),
            held: held.is_some(),
            wanted: found.rule.is_wanted(),
            points: points.clone(),
            from: held.map(|held| held.from),
            with: held.map(|held| held.to),
            through: held.and_then(|held| held.through),
            via,
            location: found.location.clone(),
        });
        Ok(())
    }

    fn id(&self, entry: usize) -> &str {
        self.pattern.entries.get(entry).map_or("", |entry| entry.id.as_str())
    }

    fn name(&self, id: Id) -> String {
        let Some(node) = self.graph.node(id) else { return String::new() };
        match node.namespace.as_str() {
            "" => format!("{} `{}`", node.kind, node.name),
            namespace => format!("{} `{namespace}/{}`", node.kind, node.name),
        }
    }
}

/// Returns objects whatever their roles.
fn sorted(actors: &[Id]) -> Vec<Id> {
    let mut ids = actors.to_vec();
    ids.sort_unstable();
    ids
}

/// How many times as many bindings are looked at where some may have too few points.
const MORE_FOR_SCORES: usize = 100;
