//! Rate limit of restoring a configuration: at once, unless another client keeps changing it.
//!
//! A controller that wants our configuration otherwise would change it as often as we restore it, and both would keep
//! the API server busy for ever. After a few times we back off.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// How many times in a row.
const MAX_REPAIRS_PER_WINDOW: usize = 5;
/// In how long, and how long is waited then.
const REPAIR_WINDOW: Duration = Duration::from_secs(60);

/// When a configuration was put right.
#[derive(Debug, Default)]
pub(crate) struct Rewrites {
    times: VecDeque<Instant>,
    is_fought: bool,
}

impl Rewrites {
    /// Returns how long is to be waited before it is put right; nothing for not at all.
    pub(crate) fn wait(&mut self, now: Instant) -> Option<Duration> {
        let since = now.duration_since(*self.times.back()?);
        // Who has been quiet for two minutes has given up.
        if since >= REPAIR_WINDOW * 2 {
            self.is_fought = false;
        }
        self.times.retain(|time| now.duration_since(*time) < REPAIR_WINDOW);
        self.is_fought |= self.times.len() >= MAX_REPAIRS_PER_WINDOW;
        let left = REPAIR_WINDOW.saturating_sub(since);
        (self.is_fought && !left.is_zero()).then_some(left)
    }

    /// Returns whether another client keeps changing it, as of the last [`wait`](Self::wait).
    pub(crate) fn is_fought(&self) -> bool {
        self.is_fought
    }

    /// It was put right.
    pub(crate) fn add(&mut self, now: Instant) {
        self.times.retain(|time| now.duration_since(*time) < REPAIR_WINDOW);
        self.times.push_back(now);
    }
}

#[cfg(test)]
mod tests;
