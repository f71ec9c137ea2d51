//! What a replica does with the Lease that it sees: a pure function of what it saw and when.
//!
//! No clock of another machine is read: a Lease ends when it has not changed for its duration while this replica looked
//! at it.

use std::time::Instant;

use kubewright_value::Text;

use super::LeaseSettings;
use super::record::LeaseRecord;

/// What this replica knows about the Lease.
#[derive(Debug, Default)]
pub(super) struct LeaseView {
    /// The Lease as it was seen last, and since when it is so.
    seen: Option<(LeaseRecord, Instant)>,
    /// The version that this replica wrote last.
    written: Text,
    term: u64,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ElectionStep {
    /// Write the Lease: it is ours, or free.
    Hold,
    /// Another replica holds it.
    Wait,
}

impl LeaseView {
    /// Returns what to do with `stored`, which was read at `now`; `None` is a Lease that does not exist.
    pub(super) fn step(
        &mut self,
        stored: Option<LeaseRecord>,
        settings: &LeaseSettings,
        now: Instant,
    ) -> ElectionStep {
        let Some(stored) = stored else {
            self.seen = None;
            return ElectionStep::Hold;
        };
        let since = match &self.seen {
            Some((seen, since)) if *seen == stored => *since,
            _ => now,
        };
        let is_free = stored.holder.is_empty()
            || stored.holder == settings.identity
            || now.saturating_duration_since(since) >= stored.duration.max(settings.duration);
        self.seen = Some((stored, since));
        if is_free { ElectionStep::Hold } else { ElectionStep::Wait }
    }

    /// Notes that this replica wrote the Lease, which was at `before`, and returns its term.
    pub(super) fn held(&mut self, before: &str, after: &LeaseRecord, now: Instant) -> u64 {
        // If the version is not the one that this replica wrote, another replica wrote in between.
        if self.term == 0 || before != self.written {
            self.term += 1;
        }
        self.written = after.resource_version.clone();
        self.seen = Some((after.clone(), now));
        self.term
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn record(holder: &str, version: &str) -> LeaseRecord {
        LeaseRecord {
            holder: holder.into(),
            duration: Duration::from_secs(15),
            resource_version: version.into(),
            ..LeaseRecord::default()
        }
    }

    fn me() -> LeaseSettings {
        LeaseSettings { identity: "me".to_owned(), ..LeaseSettings::default() }
    }

    #[test]
    fn a_free_lease_is_taken_at_once() {
        let now = Instant::now();
        let mut view = LeaseView::default();
        assert_eq!(view.step(None, &me(), now), ElectionStep::Hold);
        assert_eq!(view.step(Some(record("", "1")), &me(), now), ElectionStep::Hold);
        assert_eq!(view.step(Some(record("me", "1")), &me(), now), ElectionStep::Hold);
    }

    #[test]
    fn a_lease_of_another_is_taken_when_it_has_not_changed_for_its_duration() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut view = LeaseView::default();
        assert_eq!(view.step(Some(record("other", "1")), &me(), at(0)), ElectionStep::Wait);
        assert_eq!(view.step(Some(record("other", "1")), &me(), at(14)), ElectionStep::Wait);
        assert_eq!(view.step(Some(record("other", "2")), &me(), at(15)), ElectionStep::Wait);
        assert_eq!(view.step(Some(record("other", "2")), &me(), at(29)), ElectionStep::Wait);
        assert_eq!(view.step(Some(record("other", "2")), &me(), at(30)), ElectionStep::Hold);
    }

    #[test]
    fn a_new_term_begins_only_if_another_replica_wrote() {
        let now = Instant::now();
        let mut view = LeaseView::default();
        assert_eq!(view.held("", &record("me", "1"), now), 1);
        assert_eq!(view.held("1", &record("me", "2"), now), 1, "renewed");
        assert_eq!(view.held("5", &record("me", "6"), now), 2, "another one was the leader");
    }
}
