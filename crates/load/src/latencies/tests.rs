use std::time::Duration;

use super::Latencies;

/// Ranks the milliseconds from 1 to `count`, given in descending order.
#[track_caller]
fn check(count: u64, share: f64, want: u64) {
    let latencies = Latencies::new((1..=count).rev().map(Duration::from_millis).collect());
    assert_eq!(latencies.at(share), Duration::from_millis(want), "{share} of {count}");
}

#[test]
fn a_rank_is_the_smallest_time_that_is_enough_for_the_share() {
    check(100, 0.5, 50);
    check(100, 0.99, 99);
    check(100, 1.0, 100);
    check(101, 0.99, 100);
    check(1, 0.5, 1);
    check(3, 0.0, 1);
}

#[test]
fn nothing_took_no_time() {
    check(0, 0.99, 0);
}
