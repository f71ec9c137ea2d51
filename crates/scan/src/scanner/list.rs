//! Lists: what is not seen between the start and the end of a list no longer exists.

use super::Scanner;
use crate::{KindKey, ObjectKey};

/// The lists of a kind.
#[derive(Debug, Default)]
pub(super) struct ListState {
    /// Counts them.
    number: u32,
    is_open: bool,
}

impl Scanner {
    /// Starts a list of all objects of `kind`. A list that was started before is given up.
    pub fn begin_list(&mut self, kind: &KindKey) {
        let state = self.lists.entry(kind.clone()).or_default();
        state.number = state.number.wrapping_add(1);
        state.is_open = true;
    }

    /// Ends the list of `kind`: objects that were not observed since it started are forgotten. It does nothing without a
    /// start.
    pub fn end_list(&mut self, kind: &KindKey) {
        let Some(state) = self.lists.get_mut(kind).filter(|state| state.is_open) else { return };
        state.is_open = false;
        let number = state.number;
        let Some(objects) = self.kinds.get(kind) else { return };
        let unseen = objects.iter().filter(|(_, object)| object.seen != number);
        let unseen: Vec<ObjectKey> = unseen.map(|(key, _)| key.object_key(kind)).collect();
        unseen.iter().for_each(|key| self.remove(key));
    }

    /// Forgets all objects of `kind`, which cannot be listed any more.
    pub fn forget_kind(&mut self, kind: &KindKey) {
        let keys = self.kinds.get(kind).into_iter().flat_map(|objects| objects.iter());
        let keys: Vec<ObjectKey> = keys.map(|(key, _)| key.object_key(kind)).collect();
        keys.iter().for_each(|key| self.remove(key));
        self.lists.remove(kind);
    }

    /// Returns whether a list was started and has not ended yet.
    pub(super) fn has_open_list(&self) -> bool {
        self.lists.values().any(|state| state.is_open)
    }

    pub(super) fn list_number(&self, key: &ObjectKey) -> u32 {
        self.lists.get(&KindKey::of(key)).map_or(0, |state| state.number)
    }

    pub(super) fn mark_seen(&mut self, key: &ObjectKey) {
        let number = self.list_number(key);
        if let Some(object) = self.tracked_mut(key) {
            object.seen = number;
        }
    }
}
