//! A client that keeps a few HTTP/2 connections, as an API server does.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::{self, SendRequest};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Method, Request};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// How long a connection may take.
pub(crate) const LOAD_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A server, and how to be trusted by it.
#[derive(Debug, Clone)]
pub struct LoadTarget {
    /// Where it listens.
    pub address: SocketAddr,
    /// The certificates of those who may have signed its own, in PEM.
    pub authorities: String,
    /// What a request is authorised by.
    pub token: Option<String>,
}

/// Connections to one server, used in turn; a connection that ended is made again by the next request.
pub struct LoadClient {
    target: LoadTarget,
    tls: TlsConnector,
    connections: Vec<Mutex<Option<SendRequest<Full<Bytes>>>>>,
    next: AtomicUsize,
}

/// What a server answered.
#[derive(Debug, Clone)]
pub struct LoadAnswer {
    /// The status code.
    pub status: u16,
    /// The body.
    pub body: Bytes,
}

/// Why there is no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LoadError {
    /// The authorities are no certificates.
    #[error("not a certificate: {0}")]
    Authorities(String),
    /// No connection was made.
    #[error("no connection: {0}")]
    Connection(String),
    /// The connection broke.
    #[error("no answer: {0}")]
    Broken(String),
    /// It took too long.
    #[error("no answer in {0:?}")]
    Late(Duration),
}

impl LoadClient {
    /// Returns a client that will use `connections` connections.
    ///
    /// # Errors
    /// When the authorities of `target` are no certificates.
    pub fn new(target: LoadTarget, connections: usize) -> Result<Self, LoadError> {
        let config = trusting_config(&target.authorities)?;
        let connections = (0..connections.max(1)).map(|_| Mutex::new(None)).collect();
        let tls = TlsConnector::from(Arc::new(config));
        Ok(Self { target, tls, connections, next: AtomicUsize::new(0) })
    }

    /// Returns the server.
    #[must_use]
    pub fn target(&self) -> &LoadTarget {
        &self.target
    }

    /// Posts JSON and waits for the answer.
    ///
    /// # Errors
    /// When there is none within `limit`.
    pub async fn post(&self, path: &str, body: Bytes, limit: Duration) -> Result<LoadAnswer, LoadError> {
        self.send(Method::POST, path, body, limit).await
    }

    /// Sends JSON, a `PATCH` as a merge patch, and waits for the answer.
    ///
    /// # Errors
    /// When there is none within `limit`.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
        limit: Duration,
    ) -> Result<LoadAnswer, LoadError> {
        let exchange = self.exchange(method, path, body);
        timeout(limit, exchange).await.unwrap_or(Err(LoadError::Late(limit)))
    }

    async fn exchange(&self, method: Method, path: &str, body: Bytes) -> Result<LoadAnswer, LoadError> {
        let broken = |error: hyper::Error| LoadError::Broken(error_chain(&error));
        let content =
            if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        let mut request = Request::builder()
            .method(method)
            .uri(format!("https://{}{path}", self.target.address))
            .header(HOST, self.target.address.to_string())
            .header(CONTENT_TYPE, content);
        if let Some(token) = &self.target.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let request = request.body(Full::new(body)).map_err(|error| LoadError::Broken(error.to_string()))?;
        let mut connection = self.connection().await?;
        connection.ready().await.map_err(broken)?;
        let answer = connection.send_request(request).await.map_err(broken)?;
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.map_err(broken)?.to_bytes();
        Ok(LoadAnswer { status, body })
    }

    /// The next connection in turn; made if there is none.
    async fn connection(&self) -> Result<SendRequest<Full<Bytes>>, LoadError> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed) % self.connections.len();
        let place = self.connections.get(turn).ok_or_else(|| LoadError::Connection("none".to_owned()))?;
        let mut place = place.lock().await;
        if let Some(open) = place.as_ref().filter(|open| !open.is_closed()) {
            return Ok(open.clone());
        }
        let made = timeout(LOAD_CONNECT_TIMEOUT, self.connect()).await;
        let made = made.unwrap_or(Err(LoadError::Late(LOAD_CONNECT_TIMEOUT)))?;
        Ok(place.insert(made).clone())
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, LoadError> {
        let wrong = |error: &dyn std::fmt::Display| LoadError::Connection(error.to_string());
        let stream = TcpStream::connect(self.target.address).await.map_err(|error| wrong(&error))?;
        stream.set_nodelay(true).map_err(|error| wrong(&error))?;
        let name = ServerName::from(self.target.address.ip());
        let stream = self.tls.connect(name, stream).await.map_err(|error| wrong(&error))?;
        let (sender, connection) = http2::Builder::new(TokioExecutor::new())
            .initial_stream_window_size(1 << 20)
            .initial_connection_window_size(16 << 20)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| wrong(&error))?;
        // It ends when the server closes it, and those who wait for an answer then hear of it.
        tokio::spawn(async move {
            let _ = connection.await;
        });
        Ok(sender)
    }
}

/// Returns how to speak HTTP/2 with a server whose certificate one of `authorities`, in PEM, has signed.
///
/// # Errors
/// When they are no certificates.
pub(crate) fn trusting_config(authorities: &str) -> Result<ClientConfig, LoadError> {
    let wrong = |error: &dyn std::fmt::Display| LoadError::Authorities(error.to_string());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authorities.as_bytes()) {
        let certificate = certificate.map_err(|error| wrong(&error))?;
        roots.add(certificate).map_err(|error| wrong(&error))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(&error))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(config)
}

/// What hyper says is often only that something was wrong; what was is behind it.
fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
