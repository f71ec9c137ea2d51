//! Random delays, so that many clients do not call the API server at the same moment.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

/// Returns a random duration below `max`.
#[must_use]
pub fn jitter(max: Duration) -> Duration {
    let random = u32::try_from(RandomState::new().hash_one(0) % 1000).unwrap_or_default();
    max.mul_f64(f64::from(random) / 1000.0)
}

/// Returns `duration`, up to a fifth longer or shorter.
pub(crate) fn jitter_around(duration: Duration) -> Duration {
    duration.mul_f64(0.8) + jitter(duration.mul_f64(0.4))
}
