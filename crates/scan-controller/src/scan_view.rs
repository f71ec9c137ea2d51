//! What others may see of a scan while it runs: cheap to clone, and every part can be waited for.

use std::sync::Arc;
use std::time::SystemTime;

use kubewright_value::Text;
use tokio::sync::watch;

use crate::BlockedAdmissions;

/// A view of a scan. It stays valid when another replica becomes the leader.
#[derive(Debug, Clone)]
pub struct ScanView {
    /// How far the scan of this replica is; changes at most about once a second.
    pub progress: watch::Receiver<ScanProgress>,
    /// Grows whenever a report of ours in the cluster has changed; only in the replica that scans.
    pub report_version: watch::Receiver<u64>,
    /// The last requests that rules refused.
    pub blocked: Arc<BlockedAdmissions>,
}

/// How far a scan is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScanProgress {
    /// What the scan does.
    pub phase: ScanPhase,
    /// How many objects are judged: in the first pass all that were read, afterwards those that a rule is about.
    pub judged: u64,
    /// How many objects there are to judge, as far as is known: never less than `judged`.
    pub total: u64,
    /// How many changes wait to be judged.
    pub pending: u64,
    /// When the last pass over all objects ended.
    pub last_pass: Option<SystemTime>,
    /// The identity of the replica that scans; empty where none does.
    pub leader: Text,
    /// Whether that is this replica.
    pub is_leader: bool,
}

/// What a scan does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ScanPhase {
    /// Nothing: another replica is the leader, or none is.
    #[default]
    Standby,
    /// It reads and judges all objects for the first time.
    FirstPass,
    /// All objects are judged, and changes are judged as they come.
    Watching,
}

impl ScanPhase {
    /// Returns the name for JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Standby => "standby",
            Self::FirstPass => "firstPass",
            Self::Watching => "watching",
        }
    }
}

/// Counts changes of the reports in the cluster. Clones count together.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReportVersion(Arc<watch::Sender<u64>>);

impl ReportVersion {
    /// Notes that a report has changed.
    pub(crate) fn changed(&self) {
        self.0.send_modify(|version| *version += 1);
    }

    /// Returns the version, to wait for changes.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.0.subscribe()
    }
}
