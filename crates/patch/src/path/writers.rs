//! Who last wrote which part of a document.
//!
//! Lists move: when an item is inserted or removed, what is known of the items after it moves with them.

use std::collections::BTreeMap;

use kubewright_value::{Step, Value};

use super::{Applied, Op};

/// What is known of the writers of one document.
#[derive(Debug, Clone)]
pub struct Writers<W> {
    root: Node<W>,
}

/// What one writer wrote and another one wrote over or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overwritten<W> {
    /// Where, when it was written over.
    pub place: Vec<Step>,
    /// Who had written it.
    pub writer: W,
}

#[derive(Debug, Clone)]
struct Node<W> {
    /// Who set all of this; parts may have been set by others since.
    writer: Option<W>,
    parts: BTreeMap<Step, Node<W>>,
}

impl<W> Default for Node<W> {
    fn default() -> Self {
        Self { writer: None, parts: BTreeMap::new() }
    }
}

impl<W> Default for Writers<W> {
    fn default() -> Self {
        Self { root: Node::default() }
    }
}

impl<W: Clone + PartialEq> Writers<W> {
    /// Notes that `writer` did `op` with `value`, and returns what others had written there, in document order.
    pub fn note(&mut self, op: Op, value: &Value, applied: &Applied, writer: &W) -> Vec<Overwritten<W>> {
        let mut lost = Vec::new();
        let done = applied.places.iter().zip(&applied.was);
        match op {
            // From the back, because the places are those from before.
            Op::Remove => {
                done.rev().for_each(|(place, _)| self.remove(place, writer, &mut lost));
                lost.reverse();
            }
            Op::Merge => {
                for (place, was) in done {
                    self.merge(place, was.as_ref(), value, writer, &mut lost);
                }
            }
            Op::Add | Op::Replace => {
                for (place, was) in done {
                    match place.last() {
                        Some(Step::Index(index)) if op == Op::Add => self.insert(place, *index, writer),
                        _ => self.set(place, was.is_some(), writer, &mut lost),
                    }
                }
            }
        }
        lost
    }

    /// Returns who last set the value at `place`, alone or with what it stands in.
    #[must_use]
    pub fn last(&self, place: &[Step]) -> Option<&W> {
        let mut here = &self.root;
        let mut last = here.writer.as_ref();
        for step in place {
            let Some(part) = here.parts.get(step) else { break };
            here = part;
            last = here.writer.as_ref().or(last);
        }
        last
    }

    /// Returns every place that was set as a whole, with who set it, in document order of lists and by name of keys.
    #[must_use]
    pub fn places(&self) -> Vec<(Vec<Step>, &W)> {
        let mut found = Vec::new();
        self.root.collect(&mut Vec::new(), &mut found);
        found
    }

    fn set(&mut self, place: &[Step], was_there: bool, writer: &W, lost: &mut Vec<Overwritten<W>>) {
        if was_there {
            self.lose(place, writer, lost);
        }
        *self.node(place) = Node { writer: Some(writer.clone()), parts: BTreeMap::new() };
    }

    fn merge(
        &mut self,
        place: &[Step],
        was: Option<&Value>,
        value: &Value,
        writer: &W,
        lost: &mut Vec<Overwritten<W>>,
    ) {
        match (was.and_then(Value::as_object), value.as_object()) {
            (Some(was), Some(entries)) => {
                for key in entries.keys() {
                    let entry: Vec<Step> = place.iter().cloned().chain([Step::Key(key.clone())]).collect();
                    self.set(&entry, was.contains_key(key), writer, lost);
                }
            }
            _ => self.set(place, was.is_some(), writer, lost),
        }
    }

    fn insert(&mut self, place: &[Step], index: usize, writer: &W) {
        let list = place.split_last().map_or(&[][..], |(_, list)| list);
        let parts = &mut self.node(list).parts;
        let after = parts.split_off(&Step::Index(index));
        parts.extend(after.into_iter().map(|(step, node)| (moved(step, |index| index + 1), node)));
        parts.insert(Step::Index(index), Node { writer: Some(writer.clone()), parts: BTreeMap::new() });
    }

    fn remove(&mut self, place: &[Step], writer: &W, lost: &mut Vec<Overwritten<W>>) {
        let mut here = Vec::new();
        self.lose(place, writer, &mut here);
        lost.extend(here.into_iter().rev());
        let Some((last, container)) = place.split_last() else { return };
        let parts = &mut self.node(container).parts;
        parts.remove(last);
        if let Step::Index(_) = last {
            let after = parts.split_off(last);
            parts.extend(
                after.into_iter().map(|(step, node)| (moved(step, |index| index.saturating_sub(1)), node)),
            );
        }
    }

    /// Notes what others than `writer` have written at `place`: with what it stands in, as a whole, or parts of it.
    fn lose(&self, place: &[Step], writer: &W, lost: &mut Vec<Overwritten<W>>) {
        if let Some(other) = self.last(place).filter(|other| *other != writer) {
            lost.push(Overwritten { place: place.to_vec(), writer: other.clone() });
        }
        let Some(node) = place.iter().try_fold(&self.root, |here, step| here.parts.get(step)) else { return };
        let mut found = Vec::new();
        node.collect(&mut place.to_vec(), &mut found);
        let parts = found.into_iter().filter(|(part, other)| part.len() > place.len() && *other != writer);
        lost.extend(parts.map(|(place, other)| Overwritten { place, writer: other.clone() }));
    }

    fn node(&mut self, place: &[Step]) -> &mut Node<W> {
        place.iter().fold(&mut self.root, |here, step| here.parts.entry(step.clone()).or_default())
    }
}

impl<W> Node<W> {
    fn collect<'n>(&'n self, here: &mut Vec<Step>, found: &mut Vec<(Vec<Step>, &'n W)>) {
        if let Some(writer) = &self.writer {
            found.push((here.clone(), writer));
        }
        for (step, part) in &self.parts {
            here.push(step.clone());
            part.collect(here, found);
            here.pop();
        }
    }
}

fn moved(step: Step, by: impl Fn(usize) -> usize) -> Step {
    match step {
        Step::Index(index) => Step::Index(by(index)),
        key @ Step::Key(_) => key,
    }
}
