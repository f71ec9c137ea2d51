use super::*;

/// Returns connections that are full, the first `count` of which were opened before the others.
fn usages(connections: &ConnectionTable, count: usize) -> Vec<ConnectionSlot<'_>> {
    (0..count)
        .map(|_| {
            std::thread::sleep(Duration::from_millis(3));
            connections.open().0
        })
        .collect()
}

fn ending(connection: &ConnectionSlot<'_>) -> Option<ConnectionEnding> {
    *connection.usage.ending.lock().unwrap()
}

#[test]
fn the_longest_unused_connection_makes_room() {
    let connections = ConnectionTable::new(3);
    let open = usages(&connections, 3);
    // The first asks something, so that the second is the one that was silent for the longest time.
    drop(open[0].usage.begin());
    std::thread::sleep(Duration::from_millis(3));
    let (_new, is_evicted) = connections.open();
    assert!(is_evicted);
    let endings: Vec<_> = open.iter().map(ending).collect();
    assert_eq!(endings, [None, Some(ConnectionEnding::Abrupt), None]);
}

#[test]
fn one_that_was_used_may_finish_and_one_that_we_decide_for_stays() {
    let connections = ConnectionTable::new(20);
    let open = usages(&connections, 20);
    let deciding = open[0].usage.begin();
    deciding.decides();
    for connection in &open[1..] {
        std::thread::sleep(Duration::from_millis(3));
        drop(connection.usage.begin());
    }
    let (_new, _) = connections.open();
    assert_eq!(ending(&open[0]), None);
    assert_eq!(ending(&open[1]), Some(ConnectionEnding::Graceful));
    let closing: Vec<_> = (0..2).map(|_| connections.closing()).collect();
    let (_newer, _) = connections.open();
    assert_eq!(ending(&open[2]), Some(ConnectionEnding::Abrupt), "too many are closing");
    drop(closing);
}

#[test]
fn who_sends_a_body_slowly_makes_room_for_the_bodies_of_others() {
    let connections = ConnectionTable::new(20);
    let open = usages(&connections, 2);
    let _slow = open[0].usage.begin();
    assert!(!connections.evict_slowest_body(), "it has only just begun");
    std::thread::sleep(MIN_STALE_TIME + Duration::from_millis(20));
    let _fresh = open[1].usage.begin();
    assert!(connections.evict_slowest_body());
    assert_eq!([ending(&open[0]), ending(&open[1])], [Some(ConnectionEnding::Abrupt), None]);
}

#[test]
fn connection_ends_after_silence_or_an_unread_answer() {
    let connections = ConnectionTable::new(20);
    let (connection, _) = connections.open();
    let usage = &connection.usage;
    assert!(!usage.is_over(milliseconds_since_start()));
    assert!(usage.is_over(milliseconds_since_start() + 10_100));
    usage.keep_unused();
    assert!(!usage.is_over(milliseconds_since_start() + 91_000), "the API server ends it after 90 s");
    assert!(usage.is_over(milliseconds_since_start() + 120_100));
    let under_way = usage.begin();
    under_way.decides();
    assert!(!usage.is_over(milliseconds_since_start() + 60_000));
    under_way.answers();
    assert!(
        !usage.is_over(milliseconds_since_start() + 10_000)
            && usage.is_over(milliseconds_since_start() + 15_100)
    );
    drop(under_way);
    assert!(!usage.is_over(milliseconds_since_start() + 600_000));
}
