//! Cost limits of an evaluation, counted as the API server counts.
//!
//! Costs are the API server's: an operation that is free there is free here. Because free operations could
//! otherwise run forever or exhaust memory, work is counted separately: every item made or visited.

use kubewright_value::{Deadline, StepMeter};
use thiserror::Error;

use super::val::Val;

/// The cost or work between two checks of the deadline.
const UNITS_PER_CLOCK_CHECK: u64 = 4096;

/// The work that an evaluation may do, independent of its cost.
const MAX_WORK: u64 = 10_000_000;

/// The work that counts as one step of a [`kubewright_value::Budget`].
pub const WORK_PER_STEP: u64 = 6;

/// The bytes of strings and values that an evaluation may allocate.
const MAX_MADE_BYTES: u64 = 32 << 20;

/// The cost of an evaluation so far, and its limits.
#[derive(Debug, Clone)]
pub struct CelCost {
    used: u64,
    limit: u64,
    /// The part of `limit` that is left when several evaluations share it.
    available: u64,
    work: u64,
    is_out_of_work: bool,
    bytes: u64,
    max_bytes: u64,
    deadline: Option<Deadline>,
    /// Thresholds of cost used and of work left at which the deadline and the limits are checked.
    next_cost_check: u64,
    next_work_check: u64,
    is_interrupted: bool,
}

/// A limit of an expression was reached. Always an error of the rule, never a "no".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CostExceeded {
    /// The cost limit.
    #[error("the expression costs more than {0}")]
    Cost(u64),
    /// The limit of allocated bytes.
    #[error("the budget of {0} bytes is used up")]
    Bytes(u64),
}

impl CelCost {
    /// The default cost limit of an expression.
    pub const DEFAULT_LIMIT: u64 = 1_000_000;

    /// Returns a zero cost with the given limit, and the deadline of this thread if it has one.
    #[must_use]
    pub fn new(limit: u64) -> Self {
        let cost = Self {
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
        };
        cost.with_deadline(Deadline::of_this_thread())
    }

    /// Interrupts the evaluation soon after `deadline`, if there is one, as if a limit were reached.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Option<Deadline>) -> Self {
        if deadline.is_some() {
            self.deadline = deadline;
            self.plan_clock_check();
        }
        self
    }

    /// Returns whether the deadline has passed; the result must then not be used.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.is_interrupted
    }

    /// Returns the cost so far.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Returns the work that is left.
    #[must_use]
    pub fn work_left(&self) -> u64 {
        self.work
    }

    /// Lowers the work limit to `work`; it never raises it.
    #[must_use]
    pub fn with_work(self, work: u64) -> Self {
        Self { work: work.min(self.work), ..self }
    }

    /// Stops at `available`, the rest of a limit that several evaluations share. Errors name the whole limit.
    #[must_use]
    pub fn with_available(self, available: u64) -> Self {
        let available = available.min(self.limit);
        Self { available, next_cost_check: self.next_cost_check.min(available), ..self }
    }

    /// Returns whether the work limit was reached.
    #[must_use]
    pub fn is_out_of_work(&self) -> bool {
        self.is_out_of_work
    }

    /// Allows `left` more bytes, which are left of `limit`.
    #[must_use]
    pub fn with_bytes(self, left: u64, limit: u64) -> Self {
        Self { bytes: left, max_bytes: limit, ..self }
    }

    /// Returns how many bytes may still be allocated.
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

    /// Adds `count` to the cost.
    ///
    /// # Errors
    /// When that is more than the limit.
    #[inline]
    pub fn charge(&mut self, count: u64) -> Result<(), CostExceeded> {
        self.used = self.used.saturating_add(count);
        if self.used > self.next_cost_check { self.check() } else { Ok(()) }
    }

    /// Counts `count` new items, as work and as bytes.
    ///
    /// # Errors
    /// When it is too much.
    #[inline]
    pub fn make(&mut self, count: usize) -> Result<(), CostExceeded> {
        self.work(count.saturating_mul(4))?;
        self.produce(count.saturating_mul(size_of::<Val<'_>>()))
    }

    /// Counts `count` bytes of strings or values before they are allocated.
    ///
    /// # Errors
    /// When fewer are left.
    #[inline]
    pub fn produce(&mut self, count: usize) -> Result<(), CostExceeded> {
        self.bytes = self.bytes.checked_sub(count as u64).ok_or(CostExceeded::Bytes(self.max_bytes))?;
        Ok(())
    }

    /// Counts `count` visited items as work.
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
            // A caller that ignores this error is stopped by its next charge.
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

/// Returns the cost of one pass over `size` characters or bytes: a tenth, rounded up.
#[must_use]
pub fn traversal_cost(size: u64) -> u64 {
    size.div_ceil(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadline_interrupts_cost_and_work() {
        let interrupted = |step: fn(&mut CelCost) -> Result<(), CostExceeded>| {
            let mut cost = CelCost::default().with_deadline(Some(Deadline { at: 0, now: || 0 }));
            let stopped = (0..2 * UNITS_PER_CLOCK_CHECK).any(|_| step(&mut cost).is_err());
            stopped && cost.is_interrupted() && step(&mut cost).is_err()
        };
        assert!(interrupted(|cost| cost.charge(1)));
        assert!(interrupted(|cost| cost.work(1)));
    }

    #[test]
    fn distant_deadline_does_not_change_the_limit() {
        let far = Deadline { at: 1, now: || 0 };
        let mut cost = CelCost::new(10_000).with_deadline(Some(far));
        assert!((0..10_000).all(|_| cost.charge(1).is_ok()));
        assert_eq!(cost.charge(1), Err(CostExceeded::Cost(10_000)));
        assert!(!cost.is_interrupted());
    }
}
