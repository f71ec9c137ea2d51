//! The full pass: every object is judged again from time to time, spread over a period.
//!
//! It is for what cannot be watched: images in a registry, answers of services, and mistakes of our own. Objects are not
//! kept, so they are listed again: a kind with few objects at once, a kind with many by namespace. Where nothing changed,
//! nothing changes.

use std::collections::BTreeSet;

use super::Scanner;
use super::due::hash_of;
use crate::{KindKey, RescanTarget};

/// Up to how many objects of a kind are listed at once.
const MAX_KIND_OBJECTS: usize = 1_000;

/// A list of the full pass.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FullPassList {
    /// The kind.
    pub kind: KindKey,
    /// Which objects of the kind.
    pub target: RescanTarget,
}

impl Scanner {
    /// Returns what must be listed and judged again between the last call and `now`, in seconds since 1970, so that
    /// everything is judged once in each `period` of seconds. Each list has its own moment in the period.
    pub fn full_pass_slice(&mut self, now: i64, period: i64) -> Vec<FullPassList> {
        let last = self.last_full_pass.replace(now).unwrap_or(now);
        let period = period.max(1);
        // After a jump of the clock, or a long pause, everything is listed once and not several times.
        let passed = (now - last).clamp(0, period);
        let is_now = |list: &FullPassList| {
            let moment = i64::try_from(hash_of(&(&list.kind, &list.target)) % period.unsigned_abs())
                .unwrap_or_default();
            (now - moment).rem_euclid(period) < passed
        };
        self.full_pass_lists().into_iter().filter(is_now).collect()
    }

    fn full_pass_lists(&self) -> BTreeSet<FullPassList> {
        let mut lists = BTreeSet::new();
        for (kind, objects) in &self.kinds {
            let list = |namespace| FullPassList {
                kind: kind.clone(),
                target: RescanTarget { kind: Some(kind.kind.clone()), namespace },
            };
            if objects.len() <= MAX_KIND_OBJECTS {
                lists.insert(list(None));
            } else {
                lists.extend(objects.namespaces().map(|namespace| list(Some(namespace.clone()))));
            }
        }
        lists
    }
}
