//! Which objects must be judged again because time has passed.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::Scanner;
use crate::ObjectKey;
use crate::judge::JudgedOutcomes;

/// The objects that are due at some time.
#[derive(Debug, Default)]
pub(super) struct DueTimes {
    times: BTreeSet<(u32, ObjectKey)>,
}

impl DueTimes {
    /// Notes that `key` is due at `time`; 0 is never.
    pub(super) fn insert(&mut self, time: u32, key: &ObjectKey) {
        if time != 0 {
            self.times.insert((time, key.clone()));
        }
    }

    pub(super) fn remove(&mut self, time: u32, key: &ObjectKey) {
        if time != 0 {
            self.times.remove(&(time, key.clone()));
        }
    }
}

impl Scanner {
    /// Returns the objects that must be judged again at `now`, in seconds since 1970: their rules read the clock, or a
    /// lookup failed. An object that is not observed is returned again with the next call.
    ///
    /// If the clock was set back, objects that would be due later than any wait can last are returned at once.
    ///
    /// Some rules capture the time when they are [compiled](crate::ScanRules::captures_time): then the rules are to be
    /// compiled again first.
    #[must_use]
    pub fn due(&self, now: i64) -> Vec<ObjectKey> {
        let times = &self.due.times;
        let is_due = |(time, _): &&(u32, ObjectKey)| i64::from(*time) <= now;
        let latest = now + spread_interval(self.settings.clock_interval.max(self.settings.retry_interval));
        let is_from_a_later_clock = |(time, _): &&(u32, ObjectKey)| i64::from(*time) > latest;
        let due = times.iter().take_while(is_due);
        due.chain(times.iter().rev().take_while(is_from_a_later_clock)).map(|(_, key)| key.clone()).collect()
    }

    /// Returns when the next objects are due, or [`refresh_patterns`](Self::refresh_patterns) is, in seconds since 1970.
    #[must_use]
    pub fn next_due(&self) -> Option<i64> {
        let objects = self.due.times.first().map(|(time, _)| i64::from(*time));
        [objects, self.patterns.next_deadline()].into_iter().flatten().min()
    }

    /// Returns when an object that was judged at `now` is due again; 0 for never. The times of objects are spread over a
    /// quarter of the interval.
    pub(super) fn due_after(&self, key: &ObjectKey, judged: &JudgedOutcomes, now: i64) -> u32 {
        let interval = match (judged.reads_clock, judged.has_failed_lookup) {
            (_, true) => self.settings.retry_interval,
            (true, false) => self.settings.clock_interval,
            (false, false) => return 0,
        };
        let spread = i64::try_from(stable_hash(key) % 1024).unwrap_or_default() * interval / 4096;
        u32::try_from((now + interval + spread).max(1)).unwrap_or(u32::MAX)
    }
}

/// Returns the longest time until an object with `interval` is due.
fn spread_interval(interval: i64) -> i64 {
    interval + interval / 4
}

/// Returns a number that is the same for the same key in every process.
pub(super) fn stable_hash(key: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}
