//! Clients that hold connections without using them: others still get theirs.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use kubewright_engine::AdmissionPhase;
use kubewright_serve::{ServeSettings, ServerState, Snapshot};
use tokio::io::AsyncWriteExt as _;

use crate::server::{Running, review};

const MAP: &str = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m","namespace":"shop"}}"#;
const MAX_CONNECTIONS: usize = 60;

fn server() -> Running {
    Running::start(Snapshot::of_rules(AdmissionPhase::Validating, Vec::new(), 1), |state| {
        state.settings.max_connections = MAX_CONNECTIONS;
        *state = ServerState::new(state.settings.clone(), state.notices.clone());
    })
}

/// Asks for `path` as a probe does: anew each time, and not for longer than two seconds.
fn probe(address: SocketAddr, path: &str) -> std::io::Result<String> {
    let limit = Duration::from_secs(2);
    let mut stream = TcpStream::connect_timeout(&address, limit)?;
    stream.set_read_timeout(Some(limit))?;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

#[test]
fn silent_sockets_keep_no_probe_from_its_answer() {
    let server = server();
    for count in [200, 800] {
        let held: Vec<TcpStream> =
            (0..count).map(|_| TcpStream::connect(server.health).expect("a connection")).collect();
        let answers: Vec<_> = (0..10).map(|_| probe(server.health, "/readyz")).collect();
        let ready = |answer: &std::io::Result<String>| {
            answer.as_ref().is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
        };
        assert!(answers.iter().all(ready), "{count}: {answers:?}");
        drop(held);
    }
}

#[test]
fn half_requests_and_readers_who_do_not_read_keep_no_probe_from_its_answer() {
    let server = server();
    let held: Vec<TcpStream> = (0..400)
        .map(|number| {
            let mut stream = TcpStream::connect(server.health).expect("a connection");
            let text = match number % 2 {
                0 => "GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n".repeat(50),
                _ => "GET /readyz HTTP/1.1\r\nhost:".to_owned(),
            };
            let _ = stream.write_all(text.as_bytes());
            stream
        })
        .collect();
    for _ in 0..10 {
        let answer = probe(server.health, "/readyz").expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    drop(held);
}

/// How connections are held.
#[derive(Debug, Clone, Copy)]
enum Crowd {
    /// They never say hello.
    Silent,
    /// They have asked once, and may ask again.
    Idle,
    /// They send a body, byte by byte.
    Dribbling,
}

#[track_caller]
fn check_crowd(crowd: Crowd) {
    assert_eq!(ServeSettings::default().max_connections, 1000);
    let server = server();
    let took = server.runtime.block_on(async {
        let mut held = Vec::new();
        for _ in 0..MAX_CONNECTIONS {
            match crowd {
                Crowd::Silent => {
                    let stream = tokio::net::TcpStream::connect(server.address).await;
                    held.push(tokio::spawn(async move {
                        let _held = stream.expect("a connection");
                        std::future::pending::<()>().await;
                    }));
                }
                Crowd::Idle => {
                    let mut client = server.client(b"h2").await;
                    assert!(client.post("/validate", review("CREATE", MAP)).await.is_allowed());
                    held.push(tokio::spawn(async move {
                        let _held = client;
                        std::future::pending::<()>().await;
                    }));
                }
                Crowd::Dribbling => {
                    let mut stream = server.tls(b"http/1.1").await.expect("a connection");
                    let head = "POST /validate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n";
                    stream.write_all(head.as_bytes()).await.expect("a head");
                    held.push(tokio::spawn(async move {
                        while stream.write_all(b" ").await.is_ok() && stream.flush().await.is_ok() {
                            tokio::time::sleep(Duration::from_millis(100)).await;
                        }
                    }));
                }
            }
        }
        let mut took = Vec::new();
        for _ in 0..5 {
            let begun = Instant::now();
            let answer = server.client(b"h2").await.post("/validate", review("CREATE", MAP)).await;
            assert!(answer.is_allowed());
            took.push(begun.elapsed());
        }
        held.iter().for_each(tokio::task::JoinHandle::abort);
        took
    });
    assert!(took.iter().all(|took| *took < Duration::from_secs(1)), "{crowd:?}: {took:?}");
    assert!(server.metric("kubewright_connections_evicted_total") > 0.5, "{crowd:?}");
}

#[test]
fn new_connection_evicts_idle_ones() {
    check_crowd(Crowd::Silent);
    check_crowd(Crowd::Idle);
    check_crowd(Crowd::Dribbling);
}
