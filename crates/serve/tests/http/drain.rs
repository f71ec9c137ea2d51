//! Stopping without losing an answer.

use std::time::{Duration, Instant};

use kubewright_engine::AdmissionPhase;
use kubewright_serve::Snapshot;

use crate::programs::rule;
use crate::server::{Running, review};

const JOB: &str = r#"{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j","namespace":"shop"}}"#;

fn sleepy() -> Running {
    Running::start(Snapshot::of_rules(AdmissionPhase::Validating, vec![rule("sleeps", "Job")], 1), |state| {
        state.settings.drain = Duration::from_millis(1_000);
    })
}

#[test]
fn readiness_goes_first_and_reviews_are_answered_until_the_end_of_the_drain() {
    let mut server = sleepy();
    assert_eq!(server.get_health("/readyz").status, 200);
    let begun = Instant::now();
    server.stop();
    crate::server::wait_until("not ready", || server.get_health("/readyz").status == 503);
    assert!(begun.elapsed() < Duration::from_millis(700), "{:?}", begun.elapsed());
    // New connections too: not everybody has heard yet.
    assert!(server.post("/validate", review("CREATE", JOB)).is_allowed());
    let ended = server.ended.take().expect("an end");
    server
        .runtime
        .block_on(async { tokio::time::timeout(Duration::from_secs(10), ended).await })
        .expect("in time")
        .expect("an end");
    assert!(begun.elapsed() >= Duration::from_secs(1));
    assert!(server.runtime.block_on(server.tls(b"h2")).is_err(), "the port is closed");
}

#[test]
fn nothing_that_was_asked_is_lost_when_connections_are_closed() {
    let mut server = sleepy();
    let ended = server.ended.take().expect("an end");
    let runtime = std::mem::replace(&mut server.runtime, tokio::runtime::Runtime::new().expect("threads"));
    let (asked, answered) = runtime.block_on(async {
        let mut client = server.client(b"h2").await;
        let mut one = server.client(b"http/1.1").await;
        let one = tokio::spawn(async move {
            // Until an answer says that it is the last.
            loop {
                let answer = one.post("/validate", review("CREATE", JOB)).await;
                if !answer.is_allowed() || answer.headers.contains_key("connection") {
                    break answer.is_allowed();
                }
            }
        });
        server.stop();
        let (mut asked, mut answered) = (0, 0);
        let mut ended = std::pin::pin!(ended);
        // Until the server says that it takes no more on this connection, every review has an answer.
        loop {
            let sent = tokio::select! {
                sent = client.send("POST", "/validate", Some("application/json"), review("CREATE", JOB).into()) => sent,
                _ = ended.as_mut() => break,
            };
            match sent {
                Ok(answer) => {
                    asked += 1;
                    answered += usize::from(answer.is_allowed());
                }
                // Only a connection that was said to be closed refuses, before anything was sent.
                Err(error) => {
                    assert!(error.is_canceled() || error.is_closed() || error.is_user(), "{error:?}");
                    break;
                }
            }
        }
        assert!(one.await.expect("answers"));
        (asked, answered)
    });
    assert!(asked >= 1, "{asked}");
    assert_eq!(asked, answered);
}
