//! The requests of one HTTP/2 connection, answered in its own task as long as that is quick.
//!
//! A task for each request is woken on another thread, and wakes the connection there when its answer is made: for a review
//! by a few policies both cost as much as the review. So requests that arrive together are answered together, and their
//! answers leave in one write. What waits for something, or would keep the others waiting, gets a task of its own, which any
//! thread can run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::connections::ConnectionUsage;
use super::turns::ConnectionTurns;

/// For how long a connection answers requests before the rest gets tasks of their own.
const MAX_ROUND_TIME: Duration = Duration::from_millis(1);

/// What a request of a connection may take on average to be answered in its task.
const MAX_QUICK_TIME: Duration = Duration::from_micros(300);

type StreamFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Requests that have arrived and of which nothing was done yet.
#[derive(Clone, Default)]
pub(super) struct ArrivedStreams(Arc<Mutex<Vec<StreamFuture>>>);

impl<F: Future<Output = ()> + Send + 'static> hyper::rt::Executor<F> for ArrivedStreams {
    fn execute(&self, future: F) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Box::pin(future));
    }
}

/// A connection with the requests that arrive on it.
pub(super) struct ConnectionTask<C> {
    pub(super) connection: Pin<Box<C>>,
    arrived: ArrivedStreams,
    usage: Arc<ConnectionUsage>,
    turns: Arc<ConnectionTurns>,
    /// That of `turns`.
    waker: Waker,
}

impl<C: Future> ConnectionTask<C> {
    /// Returns the task of `connection`, which puts its requests into `arrived`.
    pub(super) fn new(
        connection: C,
        arrived: ArrivedStreams,
        usage: &Arc<ConnectionUsage>,
        turns: Arc<ConnectionTurns>,
    ) -> Self {
        let waker = Waker::from(Arc::clone(&turns));
        Self { connection: Box::pin(connection), arrived, usage: Arc::clone(usage), turns, waker }
    }
}

impl<C: Future> Future for ConnectionTask<C> {
    type Output = C::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<C::Output> {
        let this = &mut *self;
        let waker = this.waker.clone();
        let mut woken_by_turns = Context::from_waker(&waker);
        this.turns.begin(context.waker());
        let mut round: Option<Instant> = None;
        loop {
            // This also sends the answers of the round before.
            if let Poll::Ready(ended) = this.connection.as_mut().poll(&mut woken_by_turns) {
                return Poll::Ready(ended);
            }
            let arrived = std::mem::take(&mut *this.arrived.0.lock().unwrap_or_else(PoisonError::into_inner));
            if arrived.is_empty() {
                break;
            }
            let begun = *round.get_or_insert_with(Instant::now);
            for stream in arrived {
                this.answer(stream, begun, &mut woken_by_turns);
            }
            // Every answer has woken the connection, which is asked again at once.
            this.turns.go_on();
        }
        if this.turns.end() {
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

impl<C> ConnectionTask<C> {
    /// Answers a request here, or in a task of its own.
    fn answer(&self, mut stream: StreamFuture, begun: Instant, context: &mut Context<'_>) {
        let is_long = self.usage.average_time() > MAX_QUICK_TIME || begun.elapsed() > MAX_ROUND_TIME;
        // To refuse a request takes less than to make a task of it.
        if is_long && !self.turns.is_refusing() {
            tokio::spawn(stream);
            return;
        }
        // A panic ends this request, as it would in a task of its own, and not the connection.
        let polled = catch_unwind(AssertUnwindSafe(|| stream.as_mut().poll(context)));
        if matches!(polled, Ok(Poll::Pending)) {
            tokio::spawn(stream);
        }
    }
}

#[cfg(test)]
mod tests;
