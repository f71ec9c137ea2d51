//! Clients that go on asking while the server stops: every request that it was given is answered, and every connection
//! that the system has made for it is served.
//!
//! The API server speaks HTTP/1.1 with webhooks, keeps its connections, and does not repeat a POST of which it has sent
//! something.

use std::io::ErrorKind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use kubewright_engine::AdmissionPhase;
use kubewright_serve::Snapshot;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::server::{Client, Running, review};

const MAP: &str = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m","namespace":"shop"}}"#;
const ONE: &[u8] = b"http/1.1";
const TWO: &[u8] = b"h2";

const DRAIN: Duration = Duration::from_millis(400);

/// Until then after the signal connections are made: afterwards everybody has heard that it is not ready.
const LAST_CONNECTION: Duration = Duration::from_millis(350);

/// How often the server is stopped: what may go wrong does so in a moment.
const STOPS: usize = 5;

fn server() -> Running {
    Running::start(Snapshot::of_rules(AdmissionPhase::Validating, Vec::new(), 1), |state| {
        state.settings.drain = DRAIN;
    })
}

/// How a client asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Habit {
    /// Again and again on one connection, as long as it lasts.
    KeepsConnections,
    /// Each time on a new one.
    ConnectsAnew,
}

/// What became of the requests of all clients.
#[derive(Debug, Default)]
struct Tally {
    answered: AtomicUsize,
    lost: Mutex<Vec<String>>,
    /// When the server was asked to stop.
    stop: Mutex<Option<Instant>>,
}

impl Tally {
    fn may_connect(&self) -> bool {
        self.stop.lock().expect("a lock").is_none_or(|stop| stop.elapsed() < LAST_CONNECTION)
    }

    fn lose(&self, what: String) {
        self.lost.lock().expect("a lock").push(what);
    }

    /// Asks until there is no connection any more.
    async fn ask(&self, server: &Running, protocol: &[u8], habit: Habit) {
        while self.may_connect() {
            let stream = match server.tls(protocol).await {
                Ok(stream) => stream,
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => return,
                Err(error) => return self.lose(format!("{habit:?}: a connection: {error}")),
            };
            let mut client = Client::over(stream, protocol).await;
            loop {
                let body = review("CREATE", MAP).into();
                match client.send("POST", "/validate", Some("application/json"), body).await {
                    Ok(answer) if answer.is_allowed() => drop(self.answered.fetch_add(1, Ordering::Relaxed)),
                    Ok(answer) => self.lose(format!("{answer:?}")),
                    Err(error) if is_unsent(&error) => break,
                    Err(error) => {
                        self.lose(format!("{habit:?}, {}: {error:?}", String::from_utf8_lossy(protocol)));
                        break;
                    }
                }
                if habit == Habit::ConnectsAnew {
                    break;
                }
            }
        }
    }
}

/// Whether the client knows that the server did not begin with the request, and may repeat it.
fn is_unsent(error: &hyper::Error) -> bool {
    let is_told_to_go = format!("{error:?}").contains("NO_ERROR");
    error.is_canceled() || error.is_closed() || is_told_to_go
}

#[test]
fn no_request_is_lost_while_the_server_stops() {
    let (mut answered, mut lost) = (0, Vec::new());
    for _ in 0..STOPS {
        let mut server = server();
        let stop = server.take_stop();
        let tally = Tally::default();
        thread::scope(|scope| {
            for habit in [Habit::KeepsConnections, Habit::ConnectsAnew] {
                for protocol in [ONE, ONE, TWO] {
                    let (server, tally) = (&server, &tally);
                    scope.spawn(move || {
                        let own = tokio::runtime::Builder::new_current_thread().enable_all().build();
                        own.expect("a runtime").block_on(tally.ask(server, protocol, habit));
                    });
                }
            }
            thread::sleep(Duration::from_millis(200));
            *tally.stop.lock().expect("a lock") = Some(Instant::now());
            drop(stop);
        });
        answered += tally.answered.into_inner();
        lost.extend(tally.lost.into_inner().expect("a lock"));
    }
    assert!(answered > 100, "{answered} were answered");
    assert!(lost.is_empty(), "{} were lost, {answered} answered: {lost:#?}", lost.len());
}

/// The threads of the server have something else to do while connections are made and the drain ends, as those of a
/// container whose share of the processor is used up.
#[test]
fn connections_that_wait_to_be_accepted_are_served() {
    let mut server = server();
    let stop = server.take_stop();
    let client = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    client.block_on(async {
        let mut kept = server.client(ONE).await;
        assert!(kept.post("/validate", review("CREATE", MAP)).await.is_allowed());
        drop(stop);
        tokio::time::sleep(DRAIN * 3 / 4).await;
        for _ in 0..2 {
            server.runtime.spawn(async { thread::sleep(DRAIN) });
        }
        tokio::time::sleep(DRAIN / 8).await;
        let mut waiting = tokio::task::JoinSet::new();
        for protocol in [ONE, TWO].repeat(10) {
            let stream = tokio::net::TcpStream::connect(server.address).await.expect("a connection");
            let connecting = server.tls_over(stream, protocol);
            waiting.spawn(async move {
                let mut client = Client::over(connecting.await?, protocol).await;
                let body = review("CREATE", MAP).into();
                match client.send("POST", "/validate", Some("application/json"), body).await {
                    Ok(answer) => Ok::<_, std::io::Error>(answer.is_allowed()),
                    Err(error) => Ok(protocol == TWO && is_unsent(&error)),
                }
            });
        }
        // A request on a connection that was idle so far is as good as one on a new connection.
        let late = kept.post("/validate", review("CREATE", MAP)).await;
        let served = waiting.join_all().await;
        assert!(served.iter().all(|served| matches!(served, Ok(true))), "{served:?}");
        assert!(late.is_allowed());
        assert_eq!(late.headers.get("connection").map(|value| value.as_bytes()), Some(&b"close"[..]));
    });
}

/// The API server keeps connections for 90 seconds, and loses a request that is on its way when the other side ends one.
#[test]
fn an_idle_connection_is_kept_and_half_a_request_is_not() {
    let server = server();
    server.runtime.block_on(async {
        let idle = async {
            let mut client = server.client(ONE).await;
            assert!(client.post("/validate", review("CREATE", MAP)).await.is_allowed());
            tokio::time::sleep(Duration::from_secs(8)).await;
            assert!(client.post("/validate", review("CREATE", MAP)).await.is_allowed());
        };
        // Go keeps connections that it has made for requests for which another one became free.
        let unused = async {
            let mut client = server.client(ONE).await;
            tokio::time::sleep(Duration::from_secs(13)).await;
            assert!(client.post("/validate", review("CREATE", MAP)).await.is_allowed());
        };
        let half = async {
            let mut stream = server.tls(ONE).await.expect("a connection");
            let body = review("CREATE", MAP);
            let length = body.len();
            let head = format!(
                "POST /validate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
            );
            stream.write_all(head.as_bytes()).await.expect("a request");
            let mut answer = vec![0; 4096];
            let count = stream.read(&mut answer).await.expect("an answer");
            assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(answer.get(..count).unwrap_or_default()));
            stream.write_all(b"POST /validate HTTP/1.1\r\nhost: x\r\n").await.expect("half a head");
            let begun = Instant::now();
            let ended = tokio::time::timeout(Duration::from_secs(15), stream.read(&mut answer)).await;
            assert!(matches!(ended, Ok(Ok(0) | Err(_))), "{ended:?} after {:?}", begun.elapsed());
            assert!(begun.elapsed() > Duration::from_secs(4), "{:?}", begun.elapsed());
        };
        tokio::join!(idle, unused, half);
    });
}
