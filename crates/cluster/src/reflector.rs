//! The reflector: keeps a store up to date with a list and watches.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use kubewright_k8s::ApiPath;

use crate::store::PendingList;
use crate::watcher::{ResourceWatcher, WatchSink, WatchStep};
use crate::{Client, ResourceWatch, Store};

/// Timeouts and backoff of a watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchPolicy {
    /// After how long without an event a connection counts as dead. The API server sends a bookmark every minute.
    pub idle: Duration,
    /// How long nothing may come between the initial events of a watch, until pages are read instead.
    pub initial_idle: Duration,
    /// The `timeoutSeconds` of one watch.
    pub life: Duration,
    /// The first wait after a failure; it doubles from there.
    pub first_wait: Duration,
    /// The longest wait.
    pub longest_wait: Duration,
    /// How long a watch must have lived for the waits to begin anew.
    pub good_life: Duration,
    /// After how long everything is listed again where no bookmarks arrive: without them it is not known whether a
    /// silent watch lacks events.
    pub list_again: Duration,
}

impl Default for WatchPolicy {
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(90),
            initial_idle: Duration::from_secs(20),
            life: Duration::from_secs(300),
            first_wait: Duration::from_millis(100),
            // Short, so that rule changes after an outage are seen soon.
            longest_wait: Duration::from_secs(2),
            good_life: Duration::from_secs(30),
            list_again: Duration::from_secs(1800),
        }
    }
}

/// Keeps `store` in sync with `path`, for ever. A failure is in [`Store::problem`] until it is over.
///
/// A resource that does not exist, such as one whose CustomResourceDefinition is missing, has no objects: the store counts
/// as synced once it has been missing for a moment, and the list is tried again.
pub async fn run_reflector(
    client: Client,
    path: ApiPath,
    store: Arc<Store>,
    pace: WatchPolicy,
) -> Infallible {
    let max_object_bytes = client.limits().size;
    let watch = ResourceWatch { policy: pace, max_object_bytes, ..ResourceWatch::new(path) };
    ResourceWatcher::new(&client, watch, StoreSink { store, pending: PendingList::default() }).run().await
}

/// Puts what is read into a store. A list is gathered beside what is stored, and takes its place when it is whole.
struct StoreSink {
    store: Arc<Store>,
    pending: PendingList,
}

impl WatchSink for StoreSink {
    async fn take(&mut self, step: WatchStep) {
        match step {
            WatchStep::ListStarted => self.pending = self.store.begin_list(),
            WatchStep::Listed(object) => self.store.add_listed(&mut self.pending, object),
            WatchStep::Changed(event) if self.pending.is_open() => self.pending.remove(&event),
            WatchStep::ListEnded(version) => self.store.end_list(std::mem::take(&mut self.pending), &version),
            WatchStep::Changed(event) => {
                self.store.apply(event);
            }
            WatchStep::Connected => self.store.record_contact(None),
            WatchStep::Failed(error) => {
                self.pending = PendingList::default();
                self.store.record_contact(Some(error));
            }
        }
    }
}
