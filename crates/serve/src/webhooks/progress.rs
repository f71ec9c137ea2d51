//! How far the webhook configurations are behind the rules.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The last snapshot for which both configurations were as they should be.
#[derive(Debug, Default)]
pub(crate) struct WebhookProgress {
    /// Whether this server keeps configurations at all.
    is_kept: AtomicBool,
    generation: AtomicU64,
}

impl WebhookProgress {
    /// Configurations are kept from now on.
    pub(crate) fn begin(&self) {
        self.is_kept.store(true, Ordering::Relaxed);
    }

    /// The configurations are those of the snapshot `generation`.
    pub(crate) fn reached(&self, generation: u64) {
        self.generation.fetch_max(generation, Ordering::Relaxed);
    }

    /// Returns whether the API server asks about all rules of the snapshot `generation`.
    pub(crate) fn has_reached(&self, generation: u64) -> bool {
        !self.is_kept.load(Ordering::Relaxed) || self.generation.load(Ordering::Relaxed) >= generation
    }
}

#[cfg(test)]
mod tests {
    use super::WebhookProgress;

    #[test]
    fn a_server_that_keeps_no_configurations_is_never_behind() {
        let progress = WebhookProgress::default();
        assert!(progress.has_reached(7));
        progress.begin();
        assert!(!progress.has_reached(7));
        progress.reached(7);
        progress.reached(6);
        assert!(progress.has_reached(7));
        assert!(!progress.has_reached(8));
    }
}
