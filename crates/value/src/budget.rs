//! The amount of work that an evaluation may do.
//!
//! Counted, not timed, so that the same input stops at the same place every time.
//! The languages charge it as they go; the engine makes one for each evaluation.
//!
//! A caller who cannot wait may add a deadline, to one budget or to all that some work makes. It decides nothing: an
//! evaluation that it interrupted has no result.

use std::cell::Cell;

use thiserror::Error;

/// The number of steps between two looks at the clock: some hundred microseconds of work.
const STEPS_PER_CLOCK_CHECK: u64 = 4096;

/// When a caller stops waiting. The clock is the caller's: nothing here knows the time.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    /// The moment, as `now` counts.
    pub at: u64,
    /// Returns a count that grows with time.
    pub now: fn() -> u64,
}

impl Deadline {
    /// Returns whether it is over.
    #[must_use]
    pub fn has_passed(&self) -> bool {
        (self.now)() >= self.at
    }

    /// Returns the deadline of the work that this thread does, if it has one.
    #[must_use]
    pub fn of_this_thread() -> Option<Self> {
        OF_THREAD.get()
    }

    /// Does `work`. Every budget that it makes on this thread is interrupted soon after `deadline`, which leaves its
    /// result unusable: look at [`Deadline::has_passed`] before you use it. Threads that share the work ask for
    /// [`Deadline::of_this_thread`] and set it as well.
    pub fn limit<T>(deadline: Option<Self>, work: impl FnOnce() -> T) -> T {
        let _restored = ThreadDeadline { before: OF_THREAD.replace(deadline) };
        work()
    }
}

thread_local! {
    static OF_THREAD: Cell<Option<Deadline>> = const { Cell::new(None) };
}

/// Restores the deadline of this thread, also when the work panics.
struct ThreadDeadline {
    before: Option<Deadline>,
}

impl Drop for ThreadDeadline {
    fn drop(&mut self) {
        OF_THREAD.set(self.before);
    }
}

/// The three limits of an evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Elementary steps: nodes visited, expressions evaluated, loop rounds.
    pub steps: u64,
    /// Bytes of text and values produced.
    pub bytes: u64,
    /// Nesting of calls, templates and values.
    pub depth: u32,
}

/// Generous for real rules, small for attacks.
impl Default for Limits {
    fn default() -> Self {
        Self { steps: 5_000_000, bytes: 32 << 20, depth: 256 }
    }
}

/// The remainder of the [`Limits`].
#[derive(Debug, Clone)]
pub struct Budget {
    limits: Limits,
    steps: u64,
    bytes: u64,
    depth: u32,
    is_out_of_steps: bool,
    deadline: Option<Deadline>,
    /// With fewer steps left the clock is looked at; 0 without a deadline.
    next_clock_check: u64,
    is_interrupted: bool,
}

/// A limit was reached. Always an error of the rule, never a "no".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Exhausted {
    /// Too many steps.
    #[error("the budget of {0} steps is used up")]
    Steps(u64),
    /// Too much text or too many values.
    #[error("the budget of {0} bytes is used up")]
    Bytes(u64),
    /// Too deep.
    #[error("nested deeper than {0} levels")]
    Depth(u32),
    /// The caller's deadline has passed. The evaluation has no result, and says nothing about the rule.
    #[error("interrupted: the deadline of the caller has passed")]
    Deadline,
}

impl Budget {
    /// Returns a budget with all of `limits` left, and the deadline of this thread if it has one.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        let budget = Self {
            limits,
            steps: limits.steps,
            bytes: limits.bytes,
            depth: limits.depth,
            is_out_of_steps: false,
            deadline: None,
            next_clock_check: 0,
            is_interrupted: false,
        };
        match Deadline::of_this_thread() {
            None => budget,
            own => budget.within_thread_deadline(own),
        }
    }

    /// Returns this budget, whose first step looks at the clock: much work has many small budgets.
    #[cold]
    fn within_thread_deadline(mut self, deadline: Option<Deadline>) -> Self {
        (self.deadline, self.next_clock_check) = (deadline, u64::MAX);
        self
    }

    /// Returns this budget, which is interrupted soon after `deadline`, if there is one.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Option<Deadline>) -> Self {
        if deadline.is_some() {
            self.deadline = deadline;
            self.next_clock_check = self.steps.saturating_sub(STEPS_PER_CLOCK_CHECK);
        }
        self
    }

    /// Takes `count` steps.
    ///
    /// # Errors
    /// When fewer are left.
    #[inline]
    pub fn step(&mut self, count: u64) -> Result<(), Exhausted> {
        match self.steps.checked_sub(count) {
            Some(left) if left >= self.next_clock_check => self.steps = left,
            Some(left) => {
                self.steps = left;
                return self.check_clock();
            }
            None => {
                self.is_out_of_steps = true;
                return Err(Exhausted::Steps(self.limits.steps));
            }
        }
        Ok(())
    }

    /// Looks whether the deadline has passed, whatever steps were taken.
    ///
    /// # Errors
    /// When it has.
    #[cold]
    pub fn check_clock(&mut self) -> Result<(), Exhausted> {
        let Some(deadline) = self.deadline else { return Ok(()) };
        if self.is_interrupted || deadline.has_passed() {
            // A caller that continues after this error is stopped by the next step.
            (self.is_interrupted, self.next_clock_check) = (true, u64::MAX);
            return Err(Exhausted::Deadline);
        }
        self.next_clock_check = self.steps.saturating_sub(STEPS_PER_CLOCK_CHECK);
        Ok(())
    }

    /// Takes `count` bytes.
    ///
    /// # Errors
    /// When fewer are left.
    #[inline]
    pub fn produce(&mut self, count: usize) -> Result<(), Exhausted> {
        self.bytes = self.bytes.checked_sub(count as u64).ok_or(Exhausted::Bytes(self.limits.bytes))?;
        Ok(())
    }

    /// Makes something that is dropped again before anything else is made: what it took in bytes is given back, so that
    /// it only has to fit.
    ///
    /// # Errors
    /// Those of `make`, after which nothing is given back.
    pub fn transient<T, E>(&mut self, make: impl FnOnce(&mut Self) -> Result<T, E>) -> Result<T, E> {
        let bytes = self.bytes;
        let made = make(self)?;
        self.bytes = bytes;
        Ok(made)
    }

    /// Goes one level deeper; [`Budget::leave`] comes back up.
    ///
    /// # Errors
    /// When the deepest level was reached.
    #[inline]
    pub fn enter(&mut self) -> Result<(), Exhausted> {
        self.depth = self.depth.checked_sub(1).ok_or(Exhausted::Depth(self.limits.depth))?;
        Ok(())
    }

    /// Comes back from the level that [`Budget::enter`] went to.
    #[inline]
    pub fn leave(&mut self) {
        self.depth = self.depth.saturating_add(1).min(self.limits.depth);
    }

    /// Returns how many levels below this one there may be.
    #[must_use]
    pub fn depth_left(&self) -> u32 {
        self.depth
    }

    /// Returns how many steps were taken.
    #[must_use]
    pub fn steps_used(&self) -> u64 {
        self.limits.steps - self.steps
    }

    /// Returns how many steps are left.
    #[must_use]
    pub fn steps_left(&self) -> u64 {
        self.steps
    }

    /// Returns whether more steps were charged than were left.
    #[must_use]
    pub fn is_out_of_steps(&self) -> bool {
        self.is_out_of_steps
    }

    /// Returns how many bytes are left.
    #[must_use]
    pub fn bytes_left(&self) -> u64 {
        self.bytes
    }

    /// Returns how many bytes there were in the beginning.
    #[must_use]
    pub fn bytes_limit(&self) -> u64 {
        self.limits.bytes
    }

    /// Returns when the evaluation is interrupted, if it is.
    #[must_use]
    pub fn deadline(&self) -> Option<Deadline> {
        self.deadline
    }

    /// Returns whether the deadline has passed, so that what was evaluated is not to be used.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.is_interrupted
    }

    /// Returns how many bytes were produced.
    #[must_use]
    pub fn bytes_used(&self) -> u64 {
        self.limits.bytes - self.bytes
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_stops_exactly_where_it_says() {
        let mut budget = Budget::new(Limits { steps: 2, bytes: 3, depth: 1 });
        assert_eq!(budget.step(2), Ok(()));
        assert!(!budget.is_out_of_steps());
        assert_eq!(budget.step(1), Err(Exhausted::Steps(2)));
        assert!(budget.is_out_of_steps());
        assert_eq!(budget.produce(4), Err(Exhausted::Bytes(3)));
        assert_eq!(budget.enter(), Ok(()));
        assert_eq!(budget.enter(), Err(Exhausted::Depth(1)));
        budget.leave();
        assert_eq!(budget.enter(), Ok(()));
    }

    #[test]
    fn budgets_of_limited_work_are_interrupted_on_all_its_threads() {
        let over = Deadline { at: 1, now: || 1 };
        let step = || Budget::default().step(1);
        assert_eq!(step(), Ok(()));
        assert_eq!(Deadline::limit(Some(over), step), Err(Exhausted::Deadline));
        let ahead = Deadline { at: 2, now: || 1 };
        assert_eq!(Deadline::limit(Some(ahead), step), Ok(()));
        let shared = || crate::workers::map_in_parallel(&[1, 2, 3], 2, |_| step());
        assert_eq!(Deadline::limit(Some(over), shared), vec![Err(Exhausted::Deadline); 3]);
        assert_eq!(step(), Ok(()), "the deadline ends with the work");
    }

    #[test]
    fn what_is_transient_has_to_fit_and_is_given_back() {
        let mut budget = Budget::new(Limits { steps: 2, bytes: 3, depth: 1 });
        assert_eq!(budget.transient(|budget| budget.produce(3)), Ok(()));
        assert_eq!(budget.transient(|budget| budget.produce(4)), Err(Exhausted::Bytes(3)));
        assert_eq!(budget.bytes_used(), 0);
    }

    #[test]
    fn a_deadline_interrupts_within_a_few_thousand_steps_and_for_good() {
        let mut budget = Budget::default().with_deadline(Some(Deadline { at: 0, now: || 0 }));
        let stopped = (0..2 * STEPS_PER_CLOCK_CHECK).find_map(|_| budget.step(1).err());
        assert_eq!(stopped, Some(Exhausted::Deadline));
        assert!(budget.is_interrupted() && !budget.is_out_of_steps());
        assert_eq!(budget.step(0), Err(Exhausted::Deadline));
    }

    #[test]
    fn a_deadline_far_away_changes_nothing() {
        let limits = Limits { steps: 10_000, ..Limits::default() };
        let far = Deadline { at: 1, now: || 0 };
        let mut budget = Budget::new(limits).with_deadline(Some(far));
        assert!((0..10_000).all(|_| budget.step(1).is_ok()));
        assert_eq!(budget.step(1), Err(Exhausted::Steps(10_000)));
        assert!(!budget.is_interrupted());
    }
}
