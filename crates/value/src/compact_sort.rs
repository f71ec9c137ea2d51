//! Sorting with code that all element types share.
//!
//! The standard library's sort is compiled for each element type and each comparison, 4 KB every time: 190 of them were
//! 0.9 MB of the binary. This one sorts positions, with a single copy of the code, and then moves the elements.

use std::cmp::Ordering;

/// Up to so many elements are sorted where they are, without an allocation.
const MAX_IN_PLACE_LEN: usize = 12;

/// Stable sorts for lists that are not on the path of a request, under the names of the standard library's.
pub trait CompactSort<T> {
    /// Sorts by `compare`; equal elements keep their order.
    fn compact_sort_by(&mut self, compare: impl Fn(&T, &T) -> Ordering);

    /// Sorts by the keys that `key` returns; equal elements keep their order.
    fn compact_sort_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K);

    /// Sorts by the keys that `key` returns, once for each element; equal elements keep their order.
    fn compact_sort_by_cached_key<K: Ord>(&mut self, key: impl Fn(&T) -> K);
}

impl<T> CompactSort<T> for [T] {
    fn compact_sort_by(&mut self, compare: impl Fn(&T, &T) -> Ordering) {
        if self.len() <= MAX_IN_PLACE_LEN {
            insert_each(self, &compare);
            return;
        }
        let at = |place: usize| self.get(place);
        let order = sorted_places(self.len(), &|one, other| match (at(one), at(other)) {
            (Some(one), Some(other)) => compare(one, other),
            _ => Ordering::Equal,
        });
        move_to(self, order);
    }

    fn compact_sort_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K) {
        self.compact_sort_by(|one, other| key(one).cmp(&key(other)));
    }

    fn compact_sort_by_cached_key<K: Ord>(&mut self, key: impl Fn(&T) -> K) {
        let keys: Vec<K> = self.iter().map(key).collect();
        move_to(self, sorted_places(keys.len(), &|one, other| keys.get(one).cmp(&keys.get(other))));
    }
}

fn insert_each<T>(items: &mut [T], compare: &dyn Fn(&T, &T) -> Ordering) {
    for end in 1..items.len() {
        for place in (1..=end).rev() {
            match (items.get(place - 1), items.get(place)) {
                (Some(before), Some(after)) if compare(before, after).is_gt() => items.swap(place - 1, place),
                _ => break,
            }
        }
    }
}

/// Returns the places `0..len` in sorted order.
fn sorted_places(len: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..len).collect();
    places.sort_by(|one, other| compare(*one, *other));
    places
}

/// Moves to each place the element whose former place `order` has there.
fn move_to<T>(items: &mut [T], order: Vec<usize>) {
    let mut targets = vec![0; order.len()];
    for (target, from) in order.into_iter().enumerate() {
        if let Some(slot) = targets.get_mut(from) {
            *slot = target;
        }
    }
    // Each swap brings one element to its final place.
    for place in 0..targets.len() {
        while let Some(target) = targets.get(place).copied().filter(|target| *target != place) {
            items.swap(place, target);
            targets.swap(place, target);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CompactSort as _;

    #[test]
    fn compact_sorts_agree_with_the_standard_library() {
        let mut state = 7_u64;
        let mut below_16 = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33 & 15
        };
        for len in (0..40).chain([100, 1000]) {
            let items: Vec<(u64, usize)> = (0..len).map(|place| (below_16(), place)).collect();
            let mut want = items.clone();
            want.sort_by_key(|(key, _)| *key);
            let mut by = items.clone();
            by.compact_sort_by(|one, other| one.0.cmp(&other.0));
            assert_eq!(by, want);
            let mut by_key = items.clone();
            by_key.compact_sort_by_key(|(key, _)| *key);
            assert_eq!(by_key, want);
            let mut cached = items;
            cached.compact_sort_by_cached_key(|(key, _)| key.to_string());
            want.sort_by_key(|(key, _)| key.to_string());
            assert_eq!(cached, want);
        }
    }
}
