//! A token bucket: so many writes a second, and so many at once after a quiet time.

use std::time::{Duration, Instant};

/// A token bucket.
#[derive(Debug, Clone)]
pub(crate) struct TokenBucket {
    per_second: f64,
    burst: f64,
    tokens: f64,
    filled: Instant,
}

impl TokenBucket {
    /// Returns a full bucket.
    pub(crate) fn new(per_second: f64, burst: f64, now: Instant) -> Self {
        Self { per_second, burst, tokens: burst, filled: now }
    }

    /// Takes a token; otherwise returns how long to wait for one.
    pub(crate) fn take(&mut self, now: Instant) -> Result<(), Duration> {
        let passed = now.saturating_duration_since(self.filled).as_secs_f64();
        self.tokens = (self.tokens + passed * self.per_second).min(self.burst);
        self.filled = now;
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
            return Ok(());
        }
        let seconds = (1.0 - self.tokens) / self.per_second.max(0.001);
        Err(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::from_secs(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_followed_by_the_rate() {
        let start = Instant::now();
        let mut bucket = TokenBucket::new(20.0, 50.0, start);
        assert!((0..50).all(|_| bucket.take(start).is_ok()));
        assert_eq!(bucket.take(start), Err(Duration::from_millis(50)));
        let later = start + Duration::from_secs(1);
        assert_eq!((0..100).filter(|_| bucket.take(later).is_ok()).count(), 20);
        let much_later = later + Duration::from_secs(3600);
        assert_eq!(
            (0..100).filter(|_| bucket.take(much_later).is_ok()).count(),
            50,
            "never more than the burst"
        );
    }
}
