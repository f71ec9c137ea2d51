//! The collector that takes traces, over plain HTTP: it is a neighbour in the cluster.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// How long sending may take.
const COLLECTOR_TIMEOUT: Duration = Duration::from_secs(5);

/// The collector that takes traces.
#[derive(Debug)]
pub(super) struct OtlpCollector {
    /// Host and port.
    authority: String,
    path: String,
}

impl OtlpCollector {
    /// Reads the address of a collector.
    pub(super) fn at(endpoint: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{endpoint}` is not the address of a collector, such as `http://collector:4318`");
        let uri: hyper::Uri = endpoint.parse().map_err(|_| wrong())?;
        let (Some("http"), Some(host)) = (uri.scheme_str(), uri.host()) else { return Err(wrong()) };
        let authority = format!("{host}:{}", uri.port_u16().unwrap_or(4318));
        let path = match uri.path() {
            "" | "/" => "/v1/traces".to_owned(),
            path => path.to_owned(),
        };
        Ok(Self { authority, path })
    }

    /// Sends `body`.
    pub(super) async fn send(&self, body: String) -> Result<(), ()> {
        let sent = tokio::time::timeout(COLLECTOR_TIMEOUT, self.try_to_send(body)).await;
        sent.map_err(|_| ())?
    }

    async fn try_to_send(&self, body: String) -> Result<(), ()> {
        let stream = TcpStream::connect(&self.authority).await.map_err(|_| ())?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|_| ())?;
        let request = Request::post(&self.path)
            .header("host", &self.authority)
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body)))
            .map_err(|_| ())?;
        tokio::spawn(connection);
        let answer = sender.send_request(request).await.map_err(|_| ())?;
        if answer.status().is_success() { Ok(()) } else { Err(()) }
    }
}
