//! In which order the roles of a pattern are bound.

use super::super::criteria::Basis;
use super::super::lint::all_named_kinds;
use super::super::pattern::{
    Pattern, PatternRelationship, RelationshipEffect, RelationshipLink, RelationshipList, Topology,
};

/// The order, and what each step has to look at.
#[derive(Debug)]
pub(super) struct BindingPlan {
    pub(super) steps: Vec<PlanStep>,
    /// How many steps it takes until every actor is bound; the rest only has to be possible.
    pub(super) actor_steps: usize,
    /// Entries that discard the leader by themselves.
    pub(super) vetoes: Vec<usize>,
    /// Entries of which one of each group must hold for the leader.
    pub(super) groups: Vec<Vec<usize>>,
    pub(super) scores: Vec<usize>,
}

/// The binding of one role.
#[derive(Debug)]
pub(super) struct PlanStep {
    pub(super) role: usize,
    /// Entries and the role bound before from which they lead here.
    pub(super) joins: Vec<(usize, usize)>,
    /// Forbidden relationships that can be judged once this role is bound.
    pub(super) vetoes: Vec<usize>,
    /// Required relationships with several objects that can be judged once this role is bound.
    pub(super) counts: Vec<usize>,
    /// Whether the steps behind this one look at no role that was bound before it, and no object fits two roles: whether they
    /// can be done then depends on who fills this role alone.
    pub(super) is_independent: bool,
    /// Whether only criteria say how the object of this role goes with those of roles behind it.
    is_told_by_criteria: bool,
}

impl BindingPlan {
    pub(super) fn of(pattern: &Pattern) -> Self {
        let is_actor = |role: usize| pattern.is_bound(role);
        let order = role_order(pattern, &is_actor);
        let mut vetoes = Vec::new();
        let mut late = Vec::new();
        for (at, entry) in
            pattern.entries.iter().enumerate().filter(|(_, entry)| entry.rule == RelationshipEffect::Veto)
        {
            let names_leader =
                entry.pairs.iter().any(|pair| pair.0 == pattern.leader || pair.1 == pattern.leader);
            let is_for_leader =
                entry.list == RelationshipList::Relationships || pattern.topology == Topology::Single;
            if names_leader && is_for_leader { vetoes.push(at) } else { late.push(at) }
        }
        let mut steps: Vec<PlanStep> = Vec::with_capacity(order.len());
        for (at, role) in order.iter().enumerate() {
            let before = order.get(..at).unwrap_or_default();
            let mut joins = Vec::new();
            for (number, entry) in pattern.entries.iter().enumerate() {
                if entry.rule != RelationshipEffect::Mandatory {
                    continue;
                }
                for (one, other) in &entry.pairs {
                    if other == role && before.contains(one) {
                        joins.push((number, *one));
                    } else if one == role && before.contains(other) {
                        joins.push((number, *other));
                    }
                }
            }
            let counts = pattern.entries.iter().enumerate().filter(|(_, entry)| {
                let names = |pair: &(usize, usize)| pair.0 == *role || pair.1 == *role;
                let is_mandatory = entry.rule == RelationshipEffect::Mandatory && entry.at_least > 1;
                is_mandatory && is_actor(*role) && entry.pairs.iter().any(names)
            });
            let counts = counts.map(|(at, _)| at).collect();
            steps.push(PlanStep {
                role: *role,
                joins,
                vetoes: Vec::new(),
                counts,
                is_independent: false,
                is_told_by_criteria: false,
            });
        }
        for veto in late {
            let Some(entry) = pattern.entries.get(veto) else { continue };
            let last = steps
                .iter()
                .rposition(|step| entry.pairs.iter().any(|pair| pair.0 == step.role || pair.1 == step.role));
            if let Some(step) = steps.get_mut(last.unwrap_or(0)) {
                step.vetoes.push(veto);
            }
        }
        for at in 0..steps.len() {
            let is_independent = at > 0 && is_independent(pattern, &steps, at);
            let is_told = is_told_by_criteria(pattern, &steps, at);
            if let Some(step) = steps.get_mut(at) {
                step.is_independent = is_independent;
                step.is_told_by_criteria = is_told;
            }
        }
        let actor_steps = steps.iter().rposition(|step| is_actor(step.role)).map_or(0, |last| last + 1);
        let mut groups: Vec<(usize, Vec<usize>)> = Vec::new();
        for (at, entry) in pattern.entries.iter().enumerate() {
            let RelationshipEffect::OneOf(number) = entry.rule else { continue };
            match groups.iter_mut().find(|(known, _)| *known == number) {
                Some((_, members)) => members.push(at),
                None => groups.push((number, vec![at])),
            }
        }
        let scored = pattern.entries.iter().enumerate().filter(|(_, entry)| entry.rule.scores());
        Self {
            steps,
            actor_steps,
            vetoes,
            groups: groups.into_iter().map(|(_, members)| members).collect(),
            scores: scored.map(|(at, _)| at).collect(),
        }
    }

    /// Returns whether only criteria say how the object of step `at` goes with others.
    pub(super) fn is_told_by_criteria(&self, at: usize) -> bool {
        self.steps.get(at).is_some_and(|step| step.is_told_by_criteria)
    }

    /// Returns whether `role` is bound by a step.
    pub(super) fn binds(&self, role: usize) -> bool {
        self.steps.iter().any(|step| step.role == role)
    }
}

/// Returns whether the result of a leader depends only on what its relationships lead to: every role is reached from the
/// leader, and no relationship is looked for between just any two objects.
pub(crate) fn is_local(pattern: &Pattern) -> bool {
    let plan = BindingPlan::of(pattern);
    let is_reached = plan.steps.iter().skip(1).all(|step| !step.joins.is_empty());
    let is_anchored = |entry: &PatternRelationship| {
        entry.pairs.iter().all(|(one, other)| {
            let names_leader = *one == pattern.leader || *other == pattern.leader;
            let is_bound = plan.binds(*one) || plan.binds(*other);
            names_leader || (is_bound && !matches!(entry.rule, RelationshipEffect::OneOf(_)))
        })
    };
    is_reached && pattern.entries.iter().all(is_anchored)
}

/// Returns whether the role of step `at` goes with roles behind it by criteria alone, and has no forbidden or counted
/// relationship by edges.
fn is_told_by_criteria(pattern: &Pattern, steps: &[PlanStep], at: usize) -> bool {
    let Some(role) = steps.get(at).map(|step| step.role) else { return false };
    let names = |entry: &PatternRelationship| entry.pairs.iter().any(|pair| pair.0 == role || pair.1 == role);
    let is_criteria = |entry: &PatternRelationship| matches!(&entry.link, RelationshipLink::Criteria(criteria) if matches!(criteria.basis, Basis::Custom));
    let (mut has_any, mut are_all) = (false, true);
    for (number, entry) in pattern.entries.iter().enumerate().filter(|(_, entry)| names(entry)) {
        // What joins it with a role before is in the list that is gone through.
        let is_joined =
            steps.get(at).is_some_and(|step| step.joins.iter().any(|(joined, _)| *joined == number));
        let is_edge_before = is_joined && entry.at_least == 1 && entry.pairs.len() == 1;
        has_any |= is_criteria(entry);
        are_all &= is_criteria(entry) || is_edge_before;
    }
    has_any && are_all
}

/// Returns whether what follows step `at` depends on the role of this step alone.
fn is_independent(pattern: &Pattern, steps: &[PlanStep], at: usize) -> bool {
    let (before, after) = (steps.get(..at).unwrap_or_default(), steps.get(at + 1..).unwrap_or_default());
    let is_before = |role: usize| before.iter().any(|step| step.role == role);
    let looks_back = |step: &PlanStep| {
        let entries = step.joins.iter().map(|(entry, _)| entry).chain(&step.vetoes).chain(&step.counts);
        let mut pairs =
            entries.filter_map(|entry| pattern.entries.get(*entry)).flat_map(|entry| &entry.pairs);
        pairs.any(|(one, other)| is_before(*one) || is_before(*other)) || step.joins.is_empty()
    };
    let kinds = |step: &PlanStep| all_named_kinds(&pattern.roles.get(step.role)?.kinds);
    let may_be_one = |one: &PlanStep, other: &PlanStep| match (kinds(one), kinds(other)) {
        (Some(ones), Some(others)) => ones.iter().any(|kind| others.contains(kind)),
        _ => true,
    };
    let overlaps = |step: &PlanStep| before.iter().any(|other| may_be_one(step, other));
    !after.iter().any(|step| looks_back(step) || (!pattern.allows_same && overlaps(step)))
}

/// Returns the roles in the order in which they are bound: the leader, then what is connected, actors before others,
/// then actors that nothing connects, and last what is connected among itself.
fn role_order(pattern: &Pattern, is_actor: &dyn Fn(usize) -> bool) -> Vec<usize> {
    let mandatory = || pattern.entries.iter().filter(|entry| entry.rule == RelationshipEffect::Mandatory);
    let in_mandatory = |role: usize| {
        mandatory().any(|entry| entry.pairs.iter().any(|pair| pair.0 == role || pair.1 == role))
    };
    let mut open: Vec<usize> = pattern.actors.iter().copied().filter(|role| is_actor(*role)).collect();
    open.extend((0..pattern.roles.len()).filter(|role| !is_actor(*role) && in_mandatory(*role)));
    open.retain(|role| *role != pattern.leader);
    let mut order = vec![pattern.leader];
    while !open.is_empty() {
        let touches = |role: usize| {
            mandatory().flat_map(|entry| &entry.pairs).any(|(one, other)| {
                (*one == role && order.contains(other)) || (*other == role && order.contains(one))
            })
        };
        let connected = open.iter().position(|role| touches(*role));
        let next = open.remove(connected.unwrap_or(0));
        order.push(next);
    }
    order
}
