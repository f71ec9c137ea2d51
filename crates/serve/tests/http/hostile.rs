//! Clients that send too much, too slowly, or nonsense.

use std::time::{Duration, Instant};

use bytes::Bytes;
use kubewright_engine::AdmissionPhase;
use kubewright_serve::Snapshot;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::programs::rule;
use crate::server::{Client, Running, review};

const MAP: &str = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m","namespace":"shop"}}"#;
const JOB: &str = r#"{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j","namespace":"shop"}}"#;

fn quiet() -> Running {
    Running::start(Snapshot::of_rules(AdmissionPhase::Validating, Vec::new(), 1), |_| {})
}

#[track_caller]
fn still_answers(server: &Running) {
    assert!(server.post("/validate", review("CREATE", MAP)).is_allowed());
}

#[track_caller]
fn check(
    server: &Running,
    (method, path): (&str, &str),
    content_type: Option<&str>,
    body: &Bytes,
    want: u16,
) {
    for protocol in [&b"h2"[..], b"http/1.1"] {
        let status = server.runtime.block_on(async {
            let mut client = server.client(protocol).await;
            client.send(method, path, content_type, body.clone()).await.map(|answer| answer.status)
        });
        // With HTTP/1.1 the server may hang up on who goes on sending.
        let is_cut = protocol == b"http/1.1" && want == 413 && status.is_err();
        assert!(is_cut || status.as_ref().ok() == Some(&want), "{method} {path}: {status:?}, not {want}");
    }
}

#[test]
fn what_cannot_be_a_review_is_told_so_at_once() {
    let server = quiet();
    let json = Some("application/json");
    let body = || Bytes::from(review("CREATE", MAP));
    check(&server, ("POST", "/validate"), json, &body(), 200);
    check(&server, ("POST", "/validate"), Some("application/json; charset=utf-8"), &body(), 200);
    check(&server, ("POST", "/validate"), Some("text/plain"), &body(), 415);
    check(&server, ("POST", "/validate"), None, &body(), 415);
    check(&server, ("POST", "/validate"), json, &Bytes::new(), 400);
    check(&server, ("POST", "/validate"), json, &Bytes::from_static(b"\xff\xfe"), 400);
    check(&server, ("GET", "/validate"), json, &Bytes::new(), 405);
    check(&server, ("POST", "/nothing"), json, &body(), 404);
    check(&server, ("POST", "/validate/../mutate"), json, &body(), 404);
    check(&server, ("POST", "/validate/own/gone"), json, &body(), 200);
    check(&server, ("POST", "/validate"), json, &Bytes::from(vec![b' '; (7 << 20) + 1]), 413);
    let large = format!("{}{}", " ".repeat(6 << 20), review("CREATE", MAP));
    check(&server, ("POST", "/validate"), json, &Bytes::from(large), 200);
}

#[test]
fn a_body_without_a_length_is_counted_while_it_is_read() {
    let server = quiet();
    let answer = server.runtime.block_on(async {
        let mut stream = server.tls(b"http/1.1").await.expect("a connection");
        let head = "POST /validate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
        stream.write_all(head.as_bytes()).await.expect("a head");
        let chunk = format!("{:x}\r\n{}\r\n", 1 << 20, " ".repeat(1 << 20));
        for _ in 0..9 {
            if stream.write_all(chunk.as_bytes()).await.is_err() {
                break;
            }
        }
        let mut answer = vec![0; 64];
        let length = stream.read(&mut answer).await.unwrap_or(0);
        String::from_utf8_lossy(answer.get(..length).unwrap_or_default()).into_owned()
    });
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    still_answers(&server);
}

#[test]
fn slow_heads_bodies_and_handshakes_are_cut_off() {
    let server = quiet();
    let (head, body, handshake, silent) = server.runtime.block_on(async {
        let head = async {
            let mut stream = server.tls(b"http/1.1").await.expect("a connection");
            stream.write_all(b"POST /validate HTTP/1.1\r\nhost: x\r\n").await.expect("half a head");
            end_of(&mut stream).await
        };
        let body = async {
            let mut stream = server.tls(b"http/1.1").await.expect("a connection");
            let head = "POST /validate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{";
            stream.write_all(head.as_bytes()).await.expect("a head");
            end_of(&mut stream).await
        };
        let handshake = async {
            let mut stream = tokio::net::TcpStream::connect(server.address).await.expect("a connection");
            end_of(&mut stream).await
        };
        let silent = async {
            let mut stream = server.tls(b"h2").await.expect("a connection");
            end_of(&mut stream).await
        };
        tokio::join!(head, body, handshake, silent)
    });
    let within = |(time, _): &(Duration, String), from: u64, to: u64| {
        assert!((Duration::from_secs(from)..Duration::from_secs(to)).contains(time), "{time:?}");
    };
    within(&head, 4, 20);
    within(&handshake, 4, 20);
    within(&body, 2, 9);
    assert!(body.1.contains("408"), "{}", body.1);
    within(&silent, 9, 29);
    still_answers(&server);
}

/// Reads until the other side hangs up; returns how long that took, and what it said.
async fn end_of(stream: &mut (impl tokio::io::AsyncRead + Unpin)) -> (Duration, String) {
    let begun = Instant::now();
    let mut said = Vec::new();
    let mut buffer = [0; 1024];
    while let Ok(Ok(length @ 1..)) =
        tokio::time::timeout(Duration::from_secs(30), stream.read(&mut buffer)).await
    {
        said.extend(buffer.iter().take(length));
        if said.windows(4).any(|four| four == b" 408") {
            break;
        }
    }
    (begun.elapsed(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn more_reviews_than_may_be_under_way_are_refused_at_once() {
    let server = Running::start(
        Snapshot::of_rules(AdmissionPhase::Validating, vec![rule("sleeps", "Job")], 1),
        |state| {
            state.settings.max_in_flight = 2;
            *state = kubewright_serve::ServerState::new(state.settings.clone(), state.notices.clone());
        },
    );
    let (statuses, retry) = server.runtime.block_on(async {
        let Client::Two(sender) = server.client(b"h2").await else { unreachable!("HTTP/2 was asked for") };
        let mut reviews = tokio::task::JoinSet::new();
        for _ in 0..20 {
            let mut client = Client::Two(sender.clone());
            reviews.spawn(async move {
                let begun = Instant::now();
                let answer = client.post("/validate?timeout=30s", review("CREATE", JOB)).await;
                (answer.status, answer.headers.get("retry-after").is_some(), begun.elapsed())
            });
        }
        let answers = reviews.join_all().await;
        let statuses: Vec<u16> = answers.iter().map(|(status, ..)| *status).collect();
        let refused: Vec<_> = answers.into_iter().filter(|(status, ..)| *status == 429).collect();
        (statuses, refused)
    });
    assert!(statuses.contains(&200) && !retry.is_empty(), "{statuses:?}");
    for (_, has_retry, time) in retry {
        assert!(has_retry && time < Duration::from_secs(1), "{time:?}");
    }
    assert!(server.metric("kubewright_rejected_overload_total{reason=\"in_flight\"}") > 0.5);
    still_answers(&server);
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const SETTINGS: u8 = 4;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const CONTINUATION: u8 = 9;
const END_HEADERS: u8 = 4;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a short payload").to_be_bytes();
    let mut frame: Vec<u8> = length.into_iter().skip(1).collect();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// `POST https://localhost/validate`, as HPACK writes it with its static table alone.
fn request_head() -> Vec<u8> {
    let mut head = vec![0x83, 0x87];
    for (index, value) in [(4_u8, "/validate"), (1, "localhost"), (31, "application/json")] {
        // Literal without indexing; an index over 14 takes a second byte.
        match index {
            31 => head.extend([0x0f, 31 - 15]),
            index => head.push(index),
        }
        head.push(u8::try_from(value.len()).expect("short"));
        head.extend(value.as_bytes());
    }
    head
}

#[test]
fn streams_that_are_reset_as_soon_as_they_are_opened_end_the_connection_and_nothing_else() {
    let server = quiet();
    let was_cut = server.runtime.block_on(async {
        let mut stream = server.tls(b"h2").await.expect("a connection");
        stream.write_all(PREFACE).await.expect("a preface");
        stream.write_all(&frame(SETTINGS, 0, 0, &[])).await.expect("settings");
        let head = request_head();
        let cancel = 8_u32.to_be_bytes();
        for number in 0..20_000_u32 {
            let id = 2 * number + 1;
            let mut both = frame(HEADERS, END_HEADERS, id, &head);
            both.extend(frame(RST_STREAM, 0, id, &cancel));
            if stream.write_all(&both).await.is_err() {
                return true;
            }
        }
        // What was said is read; the end comes after it.
        matches!(tokio::time::timeout(Duration::from_secs(5), drained(&mut stream)).await, Ok(()))
    });
    assert!(was_cut, "twenty thousand resets were put up with");
    still_answers(&server);
    assert!(server.metric("kubewright_in_flight") < 0.5);
}

#[test]
fn headers_without_an_end_are_not_collected_for_ever() {
    let server = quiet();
    let was_cut = server.runtime.block_on(async {
        let mut stream = server.tls(b"h2").await.expect("a connection");
        stream.write_all(PREFACE).await.expect("a preface");
        stream.write_all(&frame(SETTINGS, 0, 0, &[])).await.expect("settings");
        stream.write_all(&frame(HEADERS, 0, 1, &request_head())).await.expect("a head");
        // `a: aaaa…`, again and again: at most 64 MiB of them.
        let mut field = vec![0x00, 1, b'a', 126];
        field.extend([b'a'; 126]);
        let payload = field.repeat(120);
        for _ in 0..4096 {
            if stream.write_all(&frame(CONTINUATION, 0, 1, &payload)).await.is_err() {
                return true;
            }
        }
        matches!(tokio::time::timeout(Duration::from_secs(5), drained(&mut stream)).await, Ok(()))
    });
    assert!(was_cut, "64 MiB of headers were put up with");
    still_answers(&server);
}

async fn drained(stream: &mut (impl tokio::io::AsyncRead + Unpin)) {
    let mut buffer = [0; 4096];
    while let Ok(1..) = stream.read(&mut buffer).await {}
}

#[test]
fn many_large_bodies_at_once_do_not_take_all_memory() {
    let server = quiet();
    // Values cost many times what their text does.
    let body = Bytes::from(format!("{{\"kind\":\"AdmissionReview\",\"x\":[{}0]}}", "{},".repeat(900_000)));
    let statuses = server.runtime.block_on(async {
        let mut reviews = tokio::task::JoinSet::new();
        for _ in 0..24 {
            let Client::Two(sender) = server.client(b"h2").await else {
                unreachable!("HTTP/2 was asked for")
            };
            let body = body.clone();
            reviews.spawn(async move { Client::Two(sender).post("/validate", body).await.status });
        }
        reviews.join_all().await
    });
    assert!(statuses.iter().all(|status| matches!(status, 400 | 429)), "{statuses:?}");
    still_answers(&server);
}

#[test]
fn slow_large_bodies_do_not_block_small_ones() {
    let server = quiet();
    let held = server.runtime.block_on(async {
        let mut held = Vec::new();
        for _ in 0..8 {
            let mut stream = server.tls(b"http/1.1").await.expect("a connection");
            let head = "POST /validate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 7000000\r\n\r\n";
            stream.write_all(head.as_bytes()).await.expect("a head");
            // Those for whom there is no room are cut off while they send.
            let _ = stream.write_all(&vec![b' '; 6_900_000]).await;
            held.push(stream);
        }
        held
    });
    assert!(server.metric("kubewright_rejected_overload_total{reason=\"memory\"}") > 0.5);
    still_answers(&server);
    drop(held);
}

#[test]
fn tls_12_is_spoken_only_where_the_operator_wants_it() {
    for allows in [false, true] {
        let server = Running::start(Snapshot::of_rules(AdmissionPhase::Validating, Vec::new(), 1), |state| {
            state.settings.allows_tls12 = allows;
        });
        let connected = server.runtime.block_on(server.tls_of(b"h2", &rustls::version::TLS12)).is_ok();
        assert_eq!(connected, allows);
        still_answers(&server);
    }
}
