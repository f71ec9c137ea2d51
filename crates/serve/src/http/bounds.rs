//! How much may be under way at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Semaphore;

use crate::State;
use crate::metrics::Overload;

/// How large a body may be; the API server sends no larger object.
pub(crate) const MAX_BODY: usize = 7 << 20;

/// How much memory bodies may take together, apart from the beginning of each.
const MAX_BODIES: usize = 32 << 20;

/// How much the beginnings of bodies may take together. They have room of their own, so that whoever sends large bodies
/// slowly leaves the others, who send small ones, theirs.
const MAX_BEGINNINGS: usize = 16 << 20;

/// How much of a body is its beginning.
const BEGINNING: usize = 64 << 10;

/// From here on a body is large: it is read into values while no other large one is.
pub(crate) const LARGE_BODY: usize = 512 << 10;

/// What is under way, and how much of it may be.
#[derive(Debug)]
pub(crate) struct Bounds {
    waiting: AtomicUsize,
    in_flight: AtomicUsize,
    max_in_flight: usize,
    bodies: AtomicUsize,
    beginnings: AtomicUsize,
    max_connections: usize,
    pub(crate) large: Semaphore,
    pub(crate) connections: Arc<Semaphore>,
}

impl Bounds {
    pub(crate) fn new(max_in_flight: usize, max_connections: usize) -> Self {
        Self {
            waiting: AtomicUsize::new(0),
            in_flight: AtomicUsize::new(0),
            max_in_flight,
            bodies: AtomicUsize::new(0),
            beginnings: AtomicUsize::new(0),
            max_connections,
            large: Semaphore::new(1),
            connections: Arc::new(Semaphore::new(max_connections)),
        }
    }

    /// Returns whether so many connections are open that those which nobody uses should make room.
    pub(super) fn has_few_connections(&self) -> bool {
        self.connections.available_permits() < self.max_connections / 5
    }
}

/// A request that has come and of which nothing was done yet. On a machine that has more to do than it can, these are
/// what piles up, and not the reviews under way, each of which is done in one go.
pub(crate) struct Waiting(Arc<State>);

impl Waiting {
    /// A request has come.
    pub(crate) fn begin(state: &Arc<State>) -> Self {
        state.bounds.waiting.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(state))
    }

    /// Its turn has come. Returns whether more wait behind it than may, so that it should make way.
    pub(crate) fn end(self) -> bool {
        let bounds = &self.0.bounds;
        let is_crowded = bounds.waiting.load(Ordering::Relaxed) > bounds.max_in_flight;
        if is_crowded {
            self.0.metrics.overloaded(Overload::InFlight);
        }
        is_crowded
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.bounds.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A place among the reviews under way, given back when it is dropped.
pub(crate) struct Place<'s>(&'s State);

impl<'s> Place<'s> {
    /// Takes a place, if there is one.
    pub(crate) fn take(state: &'s State) -> Option<Self> {
        let before = state.bounds.in_flight.fetch_add(1, Ordering::Relaxed);
        state.metrics.in_flight_changed(before + 1);
        let place = Self(state);
        if before < state.bounds.max_in_flight {
            return Some(place);
        }
        state.metrics.overloaded(Overload::InFlight);
        None
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let before = self.0.bounds.in_flight.fetch_sub(1, Ordering::Relaxed);
        self.0.metrics.in_flight_changed(before.saturating_sub(1));
    }
}

/// Memory of a body, given back when it is dropped.
pub(crate) struct Room<'s> {
    state: &'s State,
    bytes: usize,
}

impl<'s> Room<'s> {
    pub(crate) fn new(state: &'s State) -> Self {
        Self { state, bytes: 0 }
    }

    /// Takes room for `bytes` more, if there is any.
    #[must_use]
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let bounds = &self.state.bounds;
        let (begun, before) = parts(self.bytes);
        self.bytes += bytes;
        let (beginning, rest) = parts(self.bytes);
        let (beginning, rest) = (beginning - begun, rest - before);
        let beginnings = bounds.beginnings.fetch_add(beginning, Ordering::Relaxed).saturating_add(beginning);
        let bodies = bounds.bodies.fetch_add(rest, Ordering::Relaxed).saturating_add(rest);
        let fits = beginnings <= MAX_BEGINNINGS && (rest == 0 || bodies <= MAX_BODIES);
        if !fits {
            self.state.metrics.overloaded(Overload::Memory);
        }
        fits
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        let (beginning, rest) = parts(self.bytes);
        self.state.bounds.beginnings.fetch_sub(beginning, Ordering::Relaxed);
        self.state.bounds.bodies.fetch_sub(rest, Ordering::Relaxed);
    }
}

/// Returns how much of a body of `bytes` is its beginning, and how much the rest.
fn parts(bytes: usize) -> (usize, usize) {
    let beginning = bytes.min(BEGINNING);
    (beginning, bytes - beginning)
}

#[cfg(test)]
mod tests;
