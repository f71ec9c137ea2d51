//! How much an evaluation may cost, counted as the API server counts.
//!
//! Costs are the API server's: what is free there is free here. So that nothing that is free can run
//! for ever or take all memory, work is counted besides: items made and looked at, whatever they cost.

use thiserror::Error;

/// How much work besides costs is allowed.
const MOST_WORK: u64 = 10_000_000;

/// What an evaluation has cost so far, and what it may cost.
#[derive(Debug, Clone)]
pub struct Cost {
    used: u64,
    limit: u64,
    work: u64,
}

/// The limit of an expression was reached. Always an error of the rule, never a "no".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the expression costs more than {0}")]
pub struct Exceeded(pub u64);

impl Cost {
    /// What an expression may cost where nobody says otherwise.
    pub const DEFAULT_LIMIT: u64 = 1_000_000;

    /// Returns a count that ends at `limit`.
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self { used: 0, limit, work: MOST_WORK }
    }

    /// Returns what was used.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Returns how much work besides costs is left.
    #[must_use]
    pub fn work_left(&self) -> u64 {
        self.work
    }

    /// Returns a count that allows at most this much work, and not more than usual.
    #[must_use]
    pub fn with_work(self, work: u64) -> Self {
        Self { work: work.min(self.work), ..self }
    }

    /// Returns the limit.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Adds `count`.
    ///
    /// # Errors
    /// When that is more than the limit.
    #[inline]
    pub fn charge(&mut self, count: u64) -> Result<(), Exceeded> {
        self.used = self.used.saturating_add(count);
        if self.used > self.limit { Err(Exceeded(self.limit)) } else { Ok(()) }
    }

    /// Counts `count` items made, which take memory.
    ///
    /// # Errors
    /// When it is too much.
    #[inline]
    pub fn make(&mut self, count: usize) -> Result<(), Exceeded> {
        self.work(count.saturating_mul(4))
    }

    /// Counts `count` items looked at, whatever that costs.
    ///
    /// # Errors
    /// When it is too much.
    #[inline]
    pub fn work(&mut self, count: usize) -> Result<(), Exceeded> {
        self.work = self.work.checked_sub(count as u64).ok_or(Exceeded(self.limit))?;
        Ok(())
    }
}

impl Default for Cost {
    fn default() -> Self {
        Self::new(Self::DEFAULT_LIMIT)
    }
}

/// Returns what going through `size` characters or bytes once costs: a tenth, rounded up.
#[must_use]
pub fn traversal(size: u64) -> u64 {
    size.div_ceil(10)
}
