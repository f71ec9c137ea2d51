//! The time and the randomness that an evaluation is given.

use sha2::{Digest as _, Sha256};

/// The inputs that functions that are not repeatable take from the caller.
///
/// Only functions that were allowed by name ask for these.
#[derive(Debug, Clone, Copy, Default)]
pub struct Inputs {
    /// The current time in nanoseconds since 1970.
    pub now: Option<i128>,
    /// The seed of the random numbers of this rendering.
    pub random_seed: Option<u64>,
    /// The source of keys and certificates.
    pub keys: Option<KeySource>,
}

/// The secret from which keys and certificates are derived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeySource {
    /// The seed of all keys; a secret where the keys are to be secret.
    pub seed: [u8; 32],
    /// From when on certificates are valid, in nanoseconds since 1970.
    pub valid_from: i128,
}

impl Inputs {
    /// Returns the inputs for one of many renderings, which `identity` distinguishes from the others: their random numbers
    /// and keys have nothing in common, and are the same whenever the identity is.
    #[must_use]
    pub fn of_rendering(&self, identity: &[&str]) -> Self {
        let digest = |seed: &[u8]| {
            let mut digest = Sha256::new().chain_update(seed);
            for part in identity {
                digest.update((part.len() as u64).to_be_bytes());
                digest.update(part);
            }
            <[u8; 32]>::from(digest.finalize())
        };
        let random = |seed: u64| {
            let bytes = digest(&seed.to_be_bytes());
            bytes.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
        };
        Self {
            now: self.now,
            random_seed: self.random_seed.map(random),
            keys: self.keys.map(|keys| KeySource { seed: digest(&keys.seed), ..keys }),
        }
    }
}
