//! Waiting for an API server that asks to come back later.

use std::time::Duration;

use hyper::Method;
use hyper::header::HeaderValue;
use tokio::time::{Instant, sleep};

use super::CallLimits;
use crate::jitter::jitter;
use crate::{ApiStatus, Error};

/// How long to wait where the API server does not say it; what it says itself when it is busy.
const DEFAULT_RETRY_DELAY: Duration = Duration::from_secs(1);

/// The first and the longest wait where the API server asks for a shorter one each time.
const MIN_RETRY_DELAY: Duration = Duration::from_millis(100);
const MAX_RETRY_BACKOFF: Duration = Duration::from_secs(5);

/// The longest wait that is believed; also keeps sums of times from overflowing.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(24 * 60 * 60);

/// When a call and each of its attempts must be over.
#[derive(Debug)]
pub(super) struct CallDeadline {
    time: Duration,
    end: Instant,
    waits: u32,
}

impl CallDeadline {
    pub(super) fn new(limits: &CallLimits) -> Self {
        let time = limits.time.min(MAX_RETRY_DELAY);
        let end = Instant::now() + time + limits.throttle_wait.min(MAX_RETRY_DELAY);
        Self { time, end, waits: 0 }
    }

    /// Returns when an attempt that starts now must be over.
    pub(super) fn of_attempt(&self) -> Instant {
        (Instant::now() + self.time).min(self.end)
    }

    /// Waits as long as `error` asks for.
    ///
    /// # Errors
    /// `error`, when the call cannot be repeated, or not in time.
    pub(super) async fn wait_for_retry(&mut self, method: &Method, error: Error) -> Result<(), Error> {
        let Some(asked) = retry_delay(method, &error) else { return Err(error) };
        let backoff = MIN_RETRY_DELAY.saturating_mul(1 << self.waits.min(16)).min(MAX_RETRY_BACKOFF);
        self.waits += 1;
        let wait = asked.max(backoff);
        // Never less than was asked for, and not at the same moment as all the others that were told the same.
        let wait = wait + jitter(wait / 4);
        if Instant::now() + wait >= self.end {
            return Err(error);
        }
        sleep(wait).await;
        Ok(())
    }
}

/// Returns how long to wait before a call with this error is repeated; `None` if it must not be.
///
/// With 429 the API server has not begun with the call. With 503 it may have, or a proxy before it may not know.
fn retry_delay(method: &Method, error: &Error) -> Option<Duration> {
    let Error::Status(ApiStatus { code, retry_after, .. }) = error else { return None };
    let delay = match code {
        429 => retry_after.unwrap_or(DEFAULT_RETRY_DELAY),
        503 if method.is_idempotent() => (*retry_after)?,
        _ => return None,
    };
    Some(delay.min(MAX_RETRY_DELAY))
}

/// Reads a `Retry-After` in seconds, as the API server writes it. A date says nothing without a common clock.
pub(super) fn parse_retry_after(value: &HeaderValue) -> Option<Duration> {
    let text = value.to_str().ok()?.trim();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(text.parse().map_or(MAX_RETRY_DELAY, Duration::from_secs))
}

#[cfg(test)]
mod tests;
