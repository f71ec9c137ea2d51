//! How long to wait after failures.

use std::time::Duration;

use crate::WatchPolicy;
use crate::jitter::jitter_around;

/// How long to wait after the next failure.
pub(super) struct Backoff {
    next: Duration,
    first: Duration,
    longest: Duration,
}

impl Backoff {
    pub(super) fn new(policy: WatchPolicy) -> Self {
        Self { next: policy.first_wait, first: policy.first_wait, longest: policy.longest_wait }
    }

    pub(super) fn take(&mut self) -> Duration {
        let wait = self.next;
        self.next = (wait * 2).min(self.longest);
        jitter_around(wait)
    }

    pub(super) fn reset(&mut self) {
        self.next = self.first;
    }
}
