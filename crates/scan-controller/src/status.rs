//! What the parts of a scan tell each other and the health port.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use kubewright_scan::KindKey;

static STATUS_EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

/// How long a scan that has work may do nothing before the process is restarted.
const MAX_STALL_TIME: Duration = Duration::from_secs(600);

/// The state of a scan.
#[derive(Debug, Default)]
pub(crate) struct ScanStatus {
    is_scanning: AtomicBool,
    is_complete: AtomicBool,
    /// In milliseconds since [`STATUS_EPOCH`].
    last_progress: AtomicU64,
    unavailable: Mutex<BTreeMap<KindKey, String>>,
}

impl ScanStatus {
    /// Notes that a scan begins, which knows nothing yet, or ends.
    pub(crate) fn set_scanning(&self, is_scanning: bool) {
        self.progressed();
        self.is_complete.store(false, Ordering::Relaxed);
        self.is_scanning.store(is_scanning, Ordering::Relaxed);
        self.all_unavailable().clear();
    }

    /// Notes that all objects were judged once.
    pub(crate) fn completed(&self) {
        self.is_complete.store(true, Ordering::Release);
    }

    /// Returns whether all objects were judged once.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete.load(Ordering::Acquire)
    }

    /// Notes that the scan does something.
    pub(crate) fn progressed(&self) {
        let now = u64::try_from(STATUS_EPOCH.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_progress.store(now, Ordering::Relaxed);
    }

    /// Returns whether a scan runs and has done nothing for so long that only a restart can help.
    pub(crate) fn is_stalled(&self) -> bool {
        let last = Duration::from_millis(self.last_progress.load(Ordering::Relaxed));
        self.is_scanning.load(Ordering::Relaxed)
            && STATUS_EPOCH.elapsed().saturating_sub(last) > MAX_STALL_TIME
    }

    /// Sets why a kind cannot be read. Returns whether that is new.
    pub(crate) fn set_unavailable(&self, kind: &KindKey, why: Option<String>) -> bool {
        let mut unavailable = self.all_unavailable();
        match why {
            Some(why) => unavailable.insert(kind.clone(), why.clone()) != Some(why),
            None => unavailable.remove(kind).is_some(),
        }
    }

    /// Returns whether a kind cannot be read.
    pub(crate) fn is_unavailable(&self, kind: &KindKey) -> bool {
        self.all_unavailable().contains_key(kind)
    }

    /// Returns the kinds that cannot be read, each with the reason.
    pub(crate) fn unavailable(&self) -> BTreeMap<KindKey, String> {
        self.all_unavailable().clone()
    }

    fn all_unavailable(&self) -> std::sync::MutexGuard<'_, BTreeMap<KindKey, String>> {
        self.unavailable.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
