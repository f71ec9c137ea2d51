//! Connections that are kept, and what is sent over them.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HOST, PROXY_AUTHORIZATION, RETRY_AFTER, USER_AGENT,
};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;

use super::address::ApiServerAddress;
use super::body::AnswerBody;
use super::proxy::{Stream, open_stream};
use super::session::ApiSession;
use super::throttle::parse_retry_after;
use crate::{ApiStatus, Error};

/// How long a new connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long one through a proxy may take, which itself has to connect.
const PROXY_CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// How long an idle connection is kept; the API server keeps them longer.
const IDLE_CONNECTION_TIME: Duration = Duration::from_secs(60);

/// How many are kept.
const MAX_IDLE_CONNECTIONS: usize = 8;

/// How much of an answer that is no success is read.
const MAX_ERROR_BODY_BYTES: usize = 1 << 20;

/// A request, before it is known who sends it.
#[derive(Debug)]
pub(super) struct HttpCall {
    pub(super) method: Method,
    pub(super) target: String,
    pub(super) accept: &'static str,
    /// Whether the answer may be compressed; who sets it reads the answer with [`AnswerBody`].
    pub(super) is_gzip_accepted: bool,
    pub(super) content_type: Option<&'static str>,
    pub(super) body: Bytes,
}

/// The head of an answer; the body is still to come.
pub(super) struct ApiAnswer {
    pub(super) response: Response<Incoming>,
    pub(super) connection: HttpConnection,
}

pub(super) type HttpConnection = SendRequest<Full<Bytes>>;

/// Idle connections.
#[derive(Debug, Default)]
pub(super) struct ConnectionPool {
    idle: Mutex<Vec<(HttpConnection, Instant)>>,
}

impl ConnectionPool {
    /// Sends `call`. A kept connection may have been closed by the other side at that very moment; what was not sent,
    /// or only reads, is then sent again over a new one.
    pub(super) async fn send(
        &self,
        call: &HttpCall,
        address: &ApiServerAddress,
        session: &ApiSession,
        is_own: bool,
    ) -> Result<ApiAnswer, Error> {
        while !is_own && let Some(mut connection) = self.take() {
            if !matches!(
                tokio::time::timeout(Duration::from_millis(50), connection.ready()).await,
                Ok(Ok(()))
            ) {
                continue;
            }
            match connection.try_send_request(call.request(address, session)?).await {
                Ok(response) => return Ok(ApiAnswer { response, connection }),
                Err(mut failed) => {
                    if failed.take_message().is_none() && call.method != Method::GET {
                        return Err(unreachable_error(&address.text, failed.error()));
                    }
                }
            }
        }
        let mut connection = open_connection(address, session).await?;
        let sent = connection.send_request(call.request(address, session)?).await;
        let response = sent.map_err(|error| unreachable_error(&address.text, &error))?;
        Ok(ApiAnswer { response, connection })
    }

    /// Keeps a connection whose last answer was read to its end.
    pub(super) fn keep(&self, connection: HttpConnection) {
        let mut idle = self.idle();
        idle.retain(|(other, since)| !other.is_closed() && since.elapsed() < IDLE_CONNECTION_TIME);
        if idle.len() < MAX_IDLE_CONNECTIONS && !connection.is_closed() {
            idle.push((connection, Instant::now()));
        }
    }

    /// Closes the idle connections.
    pub(super) fn forget(&self) {
        self.idle().clear();
    }

    /// The one that was used last.
    fn take(&self) -> Option<HttpConnection> {
        let mut idle = self.idle();
        while let Some((connection, since)) = idle.pop() {
            if !connection.is_closed() && since.elapsed() < IDLE_CONNECTION_TIME {
                return Some(connection);
            }
        }
        None
    }

    fn idle(&self) -> MutexGuard<'_, Vec<(HttpConnection, Instant)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HttpCall {
    fn request(
        &self,
        address: &ApiServerAddress,
        session: &ApiSession,
    ) -> Result<Request<Full<Bytes>>, Error> {
        let (uri, proxy_authorization) = address.request_uri(&self.target);
        let mut request = Request::builder()
            .method(self.method.clone())
            .uri(uri)
            .header(HOST, address.host_header())
            .header(USER_AGENT, concat!("kubewright/", env!("CARGO_PKG_VERSION")))
            .header(ACCEPT, self.accept);
        if self.is_gzip_accepted {
            request = request.header(ACCEPT_ENCODING, "gzip");
        }
        if let Some(kind) = self.content_type {
            request = request.header(CONTENT_TYPE, kind);
        }
        if let Some(authorization) = proxy_authorization {
            request = request.header(PROXY_AUTHORIZATION, authorization);
        }
        for (name, value) in &session.headers {
            request = request.header(name, value);
        }
        request
            .body(Full::new(self.body.clone()))
            .map_err(|error| Error::Config(format!("`{}` cannot be asked for: {error}", self.target)))
    }
}

impl ApiAnswer {
    pub(super) fn code(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// Reads what the API server says in an answer that is no success, and returns the connection for others.
    pub(super) async fn refusal(self, server: &str) -> Result<(ApiStatus, HttpConnection), Error> {
        let code = self.code();
        let retry_after = self.response.headers().get(RETRY_AFTER).and_then(parse_retry_after);
        let (text, connection) = self.text(MAX_ERROR_BODY_BYTES, server).await?;
        let mut status = ApiStatus::of_answer(code, &text);
        status.retry_after = retry_after.or(status.retry_after);
        Ok((status, connection))
    }

    /// Reads the body, of at most `limit` bytes, and returns the connection for others.
    pub(super) async fn text(self, limit: usize, server: &str) -> Result<(String, HttpConnection), Error> {
        let Self { response, connection } = self;
        let mut body = AnswerBody::new(response, limit, server);
        let mut bytes = Vec::new();
        while let Some(chunk) = body.next().await? {
            bytes.extend_from_slice(&chunk);
        }
        let text = String::from_utf8(bytes).map_err(|_| Error::Unreadable("it is not UTF-8".to_owned()))?;
        Ok((text, connection))
    }
}

async fn open_connection(address: &ApiServerAddress, session: &ApiSession) -> Result<HttpConnection, Error> {
    let timeout = if address.proxy.is_some() { PROXY_CONNECT_TIMEOUT } else { CONNECT_TIMEOUT };
    let opened = tokio::time::timeout(timeout, async {
        let stream = open_stream(address, session).await?;
        if !address.is_tls {
            return Ok(stream);
        }
        let name = session.server_name.as_deref().unwrap_or(&address.host);
        let name = ServerName::try_from(name.to_owned()).map_err(std::io::Error::other)?;
        let connector = TlsConnector::from(std::sync::Arc::clone(&session.tls));
        Ok::<_, std::io::Error>(Box::new(connector.connect(name, stream).await?) as Box<dyn Stream>)
    });
    let stream = match (opened.await, &address.proxy) {
        (Ok(stream), _) => stream.map_err(|error| unreachable_error(&address.text, &error))?,
        (Err(_), None) => return Err(Error::TimedOut(timeout)),
        (Err(_), Some(proxy)) => {
            let why = format!("proxy {proxy}: no connection within {} s", timeout.as_secs());
            return Err(Error::Unreachable { server: address.text.clone(), why });
        }
    };
    let handshake = http1::handshake(TokioIo::new(stream)).await;
    let (connection, work) = handshake.map_err(|error| unreachable_error(&address.text, &error))?;
    // It ends with the connection, which ends when its last user is dropped.
    tokio::spawn(work);
    Ok(connection)
}

/// Errors of the network say the interesting part in their sources.
pub(super) fn unreachable_error(server: &str, error: &dyn std::error::Error) -> Error {
    let mut why = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let text = inner.to_string();
        if !why.ends_with(&text) {
            why = format!("{why}: {text}");
        }
        source = inner.source();
    }
    Error::Unreachable { server: server.to_owned(), why }
}
