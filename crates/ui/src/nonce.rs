//! The nonce of the content security policy: one for each load of the page.

use std::fmt::Write as _;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// Makes nonces that cannot be predicted: a keyed hash of a counter, with a key that the system chose at random.
#[derive(Debug, Default)]
pub(crate) struct NonceSource {
    keys: [RandomState; 2],
    count: AtomicU64,
}

impl NonceSource {
    /// Returns the next nonce: 128 bits in hexadecimal digits.
    pub(crate) fn next(&self) -> String {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let mut text = String::with_capacity(32);
        for key in &self.keys {
            // Writing to a text cannot fail.
            let _ = write!(text, "{:016x}", key.hash_one(count));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::NonceSource;

    #[test]
    fn nonces_differ() {
        let source = NonceSource::default();
        let (first, second) = (source.next(), source.next());
        assert_ne!(first, second);
        assert_eq!((first.len(), second.len()), (32, 32));
        assert_ne!(first.get(..16), first.get(16..));
    }
}
