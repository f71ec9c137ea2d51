//! The trait of budgets that work is charged to while it is done.
//!
//! Searching with a regular expression is the same work for every language, and the languages count in
//! different accounts. So a search asks for a [`StepMeter`] and does not care which.

use std::convert::Infallible;

use crate::{Budget, Exhausted};

/// An account that steps are taken from before or while they are done.
pub trait StepMeter {
    /// The reason why no more steps may be taken.
    type Stopped;

    /// Takes `steps`.
    ///
    /// # Errors
    /// When fewer are left.
    fn take(&mut self, steps: u64) -> Result<(), Self::Stopped>;
}

impl StepMeter for Budget {
    type Stopped = Exhausted;

    fn take(&mut self, steps: u64) -> Result<(), Exhausted> {
        self.step(steps)
    }
}

/// Counts and never stops; for texts whose length is limited already, such as names of namespaces.
#[derive(Debug, Clone, Copy, Default)]
pub struct StepCounter(pub u64);

impl StepMeter for StepCounter {
    type Stopped = Infallible;

    fn take(&mut self, steps: u64) -> Result<(), Infallible> {
        self.0 = self.0.saturating_add(steps);
        Ok(())
    }
}
