//! What reaches the scan thread, in one bounded channel.

use std::sync::Arc;
use std::time::Instant;

use kubewright_cluster::{DiscoveredResources, ResourceEvent};
use kubewright_scan::{KindKey, ObjectKey};
use kubewright_value::{Text, Value};

use crate::rule_source::LoadedRules;

/// How many inputs wait at most. A slow scan then slows down what is read from the API server.
pub(crate) const MAX_WAITING_INPUTS: usize = 256;

/// Something that the scan thread handles.
#[derive(Debug)]
pub(crate) enum ScanInput {
    /// An event of a watched kind.
    Watched {
        kind: KindKey,
        /// The number of the watch: events of one that has ended do not count.
        watch: u64,
        event: ResourceEvent,
        since: Instant,
    },
    /// An object that is read again.
    Rescanned { kind: KindKey, object: Value },
    /// A rescan has ended, or failed.
    RescanEnded { kind: KindKey, failure: Option<String> },
    /// The rules have changed.
    Rules(Arc<LoadedRules>),
    /// The kinds have changed that the API server serves.
    Served(Arc<DiscoveredResources>),
    /// An object has changed that is in a watch cache.
    Changed(ObjectKey),
    /// A shared entry has changed.
    SharedChanged(Text),
    /// Everything is to be judged again now.
    ScanNow,
}
