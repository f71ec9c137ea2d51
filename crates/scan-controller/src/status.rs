//! What the parts of a scan tell each other and the health port.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use kubewright_scan::KindKey;
use kubewright_value::Text;
use tokio::sync::watch;

use crate::scan_view::{ReportVersion, ScanPhase, ScanProgress};

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
    /// How many objects the API server says that there are of each kind that is judged, until they have been read.
    counted: Mutex<BTreeMap<KindKey, u64>>,
    progress: watch::Sender<ScanProgress>,
    report_version: ReportVersion,
}

impl ScanStatus {
    /// Notes that a scan begins, which knows nothing yet, or ends.
    pub(crate) fn set_scanning(&self, is_scanning: bool) {
        self.progressed();
        self.is_complete.store(false, Ordering::Relaxed);
        self.is_scanning.store(is_scanning, Ordering::Relaxed);
        self.all_unavailable().clear();
        self.all_counted().clear();
        let phase = if is_scanning { ScanPhase::FirstPass } else { ScanPhase::Standby };
        self.update_progress(|progress| {
            (progress.phase, progress.judged, progress.total, progress.pending) = (phase, 0, 0, 0);
        });
    }

    /// Notes that all objects were judged once.
    pub(crate) fn completed(&self) {
        self.is_complete.store(true, Ordering::Release);
        self.all_counted().clear();
        self.update_progress(|progress| progress.phase = ScanPhase::Watching);
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

    /// Sets how many objects there are of a kind that is not read yet.
    pub(crate) fn set_counted(&self, kind: KindKey, count: u64) {
        if !self.is_complete() {
            self.all_counted().insert(kind, count);
        }
    }

    /// Sets how many objects are judged, and how many changes wait.
    pub(crate) fn set_judged(&self, judged: u64, pending: u64) {
        let counted: u64 = self.all_counted().values().sum();
        self.update_progress(|progress| {
            (progress.judged, progress.total, progress.pending) = (judged, counted.max(judged), pending);
        });
    }

    /// Notes the end of a pass over all objects.
    pub(crate) fn passed(&self, ended: SystemTime) {
        self.update_progress(|progress| progress.last_pass = Some(ended));
    }

    /// Sets which replica scans, and whether it is this one.
    pub(crate) fn set_leader(&self, leader: &Text, is_leader: bool) {
        self.update_progress(|progress| {
            (progress.leader, progress.is_leader) = (leader.clone(), is_leader);
        });
    }

    /// Returns how far the scan is, to wait for changes.
    pub(crate) fn progress(&self) -> watch::Receiver<ScanProgress> {
        self.progress.subscribe()
    }

    /// Returns what counts changes of reports.
    pub(crate) fn report_version(&self) -> &ReportVersion {
        &self.report_version
    }

    fn update_progress(&self, change: impl FnOnce(&mut ScanProgress)) {
        self.progress.send_if_modified(|progress| {
            let before = progress.clone();
            change(progress);
            *progress != before
        });
    }

    fn all_counted(&self) -> std::sync::MutexGuard<'_, BTreeMap<KindKey, u64>> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn all_unavailable(&self) -> std::sync::MutexGuard<'_, BTreeMap<KindKey, String>> {
        self.unavailable.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
