//! The objects at one address, as a watch knows them.
//!
//! Events are taken in any order and any number of times: an object is never replaced by an older state of itself,
//! neither the stored one nor the one that a list or a deletion has shown already.

mod content;

use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

use kubewright_value::{Text, Value};
use tokio::sync::watch;

use self::content::StoreContent;
pub(crate) use self::content::advance_version;
use crate::{ApiStatus, Error, ObjectList};

/// The objects at one address.
#[derive(Debug)]
pub struct Store {
    trim: fn(&mut Value),
    content: RwLock<StoreContent>,
    changes: watch::Sender<u64>,
    last_contact: Mutex<Option<Instant>>,
    problem: Mutex<Option<Error>>,
}

/// A list that is not whole yet.
#[derive(Debug, Default)]
pub(crate) struct PendingList(Option<StoreContent>);

/// What a watch says.
#[derive(Debug, Clone, PartialEq)]
pub enum WatchEvent {
    /// An object is new, or has changed.
    Set(Value),
    /// An object is gone.
    Removed(Value),
    /// Nothing has happened up to this version.
    Bookmark(Text),
}

impl Default for Store {
    fn default() -> Self {
        Self::new(|_| {})
    }
}

impl Store {
    /// Makes an empty store, which knows nothing yet. `trim` removes fields that are not needed;
    /// `managedFields` are always removed.
    #[must_use]
    pub fn new(trim: fn(&mut Value)) -> Self {
        Self {
            trim,
            content: RwLock::default(),
            changes: watch::Sender::new(0),
            last_contact: Mutex::default(),
            problem: Mutex::default(),
        }
    }

    /// Returns the object of this name; `namespace` is empty for one without.
    #[must_use]
    pub fn get(&self, namespace: &str, name: &str) -> Option<Value> {
        self.read().get(namespace, name).cloned()
    }

    /// Returns all objects, by namespace and name.
    #[must_use]
    pub fn all(&self) -> Vec<Value> {
        self.read().iter().cloned().collect()
    }

    /// Returns how many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.read().iter().count()
    }

    /// Returns whether there are no objects, as far as is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether the store has seen a whole list: what is not in it is not there.
    #[must_use]
    pub fn is_synced(&self) -> bool {
        self.read().is_synced
    }

    /// Returns the version up to which the store knows everything.
    #[must_use]
    pub fn version(&self) -> Text {
        self.read().version.clone()
    }

    /// Returns how long ago there was contact with the API server, if there ever was.
    #[must_use]
    pub fn age(&self) -> Option<Duration> {
        let contact = *self.last_contact.lock().unwrap_or_else(PoisonError::into_inner);
        contact.map(|contact| contact.elapsed())
    }

    /// Returns why there is no contact with the API server at the moment.
    #[must_use]
    pub fn problem(&self) -> Option<Error> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns a number that grows with every change, to wait for.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Returns a number made of all that is stored: equal for equal objects, whatever way they came.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.read().digest()
    }

    /// Puts the objects of a whole list in the place of what is stored.
    pub fn replace(&self, list: ObjectList) {
        let mut pending = self.begin_list();
        for object in list.items {
            self.add_listed(&mut pending, object);
        }
        self.end_list(pending, &list.version);
    }

    /// Begins a list that will take the place of what is stored.
    #[expect(clippy::unused_self, reason = "the list is one of this store")]
    pub(crate) fn begin_list(&self) -> PendingList {
        PendingList(Some(StoreContent::default()))
    }

    /// Adds an object to a list. One that has not changed is the one that is stored, so that a second list costs the
    /// memory of its names only.
    pub(crate) fn add_listed(&self, pending: &mut PendingList, mut object: Value) {
        let Some(new) = &mut pending.0 else { return };
        match self.read().same_version(&object) {
            Some(stored) => object = stored.clone(),
            None => self.prepare(&mut object),
        }
        new.insert(object);
    }

    /// Puts a whole list in the place of what is stored.
    pub(crate) fn end_list(&self, pending: PendingList, version: &str) {
        let Some(mut new) = pending.0 else { return };
        new.finish_list(version);
        self.record_contact(None);
        let mut content = self.content.write().unwrap_or_else(PoisonError::into_inner);
        let is_change = !content.is_synced || !content.has_same_versions(&new);
        *content = new;
        drop(content);
        if is_change {
            self.announce();
        }
    }

    /// Does what an event says, unless something newer is known. Returns whether the objects have changed.
    pub fn apply(&self, event: WatchEvent) -> bool {
        self.record_contact(None);
        let mut content = self.content.write().unwrap_or_else(PoisonError::into_inner);
        let is_change = match event {
            WatchEvent::Set(mut object) => {
                self.prepare(&mut object);
                content.set(object)
            }
            WatchEvent::Removed(object) => content.remove(&object),
            WatchEvent::Bookmark(version) => {
                content.advance(&version);
                false
            }
        };
        drop(content);
        if is_change {
            self.announce();
        }
        is_change
    }

    /// Records contact with the API server, or why there is none.
    pub(crate) fn record_contact(&self, problem: Option<Error>) {
        if problem.is_none() {
            *self.last_contact.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        }
        *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = problem;
    }

    fn prepare(&self, object: &mut Value) {
        if object.at(&["metadata", "managedFields"]).is_some()
            && let Some(map) = object.as_object_mut()
            && let Some(metadata) = map.get_mut("metadata").and_then(Value::as_object_mut)
        {
            metadata.remove("managedFields");
        }
        (self.trim)(object);
    }

    fn announce(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    fn read(&self) -> RwLockReadGuard<'_, StoreContent> {
        self.content.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PendingList {
    pub(crate) fn is_open(&self) -> bool {
        self.0.is_some()
    }

    /// Removes the object of a deletion that came while the list was sent.
    pub(crate) fn remove(&mut self, event: &WatchEvent) {
        if let (Some(content), WatchEvent::Removed(object)) = (&mut self.0, event) {
            content.remove(object);
        }
    }
}

impl WatchEvent {
    /// Reads a line of a watch.
    ///
    /// # Errors
    /// When the line says that the watch cannot go on, or is none.
    pub fn of(line: &Value) -> Result<Self, Error> {
        Self::of_line(line.clone())
    }

    /// Reads a line of a watch and takes its object out of it.
    pub(crate) fn of_line(mut line: Value) -> Result<Self, Error> {
        let kind = Text::new(line.str_at(&["type"]));
        let Some(object) = line.as_object_mut().and_then(|map| map.remove("object")) else {
            return Err(Error::Unreadable("an event has no object".to_owned()));
        };
        let is_named = object.at(&["metadata", "name"]).is_some_and(|name| name.as_str().is_some());
        match kind.as_str() {
            "ADDED" | "MODIFIED" | "DELETED" if !is_named => {
                Err(Error::Unreadable("the object of an event has no name".to_owned()))
            }
            "ADDED" | "MODIFIED" => Ok(Self::Set(object)),
            "DELETED" => Ok(Self::Removed(object)),
            "BOOKMARK" => Ok(Self::Bookmark(resource_version(&object).into())),
            "ERROR" => Err(ApiStatus::of_object(&object).into()),
            other => Err(Error::Unreadable(format!("unknown event type `{other}`"))),
        }
    }
}

pub(crate) fn resource_version(object: &Value) -> &str {
    object.str_at(&["metadata", "resourceVersion"])
}

#[cfg(test)]
mod tests;
