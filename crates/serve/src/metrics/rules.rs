//! Counters of the results of rules.
//!
//! An outcome shares the `Arc` of its rule's id, so the counters of a snapshot are found by that address: on the review
//! path only a number is hashed and nothing is locked.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use arc_swap::ArcSwap;
use kubewright_engine::{RuleAddress, RuleId, RuleOutcome, RuleStatus};

use super::MAX_SERIES;
use super::text::{Exposition, escape_label};
use crate::Snapshot;
use kubewright_value::CompactSort as _;

/// Result and cause, in the order of the counters.
const RULE_RESULTS: [(&str, &str); 9] = [
    ("pass", ""),
    ("pass", "patched"),
    ("fail", "refused"),
    ("fail", "reported"),
    ("warn", ""),
    ("error", "refused"),
    ("error", "ignored"),
    ("skip", "exception"),
    ("skip", ""),
];

/// The place of a pass without changes among them.
const PASS_INDEX: usize = 0;

/// What requests leave to rules; see [`super::requests`].
const MAX_RULE_SERIES: usize = MAX_SERIES / 5 * 4;

/// The counters of the rules of one snapshot, and those of the one before.
#[derive(Debug, Default)]
pub(crate) struct RuleMeters {
    current: ArcSwap<Meters>,
}

/// The counters of the rules of one snapshot.
#[derive(Debug, Default)]
pub(crate) struct Meters {
    snapshot: usize,
    generation: u64,
    by_address: HashMap<RuleAddress, Arc<Counters>, BuildHasherDefault<AddressHasher>>,
}

/// Spreads addresses, which no one outside chooses, over a table: one multiplication for each rule of a review.
#[derive(Debug, Default)]
pub(crate) struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_usize(usize::from(*byte)));
    }

    fn write_usize(&mut self, number: usize) {
        // The table uses the upper and the lower bits.
        self.0 = (self.0 ^ number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(26);
    }
}

#[derive(Debug)]
struct Counters {
    rule: Arc<RuleId>,
    counts: [AtomicU64; RULE_RESULTS.len()],
    passes: [PassCounter; PASS_COUNTERS],
}

/// Into how many counters the passes of a rule are counted. Most rules pass most reviews, and a number that two threads change
/// goes from one processor's cache to the other's for each.
const PASS_COUNTERS: usize = 2;

/// Passes, in cache lines of their own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct PassCounter(AtomicU64);

thread_local! {
    /// Which of the counters of passes this thread uses.
    static PASS_COUNTER: usize = {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        THREADS.fetch_add(1, Ordering::Relaxed) % PASS_COUNTERS
    };
}

impl Counters {
    /// Returns counters for `rule` that go on from those of `known`.
    fn of(rule: &Arc<RuleId>, known: Option<&Self>) -> Self {
        let value = |place| AtomicU64::new(known.map_or(0, |known| known.value(place)));
        let counts = std::array::from_fn(value);
        Self { rule: Arc::clone(rule), counts, passes: <[PassCounter; PASS_COUNTERS]>::default() }
    }

    fn count(&self, place: usize) {
        if let Some(counter) = self.counts.get(place) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn count_pass(&self) {
        if let Some(counter) = PASS_COUNTER.with(|place| self.passes.get(*place)) {
            counter.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn value(&self, place: usize) -> u64 {
        let count = self.counts.get(place).map_or(0, |counter| counter.load(Ordering::Relaxed));
        let passes = self.passes.iter().filter(|_| place == PASS_INDEX);
        passes.fold(count, |sum, passes| sum + passes.0.load(Ordering::Relaxed))
    }
}

impl RuleMeters {
    /// Returns the counters of the rules of `snapshot`.
    pub(crate) fn of(&self, snapshot: &Arc<Snapshot>) -> arc_swap::Guard<Arc<Meters>> {
        let current = self.current.load();
        // A review that began with earlier rules is not worth going back for.
        if current.is_of(snapshot) || snapshot.generation < current.generation {
            return current;
        }
        let mut known: HashMap<&RuleId, &Arc<Counters>> = HashMap::new();
        known.extend(current.by_address.values().map(|counters| (&*counters.rule, counters)));
        let counters = |rule: &Arc<RuleId>| match known.get(&**rule) {
            Some(counters) if Arc::ptr_eq(&counters.rule, rule) => Arc::clone(counters),
            // The name is held as long as its address is in the table.
            known => Arc::new(Counters::of(rule, known.map(|known| &***known))),
        };
        let rules = ["mutate", "validate"].into_iter().filter_map(|door| snapshot.engine(door));
        let rules = rules.flat_map(|engine| engine.rules().iter().map(|rule| &rule.id));
        let by_address = rules.map(|rule| (RuleAddress::of(rule), counters(rule))).collect();
        let meters =
            Meters { snapshot: snapshot_address(snapshot), generation: snapshot.generation, by_address };
        self.current.store(Arc::new(meters));
        self.current.load()
    }

    pub(super) fn expose(&self, text: &mut Exposition, name: &str) {
        let current = self.current.load();
        let mut all: Vec<&Arc<Counters>> = current.by_address.values().collect();
        all.compact_sort_by(|a, b| a.rule.cmp(&b.rule));
        let (mut series, mut rest) = (0, 0);
        for counters in all {
            let RuleId { dialect, policy, rule } = &*counters.rule;
            let (policy, rule) = (escape_label(policy), escape_label(rule));
            for (place, (result, cause)) in RULE_RESULTS.iter().enumerate() {
                let count = counters.value(place);
                if count == 0 {
                    continue;
                }
                series += 1;
                if series > MAX_RULE_SERIES {
                    rest += count;
                    continue;
                }
                let labels = format!(
                    "dialect=\"{dialect}\",policy=\"{policy}\",rule=\"{rule}\",result=\"{result}\",cause=\"{cause}\""
                );
                text.sample(name, &labels, count);
            }
        }
        if rest > 0 {
            let other = "dialect=\"other\",policy=\"other\",rule=\"other\",result=\"other\",cause=\"\"";
            text.sample(name, other, rest);
        }
    }
}

impl Meters {
    /// Counts `outcome`.
    pub(crate) fn count(&self, outcome: &RuleOutcome) {
        if let Some(counters) = self.by_address.get(&RuleAddress::of(&outcome.rule)) {
            counters.count(result_index(outcome));
        }
    }

    /// Counts that `rule` passed.
    pub(crate) fn count_pass(&self, rule: RuleAddress) {
        if let Some(counters) = self.by_address.get(&rule) {
            counters.count_pass();
        }
    }

    fn is_of(&self, snapshot: &Arc<Snapshot>) -> bool {
        self.snapshot == snapshot_address(snapshot) && self.generation == snapshot.generation
    }
}

fn result_index(outcome: &RuleOutcome) -> usize {
    match (outcome.status, outcome.is_refusal) {
        (RuleStatus::Pass, _) => PASS_INDEX + usize::from(!outcome.patch.is_empty()),
        (RuleStatus::Fail, true) => 2,
        (RuleStatus::Fail, false) => 3,
        (RuleStatus::Warn, _) => 4,
        (RuleStatus::Error, true) => 5,
        (RuleStatus::Error, false) => 6,
        (RuleStatus::Skip, _) if !outcome.exceptions.is_empty() => 7,
        (RuleStatus::Skip, _) => 8,
    }
}

fn snapshot_address(snapshot: &Arc<Snapshot>) -> usize {
    Arc::as_ptr(snapshot).addr()
}
