//! Liveness, readiness and metrics over plain HTTP, on a thread of its own, so that reviews cannot delay probes.
//!
//! A new connection is always accepted; if there are too many, the longest unused one is closed, so that idle
//! connections cannot keep a probe from its answer.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::ServerState;
use crate::http::{ConnectionTable, RequestGuard, ResponseBody};

/// How many connections are served at once.
const MAX_CONNECTIONS: usize = 256;

/// How long a request may take to be sent.
const HEADER_TIMEOUT: Duration = Duration::from_secs(1);

/// How long a connection may be used; who comes often comes anew.
const MAX_CONNECTION_TIME: Duration = Duration::from_secs(300);

/// How many may read metrics at once: each answer may be a few megabytes.
const MAX_METRICS_READERS: usize = 4;

/// How often a second metrics are made anew.
const MAX_EXPOSITIONS_PER_SECOND: u32 = 20;

/// Whether reviews should be sent here.
#[derive(Debug, Default)]
pub struct Readiness {
    waiting: Mutex<BTreeSet<String>>,
    is_waiting: AtomicBool,
    is_stopping: AtomicBool,
}

impl Readiness {
    /// Is not ready before `what` is [`done`](Self::done).
    pub fn wait_for(&self, what: &str) {
        self.change(|waiting| waiting.insert(what.to_owned()));
    }

    /// Has what it waited for.
    pub fn done(&self, what: &str) {
        self.change(|waiting| waiting.remove(what));
    }

    /// Will be ready no more.
    pub fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    /// Returns whether everything is there that a review needs. Still so while the server stops.
    #[must_use]
    pub fn is_loaded(&self) -> bool {
        !self.is_waiting.load(Ordering::Acquire)
    }

    /// Returns whether the server is about to stop.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    /// Returns why no reviews should be sent here.
    #[must_use]
    pub fn reason(&self) -> Option<String> {
        if self.is_stopping() {
            return Some("stopping".to_owned());
        }
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let names: Vec<&str> = waiting.iter().map(String::as_str).collect();
        (!names.is_empty()).then(|| format!("waiting for {}", names.join(", ")))
    }

    fn change(&self, change: impl FnOnce(&mut BTreeSet<String>) -> bool) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut waiting);
        self.is_waiting.store(!waiting.is_empty(), Ordering::Release);
    }
}

/// Answers on `listener` as long as the process lives.
///
/// # Errors
/// When the thread cannot be started.
pub(crate) fn serve_health(state: Arc<ServerState>, listener: TcpListener) -> std::io::Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let thread = std::thread::Builder::new().name("health".to_owned());
    thread.spawn(move || runtime.block_on(accept_health_connections(state, listener)))?;
    Ok(())
}

async fn accept_health_connections(state: Arc<ServerState>, listener: TcpListener) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let port = Arc::new(HealthPort::new(state));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let port = Arc::clone(&port);
        tokio::spawn(async move { port.serve(stream).await });
    }
}

/// The port on which health is asked for.
struct HealthPort {
    state: Arc<ServerState>,
    connections: ConnectionTable,
    metrics_readers: Arc<Semaphore>,
    exposed: Mutex<Exposed>,
}

/// The last exposition. Clients that read metrics too often get the one that was made in the same second, so
/// that making them takes no time from probes.
#[derive(Default)]
struct Exposed {
    text: Bytes,
    second: u64,
    made: u32,
}

/// What is answered, and what it takes until it is sent.
type HealthResponse = Response<ResponseBody<Option<OwnedSemaphorePermit>>>;

impl HealthPort {
    fn new(state: Arc<ServerState>) -> Self {
        Self {
            state,
            connections: ConnectionTable::new(MAX_CONNECTIONS),
            metrics_readers: Arc::new(Semaphore::new(MAX_METRICS_READERS)),
            exposed: Mutex::default(),
        }
    }

    /// Serves one connection, until another one needs its place.
    async fn serve(&self, stream: TcpStream) {
        let (place, _) = self.connections.open();
        let service = service_fn(|request| {
            let answer = self.answer(&request, place.usage.begin());
            async move { Ok::<_, Infallible>(answer) }
        });
        let mut server = http1::Builder::new();
        server.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT).max_buf_size(16 << 10);
        let connection = server.serve_connection(TokioIo::new(stream), service);
        tokio::select! {
            _ = tokio::time::timeout(MAX_CONNECTION_TIME, connection) => {}
            _ = place.usage.ending() => {}
        }
    }

    fn answer<B>(&self, request: &Request<B>, under_way: RequestGuard) -> HealthResponse {
        let (status, text, reader) = match *request.method() {
            Method::GET | Method::HEAD => self.found(request.uri().path()),
            _ => (StatusCode::METHOD_NOT_ALLOWED, "only GET is answered here\n".into(), None),
        };
        let content_type = match reader {
            Some(_) => "text/plain; version=0.0.4; charset=utf-8",
            None => "text/plain; charset=utf-8",
        };
        let mut response = Response::new(ResponseBody::new(text, under_way, reader));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        response
    }

    /// Returns what is at `path`; metrics with the place of their reader.
    fn found(&self, path: &str) -> (StatusCode, Bytes, Option<OwnedSemaphorePermit>) {
        match path {
            "/healthz" | "/livez" => (StatusCode::OK, "ok\n".into(), None),
            "/readyz" => match self.state.readiness.reason() {
                None => (StatusCode::OK, "ok\n".into(), None),
                Some(reason) => (StatusCode::SERVICE_UNAVAILABLE, (reason + "\n").into(), None),
            },
            "/metrics" => match Arc::clone(&self.metrics_readers).try_acquire_owned() {
                Ok(reader) => (StatusCode::OK, self.metrics(), Some(reader)),
                Err(_) => (StatusCode::TOO_MANY_REQUESTS, "too many read metrics at once\n".into(), None),
            },
            _ => (StatusCode::NOT_FOUND, "there is /healthz, /readyz and /metrics\n".into(), None),
        }
    }

    fn metrics(&self) -> Bytes {
        let second = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut exposed = self.exposed.lock().unwrap_or_else(PoisonError::into_inner);
        if exposed.second != second {
            (exposed.second, exposed.made) = (second, 0);
        }
        if exposed.made < MAX_EXPOSITIONS_PER_SECOND {
            exposed.made += 1;
            exposed.text = crate::metrics::exposition(&self.state).into();
        }
        exposed.text.clone()
    }
}
