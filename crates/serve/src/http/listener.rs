//! Connections: accepted within bounds, served with HTTP/2 or HTTP/1.1, and closed without losing an answer.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::bounds::Waiting;
use super::idle::{Idle, Use};
use super::routes::{self, too_many};
use crate::State;

const HANDSHAKE: Duration = Duration::from_secs(5);
const HEADERS: Duration = Duration::from_secs(5);
/// How long a connection that makes room may take to end.
const ENDING: Duration = Duration::from_secs(5);
const PING: Duration = Duration::from_secs(30);
const PONG: Duration = Duration::from_secs(10);
const STREAMS: u32 = 100;

/// What connections do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// They are accepted and served.
    Serving,
    /// No more are accepted, and those that are open are closed when what is under way is answered.
    Closing,
}

/// Serves until `phase` says that connections are to be closed, and returns when all are.
pub(crate) async fn serve(
    state: Arc<State>,
    listener: TcpListener,
    configuration: Arc<ServerConfig>,
    mut phase: watch::Receiver<Phase>,
) {
    let acceptor = TlsAcceptor::from(configuration);
    // Every connection holds one end; when all are dropped, all connections are closed.
    let (open, mut closed) = tokio::sync::mpsc::channel::<Infallible>(1);
    loop {
        let accepted = tokio::select! {
            accepted = accept(&state, &listener) => accepted,
            _ = phase.wait_for(|phase| *phase == Phase::Closing) => break,
        };
        let Some((stream, permit)) = accepted else { continue };
        let (state, acceptor, phase) = (Arc::clone(&state), acceptor.clone(), phase.clone());
        let open = open.clone();
        tokio::spawn(async move {
            let _held = (permit, open);
            let _ = stream.set_nodelay(true);
            match timeout(HANDSHAKE, acceptor.accept(stream)).await {
                Ok(Ok(stream)) => {
                    state.metrics.connected();
                    connection(&state, stream, phase).await;
                    state.metrics.disconnected();
                }
                _ => state.metrics.handshake_failed(),
            }
        });
    }
    drop((listener, open));
    let _ = closed.recv().await;
}

async fn accept(
    state: &State,
    listener: &TcpListener,
) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    // Before there is a place nobody is let in: who waits in the queue of the system costs us nothing.
    let permit = Arc::clone(&state.bounds.connections).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => Some((stream, permit)),
        Err(_) => {
            // No more descriptors, most likely; trying at once would only burn time.
            tokio::time::sleep(Duration::from_millis(10)).await;
            None
        }
    }
}

async fn connection(state: &Arc<State>, stream: TlsStream<TcpStream>, phase: watch::Receiver<Phase>) {
    let usage = Arc::new(Use::default());
    let service = {
        let (state, usage) = (Arc::clone(state), Arc::clone(&usage));
        service_fn(move |request: Request<Incoming>| {
            let (asking, waiting) = (usage.asking(), Waiting::begin(&state));
            let state = Arc::clone(&state);
            async move {
                let _asking = asking;
                if waiting.end() {
                    return Ok(too_many());
                }
                Ok::<_, Infallible>(routes::answer(&state, request).await)
            }
        })
    };
    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let stream = TokioIo::new(stream);
    if is_http2 {
        let mut server = http2::Builder::new(TokioExecutor::new());
        server
            .timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS)
            .max_header_list_size(16 << 10)
            .initial_stream_window_size(256 << 10)
            .initial_connection_window_size(1 << 20)
            .max_pending_accept_reset_streams(20)
            .max_local_error_reset_streams(200)
            .keep_alive_interval(PING)
            .keep_alive_timeout(PONG);
        let mut connection = pin!(server.serve_connection(stream, service));
        until_closed(phase, usage.idle(state), connection.as_mut(), |connection| {
            connection.graceful_shutdown();
        })
        .await;
    } else {
        let mut server = http1::Builder::new();
        server.timer(TokioTimer::new()).header_read_timeout(HEADERS).max_buf_size(64 << 10).max_headers(64);
        let mut connection = pin!(server.serve_connection(stream, service));
        until_closed(phase, usage.idle(state), connection.as_mut(), |connection| {
            connection.graceful_shutdown();
        })
        .await;
    }
}

/// Drives `connection` to its end, which `close` asks for when the server closes or others need the room.
async fn until_closed<C: Future>(
    mut phase: watch::Receiver<Phase>,
    idle: impl Future<Output = Idle>,
    mut connection: std::pin::Pin<&mut C>,
    close: impl FnOnce(std::pin::Pin<&mut C>),
) {
    let makes_room = tokio::select! {
        _ = connection.as_mut() => return,
        idle = idle => match idle {
            Idle::Silent => return,
            Idle::Unused => true,
        },
        _ = phase.wait_for(|phase| *phase == Phase::Closing) => false,
    };
    close(connection.as_mut());
    if makes_room {
        let _ = timeout(ENDING, connection).await;
    } else {
        let _ = connection.await;
    }
}
