use std::sync::mpsc::channel;

use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

use super::*;
use crate::{LoadAnswer, allow_review, serve_answers};

/// Returns a run of 200 reviews, which each are answered with the status that `status` makes of their number.
fn run_against(
    is_allowed: bool,
    status: impl Fn(&[u8]) -> u16 + Clone + Send + Sync + 'static,
) -> (Runtime, LoadRun) {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
    let address = listener.local_addr().expect("an address");
    let (sender, receiver) = channel();
    let tell = move |certificate: &str| sender.send(certificate.to_owned()).map_err(std::io::Error::other);
    runtime.spawn(serve_answers(listener, tell, move |path, body| {
        let status = if path == "/validate?timeout=10s" { status(&body) } else { 404 };
        async move { LoadAnswer { status, ..allow_review(&body) } }
    }));
    let authorities = receiver.recv().expect("a certificate");
    // Larger than a frame, so that its parts are put together.
    let pod = format!(r#"{{"kind":"Pod","metadata":{{"name":"web","uid":"{}"}}}}"#, "x".repeat(20_000));
    let target = LoadTarget { address, authorities, token: None };
    let reviews = Reviews::of_pod(&pod, "shop", is_allowed);
    let flood = Flood::new(target, "/validate?timeout=10s", reviews, (3, 2)).expect("a generator");
    let run = flood.run(10_000.0, Duration::from_millis(20)).expect("a run");
    (runtime, run)
}

#[test]
fn every_review_is_answered_with_its_own_id() {
    let (_runtime, run) = run_against(true, |_| 200);
    assert_eq!(run.samples.len(), 200);
    assert!(
        run.samples.iter().all(|sample| sample.outcome == RequestOutcome::Right),
        "{:?}",
        run.wrong().next()
    );
    let mut due: Vec<_> = run.samples.iter().map(|sample| sample.due.as_micros()).collect();
    due.sort_unstable();
    assert_eq!(due.last(), Some(&19_900));
    due.dedup();
    assert_eq!(due.len(), 200);
}

#[test]
fn an_answer_that_was_not_expected_is_wrong() {
    let (_runtime, run) = run_against(false, |_| 200);
    assert_eq!(run.wrong().count(), 200);
}

#[test]
fn refusals_and_errors_are_told_apart() {
    // The id ends with the number of the review.
    let status = |body: &[u8]| {
        let text = String::from_utf8_lossy(body);
        let number = text.split("8d4e-").nth(1).and_then(|id| u64::from_str_radix(id.get(..12)?, 16).ok());
        [200, 429, 503, 408][number.unwrap_or_default() as usize % 4]
    };
    let (_runtime, run) = run_against(true, status);
    assert_eq!((run.refusals().count(), run.wrong().count()), (100, 50));
    let reasons: Vec<&str> = run.wrong().map(|(_, reason)| reason).collect();
    assert!(reasons.iter().all(|reason| reason.starts_with("status 408")), "{reasons:?}");
}

#[test]
fn a_server_that_is_not_there_is_an_error() {
    let target = LoadTarget { address: ([127, 0, 0, 1], 1).into(), authorities: String::new(), token: None };
    let flood = Flood::new(target, "/", Reviews::of_pod("{}", "shop", true), (1, 1)).expect("a generator");
    assert!(matches!(flood.run(10.0, Duration::from_millis(1)), Err(LoadError::Connection(_))));
}
