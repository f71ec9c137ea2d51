//! HTTP calls that rules make: only to hosts that the operator allows, and never to loopback addresses or to the
//! metadata service of a cloud.
//!
//! A host is resolved once, its addresses are checked, and the connection is made to the address that was checked, so
//! that a second DNS answer cannot change it. Redirects are not followed.

pub(crate) mod address;
pub(crate) mod url;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderName, HeaderValue, USER_AGENT};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use kubewright_engine::{ApiCall, ServiceCall};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use self::url::ServiceUrl;

/// How large an answer may be.
pub(crate) const MAX_SERVICE_ANSWER_BYTES: usize = 2 << 20;

/// Headers that are ours to write, or that would make another request of it.
const RESERVED_HEADERS: [&str; 8] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "upgrade",
    "te",
    "trailer",
    "proxy-authorization",
];

/// Where systems keep the certificates that everybody believes.
const SYSTEM_CA_FILES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
];

/// Calls services.
#[derive(Debug)]
pub(crate) struct Services {
    allowed: Vec<AllowedHost>,
    /// Which addresses are never called.
    is_forbidden: fn(IpAddr) -> bool,
}

/// A host that may be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AllowedHost {
    is_tls: bool,
    host: String,
    /// Any, where it is not said.
    port: Option<u16>,
}

/// What a service answered.
#[derive(Debug)]
pub(crate) struct ServiceAnswer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Services {
    /// `hosts` are written `host`, `host:port` or `https://host`; only with `http://` it may be without TLS.
    pub(crate) fn new(hosts: &[String]) -> Self {
        let allowed = hosts.iter().filter_map(|host| AllowedHost::parse(host)).collect();
        Self { allowed, is_forbidden: address::is_forbidden }
    }

    /// Calls what `call` says.
    ///
    /// # Errors
    /// When it may not be called, or does not answer.
    pub(crate) async fn call(&self, call: &ApiCall) -> Result<ServiceAnswer, String> {
        let url = ServiceUrl::parse(&call.url)?;
        if !self.allowed.iter().any(|allowed| allowed.is(&url)) {
            let host = &url.host;
            return Err(format!(
                "the service `{host}` may not be called: `--allow-host {}` would allow it",
                if url.is_tls { host.clone() } else { format!("http://{host}") }
            ));
        }
        let address = self.resolve(&url).await?;
        let unreachable = |error: &dyn std::fmt::Display| format!("cannot reach `{}`: {error}", url.host);
        let tcp = TcpStream::connect(address).await.map_err(|error| unreachable(&error))?;
        let usual = ServiceCall::default();
        let service = call.service.as_deref().unwrap_or(&usual);
        let request = service_request(call, &url, service)?;
        let response = if url.is_tls {
            let connector = TlsConnector::from(Arc::new(client_tls_config(&service.ca_bundle)?));
            let name = ServerName::try_from(url.host.clone()).map_err(|error| unreachable(&error))?;
            let stream = connector.connect(name, tcp).await.map_err(|error| unreachable(&error))?;
            send_http1(stream, request).await
        } else {
            send_http1(tcp, request).await
        };
        read_service_answer(response.map_err(|error| unreachable(&error))?).await
    }

    /// Resolves the host. If any of several addresses is forbidden, the call is refused: it may be a rebinding attack.
    async fn resolve(&self, url: &ServiceUrl) -> Result<SocketAddr, String> {
        let found = match url.host.parse::<IpAddr>() {
            Ok(address) => vec![SocketAddr::new(address, url.port)],
            Err(_) => {
                let found = tokio::net::lookup_host((url.host.as_str(), url.port)).await;
                found.map_err(|error| format!("cannot resolve `{}`: {error}", url.host))?.collect()
            }
        };
        if let Some(address) = found.iter().find(|address| (self.is_forbidden)(address.ip())) {
            return Err(format!("`{}` is at {}, which is never called", url.host, address.ip()));
        }
        found.first().copied().ok_or_else(|| format!("`{}` has no address", url.host))
    }
}

impl AllowedHost {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (is_tls, rest) = match text.split_once("://") {
            Some(("http", rest)) => (false, rest),
            Some(("https", rest)) => (true, rest),
            Some(_) => return None,
            None => (true, text),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (host, port) = url::host_and_port(rest)?;
        Some(Self { is_tls, host, port })
    }

    /// Returns whether it may be called without TLS.
    pub(crate) fn is_plain(&self) -> bool {
        !self.is_tls
    }

    pub(crate) fn is(&self, url: &ServiceUrl) -> bool {
        self.host == url.host && (url.is_tls || !self.is_tls) && self.port.is_none_or(|port| port == url.port)
    }
}

fn service_request(
    call: &ApiCall,
    url: &ServiceUrl,
    service: &ServiceCall,
) -> Result<Request<Full<Bytes>>, String> {
    let method = match call.method.as_str() {
        "GET" => Method::GET,
        "POST" => Method::POST,
        other => return Err(format!("method `{other}` is not supported: use GET or POST")),
    };
    let mut request = Request::builder()
        .method(method)
        .uri(&url.target)
        .header(HOST, url.authority())
        .header(USER_AGENT, concat!("kubewright/", env!("CARGO_PKG_VERSION")))
        .header(ACCEPT, "application/json");
    if !call.data.is_empty() {
        request = request.header(CONTENT_TYPE, "application/json");
    }
    let body = Full::new(Bytes::from(call.data.to_string()));
    let mut request = request.body(body).map_err(|error| format!("`{}`: {error}", call.url))?;
    for (key, value) in &service.headers {
        if RESERVED_HEADERS.contains(&key.to_lowercase().as_str()) {
            return Err(format!("rules may not set the header `{key}`"));
        }
        let name = HeaderName::from_bytes(key.as_bytes())
            .map_err(|_| format!("`{key}` is not a valid header name"))?;
        let value =
            HeaderValue::from_str(value).map_err(|_| format!("the value of header `{key}` is not valid"))?;
        request.headers_mut().insert(name, value);
    }
    Ok(request)
}

pub(crate) fn client_tls_config(ca_bundle: &str) -> Result<ClientConfig, String> {
    let system =
        || SYSTEM_CA_FILES.iter().find_map(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
    let text = if ca_bundle.is_empty() { system() } else { ca_bundle.to_owned() };
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(CertificateDer::pem_slice_iter(text.as_bytes()).flatten());
    if roots.is_empty() {
        return Err("no CA certificate to verify the service with: set `caBundle`".to_owned());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| format!("TLS cannot be used: {error}"))?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

pub(crate) async fn send_http1(
    stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static,
    request: Request<Full<Bytes>>,
) -> Result<Response<hyper::body::Incoming>, io::Error> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    // It ends with the answer.
    tokio::spawn(connection);
    sender.send_request(request).await.map_err(io::Error::other)
}

async fn read_service_answer(response: Response<hyper::body::Incoming>) -> Result<ServiceAnswer, String> {
    let status = response.status().as_u16();
    let mut body = response.into_body();
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| format!("the answer broke off: {error}"))?;
        let data = frame.data_ref().map(Bytes::as_ref).unwrap_or_default();
        if bytes.len() + data.len() > MAX_SERVICE_ANSWER_BYTES {
            return Err(format!("the answer is larger than {MAX_SERVICE_ANSWER_BYTES} bytes"));
        }
        bytes.extend_from_slice(data);
    }
    let body = String::from_utf8(bytes).map_err(|_| "the answer is not UTF-8".to_owned())?;
    Ok(ServiceAnswer { status, body })
}

#[cfg(test)]
mod tests;
