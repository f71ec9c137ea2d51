//! The events of one watched resource, sent over a bounded channel.

use kubewright_k8s::ApiPath;
use kubewright_value::Value;
use tokio::sync::mpsc::Sender;

use crate::watcher::{ResourceWatcher, WatchSink, WatchStep};
use crate::{Client, Error, WatchEvent, WatchPolicy};

/// How many objects one page has, unless another number is asked for.
const DEFAULT_PAGE_SIZE: u32 = 500;

/// The largest object that is read, unless another size is asked for. etcd takes 1.5 MiB a request; JSON is longer.
const DEFAULT_MAX_OBJECT_BYTES: usize = 16 << 20;

/// One event of a watched resource.
///
/// They come in this order: `InitialListStarted`, any number of `InitialObject`, `InitialListEnded`, then `Applied` and
/// `Deleted`. Where the API server has forgotten what happened in between (410), all begins again with
/// `InitialListStarted`; what is not seen until `InitialListEnded` is gone. A list that breaks off begins again too,
/// without having ended. `Deleted` may come within a list, `Failed` at any time.
#[derive(Debug, Clone, PartialEq)]
pub enum ResourceEvent {
    /// A list begins.
    InitialListStarted,
    /// An object of the list.
    InitialObject(Value),
    /// The list is whole.
    InitialListEnded,
    /// An object is new or has changed.
    Applied(Value),
    /// An object is gone; this is its last state.
    Deleted(Value),
    /// Something failed and is tried again. What was seen before stays true as far as is known.
    Failed(Error),
}

/// What is watched, and how.
#[derive(Debug, Clone)]
pub struct ResourceWatch {
    /// The address of the objects; a selector may be in its query.
    pub path: ApiPath,
    /// Whether objects come with `metadata` only.
    pub is_metadata_only: bool,
    /// How the list is asked for.
    pub initial_list: InitialListStrategy,
    /// How many objects a page has where the list comes in pages.
    pub page_size: u32,
    /// Timeouts and waits.
    pub policy: WatchPolicy,
    /// How many bytes the JSON of one object may have; a larger one is an error.
    pub max_object_bytes: usize,
    /// Removes fields that are not needed, before an object waits in the channel.
    pub trim: fn(&mut Value),
}

/// How the list is asked for with which a watch begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum InitialListStrategy {
    /// As the first events of a watch (`sendInitialEvents`), which cost an API server least; in pages where it does not
    /// send them.
    #[default]
    StreamingList,
    /// In pages.
    ListWatch,
}

impl ResourceWatch {
    /// Returns a watch of whole objects with the usual settings.
    #[must_use]
    pub fn new(path: ApiPath) -> Self {
        Self {
            path,
            is_metadata_only: false,
            initial_list: InitialListStrategy::default(),
            page_size: DEFAULT_PAGE_SIZE,
            policy: WatchPolicy::default(),
            max_object_bytes: DEFAULT_MAX_OBJECT_BYTES,
            trim: |_| {},
        }
    }
}

/// Lists and watches a resource, and sends every event in order. Ends when the receiver is dropped.
///
/// The channel is bounded, so a slow receiver slows down what is read from the API server, and no event is dropped. A
/// resource that does not exist is one without objects: an empty list is sent once it has been missing for a while.
pub async fn watch_resource(client: Client, watch: ResourceWatch, events: Sender<ResourceEvent>) {
    let watcher = ResourceWatcher::new(&client, watch, EventSender { events: events.clone() });
    tokio::select! {
        () = events.closed() => {}
        never = watcher.run() => match never {},
    }
}

struct EventSender {
    events: Sender<ResourceEvent>,
}

impl WatchSink for EventSender {
    async fn take(&mut self, step: WatchStep) {
        let event = match step {
            WatchStep::ListStarted => ResourceEvent::InitialListStarted,
            WatchStep::Listed(object) => ResourceEvent::InitialObject(object),
            WatchStep::ListEnded(_) => ResourceEvent::InitialListEnded,
            WatchStep::Changed(WatchEvent::Set(object)) => ResourceEvent::Applied(object),
            WatchStep::Changed(WatchEvent::Removed(object)) => ResourceEvent::Deleted(object),
            WatchStep::Failed(error) => ResourceEvent::Failed(error),
            WatchStep::Changed(WatchEvent::Bookmark(_)) | WatchStep::Connected => return,
        };
        // Without a receiver the watch ends.
        let _ = self.events.send(event).await;
    }
}
