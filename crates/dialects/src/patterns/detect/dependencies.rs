//! Which dependencies meet the criteria of a target.
//!
//! Not every target with every dependency: dependencies are listed by a value, or by a label, that both must have.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use kubewright_graph::{EdgeType, Graph, Id};
use kubewright_value::{Budget, Exhausted, Text, Value};

use super::super::criteria::{Basis, Criteria, index_texts, offered_labels, wanted_labels};
use super::super::key::{Frame, KeyStep};
use super::super::operator::Operator;
use super::Search;

/// Dependencies by something that their target must have too.
#[derive(Debug)]
pub(super) struct ValueIndex {
    by: By,
    lists: HashMap<Text, Vec<Id>>,
}

/// What dependencies are listed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    /// The values of a criterion.
    Criterion(usize),
    /// Labels, or a label that their selector wants.
    Labels,
}

impl Search<'_> {
    /// Returns the candidates of `role` that meet `criteria` with the target.
    pub(super) fn dependencies(
        &mut self,
        entry: usize,
        criteria: &Criteria,
        target: Id,
        role: usize,
        budget: &mut Budget,
    ) -> Result<Vec<Id>, Exhausted> {
        let narrowed = self.narrowed(entry, criteria, target, role, budget)?;
        let mut ids = Vec::new();
        for id in narrowed {
            budget.step(1)?;
            if self.meets(criteria, target, (role, id), budget)? {
                ids.push(id);
            }
        }
        Ok(ids)
    }

    /// Returns candidates of `role` among which all are that can meet `criteria`.
    fn narrowed(
        &mut self,
        entry: usize,
        criteria: &Criteria,
        target: Id,
        role: usize,
        budget: &mut Budget,
    ) -> Result<Vec<Id>, Exhausted> {
        let Some(candidates) = self.candidates.get(role) else { return Ok(Vec::new()) };
        if matches!(criteria.basis, Basis::Owns | Basis::OwnedBy) {
            let reached = reached(self.graph, target, criteria.basis == Basis::Owns, budget)?;
            let mut ids: Vec<Id> = reached.into_iter().filter(|id| candidates.contains(*id)).collect();
            ids.sort_by_key(|id| self.graph.rank(*id));
            return Ok(ids);
        }
        let Some(index) = self.value_index(entry, criteria, role, budget)? else {
            return Ok(self.candidates.get(role).map(|found| found.ids.clone()).unwrap_or_default());
        };
        let object = self.graph.node(target).and_then(|node| node.object.as_ref());
        let Some(object) = object else { return Ok(Vec::new()) };
        let texts = match index.by {
            By::Labels => wanted_labels(criteria, object, &self.frame, budget)?,
            By::Criterion(at) => match criteria.all.get(at) {
                Some(criterion) => {
                    Some(index_texts(&criterion.target.values(object, &self.frame, budget)?))
                }
                None => None,
            },
        };
        let Some(texts) = texts else {
            return Ok(self.candidates.get(role).map(|found| found.ids.clone()).unwrap_or_default());
        };
        let mut ids = Vec::new();
        for text in texts {
            ids.extend(index.lists.get(&text).into_iter().flatten().copied());
        }
        ids.sort_by_key(|id| self.graph.rank(*id));
        ids.dedup();
        Ok(ids)
    }

    /// Returns the index over the criterion that tells dependencies apart best; none where none compares for equality.
    fn value_index(
        &mut self,
        entry: usize,
        criteria: &Criteria,
        role: usize,
        budget: &mut Budget,
    ) -> Result<Option<Rc<ValueIndex>>, Exhausted> {
        if let Some(known) = self.buckets.get(entry).and_then(|buckets| buckets.values.clone()) {
            return Ok(Some(known));
        }
        let ways: Vec<By> = match criteria.basis {
            Basis::Selects(_) | Basis::SelectedBy(_) => vec![By::Labels],
            _ => {
                let each = criteria.all.iter().enumerate();
                each.filter(|(_, one)| one.operator == Operator::Equals)
                    .map(|(at, _)| By::Criterion(at))
                    .collect()
            }
        };
        let mut best: Option<ValueIndex> = None;
        for by in ways {
            let lists = self.listed(criteria, by, role, budget)?;
            if best.as_ref().is_none_or(|best| lists.len() > best.lists.len()) {
                best = Some(ValueIndex { by, lists });
            }
        }
        let best = best.map(Rc::new);
        if let Some(buckets) = self.buckets.get_mut(entry) {
            buckets.values.clone_from(&best);
        }
        Ok(best)
    }

    /// Returns the candidates of `role` by what `by` says.
    fn listed(
        &self,
        criteria: &Criteria,
        by: By,
        role: usize,
        budget: &mut Budget,
    ) -> Result<HashMap<Text, Vec<Id>>, Exhausted> {
        let mut anchors = Vec::new();
        criteria.dependency_anchors(&mut anchors);
        let mut lists: HashMap<Text, Vec<Id>> = HashMap::new();
        for id in self.candidates.get(role).map_or(&[][..], |found| found.ids.as_slice()) {
            let Some(object) = self.graph.node(*id).and_then(|node| node.object.as_ref()) else { continue };
            let mut texts = BTreeSet::new();
            for frame in frames(&anchors, object, budget)? {
                match by {
                    By::Labels => texts.extend(offered_labels(criteria, object, &frame, budget)?),
                    By::Criterion(at) => {
                        let Some(criterion) = criteria.all.get(at) else { continue };
                        texts.extend(index_texts(&criterion.dependency.values(object, &frame, budget)?));
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

    /// Returns whether a dependency meets `criteria` with the target and its present frame.
    pub(super) fn meets(
        &self,
        criteria: &Criteria,
        target: Id,
        (role, dependency): (usize, Id),
        budget: &mut Budget,
    ) -> Result<bool, Exhausted> {
        let object = |id: Id| self.graph.node(id).and_then(|node| node.object.as_ref());
        let (Some(left), Some(right)) = (object(target), object(dependency)) else { return Ok(false) };
        let mut anchors = Vec::new();
        criteria.dependency_anchors(&mut anchors);
        let filter = self.pattern.roles.get(role).map(|role| &role.filter);
        if !anchors.is_empty()
            && let Some(filter) = filter
        {
            filter.collect_anchors(&mut anchors);
        }
        for frame in frames(&anchors, right, budget)? {
            let passes = match filter.filter(|_| !anchors.is_empty()) {
                Some(filter) => filter.passes(right, &frame, budget, &mut false)?,
                None => true,
            };
            if passes && criteria.hold((left, &self.frame), (right, &frame), budget)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Returns every choice of elements; one without any where none is meant.
fn frames(anchors: &[Vec<KeyStep>], object: &Value, budget: &mut Budget) -> Result<Vec<Frame>, Exhausted> {
    if anchors.is_empty() { Ok(vec![Frame::default()]) } else { Frame::all(anchors, object, budget) }
}

/// Returns everything that `id` owns, or that owns it, directly or not.
fn reached(graph: &Graph, id: Id, owned: bool, budget: &mut Budget) -> Result<Vec<Id>, Exhausted> {
    let mut seen = HashSet::from([id]);
    let (mut open, mut found) = (vec![id], Vec::new());
    while let Some(next) = open.pop() {
        let ids: Vec<Id> = match owned {
            true => graph.out(next, EdgeType::OWNS).map(|edge| edge.to).collect(),
            false => graph.incoming(next, EdgeType::OWNS).map(|edge| edge.from).collect(),
        };
        budget.step(ids.len() as u64 + 1)?;
        for id in ids {
            if seen.insert(id) {
                open.push(id);
                found.push(id);
            }
        }
    }
    Ok(found)
}
