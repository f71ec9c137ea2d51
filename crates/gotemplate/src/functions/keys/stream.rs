//! Bytes that look random and follow from a seed: SHA-256 of the seed and a counter.

use sha2::{Digest as _, Sha256};

/// A stream of bytes.
#[derive(Debug, Clone)]
pub(super) struct ByteStream {
    seed: [u8; 32],
    block: u64,
    left: Vec<u8>,
}

impl ByteStream {
    /// Returns the stream of `seed` that is called `number`; no two streams of a seed have bytes in common.
    pub(super) fn new(seed: [u8; 32], number: u64) -> Self {
        let seed = Sha256::new().chain_update(seed).chain_update(number.to_be_bytes()).finalize().into();
        Self { seed, block: 0, left: Vec::new() }
    }

    /// Returns the next bytes.
    pub(super) fn take(&mut self, count: usize) -> Vec<u8> {
        while self.left.len() < count {
            let block = Sha256::new().chain_update(self.seed).chain_update(self.block.to_be_bytes());
            self.left.extend(block.finalize());
            self.block += 1;
        }
        self.left.drain(..count).collect()
    }
}
