//! The progress bar of a scan.

use kubewright_files::Progress;

use super::super::cluster::ScanCluster;
use super::super::kinds::ScanKind;
use crate::progress::ProgressBar;

/// The progress bar, with the number of objects that the API server expects.
pub(super) struct ScanBar {
    /// The bar.
    pub(super) bar: ProgressBar,
    listed: usize,
    expected: Option<u64>,
}

impl ScanBar {
    /// Counts the objects first, if the bar is visible.
    pub(super) fn new(cluster: &ScanCluster, kinds: &[ScanKind]) -> Self {
        let bar = ProgressBar::new();
        let count = |kind: &ScanKind| {
            let path = kind.resource.address().all();
            cluster.handle().block_on(cluster.client.count_objects(&path)).ok().flatten().unwrap_or(0)
        };
        let expected = bar.is_visible().then(|| kinds.iter().map(count).sum());
        Self { bar, listed: 0, expected }
    }

    /// Shows that `listed` more objects are done.
    #[expect(clippy::cast_precision_loss, reason = "a share is shown to a person")]
    pub(super) fn show(&mut self, listed: usize) {
        self.listed += listed;
        if let Some(expected) = self.expected {
            let share = self.listed as f64 / expected.max(1) as f64;
            self.bar.show(Progress { objects: self.listed, share: share.min(1.0) });
        }
    }
}
