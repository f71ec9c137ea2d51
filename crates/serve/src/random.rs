//! Random bytes of the operating system.

/// Returns random bytes for seeds and identities, or nothing if the system has none to give.
#[must_use]
pub fn random_bytes<const N: usize>() -> Option<[u8; N]> {
    let mut bytes = [0; N];
    rustls::crypto::ring::default_provider().secure_random.fill(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_calls_differ() {
        let (first, second) = (random_bytes::<32>(), random_bytes::<32>());
        assert!(first.is_some());
        assert_ne!(first, second);
    }
}
