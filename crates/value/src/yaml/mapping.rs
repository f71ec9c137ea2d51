//! A mapping under construction, and its part of the position list.
//!
//! Most mappings have neither equal keys nor merges; their positions are already in order. Otherwise a plan
//! of which positions belong to which entry is kept, and the list is put in order once, at the end.

use std::ops::Range;

use crate::source::position_count;
use crate::{Map, Position, Text, Value};

/// The entries so far.
pub(super) struct MappingBuilder {
    map: Map,
    // Where the positions of the first entry start.
    start: usize,
    plan: Option<Vec<PlannedEntry>>,
}

/// The places of the positions of an entry, its key first.
struct PlannedEntry {
    at: Range<usize>,
    is_merged: bool,
}

impl MappingBuilder {
    /// Returns an empty mapping whose entries' positions start at `start`.
    pub(super) fn new(start: usize) -> Self {
        Self { map: Map::new(), start, plan: None }
    }

    /// Sets `key`, whose positions and those of its value are `at`.
    /// Returns the positions of the earlier entry if the same key was written before.
    pub(super) fn put(&mut self, key: Text, value: Value, at: Range<usize>) -> Option<Range<usize>> {
        self.set(key, value, at, false)
    }

    /// Takes over the entries of `other`, whose own position is at `at`; they replace what is there.
    pub(super) fn merge(&mut self, other: &Map, at: usize) {
        self.planned();
        let mut at = at + 1;
        for (key, value) in other.iter() {
            let end = at + 1 + position_count(value);
            self.set(key.clone(), value.clone(), at..end, true);
            at = end;
        }
    }

    /// Notes that positions were written that belong to no entry.
    pub(super) fn unordered(&mut self) {
        self.planned();
    }

    fn planned(&mut self) -> &mut Vec<PlannedEntry> {
        let Self { map, start, plan } = self;
        plan.get_or_insert_with(|| plan_positions(map, *start))
    }

    /// Returns the map, and puts its positions in order; adds to `moved` how many that took.
    pub(super) fn finish(self, positions: &mut Vec<Position>, moved: &mut usize) -> Map {
        if let Some(plan) = self.plan {
            *moved = moved.saturating_add(positions.len().saturating_sub(self.start));
            let mut ordered = Vec::new();
            for entry in plan {
                ordered.extend_from_slice(positions.get(entry.at).unwrap_or_default());
            }
            positions.truncate(self.start);
            positions.append(&mut ordered);
        }
        self.map
    }

    fn set(&mut self, key: Text, value: Value, at: Range<usize>, is_merged: bool) -> Option<Range<usize>> {
        let Some(place) = self.map.position(&key) else {
            if let Some(plan) = &mut self.plan {
                plan.push(PlannedEntry { at, is_merged });
            }
            self.map.insert(key, value);
            return None;
        };
        let entry = self.planned().get_mut(place)?;
        let old = std::mem::replace(entry, PlannedEntry { at, is_merged });
        self.map.insert(key, value);
        (!old.is_merged && !is_merged).then_some(old.at)
    }
}

fn plan_positions(map: &Map, start: usize) -> Vec<PlannedEntry> {
    let mut at = start;
    let planned = |value: &Value| {
        let entry = at..at + 1 + position_count(value);
        at = entry.end;
        PlannedEntry { at: entry, is_merged: false }
    };
    map.values().map(planned).collect()
}
