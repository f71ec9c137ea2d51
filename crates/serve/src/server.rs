//! The server: bound to its addresses, then serving until it is stopped.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls::server::ResolvesServerCert;
use thiserror::Error;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::health::{self, HealthPages};
use crate::http::{self, ListenerPhase};
use crate::log::LogLevel;
use crate::{ServerState, workers};

/// How long what is under way may take when everything else is closed. With the longest drain that is useful, a
/// server is gone 15 seconds after the signal.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(9);

/// Why the server cannot serve.
#[derive(Debug, Error)]
pub enum ServeError {
    /// An address cannot be listened on.
    #[error("cannot listen on `{0}`: {1}")]
    Listen(SocketAddr, io::Error),
    /// The certificate cannot be used.
    #[error("cannot use the certificate: {0}")]
    Certificate(String),
    /// The authorities of clients cannot be used.
    #[error("cannot use the CA of clients: {0}")]
    ClientCa(String),
    /// The certificate that clients must trust cannot be written.
    #[error("cannot write `{0}`: {1}")]
    Write(PathBuf, io::Error),
    /// The cluster cannot be found.
    #[error(transparent)]
    Cluster(#[from] kubewright_cluster::Error),
    /// The system refuses threads or the like.
    #[error("cannot start: {0}")]
    Start(#[from] io::Error),
}

/// A server that has its addresses and does not serve yet.
#[derive(Debug)]
pub struct WebhookServer {
    state: Arc<ServerState>,
    reviews: TcpListener,
    health: TcpListener,
}

impl WebhookServer {
    /// Listens on the addresses of the settings. Health is answered from now on.
    ///
    /// # Errors
    /// When one cannot be listened on.
    pub fn bind(state: Arc<ServerState>) -> Result<Self, ServeError> {
        let listen = |address: SocketAddr| {
            TcpListener::bind(address).map_err(|error| ServeError::Listen(address, error))
        };
        let reviews = listen(state.settings.address)?;
        let health = listen(state.settings.health_address)?;
        reviews.set_nonblocking(true)?;
        let pages: Arc<dyn HealthPages> = Arc::<ServerState>::clone(&state);
        health::serve_health(pages, health.try_clone()?)?;
        Ok(Self { state, reviews, health })
    }

    /// Returns what its parts share.
    #[must_use]
    pub fn state(&self) -> &Arc<ServerState> {
        &self.state
    }

    /// Returns where reviews are answered.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.reviews.local_addr()
    }

    /// Returns where health and metrics are answered.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn health_address(&self) -> io::Result<SocketAddr> {
        self.health.local_addr()
    }

    /// Serves until `stop` is there: from then on it is not ready, goes on for as long as the settings say, in the second
    /// half of that time with last answers, closes all connections without losing an answer, and returns.
    ///
    /// # Errors
    /// When it cannot even begin.
    pub async fn serve(
        self,
        certificates: Arc<dyn ResolvesServerCert>,
        stop: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        let (address, health) = (self.address()?, self.health_address()?);
        let state = self.state;
        let configuration =
            http::server_tls_config(certificates, &state.settings).map_err(ServeError::ClientCa)?;
        let listener = tokio::net::TcpListener::from_std(self.reviews)?;
        let (phase, phases) = watch::channel(ListenerPhase::Serving);
        let serving =
            tokio::spawn(http::run_listener(Arc::clone(&state), listener, Arc::new(configuration), phases));
        let line = state.log.always(LogLevel::Info, "listening");
        line.shown("address", address).shown("healthAddress", health).write();

        stop.await;
        state.readiness.stop();
        let line = state.log.line(LogLevel::Info, "stopping");
        line.number("drainMilliseconds", millis(state.settings.drain)).write();
        tokio::time::sleep(state.settings.drain / 2).await;
        phase.send_replace(ListenerPhase::LastAnswers);
        tokio::time::sleep(state.settings.drain / 2).await;
        phase.send_replace(ListenerPhase::Closing);
        let is_clean = tokio::time::timeout(SHUTDOWN_TIMEOUT, serving).await.is_ok();
        state.log.line(LogLevel::Info, "stopped").value("clean", &is_clean.into()).write();
        state.log.flush();
        Ok(())
    }
}

/// How many tasks run before sockets are looked at again. On a busy machine a task of a connection takes a millisecond, and
/// what is not looked at is not known to wait.
const EVENT_INTERVAL: u32 = 4;

/// Returns what runs connections and everything that keeps the server as it should be.
///
/// # Errors
/// When the system refuses threads.
pub(crate) fn serving_runtime() -> io::Result<Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(workers()).event_interval(EVENT_INTERVAL).enable_all().build()
}

/// Returns a future that ends when the process is asked to stop. Signals count from this call on, not from the first
/// poll: a server that says where it listens can already be stopped.
#[cfg(unix)]
pub fn asked_to_stop() -> impl Future<Output = ()> + Send {
    use tokio::signal::unix::{SignalKind, signal};
    let signals = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    async move {
        let (Ok(mut terminate), Ok(mut interrupt)) = signals else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
}

/// Returns a future that ends when the process is asked to stop: Ctrl-C, Ctrl-Break, or the end of the console. They
/// count from this call on.
#[cfg(windows)]
pub fn asked_to_stop() -> impl Future<Output = ()> + Send {
    use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close};
    let signals = (ctrl_c(), ctrl_break(), ctrl_close());
    async move {
        let (Ok(mut interrupt), Ok(mut terminate), Ok(mut close)) = signals else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = close.recv() => {}
        }
    }
}

/// Lets a panic be a line of the log, without what was panicked about: that may come from an object.
pub fn log_panics(state: &Arc<ServerState>) {
    let state = Arc::downgrade(state);
    std::panic::set_hook(Box::new(move |panic| {
        let Some(state) = state.upgrade() else { return };
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        state.log.line(LogLevel::Error, "panic caught").text("place", &place).write();
    }));
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
