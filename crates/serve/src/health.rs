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
use http_body_util::{BodyExt as _, Limited};
pub use hyper::Method;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

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

/// How large the body of a request may be.
pub const MAX_PAGE_BODY_BYTES: usize = 256 << 10;

/// How long it may take to be sent.
const PAGE_BODY_TIMEOUT: Duration = Duration::from_secs(2);

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

/// What a health port shows.
pub trait HealthPages: Send + Sync {
    /// Returns whether the process is ready.
    fn readiness(&self) -> &Readiness;

    /// Returns why only a restart of the process can help; nothing while it is well.
    fn failure(&self) -> Option<String> {
        None
    }

    /// Returns all metrics in the text format of Prometheus.
    fn exposition(&self) -> String;

    /// Returns what is at `path` besides health and metrics; `body` is that of a POST request, at most
    /// [`MAX_PAGE_BODY_BYTES`].
    fn page(&self, _method: &Method, _path: &str, _body: &[u8]) -> Option<HealthPage> {
        None
    }
}

/// One page of a health port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthPage {
    /// The HTTP status.
    pub status: u16,
    /// The type of the content, such as `application/json`.
    pub content_type: &'static str,
    /// The content.
    pub body: String,
}

/// Answers on `listener` as long as the process lives.
///
/// # Errors
/// When the thread cannot be started.
pub fn serve_health(state: Arc<dyn HealthPages>, listener: TcpListener) -> std::io::Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let thread = std::thread::Builder::new().name("health".to_owned());
    thread.spawn(move || runtime.block_on(accept_health_connections(state, listener)))?;
    Ok(())
}

async fn accept_health_connections(state: Arc<dyn HealthPages>, listener: TcpListener) {
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
    state: Arc<dyn HealthPages>,
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

/// An answer before it is sent.
struct HealthAnswer {
    status: StatusCode,
    content_type: &'static str,
    body: Bytes,
    reader: Option<OwnedSemaphorePermit>,
}

impl HealthAnswer {
    fn text(status: StatusCode, text: impl Into<Bytes>) -> Self {
        Self { status, content_type: "text/plain; charset=utf-8", body: text.into(), reader: None }
    }

    fn of(page: HealthPage) -> Self {
        let status = StatusCode::from_u16(page.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self { status, content_type: page.content_type, body: page.body.into(), reader: None }
    }
}

fn only_get() -> HealthAnswer {
    HealthAnswer::text(StatusCode::METHOD_NOT_ALLOWED, "only GET is answered here\n")
}

/// Reads a body that is small and comes at once.
async fn read_page_body(body: Incoming) -> Result<Bytes, StatusCode> {
    let reading = Limited::new(body, MAX_PAGE_BODY_BYTES).collect();
    match tokio::time::timeout(PAGE_BODY_TIMEOUT, reading).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(_)) => Err(StatusCode::PAYLOAD_TOO_LARGE),
        Err(_) => Err(StatusCode::REQUEST_TIMEOUT),
    }
}

/// What is answered, and what it takes until it is sent.
type HealthResponse = Response<ResponseBody<Option<OwnedSemaphorePermit>>>;

impl HealthPort {
    fn new(state: Arc<dyn HealthPages>) -> Self {
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
            let under_way = place.usage.begin();
            async move { Ok::<_, Infallible>(self.answer(request, under_way).await) }
        });
        let mut server = http1::Builder::new();
        server.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT).max_buf_size(16 << 10);
        let connection = server.serve_connection(TokioIo::new(stream), service);
        tokio::select! {
            _ = tokio::time::timeout(MAX_CONNECTION_TIME, connection) => {}
            _ = place.usage.ending() => {}
        }
    }

    async fn answer(&self, request: Request<Incoming>, under_way: RequestGuard) -> HealthResponse {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let answer = match method {
            Method::GET | Method::HEAD => self.found(&path),
            Method::POST => match read_page_body(request.into_body()).await {
                Ok(body) => self.state.page(&method, &path, &body).map_or_else(only_get, HealthAnswer::of),
                Err(status) => HealthAnswer::text(status, "the body is too large or took too long\n"),
            },
            _ => only_get(),
        };
        let mut response = Response::new(ResponseBody::new(answer.body, under_way, answer.reader));
        *response.status_mut() = answer.status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(answer.content_type));
        response
    }

    /// Returns what is at `path`; metrics with the place of their reader.
    fn found(&self, path: &str) -> HealthAnswer {
        match path {
            "/healthz" | "/livez" => match self.state.failure() {
                None => HealthAnswer::text(StatusCode::OK, "ok\n"),
                Some(failure) => HealthAnswer::text(StatusCode::INTERNAL_SERVER_ERROR, failure + "\n"),
            },
            "/readyz" => match self.state.readiness().reason() {
                None => HealthAnswer::text(StatusCode::OK, "ok\n"),
                Some(reason) => HealthAnswer::text(StatusCode::SERVICE_UNAVAILABLE, reason + "\n"),
            },
            "/metrics" => match Arc::clone(&self.metrics_readers).try_acquire_owned() {
                Ok(reader) => HealthAnswer {
                    status: StatusCode::OK,
                    content_type: "text/plain; version=0.0.4; charset=utf-8",
                    body: self.metrics(),
                    reader: Some(reader),
                },
                Err(_) => {
                    HealthAnswer::text(StatusCode::TOO_MANY_REQUESTS, "too many read metrics at once\n")
                }
            },
            path => match self.state.page(&Method::GET, path, &[]) {
                Some(page) => HealthAnswer::of(page),
                None => {
                    HealthAnswer::text(StatusCode::NOT_FOUND, "there is /healthz, /readyz and /metrics\n")
                }
            },
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
            exposed.text = self.state.exposition().into();
        }
        exposed.text.clone()
    }
}
