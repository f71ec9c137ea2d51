//! How much may be under way at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::turns::Arrival;
use crate::ServerState;
use crate::metrics::{MetricId, OverloadReason};

/// How large a body may be; the API server sends no larger object.
pub(crate) const MAX_BODY_BYTES: usize = 7 << 20;

/// How much memory bodies may take together, apart from the beginning of each.
const MAX_BODIES_BYTES: usize = 32 << 20;

/// How much the beginnings of bodies may take together. They have a limit of their own, so that clients
/// that send large bodies slowly cannot block small ones.
const MAX_BODY_HEADS_BYTES: usize = 16 << 20;

/// How much of a body is its beginning.
const BODY_HEAD_BYTES: usize = 64 << 10;

/// Up to here a body is small: it is read, decided and answered among the others. What is larger takes long enough to be
/// felt by them, and enough memory to be weighed.
pub(crate) const MAX_SMALL_BODY_BYTES: usize = 32 << 10;

/// How many bodies may be read at once.
const MAX_UNFINISHED_BODIES: usize = 1024;

/// How many bytes of answers may wait for clients to take them, apart from short ones.
const MAX_RESPONSES_BYTES: usize = 32 << 20;
const SHORT_RESPONSE_BYTES: usize = 4 << 10;

/// How much memory bodies that are not small may need together once they are read. One that alone needs more is read while
/// no other is.
const MAX_PARSED_BYTES: usize = 128 << 20;

/// What a value needs in memory, with what rules usually make of it.
const BYTES_PER_VALUE: usize = 300;

/// How long a request may wait for its turn. One that has waited longer makes way if more than may wait have waited for
/// [`STANDING_QUEUE_TIME`]. A late answer is better than none, so that a pause of the machine, or a container whose share of
/// the processor is used up for a moment, delays requests and refuses none.
const MAX_QUEUE_AGE: Duration = Duration::from_millis(10);

/// Where a third more comes than can be answered, the last of those that came in this time wait for a third of it. Where hardly
/// more comes, those that make way first have waited for all of it: less than the 50 ms within which a spike is refused.
const STANDING_QUEUE_TIME: Duration = Duration::from_millis(45);

/// The part of the requests that may wait that a queue must have shrunk to before it may grow again, and that one that makes
/// way must have had before it.
const SHORT_QUEUE_SHARE: usize = 2;

/// How many of the latest requests say how long the queue is, and how many times as many as may wait one of them can have
/// had ahead of it: a connection that was kept waiting alone is no queue.
const QUEUE_SAMPLES: u64 = 256;
const MAX_SAMPLE_SHARE: u64 = 4;

/// What is under way, and how much of it may be.
#[derive(Debug)]
pub(crate) struct Bounds {
    waiting: AtomicUsize,
    /// The requests whose turn has come.
    begun: Arc<AtomicU64>,
    queue: StandingQueue,
    in_flight: AtomicUsize,
    max_in_flight: usize,
    bodies: AtomicUsize,
    beginnings: AtomicUsize,
    unfinished_bodies: AtomicUsize,
    answers: AtomicUsize,
    memory: AtomicUsize,
    memory_freed: Notify,
}

impl Bounds {
    pub(crate) fn new(max_in_flight: usize) -> Self {
        Self {
            waiting: AtomicUsize::new(0),
            begun: Arc::default(),
            queue: StandingQueue::new(max_in_flight),
            in_flight: AtomicUsize::new(0),
            max_in_flight,
            bodies: AtomicUsize::new(0),
            beginnings: AtomicUsize::new(0),
            unfinished_bodies: AtomicUsize::new(0),
            answers: AtomicUsize::new(0),
            memory: AtomicUsize::new(0),
            memory_freed: Notify::new(),
        }
    }

    /// Returns the count of the requests whose turn has come.
    pub(super) fn begun(&self) -> &Arc<AtomicU64> {
        &self.begun
    }
}

/// A request that has come and of which nothing was done yet. On a machine that has more to do than it can, these are
/// what piles up, and not the reviews under way, each of which is done in one go.
pub(crate) struct QueuedRequest {
    state: Arc<ServerState>,
    arrival: Arrival,
}

impl QueuedRequest {
    /// A request has come.
    pub(super) fn begin(state: &Arc<ServerState>, arrival: Arrival) -> Self {
        state.bounds.waiting.fetch_add(1, Ordering::Relaxed);
        Self { state: Arc::clone(state), arrival }
    }

    /// Its turn has come. Returns whether it should make way, because more wait behind it than may, or for longer.
    pub(super) fn end(self, now: Instant) -> bool {
        let makes_way = self.state.bounds.makes_way(&self.arrival, now);
        if makes_way {
            self.state.metrics.overloaded(OverloadReason::InFlight);
        }
        makes_way
    }
}

impl Drop for QueuedRequest {
    fn drop(&mut self) {
        self.state.bounds.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Bounds {
    /// Returns whether a request that is begun `now` makes way.
    fn makes_way(&self, arrival: &Arrival, now: Instant) -> bool {
        let ahead = self.begun.fetch_add(1, Ordering::Relaxed).saturating_sub(arrival.begun);
        let waiting = self.waiting.load(Ordering::Relaxed);
        let is_standing = self.queue.is_standing(ahead, now);
        let is_late = now.saturating_duration_since(arrival.at) > MAX_QUEUE_AGE;
        let place = usize::try_from(ahead).unwrap_or(usize::MAX).saturating_add(waiting);
        let makes_way = is_standing && is_late && place > self.max_in_flight / SHORT_QUEUE_SHARE;
        makes_way || waiting > self.max_in_flight
    }
}

/// Whether too many requests wait all the time. Where they do, in buffers that were not read and tasks that did not run,
/// they cannot be counted; but on average as many wait as are begun while one of them does.
///
/// Requests that are counted at once may count as one. The times are nanoseconds since `made`, and 0 is never.
#[derive(Debug)]
struct StandingQueue {
    made: Instant,
    max: u64,
    /// How many the latest requests had ahead of them on average, times [`QUEUE_SAMPLES`].
    ahead: AtomicU64,
    /// When a request was last begun, when that average last was not too high, and when it was.
    begun_at: AtomicU64,
    short_at: AtomicU64,
    long_at: AtomicU64,
    is_standing: AtomicBool,
}

impl StandingQueue {
    fn new(max: usize) -> Self {
        Self {
            made: Instant::now(),
            max: max as u64,
            ahead: AtomicU64::new(0),
            begun_at: AtomicU64::new(0),
            short_at: AtomicU64::new(0),
            long_at: AtomicU64::new(0),
            is_standing: AtomicBool::new(false),
        }
    }

    /// Counts a request that had so many `ahead` of it and is begun `now`; returns whether more wait than may, since long.
    /// They do until far fewer have waited or no more than may have for as long: a queue that is short for a moment, because
    /// some made way, would be long again at once.
    fn is_standing(&self, ahead: u64, now: Instant) -> bool {
        let before = self.ahead.load(Ordering::Relaxed);
        let sum = before - before / QUEUE_SAMPLES + ahead.min(self.max.saturating_mul(MAX_SAMPLE_SHARE));
        self.ahead.store(sum, Ordering::Relaxed);
        let average = sum / QUEUE_SAMPLES;
        let now = self.nanoseconds(now);
        let is_recent =
            |at: u64| at != 0 && Duration::from_nanos(now.saturating_sub(at)) <= STANDING_QUEUE_TIME;
        // Of a queue of which nothing is begun for so long nothing is known.
        let was_idle = !is_recent(self.begun_at.swap(now, Ordering::Relaxed));
        let last_at = if was_idle || average <= self.max { &self.short_at } else { &self.long_at };
        last_at.store(now, Ordering::Relaxed);
        let was_standing = self.is_standing.load(Ordering::Relaxed);
        let is_standing = match was_standing {
            true => {
                average > self.max / SHORT_QUEUE_SHARE as u64
                    && is_recent(self.long_at.load(Ordering::Relaxed))
            }
            false => !is_recent(self.short_at.load(Ordering::Relaxed)),
        };
        if is_standing != was_standing {
            self.is_standing.store(is_standing, Ordering::Relaxed);
        }
        is_standing
    }

    fn nanoseconds(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.made).as_nanos()).unwrap_or(u64::MAX).max(1)
    }
}

/// What a request takes while it is under way; given back when it is dropped.
pub(crate) struct RequestResources {
    pub(crate) _place: InFlightPermit,
    pub(crate) _room: BodyPermit,
    pub(crate) _memory: Option<MemoryPermit>,
}

/// A place among the reviews under way, given back when it is dropped.
pub(crate) struct InFlightPermit(Arc<ServerState>);

impl InFlightPermit {
    /// Takes a place, if there is one. Half of them are for small reviews alone: the others may take long.
    pub(crate) fn take(state: &Arc<ServerState>, is_small: bool) -> Option<Self> {
        let before = state.bounds.in_flight.fetch_add(1, Ordering::Relaxed);
        state.metrics.set(MetricId::InFlight, (before + 1) as u64);
        let place = Self(Arc::clone(state));
        let max = state.bounds.max_in_flight;
        if before < if is_small { max } else { max.div_ceil(2) } {
            return Some(place);
        }
        state.metrics.overloaded(OverloadReason::InFlight);
        None
    }
}

impl Drop for InFlightPermit {
    fn drop(&mut self) {
        let before = self.0.bounds.in_flight.fetch_sub(1, Ordering::Relaxed);
        self.0.metrics.set(MetricId::InFlight, (before.saturating_sub(1)) as u64);
    }
}

/// A body that is being read, until this is dropped.
pub(crate) struct UnfinishedBody<'s>(&'s ServerState);

impl<'s> UnfinishedBody<'s> {
    /// Begins to read a body, unless too many are being read and none of them is slow enough to make room.
    pub(crate) fn begin(state: &'s ServerState) -> Option<Self> {
        let before = state.bounds.unfinished_bodies.fetch_add(1, Ordering::Relaxed);
        let body = Self(state);
        if before < MAX_UNFINISHED_BODIES {
            return Some(body);
        }
        if state.connections.evict_slowest_body() {
            state.metrics.count(MetricId::ConnectionsEvicted);
            return Some(body);
        }
        state.metrics.overloaded(OverloadReason::InFlight);
        None
    }
}

impl Drop for UnfinishedBody<'_> {
    fn drop(&mut self) {
        self.0.bounds.unfinished_bodies.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Memory of a body, given back when it is dropped.
pub(crate) struct BodyPermit {
    state: Arc<ServerState>,
    bytes: usize,
}

impl BodyPermit {
    pub(crate) fn new(state: &Arc<ServerState>) -> Self {
        Self { state: Arc::clone(state), bytes: 0 }
    }

    /// Takes room for `bytes` more, if there is any.
    #[must_use]
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let bounds = &self.state.bounds;
        let (begun, before) = split_body_bytes(self.bytes);
        self.bytes += bytes;
        let (beginning, rest) = split_body_bytes(self.bytes);
        let (beginning, rest) = (beginning - begun, rest - before);
        let beginnings = bounds.beginnings.fetch_add(beginning, Ordering::Relaxed).saturating_add(beginning);
        let bodies = bounds.bodies.fetch_add(rest, Ordering::Relaxed).saturating_add(rest);
        let fits = beginnings <= MAX_BODY_HEADS_BYTES && (rest == 0 || bodies <= MAX_BODIES_BYTES);
        if !fits {
            self.state.metrics.overloaded(OverloadReason::Memory);
        }
        fits
    }
}

impl Drop for BodyPermit {
    fn drop(&mut self) {
        let (beginning, rest) = split_body_bytes(self.bytes);
        self.state.bounds.beginnings.fetch_sub(beginning, Ordering::Relaxed);
        self.state.bounds.bodies.fetch_sub(rest, Ordering::Relaxed);
    }
}

/// Returns how much of a body of `bytes` is its beginning, and how much the rest.
fn split_body_bytes(bytes: usize) -> (usize, usize) {
    let beginning = bytes.min(BODY_HEAD_BYTES);
    (beginning, bytes - beginning)
}

/// Memory of a body that is read into values, given back when it is dropped.
pub(crate) struct MemoryPermit {
    state: Arc<ServerState>,
    bytes: usize,
}

impl MemoryPermit {
    /// Takes what `body` needs, as soon as others have given back enough; nothing if that is not before `deadline`.
    pub(crate) async fn take(state: &Arc<ServerState>, body: &[u8], deadline: Instant) -> Option<Self> {
        let bytes = estimate_memory(body).min(MAX_PARSED_BYTES);
        loop {
            let freed = state.bounds.memory_freed.notified();
            if state.bounds.try_take_memory(bytes) {
                return Some(Self { state: Arc::clone(state), bytes });
            }
            // Every waiter tries when memory is freed, so that a small request does not queue behind a large one.
            if tokio::time::timeout_at(deadline.into(), freed).await.is_err() {
                state.metrics.overloaded(OverloadReason::Memory);
                return None;
            }
        }
    }
}

impl Drop for MemoryPermit {
    fn drop(&mut self) {
        self.state.bounds.memory.fetch_sub(self.bytes, Ordering::Relaxed);
        self.state.bounds.memory_freed.notify_waiters();
    }
}

impl Bounds {
    fn try_take_memory(&self, bytes: usize) -> bool {
        let more = |taken: usize| Some(taken + bytes).filter(|taken| *taken <= MAX_PARSED_BYTES);
        self.memory.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }
}

/// Returns what `body`, which is JSON, needs in memory when it is read: its texts, and its values.
fn estimate_memory(body: &[u8]) -> usize {
    let (mut values, mut is_text, mut is_escaped) = (0_usize, false, false);
    for byte in body {
        match (is_text, byte) {
            (true, _) if is_escaped => is_escaped = false,
            (true, b'\\') => is_escaped = true,
            (_, b'"') => is_text = !is_text,
            (false, b'{' | b'[' | b',') => values += 1,
            _ => {}
        }
    }
    body.len() * 2 + values * BYTES_PER_VALUE
}

/// Bytes of an answer that waits to be taken, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct ResponsePermit {
    state: Arc<ServerState>,
    bytes: usize,
}

impl ResponsePermit {
    /// Takes room for an answer of `bytes`. Short ones need none.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn take(state: &Arc<ServerState>, bytes: usize) -> Result<Option<Self>, ()> {
        if bytes <= SHORT_RESPONSE_BYTES {
            return Ok(None);
        }
        let before = state.bounds.answers.fetch_add(bytes, Ordering::Relaxed);
        let room = Self { state: Arc::clone(state), bytes };
        // The first answer is given whatever its size.
        if before > 0 && before.saturating_add(bytes) > MAX_RESPONSES_BYTES {
            state.metrics.overloaded(OverloadReason::Memory);
            // A client that does not read its answer is evicted for those that do.
            if !state.connections.evict_slowest_reader() {
                return Err(());
            }
        }
        Ok(Some(room))
    }
}

impl Drop for ResponsePermit {
    fn drop(&mut self) {
        self.state.bounds.answers.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
