//! The server: connections, and the way of one request.

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{
    ACCEPT_ENCODING, ALLOW, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_TYPE, HeaderValue, LOCATION, VARY,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use crate::answers::AnswerPool;
use crate::assets::{PageAsset, find_asset, start_page};
use crate::check::{AllowedHosts, check_host, check_post};
use crate::events::EventBody;
use crate::headers::add_security_headers;
use crate::nonce::NonceSource;
use crate::routes::{RouteMatch, find_route, read_query};
use crate::slow::TimedStream;
use crate::{API_PREFIX, MAX_PAGE_REQUEST_BYTES, PageAnswer, PageApi, PageContent, PageMethod, PageRequest};

/// How many connections are served at once; more wait in the backlog of the system.
const MAX_CONNECTIONS: usize = 128;

/// How long a request may take to be sent, without its body; also how long a connection may be idle.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a body may take to be sent.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a client may take nothing of what it asked for.
const WRITE_TIMEOUT: Duration = Duration::from_secs(20);

/// How long an answer may take: as long as the API server waits for a webhook by default.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the start page waits for what it shows first.
const START_TIMEOUT: Duration = Duration::from_millis(300);

/// Room for objects and rules that nest as deep as the readers allow.
const STACK_BYTES: usize = 16 << 20;

/// How the page is served.
#[derive(Debug, Clone)]
pub struct PageSettings {
    /// The hosts besides loopback by which the page may be asked for.
    pub hosts: Vec<String>,
    /// Whether loopback names may come with any port, because the page is reached through a tunnel.
    pub is_tunnelled: bool,
    /// The path below which everything is, such as `/ui`; empty for the root.
    pub prefix: String,
    /// How long an answer may take.
    pub answer_timeout: Duration,
    /// How long a client may take to send headers, a body, or to take anything of an answer.
    pub client_timeout: Option<Duration>,
}

impl Default for PageSettings {
    fn default() -> Self {
        Self {
            hosts: Vec::new(),
            is_tunnelled: false,
            prefix: String::new(),
            answer_timeout: ANSWER_TIMEOUT,
            client_timeout: None,
        }
    }
}

/// Serves the page on `listener` until the process is told to stop.
///
/// # Errors
/// When no thread can be started or the listener cannot be used.
pub fn run_page(listener: TcpListener, settings: PageSettings, api: Arc<dyn PageApi>) -> io::Result<()> {
    let runtime = page_runtime()?;
    runtime.block_on(async {
        let stopped = stop_signal()?;
        tokio::select! {
            served = accept_page_connections(listener, settings, api) => served,
            () = stopped => Ok(()),
        }
    })?;
    // Answers under way have their deadline; nothing is lost with them.
    runtime.shutdown_background();
    Ok(())
}

/// Serves the page on `listener` for as long as the process lives, on threads of its own.
///
/// # Errors
/// When no thread can be started.
pub fn spawn_page(listener: TcpListener, settings: PageSettings, api: Arc<dyn PageApi>) -> io::Result<()> {
    let runtime = page_runtime()?;
    let thread = thread::Builder::new().name("page".to_owned());
    thread.spawn(move || runtime.block_on(accept_page_connections(listener, settings, api)))?;
    Ok(())
}

fn page_runtime() -> io::Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(1).thread_stack_size(STACK_BYTES).thread_name("page").enable_all().build()
}

/// Returns a future that is done when the process is told to stop. Signals are caught from now on.
#[cfg(unix)]
fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

#[cfg(not(unix))]
fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}

async fn accept_page_connections(
    listener: TcpListener,
    settings: PageSettings,
    api: Arc<dyn PageApi>,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let hosts =
        AllowedHosts { port: (!settings.is_tunnelled).then_some(port), names: settings.hosts.clone() };
    let server = Arc::new(PageServer {
        settings,
        hosts,
        nonces: NonceSource::default(),
        answers: AnswerPool::new(api),
    });
    let first = Arc::clone(&server);
    // What the page shows first is made while the browser starts.
    tokio::spawn(async move { first.start_text().await });
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return Ok(()) };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let server = Arc::clone(&server);
        tokio::spawn(async move {
            server.serve(stream).await;
            drop(place);
        });
    }
}

type PageResponse = Response<BoxBody<Bytes, Infallible>>;

struct PageServer {
    settings: PageSettings,
    hosts: AllowedHosts,
    nonces: NonceSource,
    answers: AnswerPool,
}

impl PageServer {
    async fn serve(&self, stream: TcpStream) {
        // Answers are written at once; waiting for more would only delay them.
        let _ = stream.set_nodelay(true);
        let stream = TimedStream::new(stream, self.settings.client_timeout.unwrap_or(WRITE_TIMEOUT));
        let service = service_fn(|request| async move { Ok::<_, Infallible>(self.respond(request).await) });
        let mut server = http1::Builder::new();
        server
            .timer(TokioTimer::new())
            .header_read_timeout(self.settings.client_timeout.unwrap_or(HEADER_TIMEOUT))
            .max_buf_size(64 << 10);
        // A client that breaks the protocol or goes away ends its own connection.
        let _ = server.serve_connection(TokioIo::new(stream), service).await;
    }

    async fn respond(&self, request: Request<Incoming>) -> PageResponse {
        let is_head = request.method() == Method::HEAD;
        let mut response = match self.route(request).await {
            Ok(response) => response,
            Err(refusal) => {
                let mut response = content_response(refusal);
                // What is left of a refused body is not read.
                response.headers_mut().insert(hyper::header::CONNECTION, HeaderValue::from_static("close"));
                add_security_headers(response.headers_mut(), None, false);
                response
            }
        };
        if is_head {
            *response.body_mut() = Full::default().boxed();
        }
        response
    }

    async fn route(&self, request: Request<Incoming>) -> Result<PageResponse, PageContent> {
        check_host(request.headers(), &self.hosts)?;
        let path = request.uri().path().to_owned();
        let Some(path) = path.strip_prefix(self.settings.prefix.as_str()) else {
            return Err(not_found(&path));
        };
        if path.is_empty() {
            return Ok(redirect_to(&format!("{}/", self.settings.prefix)));
        }
        if let Some(path) = path.strip_prefix(API_PREFIX).filter(|path| path.starts_with('/')) {
            let mut response = self.call(path, request).await?;
            add_security_headers(response.headers_mut(), None, false);
            return Ok(response);
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return Err(PageContent::error(405, "only GET is answered here", None));
        }
        self.asset(path, request.headers()).await
    }

    /// Answers a request for a file of the page.
    async fn asset(&self, path: &str, headers: &HeaderMap) -> Result<PageResponse, PageContent> {
        let name = path.trim_start_matches('/');
        if name.is_empty() || name == "index.html" {
            let nonce = self.nonces.next();
            let page = start_page(&nonce, &self.start_text().await).ok_or_else(|| not_found(path))?;
            return Ok(asset_response(page, Some(&nonce)));
        }
        let asset = find_asset(name, accepts_gzip(headers)).ok_or_else(|| not_found(path))?;
        Ok(asset_response(asset, None))
    }

    /// Returns what `/start` answers, so that the page need not ask for it; empty where it is late or fails, because then the
    /// page asks and says why.
    async fn start_text(&self) -> String {
        let RouteMatch::Route(route, parameters) =
            find_route(self.answers.api().routes(), PageMethod::Get, "/start")
        else {
            return String::new();
        };
        let deadline = Instant::now() + self.settings.answer_timeout;
        let request = PageRequest { route, parameters, query: Vec::new(), body: Bytes::new(), deadline };
        match tokio::time::timeout(START_TIMEOUT, self.answers.answer(request)).await {
            Ok(PageAnswer::Content(content)) if content.status == 200 => {
                String::from_utf8_lossy(&content.body).into_owned()
            }
            _ => String::new(),
        }
    }

    /// Answers a request of the API.
    async fn call(&self, path: &str, request: Request<Incoming>) -> Result<PageResponse, PageContent> {
        let method = match *request.method() {
            Method::GET | Method::HEAD => PageMethod::Get,
            Method::POST => PageMethod::Post,
            _ => return Ok(other_method(path)),
        };
        let (route, parameters) = match find_route(self.answers.api().routes(), method, path) {
            RouteMatch::Route(route, parameters) => (route, parameters),
            RouteMatch::OtherMethod => return Ok(other_method(path)),
            RouteMatch::Missing => return Err(not_found(path)),
        };
        let query = read_query(request.uri().query().unwrap_or_default());
        let body = match method {
            PageMethod::Get => Bytes::new(),
            PageMethod::Post => {
                check_post(request.headers())?;
                self.read_body(request.into_body()).await?
            }
        };
        let deadline = Instant::now() + self.settings.answer_timeout;
        let answer = self.answers.answer(PageRequest { route, parameters, query, body, deadline }).await;
        Ok(match answer {
            PageAnswer::Content(content) => content_response(content),
            PageAnswer::Events(events) => {
                let mut response = Response::new(EventBody::new(events).boxed());
                response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
                response
            }
        })
    }

    async fn read_body(&self, body: Incoming) -> Result<Bytes, PageContent> {
        let reading = Limited::new(body, MAX_PAGE_REQUEST_BYTES).collect();
        match tokio::time::timeout(self.settings.client_timeout.unwrap_or(BODY_TIMEOUT), reading).await {
            Ok(Ok(collected)) => Ok(collected.to_bytes()),
            Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
                let most = MAX_PAGE_REQUEST_BYTES >> 20;
                let message = format!(
                    "the texts have more than {most} MiB, which the page does not judge; use the command line"
                );
                Err(PageContent::error(413, &message, None))
            }
            Ok(Err(_)) => Err(PageContent::error(400, "the body ended early", None)),
            Err(_) => Err(PageContent::error(408, "the body took too long to arrive", None)),
        }
    }
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        is_gzip && !parts.any(|part| ["q=0", "q=0.0", "q=0.00", "q=0.000"].contains(&part))
    })
}

fn asset_response(asset: PageAsset, nonce: Option<&str>) -> PageResponse {
    let mut response = Response::new(Full::new(asset.body).boxed());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(asset.content_type));
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    if asset.is_compressed {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    add_security_headers(headers, nonce, asset.is_immutable);
    response
}

fn content_response(content: PageContent) -> PageResponse {
    let mut response = Response::new(Full::new(content.body).boxed());
    *response.status_mut() =
        StatusCode::from_u16(content.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content.content_type));
    let saved = content
        .download
        .and_then(|name| HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")).ok());
    if let Some(saved) = saved {
        response.headers_mut().insert(CONTENT_DISPOSITION, saved);
    }
    response
}

fn redirect_to(path: &str) -> PageResponse {
    let mut response = Response::new(Full::default().boxed());
    *response.status_mut() = StatusCode::PERMANENT_REDIRECT;
    if let Ok(location) = HeaderValue::from_str(path) {
        response.headers_mut().insert(LOCATION, location);
    }
    add_security_headers(response.headers_mut(), None, false);
    response
}

fn not_found(path: &str) -> PageContent {
    PageContent::error(404, &format!("there is nothing at `{path}`"), None)
}

fn other_method(path: &str) -> PageResponse {
    let message = format!("`{path}` is not answered for this method");
    let mut response = content_response(PageContent::error(405, &message, None));
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD, POST"));
    response
}
