//! What is written into a pod that is bound, when the API server is not at its best.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use kubewright_cluster::{Client, Config};
use kubewright_dialects::DialectOptions;
use kubewright_serve::Snapshot;
use kubewright_serve::binding::{PodBindingResult, review_binding};
use kubewright_value::json;

const POD: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop","annotations":{"ref.kubemod.io/inject-node-ref":"true"}}}"#;

/// An API server that answers a GET with `pod`, and each PATCH with the next of `codes`, the last one for ever. Returns
/// its address and what was sent.
fn api_server(pod: &'static str, codes: &'static [u16]) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let (sender, sent) = channel();
    thread::spawn(move || {
        let mut codes = codes.iter().copied().chain(std::iter::repeat(*codes.last().expect("a code")));
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.expect("a stream"));
            while let Some((line, body)) = request(&mut stream) {
                let is_patch = line.starts_with("PATCH");
                let code = if is_patch { codes.next().unwrap_or(200) } else { 200 };
                let answer = if is_patch && code != 200 { "{}" } else { pod };
                if is_patch && sender.send(body).is_err() {
                    return;
                }
                let head = format!(
                    "HTTP/1.1 {code} x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                    answer.len()
                );
                let _ = stream.get_mut().write_all(format!("{head}{answer}").as_bytes());
            }
        }
    });
    (format!("http://{address}"), sent)
}

fn request(stream: &mut BufReader<TcpStream>) -> Option<(String, String)> {
    let (mut first, mut length) = (String::new(), 0);
    stream.read_line(&mut first).ok().filter(|read| *read > 0)?;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok()?;
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some((first, String::from_utf8(body).ok()?))
}

/// Binds the pod, and returns what became of it and the changes that were sent.
fn bind(pod: &'static str, codes: &'static [u16], dry_run: bool) -> (PodBindingResult, Vec<String>) {
    let (address, sent) = api_server(pod, codes);
    let request = format!(
        r#"{{"uid":"u","operation":"CREATE","namespace":"shop","name":"web","dryRun":{dry_run},
            "object":{{"apiVersion":"v1","kind":"Binding","metadata":{{"name":"web"}},"target":{{"kind":"Node","name":"node-7"}}}}}}"#
    );
    let request = json::parse(&request).expect("json");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let bound = runtime.block_on(async {
        let client = Client::new(Config::at(&address)).expect("a client");
        let snapshot = Snapshot::of(&DialectOptions::default(), &[], &[], 1);
        review_binding(&snapshot, Some(&client), &request, Instant::now() + Duration::from_secs(4)).await
    });
    (bound, sent.try_iter().collect())
}

#[test]
fn binding_annotates_the_pod_with_its_node_under_both_names() {
    let (bound, sent) = bind(POD, &[200], false);
    assert_eq!(bound, PodBindingResult::Annotated);
    let want =
        r#"{"metadata":{"annotations":{"ref.kubemod.io/nodename":"node-7","ref.kubemod.io/node":"node-7"}}}"#;
    assert_eq!(sent, [want]);
}

#[test]
fn a_write_that_meets_another_one_is_tried_again() {
    let (bound, sent) = bind(POD, &[409, 404, 503, 200], false);
    assert_eq!((bound, sent.len()), (PodBindingResult::Annotated, 4));
}

#[test]
fn a_write_that_cannot_succeed_is_given_up_and_the_pod_is_bound_all_the_same() {
    let (bound, sent) = bind(POD, &[403], false);
    assert!(matches!(bound, PodBindingResult::Failed(_)), "{bound:?}");
    assert_eq!(sent.len(), 1);
    let (bound, sent) = bind(POD, &[409], false);
    assert!(matches!(bound, PodBindingResult::Failed(_)), "{bound:?}");
    assert_eq!(sent.len(), 5);
}

#[test]
fn a_dry_run_and_a_pod_that_does_not_ask_are_left_alone() {
    assert_eq!(bind(POD, &[200], true), (PodBindingResult::Unneeded, Vec::new()));
    let silent = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop"}}"#;
    assert_eq!(bind(silent, &[200], false), (PodBindingResult::Unneeded, Vec::new()));
}

#[test]
fn binding_does_not_annotate_a_pod_that_is_already_bound() {
    let bound = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop","annotations":{"ref.kubemod.io/inject-node-ref":"true"}},"spec":{"nodeName":"first"}}"#;
    assert_eq!(bind(bound, &[200], false), (PodBindingResult::Unneeded, Vec::new()));
}
