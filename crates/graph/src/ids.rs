//! Lists of nodes of which most have one.

use std::hash::Hash;

use crate::Id;
use crate::names::SymbolMap;

/// Nodes, ascending in number.
#[derive(Debug, Clone)]
pub(crate) enum Ids {
    One(Id),
    // INVARIANT: two at least. Behind a pointer, so that the many lists of one take less room.
    #[expect(
        clippy::box_collection,
        reason = "most lists have one and should not carry the size of a longer one"
    )]
    Many(Box<Vec<Id>>),
}

impl Ids {
    pub(crate) fn as_slice(&self) -> &[Id] {
        match self {
            Self::One(id) => std::slice::from_ref(id),
            Self::Many(ids) => ids,
        }
    }
}

/// Returns the list under `key`; an empty one if there is none.
pub(crate) fn under<'m, K: Eq + Hash>(lists: &'m SymbolMap<K, Ids>, key: &K) -> &'m [Id] {
    lists.get(key).map_or(&[], Ids::as_slice)
}

/// Puts `id` into the list under `key`, unless it is there.
pub(crate) fn insert_id<K: Eq + Hash>(lists: &mut SymbolMap<K, Ids>, key: K, id: Id) {
    let list = lists.entry(key).or_insert(Ids::One(id));
    match list {
        Ids::One(only) if *only == id => {}
        Ids::One(only) => *list = Ids::Many(Box::new(vec![(*only).min(id), (*only).max(id)])),
        Ids::Many(ids) => match ids.last() {
            Some(last) if *last >= id => {
                if let Err(place) = ids.binary_search(&id) {
                    ids.insert(place, id);
                }
            }
            _ => ids.push(id),
        },
    }
}

/// Takes `id` out of the list under `key`, and the list away if that was all.
pub(crate) fn withdraw<K: Eq + Hash>(lists: &mut SymbolMap<K, Ids>, key: &K, id: Id) {
    let Some(list) = lists.get_mut(key) else { return };
    match list {
        Ids::One(only) if *only == id => drop(lists.remove(key)),
        Ids::One(_) => {}
        Ids::Many(ids) => {
            if let Ok(place) = ids.binary_search(&id) {
                ids.remove(place);
            }
            if let [only] = ids.as_slice() {
                *list = Ids::One(*only);
            }
        }
    }
}
