//! A server in this process, and a small client for it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper_util::rt::{TokioExecutor, TokioIo};
use kubewright_serve::log::Log;
use kubewright_serve::{Notice, ServeSettings, ServerState, Snapshot, WebhookServer};
use kubewright_value::{Source, Value, json, yaml};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot};
use tokio_rustls::client::TlsStream;

/// A server in this process. It stops when it is dropped.
pub(crate) struct Running {
    pub(crate) runtime: Runtime,
    pub(crate) state: Arc<ServerState>,
    pub(crate) address: SocketAddr,
    pub(crate) health: SocketAddr,
    pub(crate) notices: mpsc::Receiver<Vec<Notice>>,
    pub(crate) ended: Option<oneshot::Receiver<()>>,
    stop: Option<oneshot::Sender<()>>,
    authority: CertificateDer<'static>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: hyper::HeaderMap,
    pub(crate) text: String,
}

impl Response {
    /// Returns the `response` of the AdmissionReview.
    #[track_caller]
    pub(crate) fn review(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text);
        let review = json::parse(&self.text).expect("JSON");
        review.get("response").cloned().expect("a response")
    }

    pub(crate) fn is_allowed(&self) -> bool {
        self.review().get("allowed").and_then(Value::as_bool).expect("a verdict")
    }

    pub(crate) fn message(&self) -> String {
        let review = self.review();
        review.str_at(&["status", "message"]).to_owned()
    }

    /// Returns the patch, decoded.
    pub(crate) fn patch(&self) -> Option<Value> {
        use base64::Engine as _;
        let review = self.review();
        let text = review.get("patch")?.as_str()?;
        let bytes = base64::engine::general_purpose::STANDARD.decode(text).expect("base64");
        Some(json::parse(&String::from_utf8(bytes).expect("text")).expect("JSON"))
    }
}

/// Returns the rules in `text`, a stream of YAML documents.
pub(crate) fn snapshot(text: &str) -> Snapshot {
    let documents = yaml::read(&Source::new("rules.yaml", text)).documents;
    Snapshot::of(&kubewright_dialects::DialectOptions::default(), &[], &documents, 1)
}

impl Running {
    /// Serves the rules in `text`.
    pub(crate) fn with_rules(text: &str) -> Self {
        Self::start(snapshot(text), |_| {})
    }

    /// Serves `snapshot`; `change` may do so before the server starts.
    pub(crate) fn start(snapshot: Snapshot, change: impl FnOnce(&mut ServerState)) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("threads");
        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        let settings = ServeSettings {
            address: loopback,
            health_address: loopback,
            drain: Duration::from_millis(300),
            ..ServeSettings::default()
        };
        let (sender, notices) = mpsc::channel(100);
        let mut state = ServerState::new(settings, sender);
        // What is told is looked at where it matters.
        state.log = Log::captured(kubewright_serve::log::LogLevel::Error).0;
        change(&mut state);
        state.snapshot.store(Arc::new(snapshot));
        let state = Arc::new(state);
        let server = WebhookServer::bind(Arc::clone(&state)).expect("addresses");
        let (address, health) = (server.address().expect("one"), server.health_address().expect("one"));
        let (stop, stopped) = oneshot::channel::<()>();
        let (end, ended) = oneshot::channel();
        let (certified, authority) = certificate();
        runtime.spawn(async move {
            let stopped = async move { _ = stopped.await };
            server.serve(Arc::new(SingleCertAndKey::from(certified)), stopped).await.expect("to serve");
            let _ = end.send(());
        });
        Self { runtime, state, address, health, notices, ended: Some(ended), stop: Some(stop), authority }
    }

    /// Asks the server to stop.
    pub(crate) fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }

    /// Returns what stops the server when it is dropped.
    pub(crate) fn take_stop(&mut self) -> impl Send + use<> {
        self.stop.take()
    }

    /// Sends `body` to `path`.
    pub(crate) fn post(&self, path: &str, body: impl Into<Bytes>) -> Response {
        let body = body.into();
        self.runtime.block_on(async { self.client(b"h2").await.post(path, body).await })
    }

    /// Connects with `protocol`, `h2` or `http/1.1`.
    pub(crate) async fn client(&self, protocol: &[u8]) -> Client {
        Client::over(self.tls(protocol).await.expect("a connection"), protocol).await
    }

    /// Connects with TLS, and says nothing yet.
    pub(crate) async fn tls(&self, protocol: &[u8]) -> std::io::Result<TlsStream<TcpStream>> {
        self.tls_of(protocol, &rustls::version::TLS13).await
    }

    /// Connects with one version of TLS.
    pub(crate) async fn tls_of(
        &self,
        protocol: &[u8],
        version: &'static rustls::SupportedProtocolVersion,
    ) -> std::io::Result<TlsStream<TcpStream>> {
        let stream = TcpStream::connect(self.address).await?;
        self.handshake(stream, protocol, version).await
    }

    /// Speaks TLS over a connection.
    pub(crate) fn tls_over(
        &self,
        stream: TcpStream,
        protocol: &[u8],
    ) -> impl Future<Output = std::io::Result<TlsStream<TcpStream>>> + Send + use<> {
        self.handshake(stream, protocol, &rustls::version::TLS13)
    }

    fn handshake(
        &self,
        stream: TcpStream,
        protocol: &[u8],
        version: &'static rustls::SupportedProtocolVersion,
    ) -> impl Future<Output = std::io::Result<TlsStream<TcpStream>>> + Send + use<> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(self.authority.clone()).expect("an authority");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut configuration = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[version])
            .expect("a version")
            .with_root_certificates(roots)
            .with_no_client_auth();
        configuration.alpn_protocols = vec![protocol.to_vec()];
        let connector = tokio_rustls::TlsConnector::from(Arc::new(configuration));
        connector.connect(ServerName::try_from("localhost").expect("a name"), stream)
    }

    /// Asks the health port.
    pub(crate) fn get_health(&self, path: &str) -> Response {
        self.runtime.block_on(async {
            let stream = TcpStream::connect(self.health).await.expect("a connection");
            let made = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
            let (mut sender, connection) = made.expect("HTTP/1.1");
            tokio::spawn(connection);
            let request = Request::get(path).header("host", "localhost").body(Full::<Bytes>::default());
            response(sender.send_request(request.expect("a request")).await.expect("an answer")).await
        })
    }

    /// Returns the number behind the sample `name` of the metrics.
    pub(crate) fn metric(&self, name: &str) -> f64 {
        let text = self.get_health("/metrics").text;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().expect("a number")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A connection.
pub(crate) enum Client {
    One(hyper::client::conn::http1::SendRequest<Full<Bytes>>),
    Two(hyper::client::conn::http2::SendRequest<Full<Bytes>>),
}

impl Client {
    /// Speaks `protocol`, `h2` or `http/1.1`, over a connection.
    pub(crate) async fn over(stream: TlsStream<TcpStream>, protocol: &[u8]) -> Self {
        if protocol == b"h2" {
            let made =
                hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
            let (sender, connection) = made.expect("HTTP/2");
            tokio::spawn(connection);
            Self::Two(sender)
        } else {
            let made = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
            let (sender, connection) = made.expect("HTTP/1.1");
            tokio::spawn(connection);
            Self::One(sender)
        }
    }

    pub(crate) async fn post(&mut self, path: &str, body: impl Into<Bytes>) -> Response {
        self.send("POST", path, Some("application/json"), body.into()).await.expect("an answer")
    }

    pub(crate) async fn send(
        &mut self,
        method: &str,
        path: &str,
        content_type: Option<&str>,
        body: Bytes,
    ) -> hyper::Result<Response> {
        let uri = match self {
            Self::One(_) => path.to_owned(),
            Self::Two(_) => format!("https://localhost{path}"),
        };
        let mut request = Request::builder().method(method).uri(uri).header("host", "localhost");
        if let Some(content_type) = content_type {
            request = request.header("content-type", content_type);
        }
        let request = request.body(Full::new(body)).expect("a request");
        let answer = match self {
            Self::One(sender) => {
                sender.ready().await?;
                sender.send_request(request).await?
            }
            Self::Two(sender) => {
                sender.ready().await?;
                sender.send_request(request).await?
            }
        };
        Ok(response(answer).await)
    }
}

async fn response(answer: hyper::Response<hyper::body::Incoming>) -> Response {
    let (head, body) = answer.into_parts();
    let bytes = body.collect().await.expect("a body").to_bytes();
    let text = String::from_utf8(bytes.to_vec()).expect("text");
    Response { status: head.status.as_u16(), headers: head.headers, text }
}

/// Waits until `holds`, at most ten seconds.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(10);
    while !holds() {
        assert!(Instant::now() < end, "{what} took too long");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns a review of `operation` on `object`.
pub(crate) fn review(operation: &str, object: &str) -> String {
    review_with(operation, object, "null", "")
}

/// Returns a review with an old object, and `more` fields of the request, each with a comma before it.
pub(crate) fn review_with(operation: &str, object: &str, old: &str, more: &str) -> String {
    let known =
        [object, old].into_iter().find_map(|text| json::parse(text).ok().filter(|value| !value.is_null()));
    let known = known.unwrap_or_default();
    let text = |path: &[&str]| known.str_at(path).to_owned();
    let api = text(&["apiVersion"]);
    let (group, version) = api.split_once('/').unwrap_or(("", &api));
    let (kind, name, namespace) =
        (text(&["kind"]), text(&["metadata", "name"]), text(&["metadata", "namespace"]));
    format!(
        r#"{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{{"uid":"some-uid",
        "kind":{{"group":"{group}","version":"{version}","kind":"{kind}"}},"name":"{name}","namespace":"{namespace}",
        "operation":"{operation}","userInfo":{{"username":"ada","groups":["dev"]}},"object":{object},"oldObject":{old}{more}}}}}"#
    )
}

fn certificate() -> (CertifiedKey, CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("a key");
    let key = rustls::crypto::ring::sign::any_supported_type(&key).expect("a key");
    (CertifiedKey::new(vec![made.cert.der().clone()], key), made.cert.der().clone())
}
