use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use super::{RequestOutcome, at_rate, by_as_many_as};

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
}

#[test]
fn a_server_that_stalls_once_delays_all_that_should_have_left_meanwhile() {
    let runtime = runtime();
    // The first request blocks the only worker for 200 ms: a hundred others were due by then.
    let run = at_rate(
        runtime.handle(),
        1_000.0,
        |due| due < Duration::from_millis(100),
        |number| async move {
            if number == 0 {
                std::thread::sleep(Duration::from_millis(200));
            }
            RequestOutcome::Right
        },
    );
    assert_eq!(run.samples.len(), 100);
    assert!(run.latencies().at(0.01) >= Duration::from_millis(100), "{:?}", run.latencies());
}

#[test]
fn as_many_are_under_way_as_may_be() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (now_of_run, most_of_run) = (Arc::clone(&now), Arc::clone(&most));
    let run = by_as_many_as(runtime().handle(), 4, Duration::from_millis(50), move |_| {
        let (now, most) = (Arc::clone(&now_of_run), Arc::clone(&most_of_run));
        async move {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(5)).await;
            now.fetch_sub(1, Ordering::SeqCst);
            RequestOutcome::Right
        }
    });
    assert_eq!((most.load(Ordering::SeqCst), now.load(Ordering::SeqCst)), (4, 0));
    assert!(run.samples.len() > 4, "{}", run.samples.len());
}

#[test]
fn what_went_wrong_is_told_with_its_reason() {
    let runtime = runtime();
    let run = at_rate(
        runtime.handle(),
        1_000.0,
        |due| due < Duration::from_millis(4),
        |number| async move {
            match number % 4 {
                0 => RequestOutcome::Wrong("broken".to_owned()),
                1 => RequestOutcome::Refused,
                _ => RequestOutcome::Right,
            }
        },
    );
    assert_eq!(run.wrong().map(|(_, reason)| reason).collect::<Vec<_>>(), ["broken"]);
    assert_eq!(run.refusals().count(), 1);
}
