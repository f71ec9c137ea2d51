//! The places of the children of each node in the flat list of positions of a document.

use crate::Value;

/// The index of a document.
#[derive(Debug, Default)]
pub(super) struct ChildPositions {
    /// For each node in pre-order, where its children begin in `places`.
    first: Vec<u32>,
    /// The positions of children, those of one node side by side. Of a child of an object it is that of its key.
    places: Vec<u32>,
}

impl ChildPositions {
    /// Returns the index of all parts of `value`, in one pass.
    pub(super) fn of_document(value: &Value) -> Self {
        let mut children = Self::default();
        children.add(value);
        children.first.shrink_to_fit();
        children.places.shrink_to_fit();
        children
    }

    /// Returns the places of the children of `value`, whose own position is `at`.
    pub(super) fn of(&self, at: usize, value: &Value) -> &[u32] {
        let count = match value {
            Value::Array(items) => items.len(),
            Value::Object(map) => map.len(),
            _ => 0,
        };
        let start = self.first.get(at).map_or(usize::MAX, |first| *first as usize);
        self.places.get(start..start.saturating_add(count)).unwrap_or_default()
    }

    /// Values nest no deeper than the readers allow.
    fn add(&mut self, value: &Value) {
        let start = self.places.len();
        self.first.push(to_position_count(start));
        match value {
            Value::Array(items) => {
                self.places.resize(start + items.len(), 0);
                for (index, item) in items.iter().enumerate() {
                    self.place(start + index);
                    self.add(item);
                }
            }
            Value::Object(map) => {
                self.places.resize(start + map.len(), 0);
                for (index, item) in map.values().enumerate() {
                    self.place(start + index);
                    // The key has a position of its own, and no children.
                    self.first.push(0);
                    self.add(item);
                }
            }
            _ => {}
        }
    }

    /// Notes that the child whose entry is at `entry` is the next node.
    fn place(&mut self, entry: usize) {
        let next = to_position_count(self.first.len());
        if let Some(place) = self.places.get_mut(entry) {
            *place = next;
        }
    }
}

/// A text is smaller than 4 GiB, so it has fewer parts.
fn to_position_count(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
