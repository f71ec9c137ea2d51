//! Compiled parts that many rules have in common.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The parts in use, by what they were compiled from.
///
/// A part must depend on its key alone, so that no rule behaves differently because of others that are loaded.
#[derive(Debug)]
pub struct SharedParts<K, V> {
    table: Mutex<PartTable<K, V>>,
}

#[derive(Debug)]
struct PartTable<K, V> {
    parts: HashMap<K, Weak<V>>,
    /// The number of parts at which those that are no longer in use are removed.
    limit: usize,
}

/// The least number of parts that are looked through for unused ones.
const LEAST_LIMIT: usize = 64;

impl<K, V> Default for SharedParts<K, V> {
    fn default() -> Self {
        Self { table: Mutex::new(PartTable { parts: HashMap::new(), limit: LEAST_LIMIT }) }
    }
}

impl<K: Eq + Hash, V> SharedParts<K, V> {
    /// Returns the part of `key`, if a rule uses it.
    pub fn find(&self, key: &K) -> Option<Arc<V>> {
        let table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        table.parts.get(key).and_then(Weak::upgrade)
    }

    /// Shares `part` with the rules that are compiled from now on.
    pub fn add(&self, key: K, part: V) -> Arc<V> {
        let part = Arc::new(part);
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        if table.parts.len() >= table.limit {
            table.parts.retain(|_, part| part.strong_count() > 0);
            table.limit = LEAST_LIMIT.max(table.parts.len() * 2);
        }
        table.parts.insert(key, Arc::downgrade(&part));
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_is_shared_while_it_is_used() {
        let shared = SharedParts::default();
        let part = shared.add("a", String::from("part"));
        assert!(shared.find(&"a").is_some_and(|found| Arc::ptr_eq(&found, &part)));
        drop(part);
        assert_eq!(shared.find(&"a"), None);
    }

    #[test]
    fn unused_parts_are_forgotten() {
        let shared = SharedParts::default();
        let used = shared.add(0, 0);
        for number in 1..10_000 {
            shared.add(number, number);
        }
        assert!(shared.table.lock().unwrap().parts.len() <= LEAST_LIMIT);
        assert!(shared.find(&0).is_some_and(|found| Arc::ptr_eq(&found, &used)));
    }
}
