use tokio::sync::mpsc;

use super::*;
use crate::Settings;

#[test]
fn who_comes_while_too_many_wait_makes_way_and_the_last_do_not() {
    let (notices, _told) = mpsc::channel(1);
    let state = Arc::new(State::new(Settings { max_in_flight: 2, ..Settings::default() }, notices));
    let waiting: Vec<Waiting> = (0..4).map(|_| Waiting::begin(&state)).collect();
    let turned_away: Vec<bool> = waiting.into_iter().map(Waiting::end).collect();
    assert_eq!(turned_away, [true, true, false, false]);
    let gone = Waiting::begin(&state);
    drop(gone);
    assert_eq!(state.bounds.waiting.load(Ordering::Relaxed), 0);
}
