//! The current paths in the object and in the pattern: a chain on the stack, copied only on demand.

use kubewright_value::{Step, Text};

use super::node::PatternEntry;

/// A place, and the way to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct ComparedPath<'p> {
    above: Option<&'p ComparedPath<'p>>,
    in_object: Hop<'p>,
    in_pattern: Hop<'p>,
}

#[derive(Debug, Clone, Copy)]
enum Hop<'p> {
    None,
    Key(&'p Text),
    Index(usize),
}

impl<'p> ComparedPath<'p> {
    pub(super) const ROOT: ComparedPath<'static> =
        ComparedPath { above: None, in_object: Hop::None, in_pattern: Hop::None };

    /// Enters `entry`, which is `key` in the object.
    pub(super) fn under(&'p self, entry: &'p PatternEntry, key: &'p Text) -> Self {
        let in_pattern = if entry.is_added { Hop::None } else { Hop::Key(&entry.raw) };
        Self { above: Some(self), in_object: Hop::Key(key), in_pattern }
    }

    /// Goes to element `index` of the object's list, which is compared with element `wanted` of the pattern's.
    pub(super) fn element(&'p self, index: usize, wanted: usize) -> Self {
        Self { above: Some(self), in_object: Hop::Index(index), in_pattern: Hop::Index(wanted) }
    }

    /// Goes to the element of the pattern's list that all of the object's are compared with.
    pub(super) fn first(&'p self) -> Self {
        Self { above: Some(self), in_object: Hop::None, in_pattern: Hop::Index(0) }
    }

    /// Returns the path in the object as Kyverno prints it: `/spec/containers/0/`.
    pub(super) fn text(&self) -> String {
        let mut out = String::with_capacity(64);
        out.push('/');
        self.push_text(&mut out);
        out
    }

    fn push_text(&self, out: &mut String) {
        if let Some(above) = self.above {
            above.push_text(out);
        }
        match self.in_object {
            Hop::None => return,
            Hop::Key(key) => out.push_str(key),
            Hop::Index(index) => out.push_str(&index.to_string()),
        }
        out.push('/');
    }

    /// Returns the path in the object.
    pub(super) fn in_object(&self) -> Vec<Step> {
        self.way().iter().filter_map(|place| place.in_object.step()).collect()
    }

    /// Returns the path in the pattern, with its keys as the author wrote them.
    pub(super) fn in_pattern(&self) -> Vec<Step> {
        self.way().iter().filter_map(|place| place.in_pattern.step()).collect()
    }

    fn way(&self) -> Vec<ComparedPath<'p>> {
        let mut way = vec![*self];
        while let Some(above) = way.last().and_then(|place| place.above) {
            way.push(*above);
        }
        way.reverse();
        way
    }
}

impl Hop<'_> {
    fn step(self) -> Option<Step> {
        match self {
            Self::None => None,
            Self::Key(key) => Some(Step::Key(key.clone())),
            Self::Index(index) => Some(Step::Index(index)),
        }
    }
}
