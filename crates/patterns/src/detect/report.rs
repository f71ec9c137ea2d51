//! From a binding to a finding: points, evidence, witnesses and the message.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

use kubewright_engine::Diagnostic;
use kubewright_graph::{EdgeType, Id};
use kubewright_value::{Budget, Exhausted, Text, Value};

use super::super::diagnostics as code;
use super::super::finding::{Evidence, PatternFinding};
use super::super::key::{ArrayAnchor, ElementFrame};
use super::super::message::PlaceholderValues;
use super::super::pattern::{
    Pattern, PatternRelationship, RelationshipEffect, RelationshipLink, RelationshipList,
};
use super::super::points::Points;
use super::alike::Witnesses;
use super::links::HeldLink;
use super::{ActorBinding, PatternSearch, edges};

/// How many ways to fill the other roles are looked at to name and count witnesses.
const MAX_WITNESSES: usize = 10_000;

/// The points of one binding.
#[derive(Debug)]
pub(super) struct BindingScore {
    pub(super) entries: Vec<(usize, Option<HeldLink>, Points)>,
    relationships: Points,
    common: Points,
}

impl BindingScore {
    pub(super) fn new() -> Self {
        Self { entries: Vec::new(), relationships: Points::zero(), common: Points::zero() }
    }

    pub(super) fn add(
        &mut self,
        entry: usize,
        list: RelationshipList,
        held: Option<HeldLink>,
        points: Points,
    ) {
        let sum = match list {
            RelationshipList::Relationships => &mut self.relationships,
            RelationshipList::Common => &mut self.common,
        };
        *sum = sum.plus(&points);
        self.entries.push((entry, held, points));
    }

    pub(super) fn of(&self, list: RelationshipList) -> Points {
        match list {
            RelationshipList::Relationships => self.relationships.clone(),
            RelationshipList::Common => self.common.clone(),
        }
    }

    pub(super) fn total(&self) -> Points {
        self.relationships.plus(&self.common)
    }
}

/// Returns what an entry does, in a word.
pub(in super::super) fn rule_name(rule: RelationshipEffect) -> &'static str {
    match rule {
        RelationshipEffect::Mandatory => "mandatory",
        RelationshipEffect::OneOf(_) => "one-of",
        RelationshipEffect::Veto => "veto",
        RelationshipEffect::Present => "score",
        RelationshipEffect::Absent => "score-absent",
    }
}

/// The values of the placeholders of a finding.
struct MessageValues<'s> {
    pattern: &'s Pattern,
    objects: Vec<Option<&'s Value>>,
    counts: Vec<usize>,
    score: String,
    /// The elements of the leader that are meant.
    frame: ElementFrame,
}

impl PlaceholderValues for MessageValues<'_> {
    fn object(&self, role: usize) -> Option<&Value> {
        self.objects.get(role).copied().flatten()
    }

    fn frames(
        &self,
        role: usize,
        anchors: &[ArrayAnchor],
        budget: &mut Budget,
    ) -> Result<Vec<ElementFrame>, Exhausted> {
        if role == self.pattern.leader && !self.frame.is_empty() {
            return Ok(vec![self.frame.clone()]);
        }
        match (self.pattern.roles.get(role), self.object(role)) {
            (Some(role), Some(object)) => role.filter.frames(anchors, object, budget),
            _ => Ok(Vec::new()),
        }
    }

    fn count(&self, role: usize) -> usize {
        self.counts.get(role).copied().unwrap_or(0)
    }

    fn score(&self) -> String {
        self.score.clone()
    }

    fn pattern(&self, field: &str) -> Text {
        match field {
            "name" => self.pattern.name.clone(),
            "displayName" => self.pattern.display_name.clone(),
            "severity" => self.pattern.severity.name().into(),
            "category" => self.pattern.category.clone(),
            "description" => self.pattern.description.clone(),
            "docUrl" => self.pattern.doc_url.clone(),
            "patternType" => self.pattern.pattern_type.clone(),
            _ => Text::default(),
        }
    }
}

impl PatternSearch<'_> {
    /// Returns the finding that `binding` with its points is.
    pub(super) fn finding(
        &mut self,
        binding: &ActorBinding,
        score: &BindingScore,
        budget: &mut Budget,
    ) -> Result<PatternFinding, Exhausted> {
        let witnesses = self.witnesses(binding, budget)?;
        let total = score.total();
        let maximum = self.pattern.maximum();
        let mut bound = binding.clone();
        let mut counts: Vec<usize> = binding.iter().map(|id| usize::from(id.is_some())).collect();
        for (role, ids) in &witnesses {
            if let (Some(slot), Some(count)) = (bound.get_mut(*role), counts.get_mut(*role)) {
                *slot = slot.or(ids.first().copied());
                *count = ids.len();
            }
        }
        let pattern = self.pattern;
        let objects: Vec<Option<Cow<'_, Value>>> =
            bound.iter().map(|id| id.and_then(|id| self.whole_object(id))).collect();
        let objects: Vec<Option<&Value>> = objects.iter().map(Option::as_deref).collect();
        let shown =
            MessageValues { pattern, objects, counts, score: total.to_string(), frame: self.frame.clone() };
        let (message, empty) = pattern.message.render(&shown, budget)?;
        for place in empty {
            self.empty_place(&place);
        }
        let evidence = self.evidence(binding, score, &shown, budget)?;
        let role_id = |role: usize| pattern.roles.get(role).map(|role| role.id.clone()).unwrap_or_default();
        let roles = self
            .actor_roles()
            .filter_map(|role| Some((role_id(role), binding.get(role).copied().flatten()?)));
        let roles = roles.collect();
        let limit = self.settings.witnesses;
        let shown =
            witnesses.into_iter().map(|(role, ids)| (role_id(role), ids.into_iter().take(limit).collect()));
        let scores =
            [RelationshipList::Relationships, RelationshipList::Common].into_iter().filter_map(|list| {
                let scores = pattern.entries.iter().any(|entry| entry.list == list && entry.rule.scores());
                scores.then(|| (list, score.of(list), pattern.maximum_of(Some(list))))
            });
        Ok(PatternFinding {
            pattern: pattern.name.clone(),
            severity: pattern.severity,
            roles,
            witnesses: shown.collect(),
            confidence: total.percent_of(&maximum),
            points: total,
            maximum,
            scores: scores.collect(),
            evidence,
            message,
        })
    }

    /// Returns the finding for an input without a leader.
    pub(super) fn empty(&mut self, budget: &mut Budget) -> Result<PatternFinding, Exhausted> {
        let pattern = self.pattern;
        let nothing = vec![None; pattern.roles.len()];
        let (counts, frame) = (Vec::new(), ElementFrame::default());
        let shown = MessageValues { pattern, objects: nothing, counts, score: "0".to_owned(), frame };
        let (message, _) = pattern.message.render(&shown, budget)?;
        Ok(PatternFinding {
            pattern: pattern.name.clone(),
            severity: pattern.severity,
            roles: Vec::new(),
            witnesses: Vec::new(),
            points: Points::zero(),
            maximum: pattern.maximum(),
            scores: Vec::new(),
            confidence: 100.0,
            evidence: Vec::new(),
            message,
        })
    }

    /// Returns the objects of roles that are not actors, in canonical order.
    fn witnesses(
        &mut self,
        binding: &ActorBinding,
        budget: &mut Budget,
    ) -> Result<Vec<(usize, Vec<Id>)>, Exhausted> {
        let actors = self.actors_only(binding);
        let mut found: BTreeMap<usize, Vec<Id>> = BTreeMap::new();
        let late: Vec<usize> = self.plan.steps.iter().skip(1).map(|step| step.role).collect();
        let late: Vec<usize> =
            late.into_iter().filter(|role| actors.get(*role).copied().flatten().is_none()).collect();
        if !late.is_empty() && self.plan.actor_steps < self.plan.steps.len() {
            found.extend(self.late_witnesses(&actors, &late, budget)?.iter().cloned());
        }
        for entry in 0..self.pattern.entries.len() {
            let Some(known) = self.pattern.entries.get(entry).filter(|entry| entry.rule.is_wanted()) else {
                continue;
            };
            for (one, other) in known.pairs.clone() {
                for (from, to) in [(one, other), (other, one)] {
                    let bound = actors.get(from).copied().flatten();
                    let is_open = actors.get(to).copied().flatten().is_none() && !late.contains(&to);
                    let (Some(bound), true) = (bound, is_open) else { continue };
                    let adjacent = self.adjacent(entry, (from, bound), to, budget)?;
                    let allowed = |id: &Id| *id != bound || self.pattern.allows_same;
                    let ids: Vec<Id> =
                        adjacent.iter(self.graph).filter(allowed).take(MAX_WITNESSES).collect();
                    budget.step(ids.len() as u64)?;
                    if !ids.is_empty() {
                        found.entry(to).or_default().extend(ids);
                    }
                }
            }
        }
        for ids in found.values_mut() {
            self.order(ids);
        }
        Ok(found.into_iter().collect())
    }

    /// Returns who can fill the roles `late` beside the actors, in canonical order.
    fn late_witnesses(
        &mut self,
        actors: &ActorBinding,
        late: &[usize],
        budget: &mut Budget,
    ) -> Result<Rc<Witnesses>, Exhausted> {
        let leader = actors.get(self.pattern.leader).copied().flatten();
        let key = leader.and_then(|leader| self.leader_key(leader));
        if let Some(known) = key.as_ref().and_then(|key| self.alike.witnesses.get(key)) {
            return Ok(Rc::clone(known));
        }
        let mut found: BTreeMap<usize, Vec<Id>> = BTreeMap::new();
        // Witnesses of a role come in canonical order, so no more are read than are shown or counted.
        let mut left = match late {
            [role] if !self.pattern.counts(*role) => self.settings.witnesses.max(1),
            _ => MAX_WITNESSES,
        };
        let mut visit = |binding: &ActorBinding| {
            for role in late {
                if let Some(id) = binding.get(*role).copied().flatten() {
                    found.entry(*role).or_default().push(id);
                }
            }
            left -= 1;
            left > 0
        };
        self.each_witness(actors, &mut visit, budget)?;
        for ids in found.values_mut() {
            self.order(ids);
        }
        let found = Rc::new(found.into_iter().collect::<Vec<_>>());
        if let Some(key) = key {
            self.alike.witnesses.insert(key, Rc::clone(&found));
        }
        Ok(found)
    }

    /// Puts objects into canonical order, each once.
    fn order(&self, ids: &mut Vec<Id>) {
        if !ids.is_sorted_by_key(|id| self.graph.rank(*id)) {
            self.graph.sort_by_rank(ids);
        }
        ids.dedup();
    }

    fn evidence(
        &mut self,
        binding: &ActorBinding,
        score: &BindingScore,
        shown: &MessageValues<'_>,
        budget: &mut Budget,
    ) -> Result<Vec<Evidence>, Exhausted> {
        let mut all = Vec::with_capacity(self.pattern.entries.len());
        for (at, entry) in self.pattern.entries.iter().enumerate() {
            let types = self.types.get(at).map_or_else(Rc::default, Rc::clone);
            let scored = score.entries.iter().find(|(scored, _, _)| *scored == at);
            let held = match (scored, entry.rule) {
                (Some((_, held, _)), _) => *held,
                // It was looked at before, and is not there: otherwise there would be no finding.
                (None, RelationshipEffect::Veto) => None,
                (None, _) => self.holds(at, binding, budget)?,
            };
            let role_id =
                |role: usize| self.pattern.roles.get(role).map(|role| role.id.clone()).unwrap_or_default();
            let between =
                entry.pairs.last().map_or_else(Default::default, |pair| (role_id(pair.0), role_id(pair.1)));
            let description = match &entry.description {
                Some(template) => template.render(shown, budget)?.0,
                None => String::new(),
            };
            let leader = binding.get(self.pattern.leader).copied().flatten();
            all.push(Evidence {
                entry: entry.id.clone(),
                relationship: match held.and_then(|held| held.kind) {
                    Some(kind) => self.graph.edge_type_name(kind).into(),
                    None => entry.link.name().into(),
                },
                list: entry.list,
                rule: rule_name(entry.rule),
                from: held.map(|held| held.from).or(leader),
                to: held.map(|held| held.to),
                through: held.and_then(|held| held.through),
                between,
                via: match held {
                    Some(held) => self.via(entry, &types, held, budget)?,
                    None => Text::default(),
                },
                held: held.is_some(),
                wanted: entry.rule.is_wanted(),
                points: scored.map_or_else(Points::zero, |(_, _, points)| points.clone()),
                description,
            });
        }
        Ok(all)
    }

    /// Returns the field that says that two objects are related.
    pub(super) fn via(
        &self,
        entry: &PatternRelationship,
        types: &[EdgeType],
        held: HeldLink,
        budget: &mut Budget,
    ) -> Result<Text, Exhausted> {
        let (a, b) = match &entry.link {
            RelationshipLink::Edge { options, .. } if options.is_transitive => {
                let through = held.through.unwrap_or(held.from);
                let ends = [held.to, held.from].into_iter().filter(|end| *end != through);
                let fields = ends.filter_map(|end| self.graph.between(through, end, EdgeType::OWNS));
                return Ok(fields.map(|edge| Text::from(edge.via)).next().unwrap_or_default());
            }
            RelationshipLink::Edge { .. } => (held.from, Some(held.to)),
            RelationshipLink::Common { .. } => (held.from, held.through),
            RelationshipLink::Criteria(criteria) => {
                let first = criteria.all.first();
                return Ok(first.and_then(|criterion| criterion.dependency_path()).unwrap_or_default());
            }
        };
        let (Some(options), Some(b)) = (entry.link.options(), b) else { return Ok(Text::default()) };
        for kind in held.kind.as_ref().map_or(types, std::slice::from_ref) {
            // What two objects on one network have in common is a policy that selects them.
            let is_network = entry.list == RelationshipList::Common && *kind == EdgeType::SAME_NETWORK;
            let kind = if is_network { EdgeType::ISOLATES } else { *kind };
            if let Some(edge) =
                edges::counted_edge_between(self.graph, kind, options, held.way, (a, b), budget)?
            {
                return Ok(edge.via.into());
            }
        }
        Ok(Text::default())
    }

    fn empty_place(&mut self, place: &str) {
        if !self.seen.insert(place.to_owned()) {
            return;
        }
        let message = format!("the placeholder `{place}` has no value for some finding");
        let location = self.pattern.location.clone();
        self.found.diagnostics.push(Diagnostic::new(&code::EMPTY_PLACEHOLDER, message, location));
    }
}
