use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

use super::serve_allow_all;
use crate::{LoadClient, LoadTarget, RequestOutcome, Reviews, at_rate};

const POD: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"}}"#;

fn started() -> (Runtime, Arc<LoadClient>) {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
    let address = listener.local_addr().expect("an address");
    let (sender, receiver) = channel();
    runtime.spawn(serve_allow_all(listener, move |certificate| {
        sender.send(certificate.to_owned()).map_err(std::io::Error::other)
    }));
    let authorities = receiver.recv().expect("a certificate");
    let client = LoadClient::new(LoadTarget { address, authorities, token: None }, 2).expect("a client");
    (runtime, Arc::new(client))
}

/// Sends 50 reviews that should be answered as `is_allowed` and returns how many were not.
fn wrong(is_allowed: bool) -> usize {
    let (runtime, client) = started();
    let reviews = Arc::new(Reviews::of_pod(POD, "shop", is_allowed));
    let run = at_rate(
        runtime.handle(),
        500.0,
        |due| due < Duration::from_millis(100),
        |number| {
            let (client, reviews) = (Arc::clone(&client), Arc::clone(&reviews));
            async move {
                let (id, body) = reviews.get(number);
                reviews.judge(&id, client.post("/validate", body, Duration::from_secs(5)).await)
            }
        },
    );
    assert_eq!(run.samples.len(), 50);
    run.wrong().count()
}

#[test]
fn every_review_is_answered_with_its_own_id_and_allowed() {
    assert_eq!(wrong(true), 0);
}

#[test]
fn an_answer_that_was_not_expected_is_wrong() {
    assert_eq!(wrong(false), 50);
}

#[test]
fn a_server_that_is_not_trusted_is_not_asked() {
    let (runtime, client) = started();
    let other = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).expect("a certificate");
    let target = LoadTarget { authorities: other.cert.pem(), ..client.target().clone() };
    let client = LoadClient::new(target, 1).expect("a client");
    let outcome = runtime.block_on(async {
        let reviews = Reviews::of_pod(POD, "shop", true);
        let (id, body) = reviews.get(0);
        reviews.judge(&id, client.post("/validate", body, Duration::from_secs(5)).await)
    });
    let RequestOutcome::Wrong(reason) = outcome else { panic!("{outcome:?}") };
    assert!(reason.contains("certificate"), "{reason}");
}
