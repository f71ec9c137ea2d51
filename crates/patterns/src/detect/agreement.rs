//! Objects that meet criteria with another object.
//!
//! Not every object with every other: candidates are listed by a value, or by a label, that both must have.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use kubewright_graph::Id;
use kubewright_value::{Budget, Exhausted, Text, Value};

use super::super::criteria::{
    Basis, Criteria, CriterionSide, ValueCriterion, index_texts, offered_labels, wanted_labels,
};
use super::super::key::{ArrayAnchor, ElementFrame};
use super::super::operator::ConditionOperator;
use super::super::pattern::RelationshipLink;
use super::candidates::Candidates;
use super::{PatternSearch, edges};

/// Candidates by something that the other object must have too.
#[derive(Debug)]
pub(super) struct ValueIndex {
    by: IndexedBy,
    lists: HashMap<Text, Rc<Vec<Id>>>,
}

/// The key of an index of candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IndexedBy {
    /// The values of a criterion.
    Criterion(usize),
    /// Labels, or a label that their selector wants.
    Labels,
}

/// Which of the two objects of a relationship is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RelationshipEnd {
    /// The first, or the target.
    First,
    /// The second, or the dependency.
    Second,
}

impl RelationshipEnd {
    fn side(self, criterion: &ValueCriterion) -> &CriterionSide {
        match self {
            Self::First => &criterion.target,
            Self::Second => &criterion.dependency,
        }
    }

    fn anchors(self, criteria: &Criteria) -> Vec<ArrayAnchor> {
        let mut anchors = Vec::new();
        match self {
            Self::First => criteria.target_anchors(&mut anchors),
            Self::Second => criteria.dependency_anchors(&mut anchors),
        }
        anchors
    }
}

impl PatternSearch<'_> {
    /// Returns the candidates of `role` that meet `criteria` with an object.
    pub(super) fn agreeing(
        &mut self,
        entry: usize,
        criteria: &Criteria,
        (from, a): (usize, Id),
        role: usize,
        budget: &mut Budget,
    ) -> Result<Vec<Id>, Exhausted> {
        let narrowed = self.narrowed(entry, criteria, (from, a), role, budget)?;
        let mut ids = Vec::new();
        for id in narrowed.iter() {
            budget.step(1)?;
            if self.meets(entry, criteria, (from, a), (role, *id), budget)? {
                ids.push(*id);
            }
        }
        Ok(ids)
    }

    /// Returns the first of them, and looks at no other.
    pub(super) fn first_agreeing(
        &mut self,
        entry: usize,
        criteria: &Criteria,
        (from, a): (usize, Id),
        role: usize,
        budget: &mut Budget,
    ) -> Result<Option<Id>, Exhausted> {
        let narrowed = self.narrowed(entry, criteria, (from, a), role, budget)?;
        for id in narrowed.iter() {
            budget.step(1)?;
            let is_other = *id != a || self.pattern.allows_same;
            if is_other && self.meets(entry, criteria, (from, a), (role, *id), budget)? {
                return Ok(Some(*id));
            }
        }
        Ok(None)
    }

    /// Returns everything of an object for `role` that criteria compare, as text.
    pub(super) fn profile(&mut self, role: usize, id: Id, budget: &mut Budget) -> Result<Rc<str>, Exhausted> {
        if let Some(known) = self.alike.profiles.get(&(role, id)) {
            return Ok(Rc::clone(known));
        }
        let mut text = String::new();
        for (number, entry) in self.pattern.entries.iter().enumerate() {
            let names = entry.pairs.iter().any(|pair| pair.0 == role || pair.1 == role);
            let (RelationshipLink::Criteria(criteria), true, Some(object)) =
                (&entry.link, names, self.object(id))
            else {
                continue;
            };
            let end = self.end(number, role);
            for frame in self.frames_of(criteria, end, (role, &object), budget)? {
                for criterion in &criteria.all {
                    let values = end.side(criterion).values(&object, &frame, budget)?;
                    for value in values.iter() {
                        text.push_str(&value.to_string());
                        text.push(',');
                    }
                    text.push(';');
                }
                text.push('|');
            }
        }
        budget.produce(text.len())?;
        let profile: Rc<str> = text.into();
        self.alike.profiles.insert((role, id), Rc::clone(&profile));
        Ok(profile)
    }

    /// Returns how many candidates of `role` the criteria of `entry` have to be tried with.
    pub(super) fn narrowed_size(
        &mut self,
        entry: usize,
        (from, a): (usize, Id),
        role: usize,
        budget: &mut Budget,
    ) -> Result<usize, Exhausted> {
        let pattern = self.pattern;
        match pattern.entries.get(entry).map(|entry| &entry.link) {
            Some(RelationshipLink::Criteria(criteria)) => {
                Ok(self.narrowed(entry, criteria, (from, a), role, budget)?.len())
            }
            _ => Ok(usize::MAX),
        }
    }

    /// Returns candidates of `role` among which all are that can meet `criteria`.
    fn narrowed(
        &mut self,
        entry: usize,
        criteria: &Criteria,
        (from, a): (usize, Id),
        role: usize,
        budget: &mut Budget,
    ) -> Result<Rc<Vec<Id>>, Exhausted> {
        let Some(candidates) = self.candidates.get(role) else { return Ok(Rc::default()) };
        if matches!(criteria.basis, Basis::Owns | Basis::OwnedBy) {
            let reached = edges::reached_by_ownership(self.graph, a, criteria.basis == Basis::Owns, budget)?;
            let mut ids: Vec<Id> = reached.into_iter().filter(|id| candidates.contains(*id)).collect();
            self.graph.sort_by_rank(&mut ids);
            return Ok(Rc::new(ids));
        }
        let namespace = self.index_namespace(criteria, a);
        let Some(index) = self.value_index(entry, criteria, (role, &namespace), budget)? else {
            return Ok(Rc::new(self.candidates_near(role, &namespace).into_owned()));
        };
        let Some(object) = self.object(a) else { return Ok(Rc::default()) };
        let texts = match index.by {
            IndexedBy::Labels => wanted_labels(criteria, &object, &self.frame, budget)?,
            IndexedBy::Criterion(at) => match criteria.all.get(at) {
                Some(criterion) => {
                    let end = self.end(entry, from);
                    let mut texts = BTreeSet::new();
                    for frame in self.frames_of(criteria, end, (from, &object), budget)? {
                        texts.extend(index_texts(&end.side(criterion).values(&object, &frame, budget)?));
                    }
                    Some(texts)
                }
                None => None,
            },
        };
        let Some(texts) = texts else {
            return Ok(Rc::new(self.candidates_near(role, &namespace).into_owned()));
        };
        let mut lists = texts.iter().filter_map(|text| index.lists.get(text));
        let (first, second) = (lists.next(), lists.next());
        let Some(second) = second else { return Ok(first.map(Rc::clone).unwrap_or_default()) };
        let mut ids: Vec<Id> =
            first.into_iter().chain([second]).chain(lists).flat_map(|list| list.iter().copied()).collect();
        budget.step(ids.len() as u64)?;
        self.graph.sort_by_rank(&mut ids);
        ids.dedup();
        Ok(Rc::new(ids))
    }

    /// Returns the namespace of `a` if only objects of it can meet `criteria` and candidates are looked for on demand;
    /// empty for all namespaces.
    fn index_namespace(&self, criteria: &Criteria, a: Id) -> Text {
        let is_on_demand = self.candidates.iter().any(Candidates::is_on_demand);
        let node = self.graph.node(a).filter(|_| is_on_demand && criteria.compares_namespaces());
        node.map(|node| node.namespace.clone()).unwrap_or_default()
    }

    /// Returns the candidates of `role` in `namespace`, or all if it is empty.
    fn candidates_near(&self, role: usize, namespace: &str) -> Cow<'_, [Id]> {
        match self.candidates.get(role) {
            None => Cow::default(),
            Some(found) if namespace.is_empty() => Cow::Borrowed(found.ids()),
            Some(found) => found.ids_near(namespace),
        }
    }

    /// Returns the index over the most selective criterion; none if no criterion compares for equality.
    fn value_index(
        &mut self,
        entry: usize,
        criteria: &Criteria,
        (role, namespace): (usize, &Text),
        budget: &mut Budget,
    ) -> Result<Option<Rc<ValueIndex>>, Exhausted> {
        let key = (role, namespace.clone());
        if let Some(known) = self.buckets.get(entry).and_then(|buckets| buckets.values.get(&key)) {
            return Ok(known.clone());
        }
        let ways: Vec<IndexedBy> = match criteria.basis {
            Basis::Selects(_) | Basis::SelectedBy(_) => vec![IndexedBy::Labels],
            _ => {
                let each = criteria.all.iter().enumerate();
                each.filter(|(_, one)| one.operator == ConditionOperator::Equals)
                    .map(|(at, _)| IndexedBy::Criterion(at))
                    .collect()
            }
        };
        let mut best: Option<ValueIndex> = None;
        for by in ways {
            let lists = self.listed(entry, criteria, by, (role, namespace), budget)?;
            if best.as_ref().is_none_or(|best| lists.len() > best.lists.len()) {
                let lists = lists.into_iter().map(|(text, list)| (text, Rc::new(list))).collect();
                best = Some(ValueIndex { by, lists });
            }
        }
        let best = best.map(Rc::new);
        if let Some(buckets) = self.buckets.get_mut(entry) {
            buckets.values.insert(key, best.clone());
        }
        Ok(best)
    }

    /// Returns the candidates of `role` by what `by` says.
    fn listed(
        &self,
        entry: usize,
        criteria: &Criteria,
        by: IndexedBy,
        (role, namespace): (usize, &Text),
        budget: &mut Budget,
    ) -> Result<HashMap<Text, Vec<Id>>, Exhausted> {
        let end = self.end(entry, role);
        let anchors = end.anchors(criteria);
        let mut lists: HashMap<Text, Vec<Id>> = HashMap::new();
        for id in self.candidates_near(role, namespace).iter() {
            let Some(object) = self.object(*id) else { continue };
            let mut texts = BTreeSet::new();
            for frame in anchor_frames(&anchors, &object, budget)? {
                match by {
                    IndexedBy::Labels => texts.extend(offered_labels(criteria, &object, &frame, budget)?),
                    IndexedBy::Criterion(at) => {
                        let Some(criterion) = criteria.all.get(at) else { continue };
                        texts.extend(index_texts(&end.side(criterion).values(&object, &frame, budget)?));
                    }
                }
            }
            budget.step(texts.len() as u64)?;
            for text in texts {
                lists.entry(text).or_default().push(*id);
            }
        }
        Ok(lists)
    }

    /// Returns whether two objects meet `criteria`, the leader with its present frame.
    pub(super) fn meets(
        &self,
        entry: usize,
        criteria: &Criteria,
        (one, a): (usize, Id),
        (other, b): (usize, Id),
        budget: &mut Budget,
    ) -> Result<bool, Exhausted> {
        let ((first, a), (second, b)) = match self.end(entry, one) {
            RelationshipEnd::First => ((one, a), (other, b)),
            RelationshipEnd::Second => ((other, b), (one, a)),
        };
        let (Some(left), Some(right)) = (self.object(a), self.object(b)) else { return Ok(false) };
        let left_frames = self.frames_of(criteria, RelationshipEnd::First, (first, &left), budget)?;
        let right_frames = self.frames_of(criteria, RelationshipEnd::Second, (second, &right), budget)?;
        for left_frame in &left_frames {
            for right_frame in &right_frames {
                if criteria.hold((&left, left_frame), (&right, right_frame), budget)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Returns the elements of an object that may be meant: those that its filter speaks of as well.
    fn frames_of(
        &self,
        criteria: &Criteria,
        end: RelationshipEnd,
        (role, object): (usize, &Value),
        budget: &mut Budget,
    ) -> Result<Vec<ElementFrame>, Exhausted> {
        if role == self.pattern.leader {
            return Ok(vec![self.frame.clone()]);
        }
        let anchors = end.anchors(criteria);
        match self.pattern.roles.get(role) {
            Some(role) if !anchors.is_empty() => role.filter.frames(&anchors, object, budget),
            _ => Ok(vec![ElementFrame::default()]),
        }
    }

    /// Returns which of the two objects of a relationship fills `role`.
    fn end(&self, entry: usize, role: usize) -> RelationshipEnd {
        let pairs = self.pattern.entries.get(entry).map_or(&[][..], |entry| &entry.pairs);
        if pairs.iter().any(|pair| pair.0 == role) { RelationshipEnd::First } else { RelationshipEnd::Second }
    }
}

/// Returns every choice of elements; one without any where none is meant.
fn anchor_frames(
    anchors: &[ArrayAnchor],
    object: &Value,
    budget: &mut Budget,
) -> Result<Vec<ElementFrame>, Exhausted> {
    if anchors.is_empty() {
        Ok(vec![ElementFrame::default()])
    } else {
        ElementFrame::all(anchors, object, budget)
    }
}
