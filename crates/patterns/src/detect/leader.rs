//! One leader: veto phase, scoring, threshold.

use kubewright_graph::Id;
use kubewright_value::{Budget, Exhausted};

use super::super::finding::{DetectionPhase, LeaderTrace};
use super::super::key::ElementFrame;
use super::super::pattern::{RelationshipEffect, RelationshipList};
use super::super::points::Points;
use super::bind::{Goal, sorted_objects};
use super::report::BindingScore;
use super::{ActorBinding, PatternSearch};
use kubewright_value::CompactSort as _;

impl PatternSearch<'_> {
    /// Looks for findings that `leader` leads, at most `room` of them.
    pub(super) fn leader(&mut self, leader: Id, room: usize, budget: &mut Budget) -> Result<(), Exhausted> {
        let frames = self.frames(leader, budget)?;
        let mut last = None;
        for frame in frames {
            self.frame = frame;
            let trace = self.judge(leader, room, budget)?;
            let is_match = trace.phase == DetectionPhase::Matched;
            last = Some(trace);
            if is_match {
                break;
            }
        }
        self.frame = ElementFrame::default();
        if let Some(trace) = last {
            self.trace(|| trace);
        }
        Ok(())
    }

    /// Returns the elements of the leader that may be meant throughout.
    fn frames(&self, leader: Id, budget: &mut Budget) -> Result<Vec<ElementFrame>, Exhausted> {
        if self.pattern.leader_anchors.is_empty() {
            return Ok(vec![ElementFrame::default()]);
        }
        let object = self.object(leader);
        let (Some(object), Some(role)) = (object, self.pattern.roles.get(self.pattern.leader)) else {
            return Ok(Vec::new());
        };
        role.filter.frames(&self.pattern.leader_anchors, &object, budget)
    }

    fn judge(&mut self, leader: Id, room: usize, budget: &mut Budget) -> Result<LeaderTrace, Exhausted> {
        let mut alone: ActorBinding = vec![None; self.pattern.roles.len()];
        if let Some(slot) = alone.get_mut(self.pattern.leader) {
            *slot = Some(leader);
        }
        let mut trace = LeaderTrace {
            leader,
            phase: DetectionPhase::Veto,
            reason: String::new(),
            steps: Vec::new(),
            roles: Vec::new(),
            points: None,
        };
        if let Some(reason) = self.vetoed(&alone, &mut trace, budget)? {
            trace.reason = reason;
            return Ok(trace);
        }
        // Where there are scores a binding may still fail at the threshold, so that more are needed than findings.
        let can_fail = !self.plan.scores.is_empty();
        let wanted = if can_fail { room.saturating_mul(SCORED_BINDINGS_FACTOR) } else { room };
        let mut goal = Goal::of(wanted);
        let key = self.leader_key(leader);
        match key.as_ref().and_then(|key| self.known_binding(key, leader)) {
            Some(known) => goal.found.extend(known),
            None => {
                self.bind(0, &mut alone, &mut goal, budget)?;
                if let Some(key) = key {
                    self.keep_binding(key, goal.found.first().cloned());
                }
            }
        }
        self.found.truncated |= goal.is_more;
        if goal.found.is_empty() && goal.is_repeated {
            trace.phase = DetectionPhase::Matched;
            trace.reason = "already found with the roles exchanged".to_owned();
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
        alone: &ActorBinding,
        trace: &mut LeaderTrace,
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
        alone: &ActorBinding,
        trace: &mut LeaderTrace,
        budget: &mut Budget,
    ) -> Result<String, Exhausted> {
        for entry in 0..self.pattern.entries.len() {
            let Some(found) = self.pattern.entries.get(entry) else { continue };
            let names =
                |pair: &(usize, usize)| pair.0 == self.pattern.leader || pair.1 == self.pattern.leader;
            if found.rule != RelationshipEffect::Mandatory || !found.pairs.iter().any(names) {
                continue;
            }
            let held = self.holds(entry, alone, budget)?;
            self.step(trace, entry, held, &Points::zero(), budget)?;
            if held.is_none() {
                return Ok(format!("`{}` is required and does not exist", self.id(entry)));
            }
        }
        Ok("no objects fill the other roles together".to_owned())
    }

    /// Scores `bindings` and reports those that reach the threshold.
    fn score_all(
        &mut self,
        leader: Id,
        bindings: Vec<ActorBinding>,
        room: usize,
        trace: &mut LeaderTrace,
        budget: &mut Budget,
    ) -> Result<(), Exhausted> {
        let mut bindings = bindings;
        bindings.compact_sort_by_cached_key(|binding| {
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
                    self.record_binding(trace, before, &binding, &score, budget)?;
                }
                continue;
            }
            let objects = self.pattern.is_unordered.then(|| sorted_objects(&self.actors(&binding)));
            if objects.as_ref().is_some_and(|objects| self.reported.contains(objects)) {
                continue;
            }
            if matched == room {
                self.found.truncated = true;
                break;
            }
            self.reported.extend(objects);
            if matched == 0 {
                self.record_binding(trace, before, &binding, &score, budget)?;
            }
            matched += 1;
            let finding = self.finding(&binding, &score, budget)?;
            self.found.findings.push(finding);
        }
        trace.leader = leader;
        trace.phase = if matched == 0 { DetectionPhase::Threshold } else { DetectionPhase::Matched };
        if matched > 0 {
            trace.reason = if matched == 1 { "1 finding".to_owned() } else { format!("{matched} findings") };
        }
        Ok(())
    }

    fn score(&mut self, binding: &ActorBinding, budget: &mut Budget) -> Result<BindingScore, Exhausted> {
        let mut score = BindingScore::new();
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
                (RelationshipEffect::Present, Some(_)) | (RelationshipEffect::Absent, None) => {
                    found.weight.clone()
                }
                _ => Points::zero(),
            };
            score.add(entry, found.list, held, points);
        }
        Ok(score)
    }

    /// Returns why the points do not suffice.
    fn too_few(&self, score: &BindingScore) -> Option<String> {
        if self.settings.passes_unreachable && self.pattern.maximum().is_zero() {
            return None;
        }
        let (points, common) =
            (score.of(RelationshipList::Relationships), score.of(RelationshipList::Common));
        let least = &self.pattern.minimum;
        match &self.pattern.common_minimum {
            Some(_) if points < *least => Some(format!("{points} points of {least}")),
            Some(wanted) if common < *wanted => Some(format!("{common} common points of {wanted}")),
            None if score.total() < *least => Some(format!("{} points of {least}", score.total())),
            _ => None,
        }
    }

    /// Returns the objects of the actors, the leader first.
    pub(super) fn actors(&self, binding: &ActorBinding) -> Vec<Id> {
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

    /// Returns the actors of `binding` only.
    pub(super) fn actors_only(&self, binding: &ActorBinding) -> ActorBinding {
        let mut only: ActorBinding = vec![None; binding.len()];
        for role in self.actor_roles() {
            if let (Some(slot), Some(bound)) = (only.get_mut(role), binding.get(role)) {
                *slot = *bound;
            }
        }
        only
    }
}

/// How many times as many bindings are looked at where some may have too few points.
const SCORED_BINDINGS_FACTOR: usize = 100;
