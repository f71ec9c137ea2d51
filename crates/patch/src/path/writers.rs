//! The last writer of each part of a document.
//!
//! Lists move: when an item is inserted or removed, what is known of the items after it moves with them.

use std::collections::BTreeMap;

use kubewright_value::{Step, Value};

use super::{PathChange, PathOp};

/// The writers of one document.
#[derive(Debug, Clone)]
pub struct PathWriters<W> {
    root: WriterNode<W>,
}

/// A value that one writer wrote and another one overwrote or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OverwrittenPlace<W> {
    /// The place at the time it was overwritten.
    pub place: Vec<Step>,
    /// The first writer.
    pub writer: W,
}

#[derive(Debug, Clone)]
struct WriterNode<W> {
    /// The writer of the whole value; others may have set parts since.
    writer: Option<W>,
    parts: BTreeMap<Step, WriterNode<W>>,
}

impl<W> Default for WriterNode<W> {
    fn default() -> Self {
        Self { writer: None, parts: BTreeMap::new() }
    }
}

impl<W> Default for PathWriters<W> {
    fn default() -> Self {
        Self { root: WriterNode::default() }
    }
}

impl<W: Clone + PartialEq> PathWriters<W> {
    /// Notes that `writer` did `op` with `value`, and returns what others had written there, in document order.
    pub fn note(
        &mut self,
        op: PathOp,
        value: &Value,
        applied: &PathChange,
        writer: &W,
    ) -> Vec<OverwrittenPlace<W>> {
        let mut lost = Vec::new();
        let done = applied.places.iter().zip(&applied.was);
        match op {
            // From the back, because the places are those from before.
            PathOp::Remove => {
                done.rev().for_each(|(place, _)| self.remove(place, writer, &mut lost));
                lost.reverse();
            }
            PathOp::Merge => {
                for (place, was) in done {
                    self.merge(place, was.as_ref(), value, writer, &mut lost);
                }
            }
            PathOp::Add | PathOp::Replace => {
                for (place, was) in done {
                    match place.last() {
                        Some(Step::Index(index)) if op == PathOp::Add => self.insert(place, *index, writer),
                        _ => self.set(place, was.is_some(), writer, &mut lost),
                    }
                }
            }
        }
        lost
    }

    /// Returns who last set the value at `place`, alone or as part of a container.
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

    fn set(&mut self, place: &[Step], was_there: bool, writer: &W, lost: &mut Vec<OverwrittenPlace<W>>) {
        if was_there {
            self.lose(place, writer, lost);
        }
        *self.node(place) = WriterNode { writer: Some(writer.clone()), parts: BTreeMap::new() };
    }

    fn merge(
        &mut self,
        place: &[Step],
        was: Option<&Value>,
        value: &Value,
        writer: &W,
        lost: &mut Vec<OverwrittenPlace<W>>,
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
        parts.extend(after.into_iter().map(|(step, node)| (shift_index(step, |index| index + 1), node)));
        parts.insert(Step::Index(index), WriterNode { writer: Some(writer.clone()), parts: BTreeMap::new() });
    }

    fn remove(&mut self, place: &[Step], writer: &W, lost: &mut Vec<OverwrittenPlace<W>>) {
        let mut here = Vec::new();
        self.lose(place, writer, &mut here);
        lost.extend(here.into_iter().rev());
        let Some((last, container)) = place.split_last() else { return };
        let parts = &mut self.node(container).parts;
        parts.remove(last);
        if let Step::Index(_) = last {
            let after = parts.split_off(last);
            parts.extend(
                after
                    .into_iter()
                    .map(|(step, node)| (shift_index(step, |index| index.saturating_sub(1)), node)),
            );
        }
    }

    /// Notes what others than `writer` have written at `place`: with its container, as a whole, or parts of it.
    fn lose(&self, place: &[Step], writer: &W, lost: &mut Vec<OverwrittenPlace<W>>) {
        if let Some(other) = self.last(place).filter(|other| *other != writer) {
            lost.push(OverwrittenPlace { place: place.to_vec(), writer: other.clone() });
        }
        let Some(node) = place.iter().try_fold(&self.root, |here, step| here.parts.get(step)) else { return };
        let mut found = Vec::new();
        node.collect(&mut place.to_vec(), &mut found);
        let parts = found.into_iter().filter(|(part, other)| part.len() > place.len() && *other != writer);
        lost.extend(parts.map(|(place, other)| OverwrittenPlace { place, writer: other.clone() }));
    }

    fn node(&mut self, place: &[Step]) -> &mut WriterNode<W> {
        place.iter().fold(&mut self.root, |here, step| here.parts.entry(step.clone()).or_default())
    }
}

impl<W> WriterNode<W> {
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

fn shift_index(step: Step, by: impl Fn(usize) -> usize) -> Step {
    match step {
        Step::Index(index) => Step::Index(by(index)),
        key @ Step::Key(_) => key,
    }
}
