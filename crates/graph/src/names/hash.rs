//! Two hashes: one of texts from outside, with a seed, and one of a few small numbers.

use std::hash::Hasher;

const HASH_MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns the hash of `bytes`: sixteen at a time, multiplied and folded.
pub(super) fn hash_bytes(bytes: &[u8], [first, second]: [u64; 2]) -> u64 {
    let mut state = first ^ (bytes.len() as u64).wrapping_mul(HASH_MULTIPLIER);
    let mut rest = bytes;
    while let Some((chunk, after)) = rest.split_first_chunk::<16>() {
        let (low, high) = halves(chunk);
        state = fold_product(low ^ state, high ^ second);
        rest = after;
    }
    if let Some((low, high)) = rest.first_chunk::<8>().zip(rest.last_chunk::<8>()) {
        // The two may overlap; the length distinguishes such texts.
        state = fold_product(u64::from_le_bytes(*low) ^ state, u64::from_le_bytes(*high) ^ second);
    } else if !rest.is_empty() {
        let last = rest.iter().fold(0_u64, |last, byte| (last << 8) | u64::from(*byte));
        state = fold_product(last ^ state, second);
    }
    fold_product(state ^ second, HASH_MULTIPLIER)
}

fn halves(chunk: &[u8; 16]) -> (u64, u64) {
    let number = u128::from_le_bytes(*chunk);
    (number as u64, (number >> 64) as u64)
}

fn fold_product(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// Mixes a few small numbers quickly.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SymbolHasher(u64);

impl Hasher for SymbolHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (chunks, rest) = bytes.as_chunks::<8>();
        chunks.iter().for_each(|chunk| self.write_u64(u64::from_le_bytes(*chunk)));
        rest.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(u64::from(number));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(23) ^ number).wrapping_mul(HASH_MULTIPLIER);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number.cast_unsigned() as u64);
    }

    fn finish(&self) -> u64 {
        fold_product(self.0, HASH_MULTIPLIER)
    }
}
