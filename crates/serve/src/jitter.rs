//! Random delays, so that replicas do not all write at once.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

/// Returns a time of less than `longest`.
pub(crate) fn jitter(longest: Duration) -> Duration {
    let random = u32::try_from(RandomState::new().hash_one(0) % 1000).unwrap_or_default();
    longest.mul_f64(f64::from(random) / 1000.0)
}
