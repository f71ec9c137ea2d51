//! Which connections are open, and which of them goes when there are too many.
//!
//! A new connection is always taken. Where there are as many as may be, the one on which nothing useful has happened for
//! the longest time makes room: one that never asked anything, one that is idle, or one that sends a body or takes an
//! answer slowly. So idle connections cannot keep others from connecting.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// Who connects has something to ask; who asks nothing for so long is closed, except with HTTP/1.1.
const MAX_SILENCE: Duration = Duration::from_secs(10);

/// How long a connection of HTTP/1.1 may be idle, also one on which nothing was asked yet. A request that is on its way when
/// it ends is lost, so that clients are to be the first to end it. Go's, which the API server uses, does so after 90 seconds,
/// and keeps connections that it has made for requests for which another one became free.
pub(crate) const IDLE_TIMEOUT: Duration = Duration::from_secs(120);

/// How long an answer may take to be taken.
const MAX_ANSWER_TIME: Duration = Duration::from_secs(15);

/// How long the head of a request may take to arrive.
const MAX_HEAD_TIME: Duration = Duration::from_secs(5);

/// How often is looked whether one of these is over.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// How long a client must have kept us waiting to be given up for the sake of others.
const MIN_STALE_TIME: Duration = Duration::from_secs(1);

static CONNECTIONS_EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

/// All connections of a port.
#[derive(Debug)]
pub(crate) struct ConnectionTable {
    max: usize,
    next: AtomicU64,
    closing: AtomicUsize,
    open: Mutex<HashMap<u64, Arc<ConnectionUsage>>>,
}

/// A place among the open connections, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionSlot<'c> {
    connections: &'c ConnectionTable,
    id: u64,
    pub(crate) usage: Arc<ConnectionUsage>,
}

/// What is asked on a connection.
#[derive(Debug, Default)]
pub(crate) struct ConnectionUsage {
    has_asked: AtomicBool,
    /// When something was asked or answered last, in milliseconds since [`CONNECTIONS_EPOCH`].
    last: AtomicU64,
    /// The requests under way, each with what is waited for and since when.
    requests: Mutex<Vec<RequestUnderWay>>,
    next: AtomicU64,
    /// What requests take from their beginning to their answer, in nanoseconds, the newest ones counting most.
    average_time: AtomicU64,
    /// When the head of a request began to arrive that is not there yet, as `last`; 0 if there is none.
    head_since: AtomicU64,
    /// Whether it is kept although nothing was asked on it yet.
    is_kept_unused: AtomicBool,
    /// Whether it is to end as soon as nothing is asked on it.
    ends_when_idle: AtomicBool,
    /// How the connection is to end, once it is to.
    ending: Mutex<Option<ConnectionEnding>>,
    ended: Notify,
}

/// A request under way. A connection has few of them, so they are in a list that keeps its memory.
#[derive(Debug, Clone, Copy)]
struct RequestUnderWay {
    id: u64,
    waiting: WaitingFor,
    /// Since when, in milliseconds since [`CONNECTIONS_EPOCH`].
    since: u64,
}

/// What a request under way waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WaitingFor {
    /// The client, who sends the body.
    Body,
    /// Us.
    Decision,
    /// The client, who takes the answer.
    HttpResponse,
}

/// How a connection is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectionEnding {
    /// The other side is told, and may finish what it has begun.
    Graceful,
    /// At once.
    Abrupt,
}

impl ConnectionTable {
    pub(crate) fn new(max: usize) -> Self {
        Self { max, next: AtomicU64::new(0), closing: AtomicUsize::new(0), open: Mutex::default() }
    }

    /// Takes a place, which another connection may have to make; returns also whether one had to.
    pub(crate) fn open(&self) -> (ConnectionSlot<'_>, bool) {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let usage = Arc::new(ConnectionUsage {
            last: AtomicU64::new(milliseconds_since_start()),
            ..ConnectionUsage::default()
        });
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let mut is_evicted = false;
        if open.len() >= self.max
            && let Some(stalest) =
                stalest_connection(&open, |usage| Some(usage.staleness(milliseconds_since_start())))
            && let Some(usage) = open.remove(&stalest)
        {
            // Those that may still finish take a place too; there must not be many.
            let is_full = self.closing.load(Ordering::Relaxed) >= self.max / 10;
            usage.end(if is_full || !usage.is_idle() {
                ConnectionEnding::Abrupt
            } else {
                ConnectionEnding::Graceful
            });
            is_evicted = true;
        }
        open.insert(id, Arc::clone(&usage));
        (ConnectionSlot { connections: self, id, usage }, is_evicted)
    }

    /// Ends the connection whose body is unfinished for the longest time; returns whether there is one.
    pub(crate) fn evict_slowest_body(&self) -> bool {
        self.evict_slowest(WaitingFor::Body)
    }

    /// Ends the connection that has not taken an answer for the longest time; returns whether there is one.
    pub(crate) fn evict_slowest_reader(&self) -> bool {
        self.evict_slowest(WaitingFor::HttpResponse)
    }

    fn evict_slowest(&self, what: WaitingFor) -> bool {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let now = milliseconds_since_start();
        let age = |usage: &ConnectionUsage| usage.oldest(what).map(|since| now.saturating_sub(since));
        let stale =
            |usage: &ConnectionUsage| age(usage).filter(|age| u128::from(*age) >= MIN_STALE_TIME.as_millis());
        let Some(usage) = stalest_connection(&open, stale).and_then(|id| open.remove(&id)) else {
            return false;
        };
        usage.end(ConnectionEnding::Abrupt);
        true
    }

    /// Counts a connection that ends gracefully, until what is returned is dropped.
    pub(crate) fn closing(&self) -> ClosingConnection<'_> {
        self.closing.fetch_add(1, Ordering::Relaxed);
        ClosingConnection(self)
    }
}

fn stalest_connection(
    open: &HashMap<u64, Arc<ConnectionUsage>>,
    staleness: impl Fn(&ConnectionUsage) -> Option<u64>,
) -> Option<u64> {
    let all = open.iter().filter_map(|(id, usage)| Some((staleness(usage)?, std::cmp::Reverse(*id))));
    all.max().map(|(_, std::cmp::Reverse(id))| id)
}

/// A connection that ends gracefully.
pub(crate) struct ClosingConnection<'c>(&'c ConnectionTable);

impl Drop for ClosingConnection<'_> {
    fn drop(&mut self) {
        self.0.closing.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for ConnectionSlot<'_> {
    fn drop(&mut self) {
        let mut open = self.connections.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.remove(&self.id);
    }
}

impl ConnectionUsage {
    /// Something is asked, of which the body comes first.
    pub(crate) fn begin(self: &Arc<Self>) -> RequestGuard {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.has_asked.store(true, Ordering::Relaxed);
        self.head_since.store(0, Ordering::Relaxed);
        let under_way = RequestGuard { usage: Arc::clone(self), id };
        under_way.waits_for(WaitingFor::Body);
        under_way
    }

    /// Returns what the last requests took from their beginning to their answer.
    pub(crate) fn average_time(&self) -> Duration {
        Duration::from_nanos(self.average_time.load(Ordering::Relaxed))
    }

    /// Something has come: the head of a request, if none is under way.
    pub(crate) fn receives(&self) {
        if self.head_since.load(Ordering::Relaxed) == 0 && !self.has_requests() {
            self.head_since.store(milliseconds_since_start().max(1), Ordering::Relaxed);
        }
    }

    pub(crate) fn has_asked(&self) -> bool {
        self.has_asked.load(Ordering::Relaxed)
    }

    pub(crate) fn has_requests(&self) -> bool {
        !self.requests.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Returns how the connection is to end, as soon as it is to.
    pub(crate) async fn ending(&self) -> ConnectionEnding {
        loop {
            let look = tokio::time::timeout(CHECK_INTERVAL, self.ended.notified()).await;
            if let Some(ending) = *self.ending.lock().unwrap_or_else(PoisonError::into_inner) {
                return ending;
            }
            if look.is_err() && self.is_over(milliseconds_since_start()) {
                return ConnectionEnding::Abrupt;
            }
        }
    }

    /// Lets the connection be kept although nothing was asked on it yet.
    pub(crate) fn keep_unused(&self) {
        self.is_kept_unused.store(true, Ordering::Relaxed);
    }

    /// Lets the connection end as soon as no request is on it.
    pub(crate) fn end_when_idle(&self) {
        self.ends_when_idle.store(true, Ordering::Relaxed);
    }

    /// Returns whether it is to end and no request is under way on it, nor the beginning of one.
    pub(crate) fn ends_now(&self) -> bool {
        self.ends_when_idle.load(Ordering::Relaxed)
            && self.head_since.load(Ordering::Relaxed) == 0
            && !self.has_requests()
    }

    fn end(&self, ending: ConnectionEnding) {
        *self.ending.lock().unwrap_or_else(PoisonError::into_inner) = Some(ending);
        self.ended.notify_one();
    }

    /// Returns whether nothing was ever asked, half a request came, or an answer is not taken.
    fn is_over(&self, now: u64) -> bool {
        let is_longer = |since: u64, most: Duration| u128::from(now.saturating_sub(since)) > most.as_millis();
        let head_since = self.head_since.load(Ordering::Relaxed);
        if head_since != 0 && is_longer(head_since, MAX_HEAD_TIME) {
            return true;
        }
        if !self.has_asked() {
            let is_kept = self.is_kept_unused.load(Ordering::Relaxed);
            return is_longer(
                self.last.load(Ordering::Relaxed),
                if is_kept { IDLE_TIMEOUT } else { MAX_SILENCE },
            );
        }
        self.oldest(WaitingFor::HttpResponse).is_some_and(|since| is_longer(since, MAX_ANSWER_TIME))
    }

    fn is_idle(&self) -> bool {
        self.has_asked() && !self.has_requests()
    }

    /// Returns for how many milliseconds we have waited for the other side.
    fn staleness(&self, now: u64) -> u64 {
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let since = match requests.is_empty() {
            true => self.last.load(Ordering::Relaxed),
            // While we decide, it is not the other side that is slow.
            false => {
                let theirs = requests.iter().filter(|request| request.waiting != WaitingFor::Decision);
                theirs.map(|request| request.since).min().unwrap_or(now)
            }
        };
        now.saturating_sub(since)
    }

    fn oldest(&self, what: WaitingFor) -> Option<u64> {
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.iter().filter(|request| request.waiting == what).map(|request| request.since).min()
    }
}

/// A request under way, until this is dropped.
#[derive(Debug)]
pub(crate) struct RequestGuard {
    usage: Arc<ConnectionUsage>,
    id: u64,
}

impl RequestGuard {
    /// The body is there.
    pub(crate) fn decides(&self) {
        self.waits_for(WaitingFor::Decision);
    }

    /// The answer is made.
    pub(crate) fn answers(&self) {
        self.waits_for(WaitingFor::HttpResponse);
    }

    /// The request took `time`.
    pub(crate) fn took(&self, time: Duration) {
        // Two requests that end at once may count as one; it is an average.
        let before = self.usage.average_time.load(Ordering::Relaxed);
        let newest = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.usage.average_time.store(before - before / 4 + newest / 4, Ordering::Relaxed);
    }

    fn waits_for(&self, waiting: WaitingFor) {
        let now = milliseconds_since_start();
        self.usage.last.store(now, Ordering::Relaxed);
        let mut requests = self.usage.requests.lock().unwrap_or_else(PoisonError::into_inner);
        match requests.iter_mut().find(|request| request.id == self.id) {
            Some(request) => (request.waiting, request.since) = (waiting, now),
            None => requests.push(RequestUnderWay { id: self.id, waiting, since: now }),
        }
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.usage.last.store(milliseconds_since_start(), Ordering::Relaxed);
        let mut requests = self.usage.requests.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = requests.iter().position(|request| request.id == self.id) {
            requests.swap_remove(place);
        }
    }
}

fn milliseconds_since_start() -> u64 {
    u64::try_from(CONNECTIONS_EPOCH.elapsed().as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
