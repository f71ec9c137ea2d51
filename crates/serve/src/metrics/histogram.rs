//! A histogram of durations.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::text::Exposition;

/// The upper ends of the buckets, in microseconds and as they are written.
const DURATION_BUCKETS: [(u64, &str); 11] = [
    (50, "5e-05"),
    (100, "0.0001"),
    (250, "0.00025"),
    (500, "0.0005"),
    (1_000, "0.001"),
    (2_500, "0.0025"),
    (5_000, "0.005"),
    (10_000, "0.01"),
    (25_000, "0.025"),
    (100_000, "0.1"),
    (1_000_000, "1"),
];

/// Durations, counted by bucket.
#[derive(Debug, Default)]
pub(super) struct Histogram {
    buckets: [AtomicU64; DURATION_BUCKETS.len() + 1],
    nanoseconds: AtomicU64,
}

impl Histogram {
    pub(super) fn observe(&self, time: Duration) {
        let microseconds = u64::try_from(time.as_nanos().div_ceil(1000)).unwrap_or(u64::MAX);
        let place = DURATION_BUCKETS.partition_point(|(end, _)| *end < microseconds);
        if let Some(bucket) = self.buckets.get(place) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    pub(super) fn expose(&self, text: &mut Exposition, name: &str, labels: &str) {
        let mut sum = 0;
        let ends = DURATION_BUCKETS.iter().map(|(_, end)| *end).chain(["+Inf"]);
        for (bucket, end) in self.buckets.iter().zip(ends) {
            sum += bucket.load(Ordering::Relaxed);
            text.sample(&format!("{name}_bucket"), &format!("{labels},le=\"{end}\""), sum);
        }
        let seconds = Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed)).as_secs_f64();
        text.sample(&format!("{name}_sum"), labels, seconds);
        text.sample(&format!("{name}_count"), labels, sum);
    }
}
