//! What rules wrote lately: so that a rule is not triggered by its own writes, chains of rules come to an end, and nothing
//! is written again and again because another program undoes it.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use kubewright_scan::ObjectKey;
use kubewright_value::Text;

/// How many rules may trigger each other by their writes, one after another.
pub(crate) const MAX_CHAIN_DEPTH: u32 = 8;

/// How often one object may be written in [`RATE_TIME`].
const MAX_WRITES_PER_OBJECT: u32 = 20;
const RATE_TIME: Duration = Duration::from_secs(60);

/// For how long an object is left alone that was written too often.
const REST_TIME: Duration = Duration::from_secs(300);

/// How many writes are remembered.
const MAX_REMEMBERED_WRITES: usize = 50_000;

/// The last writes.
#[derive(Debug, Default)]
pub(crate) struct OwnWrites {
    by_uid: HashMap<Text, OwnWrite>,
    order: VecDeque<Text>,
    rates: HashMap<ObjectKey, WriteRate>,
    /// Objects that are being written: how often.
    under_way: HashMap<ObjectKey, u32>,
    /// How deep in a chain what was made in a namespace that a rule made begins.
    namespaces: HashMap<Text, u32>,
}

#[derive(Debug, Clone)]
struct OwnWrite {
    resource_version: Text,
    depth: u32,
}

#[derive(Debug, Clone, Copy)]
struct WriteRate {
    since: Instant,
    count: u32,
    rests_until: Option<Instant>,
}

impl OwnWrites {
    /// Remembers that a rule wrote an object, as the `depth`th of a chain.
    pub(crate) fn record(&mut self, key: &ObjectKey, uid: &Text, resource_version: &Text, depth: u32) {
        let write = OwnWrite { resource_version: resource_version.clone(), depth };
        if self.by_uid.insert(uid.clone(), write).is_none() {
            self.order.push_back(uid.clone());
        }
        if key.group.is_empty() && key.kind == "Namespace" {
            self.namespaces.insert(key.name.clone(), depth);
        }
        while self.order.len() > MAX_REMEMBERED_WRITES
            && let Some(oldest) = self.order.pop_front()
        {
            self.by_uid.remove(&oldest);
        }
    }

    /// Notes that a write of an object begins. A watch may bring it before the write is answered.
    pub(crate) fn begin(&mut self, key: &ObjectKey) {
        *self.under_way.entry(key.clone()).or_default() += 1;
    }

    /// Notes that a write of an object was answered.
    pub(crate) fn end(&mut self, key: &ObjectKey) {
        if let Some(count) = self.under_way.get_mut(key) {
            *count -= 1;
            if *count == 0 {
                self.under_way.remove(key);
            }
        }
    }

    /// Returns whether it is not known yet who wrote the newest version of an object.
    pub(crate) fn is_under_way(&self, key: &ObjectKey) -> bool {
        self.under_way.contains_key(key)
    }

    /// Returns how deep in a chain an object is in this version, if it is as a rule wrote it.
    pub(crate) fn depth_of(&self, uid: &Text, resource_version: &Text) -> Option<u32> {
        let write = self.by_uid.get(uid)?;
        (write.resource_version == *resource_version).then_some(write.depth)
    }

    /// Returns how deep in a chain an object begins that another program made because of a write of a rule: in a
    /// namespace that a rule made, or owned by what a rule made.
    pub(crate) fn inherited_depth<'o>(&self, namespace: &Text, owners: impl Iterator<Item = &'o str>) -> u32 {
        let of_owners = owners.filter_map(|uid| self.by_uid.get(uid)).map(|write| write.depth).max();
        let of_namespace = self.namespaces.get(namespace).copied();
        of_owners.max(of_namespace).unwrap_or_default()
    }

    /// Returns whether an object may be written now; otherwise it was written too often and rests.
    pub(crate) fn may_write(&mut self, key: &ObjectKey, now: Instant) -> bool {
        let rate =
            self.rates.entry(key.clone()).or_insert(WriteRate { since: now, count: 0, rests_until: None });
        if let Some(until) = rate.rests_until {
            if now < until {
                return false;
            }
            *rate = WriteRate { since: now, count: 0, rests_until: None };
        }
        if now.saturating_duration_since(rate.since) > RATE_TIME {
            *rate = WriteRate { since: now, count: 0, rests_until: None };
        }
        rate.count += 1;
        if rate.count > MAX_WRITES_PER_OBJECT {
            rate.rests_until = Some(now + REST_TIME);
            return false;
        }
        true
    }

    /// Forgets rates that say nothing any more, and namespaces for which `is_there` is false.
    pub(crate) fn prune(&mut self, now: Instant, is_there: impl Fn(&Text) -> bool) {
        self.rates.retain(|_, rate| {
            rate.rests_until.is_some_and(|until| now < until)
                || now.saturating_duration_since(rate.since) <= RATE_TIME
        });
        self.namespaces.retain(|name, _| is_there(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(kind: &str, name: &str) -> ObjectKey {
        ObjectKey { kind: kind.into(), name: name.into(), ..ObjectKey::default() }
    }

    #[test]
    fn a_write_is_recognized_by_its_version_alone() {
        let mut writes = OwnWrites::default();
        writes.record(&key("ConfigMap", "a"), &"u".into(), &"7".into(), 2);
        assert_eq!(writes.depth_of(&"u".into(), &"7".into()), Some(2));
        assert_eq!(writes.depth_of(&"u".into(), &"8".into()), None, "changed by another program since");
        assert_eq!(writes.depth_of(&"v".into(), &"7".into()), None);
    }

    #[test]
    fn a_write_is_under_way_until_it_is_answered() {
        let mut writes = OwnWrites::default();
        let key = key("ConfigMap", "a");
        writes.begin(&key);
        writes.begin(&key);
        writes.end(&key);
        assert!(writes.is_under_way(&key));
        writes.end(&key);
        assert!(!writes.is_under_way(&key));
    }

    #[test]
    fn what_appears_in_a_made_namespace_or_below_a_made_owner_is_deeper_in_the_chain() {
        let mut writes = OwnWrites::default();
        writes.record(&key("Namespace", "made"), &"n".into(), &"1".into(), 3);
        assert_eq!(writes.inherited_depth(&"made".into(), std::iter::empty()), 3);
        assert_eq!(writes.inherited_depth(&"other".into(), std::iter::empty()), 0);
        assert_eq!(writes.inherited_depth(&"other".into(), ["n"].into_iter()), 3);
    }

    #[test]
    fn an_object_that_is_written_too_often_rests() {
        let now = Instant::now();
        let mut writes = OwnWrites::default();
        let count = (0..100).filter(|_| writes.may_write(&key("ConfigMap", "a"), now)).count();
        assert_eq!(count, MAX_WRITES_PER_OBJECT as usize);
        assert!(writes.may_write(&key("ConfigMap", "b"), now), "another one is not affected");
        assert!(!writes.may_write(&key("ConfigMap", "a"), now + RATE_TIME * 2), "it rests");
        assert!(writes.may_write(&key("ConfigMap", "a"), now + REST_TIME * 2));
    }

    #[test]
    fn remembered_writes_are_bounded() {
        let mut writes = OwnWrites::default();
        for number in 0..MAX_REMEMBERED_WRITES + 5 {
            writes.record(&key("ConfigMap", "a"), &number.to_string().into(), &"1".into(), 0);
        }
        assert_eq!(writes.by_uid.len(), MAX_REMEMBERED_WRITES);
    }
}
