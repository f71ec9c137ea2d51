//! How much an evaluation may cost, counted as the API server counts.
//!
//! Costs are the API server's: what is free there is free here. So that nothing that is free can run
//! for ever or take all memory, work is counted besides: items made and looked at, whatever they cost.

use kubewright_value::StepMeter;
use thiserror::Error;

/// How much work besides costs is allowed.
const MOST_WORK: u64 = 10_000_000;

/// How much work is a step of a [`kubewright_value::Budget`].
pub const WORK_PER_STEP: u64 = 6;

/// What an evaluation has cost so far, and what it may cost.
#[derive(Debug, Clone)]
pub struct Cost {
    used: u64,
    limit: u64,
    /// What is left of `limit` where others have used some of it.
    available: u64,
    work: u64,
    is_out_of_work: bool,
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
        Self { used: 0, limit, available: limit, work: MOST_WORK, is_out_of_work: false }
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

    /// Returns a count that ends earlier, because no more than `available` is left of what several share.
    #[must_use]
    pub fn with_available(self, available: u64) -> Self {
        Self { available: available.min(self.limit), ..self }
    }

    /// Returns whether more work was wanted than was left.
    #[must_use]
    pub fn is_out_of_work(&self) -> bool {
        self.is_out_of_work
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
        if self.used > self.available { Err(Exceeded(self.limit)) } else { Ok(()) }
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
        match self.work.checked_sub(count as u64) {
            Some(left) => self.work = left,
            None => {
                self.is_out_of_work = true;
                return Err(Exceeded(self.limit));
            }
        }
        Ok(())
    }
}

impl StepMeter for Cost {
    type Stopped = Exceeded;

    fn take(&mut self, steps: u64) -> Result<(), Exceeded> {
        self.work(usize::try_from(steps.saturating_mul(WORK_PER_STEP)).unwrap_or(usize::MAX))
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
