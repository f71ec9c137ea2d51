//! When the task of a connection has its turn, and how long what it reads then has waited.
//!
//! On a machine that has more to do than it can, requests wait where nobody sees them: in the buffers of connections that
//! are woken and whose turn has not come. So a connection notes when it is woken, and how many requests were begun by then.
//! At its turn it knows how long its requests have waited, and how many were ahead of them.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

/// The states of a task: it waits, it was woken since its last turn or during the current one, or it has its turn.
const WAITING: u8 = 0;
const WOKEN: u8 = 1;
const RUNNING: u8 = 2;

/// The turns of one connection, which is woken through this.
#[derive(Debug)]
pub(super) struct ConnectionTurns {
    made: Instant,
    /// The requests of all connections that were begun.
    begun: Arc<AtomicU64>,
    state: AtomicU8,
    task: Mutex<Waker>,
    /// When the task was woken, in nanoseconds since `made`, and how many requests were begun by then.
    woken_at: AtomicU64,
    begun_when_woken: AtomicU64,
    /// The same of what is read now.
    come_at: AtomicU64,
    begun_when_come: AtomicU64,
    /// For how long all turns together were waited for, in nanoseconds.
    late: AtomicU64,
    is_refusing: AtomicBool,
}

/// When a request came, as far as that is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    pub(super) at: Instant,
    /// How many requests of all connections were begun before it came.
    pub(super) begun: u64,
}

impl ConnectionTurns {
    /// Returns the turns of a connection; `begun` counts the requests of all.
    pub(super) fn new(begun: &Arc<AtomicU64>) -> Arc<Self> {
        Arc::new(Self {
            made: Instant::now(),
            begun: Arc::clone(begun),
            state: AtomicU8::new(WAITING),
            task: Mutex::new(Waker::noop().clone()),
            woken_at: AtomicU64::new(0),
            begun_when_woken: AtomicU64::new(0),
            come_at: AtomicU64::new(0),
            begun_when_come: AtomicU64::new(0),
            late: AtomicU64::new(0),
            is_refusing: AtomicBool::new(false),
        })
    }

    /// The turn of the task has come; from now on it is woken by `task`.
    pub(super) fn begin(&self, task: &Waker) {
        {
            let mut known = self.task.lock().unwrap_or_else(PoisonError::into_inner);
            known.clone_from(task);
        }
        let now = self.now();
        self.is_refusing.store(false, Ordering::Relaxed);
        if self.state.swap(RUNNING, Ordering::AcqRel) != WOKEN {
            self.come(now, self.begun.load(Ordering::Relaxed));
            return;
        }
        let woken_at = self.woken_at.load(Ordering::Relaxed);
        self.come(woken_at, self.begun_when_woken.load(Ordering::Relaxed));
        self.late.fetch_add(now.saturating_sub(woken_at), Ordering::Relaxed);
    }

    /// The turn goes on with what has come during it. Whoever woke the task until now is seen to.
    pub(super) fn go_on(&self) {
        self.state.store(RUNNING, Ordering::Release);
        self.come(self.now(), self.begun.load(Ordering::Relaxed));
    }

    /// The turn is over; returns whether another one is needed, because the task was woken meanwhile.
    #[must_use]
    pub(super) fn end(&self) -> bool {
        self.state.compare_exchange(RUNNING, WAITING, Ordering::AcqRel, Ordering::Acquire).is_err()
    }

    /// Returns when the requests came that are read now. Without a turn that is now.
    pub(super) fn arrival(&self) -> Arrival {
        if self.state.load(Ordering::Relaxed) == WAITING {
            return Arrival { at: Instant::now(), begun: self.begun.load(Ordering::Relaxed) };
        }
        Arrival {
            at: self.made + Duration::from_nanos(self.come_at.load(Ordering::Relaxed)),
            begun: self.begun_when_come.load(Ordering::Relaxed),
        }
    }

    /// Returns for how long the client has waited for turns of this connection, with the one that it waits for now.
    pub(super) fn late(&self) -> Duration {
        let now = if self.is_waited_for() { self.now() } else { 0 };
        let current = now.saturating_sub(self.woken_at.load(Ordering::Relaxed));
        Duration::from_nanos(self.late.load(Ordering::Relaxed).saturating_add(current))
    }

    /// Returns whether there may be something to read that was not read yet.
    pub(super) fn is_waited_for(&self) -> bool {
        self.state.load(Ordering::Acquire) == WOKEN
    }

    /// A request of the current turn was refused because it is late, or was not.
    pub(super) fn refuses(&self, is_refused: bool) {
        self.is_refusing.store(is_refused, Ordering::Relaxed);
    }

    /// Returns whether the last request of the current turn was refused.
    pub(super) fn is_refusing(&self) -> bool {
        self.is_refusing.load(Ordering::Relaxed)
    }

    fn come(&self, at: u64, begun: u64) {
        self.come_at.store(at, Ordering::Relaxed);
        self.begun_when_come.store(begun, Ordering::Relaxed);
    }

    fn now(&self) -> u64 {
        u64::try_from(self.made.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

impl Wake for ConnectionTurns {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.state.load(Ordering::Acquire) != WOKEN {
            // Before the state says that they are there. Of two that wake it at once, either is right.
            self.woken_at.store(self.now(), Ordering::Relaxed);
            self.begun_when_woken.store(self.begun.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        // A task that has its turn looks at its end, and one that was woken need not be woken again.
        if self.state.swap(WOKEN, Ordering::AcqRel) == WAITING {
            self.task.lock().unwrap_or_else(PoisonError::into_inner).wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests;
