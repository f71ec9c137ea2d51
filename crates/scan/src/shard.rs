//! Which part of a cluster one of several scans is about.
//!
//! Namespaces are distributed by the 64-bit FNV-1a hash of their names over equal ranges, as the API server distributes
//! objects for a `shardSelector` (KEP-5866). So a server that supports it sends only the objects of a shard, and any
//! other one sends all and [`Shard::contains`] selects the same.

use std::fmt;
use std::str::FromStr;

/// The start value and the factor of 64-bit FNV-1a.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

/// One of several equal parts of all namespaces. Objects without a namespace are in the part of the empty name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    index: u32,
    count: u32,
}

/// The only shard: everything.
impl Default for Shard {
    fn default() -> Self {
        Self { index: 0, count: 1 }
    }
}

impl Shard {
    /// Returns shard `index`, counted from 0, of `count`; nothing where there is no such shard.
    #[must_use]
    pub fn new(index: u32, count: u32) -> Option<Self> {
        (index < count).then_some(Self { index, count })
    }

    /// Returns its number, counted from 0.
    #[must_use]
    pub fn index(self) -> u32 {
        self.index
    }

    /// Returns how many shards there are.
    #[must_use]
    pub fn count(self) -> u32 {
        self.count
    }

    /// Returns whether objects in `namespace` belong to it.
    #[must_use]
    pub fn contains(self, namespace: &str) -> bool {
        shard_of(namespace, self.count) == self.index
    }

    /// Returns the first hash of its range, and the first one after it; nothing where the range ends with the last hash.
    #[must_use]
    pub fn range(self) -> (u64, Option<u64>) {
        (range_start(self.index, self.count).unwrap_or(0), range_start(self.index + 1, self.count))
    }

    /// Returns the `shardSelector` that makes an API server send only the objects of this shard; nothing for the only
    /// one. The end of the last range is 2^64, which the selector writes with 17 digits.
    #[must_use]
    pub fn selector(self) -> Option<String> {
        if self.count == 1 {
            return None;
        }
        let (start, end) = self.range();
        let end = end.map_or_else(|| format!("{:#x}", 1_u128 << 64), |end| format!("{end:#x}"));
        Some(format!("shardRange(object.metadata.namespace, '{start:#x}', '{end}')"))
    }
}

/// As `index/count`, the index counted from 0.
impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

/// From `index/count`, the index counted from 0.
impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts =
            text.split_once('/').and_then(|(index, count)| index.parse().ok().zip(count.parse().ok()));
        let shard = parts.and_then(|(index, count)| Self::new(index, count));
        shard.ok_or_else(|| format!("expected `i/N` with 0 ≤ i < N, such as `0/3`, found `{text}`"))
    }
}

/// Returns in which of `count` shards objects in `namespace` are. With no shards at all there is only the first.
#[must_use]
pub fn shard_of(namespace: &str, count: u32) -> u32 {
    let scaled = u128::from(fnv1a_64(namespace)) * u128::from(count.max(1));
    // The range of shard i starts with the first integer that is not below i·2^64/N, and so does this division.
    u32::try_from(scaled >> 64).unwrap_or_default()
}

fn range_start(index: u32, count: u32) -> Option<u64> {
    let count = u128::from(count.max(1));
    u64::try_from((u128::from(index) << 64).div_ceil(count)).ok()
}

pub(crate) fn fnv1a_64(text: &str) -> u64 {
    text.bytes().fold(FNV_OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_is_fnv1a_with_64_bits() {
        // From the test vectors of the reference implementation.
        assert_eq!(fnv1a_64(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a_64("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a_64("foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn shard_has_exactly_the_namespaces_of_its_range() {
        for count in [1, 2, 3, 7, 1_000] {
            for number in 0..500 {
                let namespace = format!("team-{number}");
                let hash = fnv1a_64(&namespace);
                let shard = Shard::new(shard_of(&namespace, count), count).expect("a shard");
                let (start, end) = shard.range();
                assert!(start <= hash && end.is_none_or(|end| hash < end), "{namespace} in {shard}");
                assert!(shard.contains(&namespace));
            }
        }
    }

    #[test]
    fn ranges_meet_and_cover_all_hashes() {
        for count in [1, 2, 3, 7, 1_000] {
            let ranges: Vec<_> =
                (0..count).filter_map(|index| Shard::new(index, count)).map(Shard::range).collect();
            assert_eq!(ranges.first().map(|range| range.0), Some(0));
            assert_eq!(ranges.last().map(|range| range.1), Some(None));
            assert!(
                ranges
                    .windows(2)
                    .all(|pair| pair.first().and_then(|range| range.1) == pair.last().map(|range| range.0))
            );
        }
    }

    #[test]
    fn selector_is_written_as_the_api_server_reads_it() {
        let selectors: Vec<_> = (0..2).filter_map(|index| Shard::new(index, 2)?.selector()).collect();
        assert_eq!(
            selectors,
            [
                "shardRange(object.metadata.namespace, '0x0', '0x8000000000000000')",
                "shardRange(object.metadata.namespace, '0x8000000000000000', '0x10000000000000000')",
            ]
        );
        assert_eq!(Shard::default().selector(), None);
    }

    #[test]
    fn shard_is_read_as_it_is_written() {
        assert_eq!("1/3".parse(), Ok(Shard { index: 1, count: 3 }));
        for text in ["", "3/3", "1", "a/b", "0/0", "-1/2"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}
