//! Connections: accepted within bounds, served with HTTP/2 or HTTP/1.1, and closed without losing an answer.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::HttpResponse;
use super::answer::ResponseBody;
use super::bounds::{QueuedRequest, ResponsePermit};
use super::connections::{ConnectionEnding, ConnectionUsage, RequestGuard};
use super::routes::{self, too_many};
use crate::ServerState;
use crate::metrics::MetricId;

const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
const HEADERS_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a connection that makes room may take to end.
const EVICTION_GRACE: Duration = Duration::from_secs(1);
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PONG_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_STREAMS: u32 = 100;

/// What connections do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListenerPhase {
    /// They are accepted and served.
    Serving,
    /// No more are accepted, and those that are open are closed when what is under way is answered.
    Closing,
}

/// Serves until `phase` says that connections are to be closed, and returns when all are.
pub(crate) async fn run_listener(
    state: Arc<ServerState>,
    listener: TcpListener,
    configuration: Arc<ServerConfig>,
    mut phase: watch::Receiver<ListenerPhase>,
) {
    let acceptor = TlsAcceptor::from(configuration);
    // Every connection holds one end; when all are dropped, all connections are closed.
    let (open, mut closed) = tokio::sync::mpsc::channel::<Infallible>(1);
    loop {
        let accepted = tokio::select! {
            accepted = accept_connection(&listener) => accepted,
            _ = phase.wait_for(|phase| *phase == ListenerPhase::Closing) => break,
        };
        let Some(stream) = accepted else { continue };
        let (state, acceptor, phase) = (Arc::clone(&state), acceptor.clone(), phase.clone());
        let open = open.clone();
        tokio::spawn(async move {
            let _open = open;
            serve_stream(&state, stream, &acceptor, phase).await;
        });
    }
    drop((listener, open));
    let _ = closed.recv().await;
}

async fn accept_connection(listener: &TcpListener) -> Option<TcpStream> {
    match listener.accept().await {
        Ok((stream, _)) => Some(stream),
        Err(_) => {
            // No more descriptors, most likely; trying at once would only burn time.
            tokio::time::sleep(Duration::from_millis(10)).await;
            None
        }
    }
}

/// Serves one connection to its end, for which another may have to make room.
async fn serve_stream(
    state: &Arc<ServerState>,
    stream: TcpStream,
    acceptor: &TlsAcceptor,
    phase: watch::Receiver<ListenerPhase>,
) {
    let (place, is_evicted) = state.connections.open();
    if is_evicted {
        state.metrics.count(MetricId::ConnectionsEvicted);
    }
    let _ = stream.set_nodelay(true);
    let handshake = tokio::select! {
        handshake = timeout(HANDSHAKE_TIMEOUT, acceptor.accept(stream)) => handshake.ok().and_then(Result::ok),
        _ = place.usage.ending() => None,
    };
    let Some(stream) = handshake else {
        state.metrics.count(MetricId::HandshakesFailed);
        return;
    };
    state.metrics.connected();
    serve_http(state, stream, &place.usage, phase).await;
    state.metrics.disconnected();
}

async fn serve_http(
    state: &Arc<ServerState>,
    stream: TlsStream<TcpStream>,
    usage: &Arc<ConnectionUsage>,
    phase: watch::Receiver<ListenerPhase>,
) {
    let service = {
        let (state, usage) = (Arc::clone(state), Arc::clone(usage));
        service_fn(move |request: Request<Incoming>| {
            let (under_way, waiting) = (usage.begin(), QueuedRequest::begin(&state));
            let state = Arc::clone(&state);
            async move {
                let answer = match waiting.end() {
                    true => too_many(),
                    false => routes::route_request(&state, request, &under_way).await,
                };
                Ok::<_, Infallible>(response_to_send(&state, answer, under_way))
            }
        })
    };
    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let stream = TokioIo::new(stream);
    if is_http2 {
        let mut server = http2::Builder::new(TokioExecutor::new());
        server
            .timer(TokioTimer::new())
            .max_concurrent_streams(MAX_STREAMS)
            .max_header_list_size(16 << 10)
            .initial_stream_window_size(256 << 10)
            .initial_connection_window_size(1 << 20)
            .max_pending_accept_reset_streams(20)
            .max_local_error_reset_streams(200)
            .keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PONG_TIMEOUT);
        let mut connection = pin!(server.serve_connection(stream, service));
        until_closed(state, phase, usage, connection.as_mut(), |connection| {
            connection.graceful_shutdown();
        })
        .await;
    } else {
        let mut server = http1::Builder::new();
        server
            .timer(TokioTimer::new())
            .header_read_timeout(HEADERS_TIMEOUT)
            .max_buf_size(64 << 10)
            .max_headers(64);
        let mut connection = pin!(server.serve_connection(stream, service));
        until_closed(state, phase, usage, connection.as_mut(), |connection| {
            connection.graceful_shutdown();
        })
        .await;
    }
}

/// Returns `answer` as it goes to the client, or that there is no room for it.
fn response_to_send(
    state: &Arc<ServerState>,
    answer: HttpResponse,
    under_way: RequestGuard,
) -> Response<ResponseBody<Option<ResponsePermit>>> {
    match ResponsePermit::take(state, answer.body().len()) {
        Ok(room) => answer.map(|bytes| ResponseBody::new(bytes, under_way, room)),
        Err(()) => too_many().map(|bytes| ResponseBody::new(bytes, under_way, None)),
    }
}

/// Drives `connection` to its end, which `close` asks for when the server closes or others need the room.
async fn until_closed<C: Future>(
    state: &ServerState,
    mut phase: watch::Receiver<ListenerPhase>,
    usage: &ConnectionUsage,
    mut connection: std::pin::Pin<&mut C>,
    close: impl FnOnce(std::pin::Pin<&mut C>),
) {
    let makes_room = tokio::select! {
        // Nearly always it is the connection.
        biased;
        _ = connection.as_mut() => return,
        ending = usage.ending() => match ending {
            ConnectionEnding::Abrupt => return,
            ConnectionEnding::Graceful => true,
        },
        _ = phase.wait_for(|phase| *phase == ListenerPhase::Closing) => false,
    };
    close(connection.as_mut());
    if makes_room {
        let _closing = state.connections.closing();
        let _ = timeout(EVICTION_GRACE, connection).await;
    } else {
        let _ = connection.await;
    }
}
