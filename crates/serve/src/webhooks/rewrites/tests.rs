use super::*;

/// Another client changes the configuration every 100 ms for so many seconds: how often is it restored?
fn fought(seconds: u64) -> usize {
    let (start, mut rewrites, mut count) = (Instant::now(), Rewrites::default(), 0);
    for tick in 0..seconds * 10 {
        let now = start + Duration::from_millis(tick * 100);
        if rewrites.wait(now).is_none() {
            rewrites.add(now);
            count += 1;
        }
    }
    count
}

#[test]
fn five_times_at_once_then_once_a_minute() {
    assert_eq!(fought(1), 5);
    assert_eq!(fought(60), 5);
    assert_eq!(fought(600), 5 + 9);
}

#[test]
fn what_was_long_ago_does_not_count() {
    let (start, mut rewrites) = (Instant::now(), Rewrites::default());
    for minute in 0..20 {
        let now = start + Duration::from_secs(minute * 61);
        assert_eq!(rewrites.wait(now), None);
        rewrites.add(now);
    }
}
