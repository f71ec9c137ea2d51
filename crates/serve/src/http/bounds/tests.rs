use std::ops::Range;

use tokio::sync::mpsc;

use super::*;
use crate::ServeSettings;

#[test]
fn who_comes_while_too_many_wait_makes_way_and_the_last_do_not() {
    let (notices, _told) = mpsc::channel(1);
    let state =
        Arc::new(ServerState::new(ServeSettings { max_in_flight: 2, ..ServeSettings::default() }, notices));
    let arrival = || Arrival { at: Instant::now(), begun: 0 };
    let waiting: Vec<QueuedRequest> = (0..4).map(|_| QueuedRequest::begin(&state, arrival())).collect();
    let turned_away: Vec<bool> = waiting.into_iter().map(|request| request.end(Instant::now())).collect();
    assert_eq!(turned_away, [true, true, false, false]);
    let gone = QueuedRequest::begin(&state, arrival());
    drop(gone);
    assert_eq!(state.bounds.waiting.load(Ordering::Relaxed), 0);
}

/// A server of which 80 requests may wait, asked whether one makes way.
struct TestQueue(Bounds, Instant);

impl TestQueue {
    fn new() -> Self {
        Self(Bounds::new(80), Instant::now())
    }

    /// Begins ten requests in each millisecond of `begun`, which came so many milliseconds before it and had as many ahead
    /// of them; returns how many of them make way.
    fn begin(&self, begun: Range<u64>, waited: u64, ahead: u64) -> usize {
        let each = begun.flat_map(|begun| std::iter::repeat_n(begun, 10));
        each.filter(|begun| self.makes_way(*begun, waited, ahead)).count()
    }

    fn makes_way(&self, begun: u64, waited: u64, ahead: u64) -> bool {
        let now = self.1 + Duration::from_millis(1_000 + begun);
        let before = self.0.begun.fetch_add(ahead, Ordering::Relaxed);
        self.0.makes_way(&Arrival { at: now - Duration::from_millis(waited), begun: before }, now)
    }
}

#[test]
fn who_waited_long_makes_way_where_the_queue_stays_long() {
    let queue = TestQueue::new();
    assert_eq!(queue.begin(0..500, 30, 70), 0, "they wait, and not too many do");
    assert_eq!(queue.begin(500..545, 30, 150), 0, "the queue is too long for a moment");
    assert_eq!(queue.begin(545..610, 5, 150), 0, "they are soon begun");
    assert_eq!(queue.begin(610..700, 30, 150), 900, "the queue stays too long");
    assert_eq!(queue.begin(700..710, 30, 40), 0, "they were among the first");
    assert_eq!(queue.begin(710..720, 30, 70), 100, "it is not much shorter");
    assert_eq!(queue.begin(720..900, 5, 20), 0, "it is short");
    assert_eq!(queue.begin(900..945, 30, 150), 0, "the next queue begins");
}

#[test]
fn a_queue_that_lets_some_pass_is_still_one() {
    let queue = TestQueue::new();
    let begin = |begun: u64| queue.begin(begun..begun + 1, 0, 0) + queue.begin(begun..begun + 1, 30, 200);
    assert_eq!((0..45).map(begin).sum::<usize>(), 0);
    assert!((45..400).map(begin).sum::<usize>() > 1_000);
}

#[test]
fn a_connection_that_waits_alone_is_no_queue() {
    let queue = TestQueue::new();
    let makes_way = |begun: u64| match begun % 8 {
        0 => queue.makes_way(begun, 500, 10_000),
        _ => queue.makes_way(begun, 0, 10),
    };
    assert_eq!((0..3_000).filter(|begun| makes_way(*begun)).count(), 0);
}

#[test]
fn requests_of_clients_that_wait_for_answers_do_not_make_way_for_ever() {
    let queue = TestQueue::new();
    assert!(queue.begin(0..400, 30, 150) > 0);
    assert!(queue.begin(400..700, 30, 79) < 2_500, "no more than may wait");
    assert_eq!(queue.begin(700..2_000, 30, 79), 0);
}

#[test]
fn a_pause_refuses_nobody() {
    let queue = TestQueue::new();
    for begun in (0..10_000).step_by(1_000) {
        assert_eq!(queue.begin(begun..begun + 40, 500, 200), 0, "those that came before it");
        assert_eq!(queue.begin(begun + 40..begun + 200, 0, 0), 0, "the others");
    }
    assert_eq!(queue.begin(20_000..20_040, 500, 200), 0);
    assert_eq!(queue.begin(30_000..30_040, 500, 200), 0, "the last ones are long ago");
}

#[tokio::test]
async fn what_large_bodies_need_is_bounded_together_and_a_light_one_passes_a_heavy_one() {
    let (notices, _told) = mpsc::channel(1);
    let state = Arc::new(ServerState::new(ServeSettings::default(), notices));
    let body = |values: usize| format!("[{}0]", "0,".repeat(values));
    let soon = || Instant::now() + std::time::Duration::from_millis(50);
    let half = MAX_PARSED_BYTES / BYTES_PER_VALUE / 2;
    let first = MemoryPermit::take(&state, body(half).as_bytes(), soon()).await;
    assert!(first.is_some());
    // The heaviest takes everything, so it must wait; meanwhile a light one is taken.
    assert!(MemoryPermit::take(&state, body(10 * half).as_bytes(), soon()).await.is_none());
    assert!(MemoryPermit::take(&state, body(half / 4).as_bytes(), soon()).await.is_some());
    drop(first);
    assert!(MemoryPermit::take(&state, body(10 * half).as_bytes(), soon()).await.is_some());
    assert_eq!(state.bounds.memory.load(Ordering::Relaxed), 0);
}

#[test]
fn texts_weigh_little_and_values_much() {
    assert_eq!(estimate_memory(br#"{"a":"[{,,,\"[,"}"#), 17 * 2 + BYTES_PER_VALUE);
    assert_eq!(estimate_memory(b"[[],{},1]"), 9 * 2 + 5 * BYTES_PER_VALUE);
}
