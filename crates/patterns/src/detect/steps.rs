//! The trace of a leader: which relationships were looked at, and what came of them.

use std::rc::Rc;

use kubewright_graph::Id;
use kubewright_k8s::namespaced_name;
use kubewright_value::{Budget, Exhausted, Text};

use super::super::finding::{Trace, TraceStep};
use super::super::pattern::Rule;
use super::super::points::Points;
use super::links::Held;
use super::report::{Score, rule_name};
use super::{Binding, Search};

impl Search<'_> {
    /// Takes note of a binding and its points, in place of what was noted behind the first `before` steps.
    pub(super) fn tell(
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

    /// Takes note of a relationship that was looked at.
    pub(super) fn step(
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
