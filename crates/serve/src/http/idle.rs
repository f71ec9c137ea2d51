//! Connections that nobody uses: they go when nothing was ever asked, and when others need their places.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use crate::State;

/// Who connects has something to ask; who asks nothing for so long makes room where there is little.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often is looked.
const LOOK: Duration = Duration::from_secs(2);

static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Why a connection is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Idle {
    /// Nothing was ever asked on it.
    Silent,
    /// Nothing is asked on it, and there are few places left.
    Unused,
}

/// What is asked on a connection.
#[derive(Debug)]
pub(super) struct Use {
    asked: AtomicU64,
    under_way: AtomicUsize,
    /// When something was asked or answered last, in milliseconds since [`BEGIN`].
    last: AtomicU64,
}

impl Default for Use {
    fn default() -> Self {
        Self { asked: AtomicU64::new(0), under_way: AtomicUsize::new(0), last: AtomicU64::new(now()) }
    }
}

/// Something is asked, until this is dropped.
pub(super) struct Asking(Arc<Use>);

impl Use {
    pub(super) fn asking(self: &Arc<Self>) -> Asking {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.under_way.fetch_add(1, Ordering::Relaxed);
        self.last.store(now(), Ordering::Relaxed);
        Asking(Arc::clone(self))
    }

    /// Returns when the connection is to end for want of use.
    pub(super) async fn idle(&self, state: &State) -> Idle {
        loop {
            tokio::time::sleep(LOOK).await;
            if let Some(idle) = self.verdict(now(), state.bounds.has_few_connections()) {
                return idle;
            }
        }
    }

    fn verdict(&self, now: u64, is_scarce: bool) -> Option<Idle> {
        let quiet = Duration::from_millis(now.saturating_sub(self.last.load(Ordering::Relaxed)));
        if self.under_way.load(Ordering::Relaxed) > 0 || quiet < PATIENCE {
            return None;
        }
        if self.asked.load(Ordering::Relaxed) == 0 {
            return Some(Idle::Silent);
        }
        is_scarce.then_some(Idle::Unused)
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.last.store(now(), Ordering::Relaxed);
        self.0.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

fn now() -> u64 {
    u64::try_from(BEGIN.elapsed().as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_without_use_goes_when_it_was_silent_or_places_are_few() {
        let usage = Arc::new(Use::default());
        let later = now() + 11_000;
        assert_eq!(usage.verdict(now(), true), None);
        assert_eq!(usage.verdict(later, false), Some(Idle::Silent));
        let asking = usage.asking();
        assert_eq!(usage.verdict(later, true), None);
        drop(asking);
        assert_eq!(usage.verdict(later, false), None);
        assert_eq!(usage.verdict(later, true), Some(Idle::Unused));
    }
}
