//! Patterns that count the same objects in exchanged roles as one finding, leader by leader.
//!
//! In a search with all leaders a finding belongs to the first of its objects, in canonical order, that can lead it. So what
//! one leader finds decides for the other objects of the finding, and nothing decides for objects that are in none.

use std::collections::HashSet;

use kubewright_graph::{Graph, Id};
use kubewright_k8s::ObjectName;
use kubewright_value::{Budget, Exhausted};

use super::super::detect::{DetectionSettings, LeaderFindings, detect_leaders};
use super::super::finding::PatternFinding;
use super::super::pattern::Pattern;
use super::change::FindingObject;
use super::records::FindingRecords;
use kubewright_value::CompactSort as _;

/// The search with some leaders of a pattern that counts exchanged roles as one.
pub(super) struct ExchangedRoles<'a> {
    /// The pattern as if exchanged roles were different findings.
    pub(super) pattern: &'a Pattern,
    /// What was found before.
    pub(super) records: &'a FindingRecords,
    pub(super) asked: (&'a Graph, &'a DetectionSettings),
}

impl ExchangedRoles<'_> {
    /// Looks for the pattern with `ids`, whose names are in `names`, and with all that their findings decide for, which are
    /// added to `names`.
    pub(super) fn detect(
        &self,
        names: &mut HashSet<ObjectName>,
        ids: &[Id],
        budget: &mut Budget,
    ) -> Result<LeaderFindings, Exhausted> {
        let (graph, _) = self.asked;
        let mut found = detect_leaders(self.pattern, self.asked, ids, budget)?;
        let before = names.iter().flat_map(|leader| self.records.actors_of(leader)).flatten();
        let mut others: HashSet<ObjectName> = before.map(FindingObject::object_name).collect();
        others.extend(
            found.findings.iter().flat_map(|finding| self.actors(finding)).map(|one| one.object_name()),
        );
        others.retain(|other| !names.contains(other));
        let find = |name: &ObjectName| graph.find(&name.group, &name.kind, &name.namespace, &name.name);
        let mut more: Vec<Id> = others.iter().filter_map(find).collect();
        graph.sort_by_rank(&mut more);
        let second = detect_leaders(self.pattern, self.asked, &more, budget)?;
        names.extend(others);
        found.is_truncated |= second.is_truncated;
        found.findings.extend(second.findings);
        found
            .findings
            .compact_sort_by_cached_key(|finding| finding.roles.first().map(|(_, id)| graph.rank(*id)));
        let mut seen = HashSet::new();
        found.findings.retain(|finding| {
            let objects = sorted_actors(self.actors(finding).collect());
            !self.is_of_another(&objects, names) && seen.insert(objects)
        });
        Ok(found)
    }

    fn actors(&self, finding: &PatternFinding) -> impl Iterator<Item = FindingObject> {
        finding.roles.iter().filter_map(|(_, id)| self.asked.0.node(*id)).map(FindingObject::of)
    }

    /// Returns whether the finding with `objects` belongs to one of them that is not looked at.
    fn is_of_another(&self, objects: &[FindingObject], names: &HashSet<ObjectName>) -> bool {
        let others = objects.iter().map(FindingObject::object_name).filter(|name| !names.contains(name));
        others
            .into_iter()
            .any(|name| self.records.actors_of(&name).any(|actors| sorted_actors(actors.to_vec()) == objects))
    }
}

fn sorted_actors(mut actors: Vec<FindingObject>) -> Vec<FindingObject> {
    actors.sort_unstable();
    actors
}
