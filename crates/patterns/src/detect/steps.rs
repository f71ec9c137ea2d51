//! The trace of a leader: the relationships that were evaluated, and their results.

use std::rc::Rc;

use kubewright_graph::Id;
use kubewright_k8s::namespaced_name;
use kubewright_value::{Budget, Exhausted, Text};

use super::super::finding::{LeaderTrace, TraceStep};
use super::super::pattern::RelationshipEffect;
use super::super::points::Points;
use super::links::HeldLink;
use super::report::{BindingScore, rule_name};
use super::{ActorBinding, PatternSearch};

impl PatternSearch<'_> {
    /// Records a binding and its points in `trace`, in place of the steps after the first `before`.
    pub(super) fn record_binding(
        &mut self,
        trace: &mut LeaderTrace,
        before: usize,
        binding: &ActorBinding,
        score: &BindingScore,
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
            let is_mandatory = self
                .pattern
                .entries
                .get(entry)
                .is_some_and(|entry| entry.rule == RelationshipEffect::Mandatory);
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

    /// Records an evaluated relationship in `trace`.
    pub(super) fn step(
        &self,
        trace: &mut LeaderTrace,
        entry: usize,
        held: Option<HeldLink>,
        points: &Points,
        budget: &mut Budget,
    ) -> Result<(), Exhausted> {
        if !self.settings.traces {
            return Ok(());
        }
        let Some(found) = self.pattern.entries.get(entry) else { return Ok(()) };
        let types = self.types.get(entry).map_or_else(Default::default, Rc::clone);
        let via = match held {
            Some(held) => self.via(found, &types, held, budget)?,
            None => Text::default(),
        };
        trace.steps.push(TraceStep {
            entry: found.id.clone(),
            relationship: found.link.name().into(),
            rule: rule_name(found.rule),
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

    /// Returns the id of a relationship.
    pub(super) fn id(&self, entry: usize) -> &str {
        self.pattern.entries.get(entry).map_or("", |entry| entry.id.as_str())
    }

    /// Returns an object as reasons name it.
    pub(super) fn name(&self, id: Id) -> String {
        let Some(node) = self.graph.node(id) else { return String::new() };
        format!("{} `{}`", node.kind, namespaced_name(&node.namespace, &node.name))
    }
}
