use std::sync::atomic::AtomicUsize;
use std::thread;

use super::*;

/// Counts how often a task is woken.
#[derive(Default)]
struct WokenTask(AtomicUsize);

impl Wake for WokenTask {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn turns() -> (Arc<AtomicU64>, Arc<ConnectionTurns>, Arc<WokenTask>) {
    let begun = Arc::default();
    let turns = ConnectionTurns::new(&begun);
    (begun, turns, Arc::default())
}

#[test]
fn requests_of_a_turn_came_when_their_connection_was_woken() {
    let (begun, turns, task) = turns();
    turns.begin(&Waker::from(Arc::clone(&task)));
    assert!(!turns.end());
    begun.store(7, Ordering::Relaxed);
    let before = Instant::now();
    Waker::from(Arc::clone(&turns)).wake_by_ref();
    thread::sleep(Duration::from_millis(5));
    begun.store(9, Ordering::Relaxed);
    // The first one counts.
    Waker::from(Arc::clone(&turns)).wake_by_ref();
    assert_eq!(task.0.load(Ordering::SeqCst), 1);
    turns.begin(&Waker::from(Arc::clone(&task)));
    let arrival = turns.arrival();
    assert_eq!(arrival.begun, 7);
    assert!(arrival.at >= before && arrival.at.elapsed() >= Duration::from_millis(5), "{arrival:?}");
    assert!(turns.late() >= Duration::from_millis(5));
    turns.go_on();
    assert_eq!(turns.arrival().begun, 9, "it came during the turn");
    assert!(!turns.end());
}

#[test]
fn a_task_that_is_woken_during_its_turn_gets_another_one() {
    let (_, turns, task) = turns();
    let waker = Waker::from(Arc::clone(&turns));
    turns.begin(&Waker::from(Arc::clone(&task)));
    waker.wake_by_ref();
    assert!(turns.end(), "woken after it looked");
    turns.begin(&Waker::from(Arc::clone(&task)));
    waker.wake_by_ref();
    turns.go_on();
    assert!(!turns.end(), "it looked again");
    assert_eq!(task.0.load(Ordering::SeqCst), 0);
    waker.wake();
    assert_eq!(task.0.load(Ordering::SeqCst), 1);
}

#[test]
fn a_connection_is_late_while_it_waits_for_its_turn() {
    let (_, turns, task) = turns();
    assert_eq!(turns.late(), Duration::ZERO);
    turns.begin(&Waker::from(Arc::clone(&task)));
    assert!(!turns.end());
    thread::sleep(Duration::from_millis(5));
    assert_eq!(turns.late(), Duration::ZERO, "there was nothing to read");
    Waker::from(Arc::clone(&turns)).wake();
    assert!(turns.is_waited_for());
    thread::sleep(Duration::from_millis(5));
    assert!(turns.late() >= Duration::from_millis(5));
    turns.begin(&Waker::from(task));
    let late = turns.late();
    assert!(!turns.is_waited_for() && late >= Duration::from_millis(5));
    assert!(!turns.end());
    assert_eq!(turns.late(), late);
}
