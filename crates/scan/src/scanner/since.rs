//! Since when a row is so: a row keeps its time as long as policy, rule, result and message stay.

use std::collections::HashMap;

use kubewright_report::cluster_report::{ReportResult, ReportSource};
use kubewright_value::Text;

use super::{Scanner, TrackedObject};

/// The times of the rows of one object, in seconds since 1970.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SinceTimes {
    /// All rows have the same, or there are none.
    Same(u32),
    /// One for each row.
    Each(Box<[u32]>),
}

impl SinceTimes {
    fn of(times: Vec<u32>, now: u32) -> Self {
        match times.split_first() {
            None => Self::Same(now),
            Some((first, rest)) if rest.iter().all(|time| time == first) => Self::Same(*first),
            Some(_) => Self::Each(times.into()),
        }
    }

    /// Returns the time of the row at `place`.
    pub(super) fn at(&self, place: usize) -> i64 {
        i64::from(match self {
            Self::Same(time) => *time,
            Self::Each(times) => times.get(place).copied().unwrap_or_default(),
        })
    }
}

impl Scanner {
    /// Sets since when rows of the object with the uid `uid` are so: its stored report says it. A row that is judged
    /// as it is stored has that time. The caller [forgets](Self::forget_loaded_since) it all after the first pass.
    pub fn load_since(&mut self, source: ReportSource, uid: Text, rows: Vec<ReportResult>) {
        self.stored.entry((source, uid)).or_default().extend(rows);
    }

    /// Forgets what was [loaded](Self::load_since).
    pub fn forget_loaded_since(&mut self) {
        self.stored = HashMap::new();
    }

    /// Returns since when a stored report has `row`.
    pub(super) fn stored_since(&self, source: ReportSource, uid: &Text, row: &ReportResult) -> Option<i64> {
        if self.stored.is_empty() {
            return None;
        }
        let rows = self.stored.get(&(source, uid.clone()))?;
        let same = rows.iter().find(|stored| is_same_row(row, stored));
        same.map(|stored| stored.since).filter(|since| *since > 0)
    }

    /// Returns the times of the rows of an object whose outcomes are now called `outcomes`.
    pub(super) fn since_of(
        &self,
        previous: Option<&TrackedObject>,
        outcomes: u32,
        uid: &Text,
        now: i64,
    ) -> SinceTimes {
        // Seconds fit until 2106.
        let now = u32::try_from(now.max(0)).unwrap_or(u32::MAX);
        let known: Vec<(&ReportResult, i64)> = match previous {
            Some(previous) => {
                let rows = self.outcomes.rows(previous.outcomes).enumerate();
                rows.map(|(place, row)| (row, previous.since.at(place))).collect()
            }
            None => Vec::new(),
        };
        let time = |row: &ReportResult| {
            let found = known.iter().find(|(other, _)| is_same_row(row, other)).map(|(_, since)| *since);
            let found = found.or_else(|| self.stored_since(ReportSource::Rules, uid, row));
            found.and_then(|since| u32::try_from(since).ok()).filter(|since| *since > 0).unwrap_or(now)
        };
        SinceTimes::of(self.outcomes.rows(outcomes).map(time).collect(), now)
    }
}

fn is_same_row(one: &ReportResult, other: &ReportResult) -> bool {
    one.result == other.result
        && one.policy == other.policy
        && one.rule == other.rule
        && one.message == other.message
}
