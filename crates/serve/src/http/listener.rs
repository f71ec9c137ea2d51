//! Connections: accepted within bounds, served with HTTP/2 or HTTP/1.1, and closed without losing an answer.

use std::convert::Infallible;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::HttpResponse;
use super::answer::ResponseBody;
use super::bounds::{QueuedRequest, ResponsePermit};
use super::connections::{ConnectionEnding, ConnectionUsage, IDLE_TIMEOUT, RequestGuard};
use super::observer::ObservedStream;
use super::routes::{self, too_many};
use super::streams::{ArrivedStreams, ConnectionTask};
use super::turns::ConnectionTurns;
use crate::ServerState;
use crate::metrics::MetricId;

const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a connection on which nothing is asked may take to end when all are closed.
const CLOSING_GRACE: Duration = Duration::from_secs(5);
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
    /// They are accepted and served, and each connection of HTTP/1.1 is told with its next answer that it was the last. One
    /// that is in use ends this way without a request on it that gets no answer.
    LastAnswers,
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
    let phases = phase.clone();
    let spawn = |stream: TcpStream| {
        let (state, acceptor, phases) = (Arc::clone(&state), acceptor.clone(), phases.clone());
        let open = open.clone();
        tokio::spawn(async move {
            let _open = open;
            serve_stream(&state, stream, &acceptor, phases).await;
        });
    };
    loop {
        tokio::select! {
            accepted = accept_connection(&listener) => accepted.into_iter().for_each(&spawn),
            _ = phase.wait_for(|phase| *phase == ListenerPhase::Closing) => break,
        }
    }
    accept_waiting(listener).for_each(spawn);
    drop(open);
    let _ = closed.recv().await;
}

/// Returns the connections that the system has made and that would be reset with the end of `listener`.
fn accept_waiting(listener: TcpListener) -> impl Iterator<Item = TcpStream> {
    // Without the runtime, which may not have heard of them yet.
    let listener = listener.into_std().ok();
    let accept = move || match listener.as_ref()?.accept() {
        Ok((stream, _)) => Some(stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream))),
        // The client was faster.
        Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => Some(Err(error)),
        Err(_) => None,
    };
    std::iter::from_fn(accept).flatten()
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
    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    // A connection of HTTP/1.1 has none: what is read from it is begun at once.
    let turns = ConnectionTurns::new(state.bounds.begun());
    let service = {
        let (state, usage, phase) = (Arc::clone(state), Arc::clone(usage), phase.clone());
        let turns = Arc::clone(&turns);
        service_fn(move |request: Request<Incoming>| {
            let (under_way, waiting) = (usage.begin(), QueuedRequest::begin(&state, turns.arrival()));
            // HTTP/2 has a frame for this.
            let is_last = !is_http2 && *phase.borrow() != ListenerPhase::Serving;
            let (state, turns) = (Arc::clone(&state), Arc::clone(&turns));
            async move {
                let begun = Instant::now();
                let makes_way = waiting.end(begun);
                turns.refuses(makes_way);
                let answer = match makes_way {
                    true => too_many(),
                    false => routes::route_request(&state, request, &under_way, &turns).await,
                };
                under_way.took(begun.elapsed());
                let mut response = response_to_send(&state, answer, under_way);
                if is_last {
                    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                }
                Ok::<_, Infallible>(response)
            }
        })
    };
    if is_http2 {
        let stream = TokioIo::new(stream);
        let arrived = ArrivedStreams::default();
        let mut server = http2::Builder::new(arrived.clone());
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
        let connection = server.serve_connection(stream, service);
        let mut connection = pin!(ConnectionTask::new(connection, arrived, usage, turns));
        until_closed(state, phase, usage, connection.as_mut(), |mut connection| {
            connection.connection.as_mut().graceful_shutdown();
        })
        .await;
    } else {
        usage.keep_unused();
        let stream = TokioIo::new(ObservedStream::new(stream, usage));
        let mut server = http1::Builder::new();
        server
            .timer(TokioTimer::new())
            // It also counts the time before the first byte.
            .header_read_timeout(IDLE_TIMEOUT)
            .max_buf_size(64 << 10)
            .max_headers(64);
        let mut connection = pin!(server.serve_connection(stream, service));
        until_closed(state, phase, usage, connection.as_mut(), |connection| {
            // A new connection would be closed although its first request is on the way; the answer to that closes it.
            if usage.has_requests() {
                connection.graceful_shutdown();
            } else if usage.has_asked() {
                usage.end_when_idle();
            }
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
    mut connection: Pin<&mut C>,
    close: impl FnOnce(Pin<&mut C>),
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
    } else if timeout(CLOSING_GRACE, connection.as_mut()).await.is_err() && usage.has_requests() {
        let _ = connection.await;
    }
}
