//! Whether the server lives, whether it should be asked, and what it has counted: plain HTTP, on a thread of its own,
//! so that no amount of reviews keeps these questions waiting.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};

use crate::State;

/// How many connections are served at once; more wait.
const CONNECTIONS: usize = 64;

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
pub(crate) fn serve(state: Arc<State>, listener: TcpListener) -> std::io::Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let thread = std::thread::Builder::new().name("health".to_owned());
    thread.spawn(move || runtime.block_on(accept(state, listener)))?;
    Ok(())
}

async fn accept(state: Arc<State>, listener: TcpListener) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let places = Arc::new(tokio::sync::Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            let _place = place;
            let service = service_fn(|request| {
                let answer = answer(&state, &request);
                async move { Ok::<_, Infallible>(answer) }
            });
            let mut server = http1::Builder::new();
            server
                .timer(TokioTimer::new())
                .header_read_timeout(Duration::from_secs(5))
                .max_buf_size(16 << 10);
            let connection = server.serve_connection(TokioIo::new(stream), service);
            let _ = tokio::time::timeout(Duration::from_secs(300), connection).await;
        });
    }
}

fn answer<B>(state: &State, request: &Request<B>) -> Response<Full<Bytes>> {
    let plain = "text/plain; charset=utf-8";
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return response(StatusCode::METHOD_NOT_ALLOWED, plain, "only GET is answered here\n".to_owned());
    }
    match request.uri().path() {
        "/healthz" | "/livez" => response(StatusCode::OK, plain, "ok\n".to_owned()),
        "/readyz" => match state.readiness.reason() {
            None => response(StatusCode::OK, plain, "ok\n".to_owned()),
            Some(reason) => response(StatusCode::SERVICE_UNAVAILABLE, plain, reason + "\n"),
        },
        "/metrics" => {
            let exposition = "text/plain; version=0.0.4; charset=utf-8";
            response(StatusCode::OK, exposition, crate::metrics::exposition(state))
        }
        _ => response(StatusCode::NOT_FOUND, plain, "there is /healthz, /readyz and /metrics\n".to_owned()),
    }
}

fn response(status: StatusCode, content_type: &'static str, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(hyper::header::CONTENT_TYPE, hyper::header::HeaderValue::from_static(content_type));
    response
}
