//! The record of which edges of a graph came or went since it was last asked for.
//!
//! An incremental search starts from it: the nodes at both ends of every new or removed edge are recorded, and from them
//! the present graph leads to every node whose result can have changed.

use std::collections::{HashMap, HashSet};

use super::Graph;
use super::selections::SelectionLink;
use super::store::Wire;
use crate::names::SymbolMap;
use crate::{EdgeType, EdgeTypeSet, Id};

/// How many nodes are recorded for one type; with more, only that the type changed is known.
const MAX_TOUCHED_NODES: usize = 20_000;

/// The edges of a graph that came or went.
#[derive(Debug, Clone, Default)]
pub struct GraphChanges {
    touched: HashMap<EdgeType, HashSet<Id>>,
    overflowed: EdgeTypeSet,
    // Numbers of nodes that are gone. They are not given to others before the changes are read.
    freed: Vec<Id>,
}

impl GraphChanges {
    /// Returns the nodes at which an edge of a type came or went; none where there are too many to name.
    #[must_use]
    pub fn touched(&self, kind: EdgeType) -> Option<impl Iterator<Item = Id> + '_> {
        let ids = (!self.overflowed.contains(kind)).then(|| self.touched.get(&kind))?;
        Some(ids.into_iter().flatten().copied())
    }

    /// Returns whether any edge of a type came or went.
    #[must_use]
    pub fn has_edges_of(&self, kind: EdgeType) -> bool {
        self.overflowed.contains(kind) || self.touched.get(&kind).is_some_and(|ids| !ids.is_empty())
    }

    fn touch(&mut self, kind: EdgeType, id: Id) {
        let ids = self.touched.entry(kind).or_default();
        if ids.len() < MAX_TOUCHED_NODES {
            ids.insert(id);
        } else if !self.overflowed.contains(kind) {
            self.overflowed.insert(kind);
        }
    }
}

impl Graph {
    /// Begins to record changes.
    #[must_use]
    pub fn recording_changes(mut self) -> Self {
        self.changes = Some(Box::default());
        self
    }

    /// Returns what changed since the last call. Nothing is recorded unless [`Graph::recording_changes`] was called.
    pub fn take_changes(&mut self) -> GraphChanges {
        let Some(changes) = &mut self.changes else { return GraphChanges::default() };
        let mut changes = std::mem::take(changes.as_mut());
        self.free.append(&mut changes.freed);
        changes
    }

    pub(super) fn record_wires(&mut self, wires: &[Wire]) {
        let Some(changes) = &mut self.changes else { return };
        for wire in wires {
            changes.touch(wire.kind, wire.from);
            changes.touch(wire.kind, wire.to);
        }
    }

    /// Records that the object `id` begins or ceases to select the members of a group.
    pub(super) fn record_link(&mut self, id: Id, link: &SelectionLink) {
        let Some(changes) = &mut self.changes else { return };
        let members = self.selections.group(link.group).map_or(&[][..], |group| &group.members);
        if !members.is_empty() {
            changes.touch(link.kind, id);
        }
        members.iter().for_each(|member| changes.touch(link.kind, *member));
    }

    /// Records that the object `id` becomes a member of a group, or is one no more.
    pub(super) fn record_member(&mut self, id: Id, group: u32) {
        let Some(changes) = &mut self.changes else { return };
        let sources = self.selections.group(group).map_or(&[][..], |group| &group.sources);
        for source in sources {
            changes.touch(source.kind, source.id);
            changes.touch(source.kind, id);
        }
    }

    /// Gives the number of a node that is gone back.
    pub(super) fn free_id(&mut self, id: Id) {
        match &mut self.changes {
            Some(changes) => changes.freed.push(id),
            None => self.free.push(id),
        }
    }

    /// Returns how many names the graph knows, also of objects that are gone.
    #[must_use]
    pub fn name_count(&self) -> usize {
        self.names.len()
    }

    /// Returns an equal graph that has forgotten the names of objects that are gone. Ids are not those of this graph.
    #[must_use]
    pub fn compacted(self) -> Self {
        let mut empty = Self::new(&self.references);
        empty.edge_types = self.edge_types;
        let objects = self.slots.into_iter().filter(|slot| slot.is_used).filter_map(|slot| slot.node.object);
        let objects: Vec<_> = objects.collect();
        let mut graph = empty.filled(objects);
        graph.changes = self.changes.map(|_| Box::default());
        graph.shrink();
        graph
    }

    /// Gives back memory that lists have for more than they hold.
    pub fn shrink(&mut self) {
        for slot in &mut self.slots {
            slot.out.shrink_to_fit();
            slot.incoming.shrink_to_fit();
            slot.links.shrink_to_fit();
            slot.selected_by.shrink_to_fit();
            slot.questions.shrink_to_fit();
        }
        self.slots.shrink_to_fit();
        self.ranks.shrink_to_fit();
        self.order.shrink_to_fit();
        self.kinds.values_mut().for_each(Vec::shrink_to_fit);
        shrink_map(&mut self.identities);
        shrink_map(&mut self.uids);
        shrink_map(&mut self.watchers);
        self.names.shrink();
        self.selections.shrink();
    }
}

fn shrink_map<K: Eq + std::hash::Hash, V>(map: &mut SymbolMap<K, V>) {
    map.shrink_to_fit();
}
