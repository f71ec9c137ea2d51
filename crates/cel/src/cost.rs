//! How much an evaluation may cost, counted as the API server counts.
//!
//! Costs are the API server's: what is free there is free here. So that nothing that is free can run
//! for ever or take all memory, work is counted besides: items made and looked at, whatever they cost.

use kubewright_value::{Deadline, StepMeter};
use thiserror::Error;

use super::val::Val;

/// How much cost or work may pass between two looks at the clock.
const UNITS_PER_CLOCK_CHECK: u64 = 4096;

/// How much work besides costs is allowed.
const MAX_WORK: u64 = 10_000_000;

/// How much work is a step of a [`kubewright_value::Budget`].
pub const WORK_PER_STEP: u64 = 6;

/// How many bytes of text and values an evaluation may make.
const MAX_MADE_BYTES: u64 = 32 << 20;

/// What an evaluation has cost so far, and what it may cost.
#[derive(Debug, Clone)]
pub struct CelCost {
    used: u64,
    limit: u64,
    /// What is left of `limit` where others have used some of it.
    available: u64,
    work: u64,
    is_out_of_work: bool,
    bytes: u64,
    max_bytes: u64,
    deadline: Option<Deadline>,
    /// Above this much cost, and below this much work left, the clock is looked at or a limit was reached.
    next_cost_check: u64,
    next_work_check: u64,
    is_interrupted: bool,
}

/// A limit of an expression was reached. Always an error of the rule, never a "no".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CostExceeded {
    /// It costs too much.
    #[error("the expression costs more than {0}")]
    Cost(u64),
    /// It makes too much text, or too many values.
    #[error("the budget of {0} bytes is used up")]
    Bytes(u64),
}

impl CelCost {
    /// What an expression may cost where nobody says otherwise.
    pub const DEFAULT_LIMIT: u64 = 1_000_000;

    /// Returns a count that ends at `limit`.
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self {
            used: 0,
            limit,
            available: limit,
            work: MAX_WORK,
            is_out_of_work: false,
            bytes: MAX_MADE_BYTES,
            max_bytes: MAX_MADE_BYTES,
            deadline: None,
            next_cost_check: limit,
            next_work_check: 0,
            is_interrupted: false,
        }
    }

    /// Returns a count that is interrupted soon after `deadline`, as if a limit were reached.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Option<Deadline>) -> Self {
        self.deadline = deadline;
        if deadline.is_some() {
            self.plan_clock_check();
        }
        self
    }

    /// Returns whether the deadline has passed, so that what was evaluated is not to be used.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.is_interrupted
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
        let available = available.min(self.limit);
        Self { available, next_cost_check: self.next_cost_check.min(available), ..self }
    }

    /// Returns whether more work was wanted than was left.
    #[must_use]
    pub fn is_out_of_work(&self) -> bool {
        self.is_out_of_work
    }

    /// Returns a count that allows at most `left` bytes to be made, which are what is left of `limit`.
    #[must_use]
    pub fn with_bytes(self, left: u64, limit: u64) -> Self {
        Self { bytes: left, max_bytes: limit, ..self }
    }

    /// Returns how many bytes may still be made.
    #[must_use]
    pub fn bytes_left(&self) -> u64 {
        self.bytes
    }

    pub(super) fn too_many_bytes(&self) -> CostExceeded {
        CostExceeded::Bytes(self.max_bytes)
    }

    pub(super) fn too_much_work(&self) -> CostExceeded {
        CostExceeded::Cost(self.limit)
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
    pub fn charge(&mut self, count: u64) -> Result<(), CostExceeded> {
        self.used = self.used.saturating_add(count);
        if self.used > self.next_cost_check { self.check() } else { Ok(()) }
    }

    /// Counts `count` items made, which take memory.
    ///
    /// # Errors
    /// When it is too much.
    #[inline]
    pub fn make(&mut self, count: usize) -> Result<(), CostExceeded> {
        self.work(count.saturating_mul(4))?;
        self.produce(count.saturating_mul(size_of::<Val<'_>>()))
    }

    /// Counts `count` bytes of text or values, before they are made.
    ///
    /// # Errors
    /// When fewer are left.
    #[inline]
    pub fn produce(&mut self, count: usize) -> Result<(), CostExceeded> {
        self.bytes = self.bytes.checked_sub(count as u64).ok_or(CostExceeded::Bytes(self.max_bytes))?;
        Ok(())
    }

    /// Counts `count` items looked at, whatever that costs.
    ///
    /// # Errors
    /// When it is too much.
    #[inline]
    pub fn work(&mut self, count: usize) -> Result<(), CostExceeded> {
        match self.work.checked_sub(count as u64) {
            Some(left) => self.work = left,
            None => {
                self.is_out_of_work = true;
                return Err(CostExceeded::Cost(self.limit));
            }
        }
        if self.work < self.next_work_check { self.check() } else { Ok(()) }
    }

    #[cold]
    fn check(&mut self) -> Result<(), CostExceeded> {
        self.is_interrupted |= self.deadline.is_some_and(|deadline| deadline.has_passed());
        if self.is_interrupted {
            // Whoever goes on after this error is stopped by the next charge.
            (self.next_cost_check, self.next_work_check) = (0, u64::MAX);
            return Err(CostExceeded::Cost(self.limit));
        }
        if self.deadline.is_some() {
            self.plan_clock_check();
        }
        if self.used > self.available { Err(CostExceeded::Cost(self.limit)) } else { Ok(()) }
    }

    fn plan_clock_check(&mut self) {
        self.next_cost_check = self.available.min(self.used.saturating_add(UNITS_PER_CLOCK_CHECK));
        self.next_work_check = self.work.saturating_sub(UNITS_PER_CLOCK_CHECK);
    }
}

impl StepMeter for CelCost {
    type Stopped = CostExceeded;

    fn take(&mut self, steps: u64) -> Result<(), CostExceeded> {
        self.work(usize::try_from(steps.saturating_mul(WORK_PER_STEP)).unwrap_or(usize::MAX))
    }
}

impl Default for CelCost {
    fn default() -> Self {
        Self::new(Self::DEFAULT_LIMIT)
    }
}

/// Returns what going through `size` characters or bytes once costs: a tenth, rounded up.
#[must_use]
pub fn traversal_cost(size: u64) -> u64 {
    size.div_ceil(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_interrupts_what_costs_and_what_is_free() {
        let interrupted = |step: fn(&mut CelCost) -> Result<(), CostExceeded>| {
            let mut cost = CelCost::default().with_deadline(Some(Deadline { at: 0, now: || 0 }));
            let stopped = (0..2 * UNITS_PER_CLOCK_CHECK).any(|_| step(&mut cost).is_err());
            stopped && cost.is_interrupted() && step(&mut cost).is_err()
        };
        assert!(interrupted(|cost| cost.charge(1)));
        assert!(interrupted(|cost| cost.work(1)));
    }

    #[test]
    fn a_deadline_far_away_leaves_the_limit_where_it_is() {
        let far = Deadline { at: 1, now: || 0 };
        let mut cost = CelCost::new(10_000).with_deadline(Some(far));
        assert!((0..10_000).all(|_| cost.charge(1).is_ok()));
        assert_eq!(cost.charge(1), Err(CostExceeded::Cost(10_000)));
        assert!(!cost.is_interrupted());
    }
}
