use tokio::sync::mpsc;

use super::*;
use crate::ServeSettings;

#[test]
fn who_comes_while_too_many_wait_makes_way_and_the_last_do_not() {
    let (notices, _told) = mpsc::channel(1);
    let state =
        Arc::new(ServerState::new(ServeSettings { max_in_flight: 2, ..ServeSettings::default() }, notices));
    let waiting: Vec<QueuedRequest> = (0..4).map(|_| QueuedRequest::begin(&state)).collect();
    let turned_away: Vec<bool> = waiting.into_iter().map(QueuedRequest::end).collect();
    assert_eq!(turned_away, [true, true, false, false]);
    let gone = QueuedRequest::begin(&state);
    drop(gone);
    assert_eq!(state.bounds.waiting.load(Ordering::Relaxed), 0);
}

#[test]
fn who_waited_long_makes_way_where_the_queue_stays_long() {
    let bounds = Bounds::new(80);
    let millis = Duration::from_millis;
    bounds.waiting.store(50, Ordering::Relaxed);
    assert!(!bounds.makes_way(millis(1_000), millis(1_005)), "it waited for a moment");
    assert!(!bounds.makes_way(millis(1_001), millis(1_030)), "the queue is long for a moment");
    assert!(bounds.makes_way(millis(1_480), millis(1_530)), "the queue stays long");
    assert!(!bounds.makes_way(millis(1_530), millis(1_535)), "there is no queue any more");
    assert!(!bounds.makes_way(millis(1_531), millis(1_550)), "the next queue begins");
    bounds.waiting.store(40, Ordering::Relaxed);
    assert!(!bounds.makes_way(millis(1_540), millis(3_000)), "after a pause few wait");
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
