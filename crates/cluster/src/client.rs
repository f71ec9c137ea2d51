//! Calls to the API server.
//!
//! HTTP/1.1 over connections that are kept and used again; a watch has one of its own. Nothing is sent that was not
//! an [`ApiPath`], whose parts are looked at once more before they go out.

mod address;
mod body;
mod chunks;
mod connection;
mod lines;
mod list;
mod proxy;
mod session;
mod socks;
mod throttle;
mod tls;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::Method;
use kubewright_k8s::ApiPath;
use kubewright_value::{Text, Value, json};
pub use lines::WatchLines;
pub use list::ListEnd;
pub(crate) use list::{ListRequest, keep_only_metadata};

use self::address::ApiServerAddress;
use self::connection::{ApiAnswer, ConnectionPool, HttpCall};
use self::session::SessionSource;
use self::throttle::CallDeadline;
use crate::watcher::WatchListSupport;
use crate::{Config, Error};

const JSON_CONTENT_TYPE: &str = "application/json";

/// Calls the API server. A clone shares its connections.
#[derive(Debug, Clone)]
pub struct Client {
    shared: Arc<ClientShared>,
    limits: CallLimits,
}

#[derive(Debug)]
struct ClientShared {
    namespace: String,
    address: ApiServerAddress,
    sessions: SessionSource,
    connections: ConnectionPool,
    is_gzip_accepted: bool,
    watch_lists: WatchListSupport,
}

/// What one call may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLimits {
    /// How long one attempt may take.
    pub time: Duration,
    /// How many bytes the answer, or one event of a watch, may have; decompressed, where it was compressed.
    pub size: usize,
    /// How much longer the whole call may take because the API server asks to come back later: 429, or 503 with
    /// `Retry-After`. With zero, `time` is the limit of the whole call, with waits
    /// and a login by a credential plugin.
    pub throttle_wait: Duration,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self { time: Duration::from_secs(30), size: 64 << 20, throttle_wait: Duration::from_secs(60) }
    }
}

/// All objects at one address.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ObjectList {
    /// The objects, each with its `apiVersion` and `kind`.
    pub items: Vec<Value>,
    /// The version from which a watch goes on.
    pub version: Text,
}

/// How an object is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchType<'p> {
    /// RFC 7386: the given parts replace those of the object.
    Merge,
    /// RFC 6902: a list of steps.
    Json,
    /// Server-side apply.
    Apply {
        /// On whose behalf.
        manager: &'p str,
        /// Whether fields of others are taken over.
        force: bool,
    },
}

impl Client {
    /// Makes a client; nothing is sent yet.
    ///
    /// # Errors
    /// When the address is none.
    pub fn new(config: Config) -> Result<Self, Error> {
        let address = ApiServerAddress::parse(&config.server, config.proxy.clone())?;
        let shared = ClientShared {
            namespace: config.namespace.clone(),
            address,
            is_gzip_accepted: config.is_gzip_accepted,
            sessions: SessionSource::new(config),
            connections: ConnectionPool::default(),
            watch_lists: WatchListSupport::default(),
        };
        Ok(Self { shared: Arc::new(shared), limits: CallLimits::default() })
    }

    /// Returns the same client with other limits.
    #[must_use]
    pub fn limited(&self, limits: CallLimits) -> Self {
        Self { shared: Arc::clone(&self.shared), limits }
    }

    /// Returns the default namespace.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.shared.namespace
    }

    /// Returns what one call may cost.
    #[must_use]
    pub fn limits(&self) -> CallLimits {
        self.limits
    }

    /// Returns where the API server is known not to send lists as watches.
    pub(crate) fn watch_lists(&self) -> &WatchListSupport {
        &self.shared.watch_lists
    }

    /// Returns the address of the API server.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.shared.address.text
    }

    /// Reads an object, or one page of a list.
    ///
    /// # Errors
    /// When there is none, or no answer.
    pub async fn get(&self, path: &ApiPath) -> Result<Value, Error> {
        self.value(Method::GET, path, JSON_CONTENT_TYPE, None).await
    }

    /// Makes an object.
    ///
    /// # Errors
    /// When the API server refuses it: 409 if it is there already.
    pub async fn create(&self, path: &ApiPath, object: &Value) -> Result<Value, Error> {
        self.value(Method::POST, path, JSON_CONTENT_TYPE, Some((JSON_CONTENT_TYPE, object))).await
    }

    /// Replaces an object.
    ///
    /// # Errors
    /// When the API server refuses it: 409 if it names another version than the stored one.
    pub async fn replace(&self, path: &ApiPath, object: &Value) -> Result<Value, Error> {
        self.value(Method::PUT, path, JSON_CONTENT_TYPE, Some((JSON_CONTENT_TYPE, object))).await
    }

    /// Changes an object, or makes it by applying.
    ///
    /// # Errors
    /// When the API server refuses it.
    pub async fn patch(&self, path: &ApiPath, patch: PatchType<'_>, body: &Value) -> Result<Value, Error> {
        match patch {
            PatchType::Merge => {
                self.value(
                    Method::PATCH,
                    path,
                    JSON_CONTENT_TYPE,
                    Some(("application/merge-patch+json", body)),
                )
                .await
            }
            PatchType::Json => {
                self.value(
                    Method::PATCH,
                    path,
                    JSON_CONTENT_TYPE,
                    Some(("application/json-patch+json", body)),
                )
                .await
            }
            PatchType::Apply { manager, force } => {
                let mut path = path.clone();
                path.query.push(("fieldManager".into(), manager.into()));
                path.query.push(("force".into(), if force { "true" } else { "false" }.into()));
                // What is YAML may be JSON_CONTENT_TYPE.
                self.value(
                    Method::PATCH,
                    &path,
                    JSON_CONTENT_TYPE,
                    Some(("application/apply-patch+yaml", body)),
                )
                .await
            }
        }
    }

    /// Deletes an object.
    ///
    /// # Errors
    /// When it is not there, or the API server refuses.
    pub async fn delete(&self, path: &ApiPath) -> Result<Value, Error> {
        self.value(Method::DELETE, path, JSON_CONTENT_TYPE, None).await
    }

    /// Calls `path` with `method` and a body of JSON_CONTENT_TYPE, if any, and returns what was answered as it is.
    ///
    /// # Errors
    /// When it is not answered with success.
    pub async fn raw(&self, method: &str, path: &ApiPath, body: Option<&Value>) -> Result<String, Error> {
        let method = Method::from_bytes(method.as_bytes())
            .map_err(|_| Error::Config(format!("`{method}` is not an HTTP method")))?;
        self.text(method, path, "*/*", body.map(|body| (JSON_CONTENT_TYPE, body))).await
    }

    /// Reads an object in the form that `accept` names.
    pub(crate) async fn get_as(&self, path: &ApiPath, accept: &'static str) -> Result<Value, Error> {
        self.value(Method::GET, path, accept, None).await
    }

    /// Watches `path`, whose query says from where on: every line is an event. Nothing for as long as `idle` is an error.
    ///
    /// # Errors
    /// When the API server refuses or does not answer.
    pub async fn watch(&self, path: &ApiPath, idle: Duration) -> Result<WatchLines, Error> {
        self.watch_as(path, false, idle).await
    }

    async fn value(
        &self,
        method: Method,
        path: &ApiPath,
        accept: &'static str,
        body: Option<(&'static str, &Value)>,
    ) -> Result<Value, Error> {
        let text = self.text(method, path, accept, body).await?;
        json::parse(&text).map_err(|error| Error::Unreadable(error.to_string()))
    }

    async fn text(
        &self,
        method: Method,
        path: &ApiPath,
        accept: &'static str,
        body: Option<(&'static str, &Value)>,
    ) -> Result<String, Error> {
        let mut call = self.call(method, path, accept, body)?;
        call.is_gzip_accepted = self.shared.is_gzip_accepted && call.method == Method::GET;
        let (answer, deadline) = self.answer_by_deadline(&call, false).await?;
        let text = tokio::time::timeout_at(deadline, answer.text(self.limits.size, self.server())).await;
        let (text, connection) = text.map_err(|_| Error::TimedOut(self.limits.time))??;
        self.shared.connections.keep(connection);
        Ok(text)
    }

    fn call(
        &self,
        method: Method,
        path: &ApiPath,
        accept: &'static str,
        body: Option<(&'static str, &Value)>,
    ) -> Result<HttpCall, Error> {
        Ok(HttpCall {
            method,
            target: self.shared.address.target(path)?,
            accept,
            is_gzip_accepted: false,
            content_type: body.map(|(kind, _)| kind),
            body: body.map(|(_, value)| Bytes::from(json::to_string(value))).unwrap_or_default(),
        })
    }

    /// Sends `call` and waits for the head of a successful answer, as often and as long as the limits allow.
    async fn answer(&self, call: &HttpCall, is_own: bool) -> Result<ApiAnswer, Error> {
        Ok(self.answer_by_deadline(call, is_own).await?.0)
    }

    /// Returns an answer as [`Self::answer`] does, and until when its body must have been read.
    async fn answer_by_deadline(
        &self,
        call: &HttpCall,
        is_own: bool,
    ) -> Result<(ApiAnswer, tokio::time::Instant), Error> {
        // The user may have to type a password, so the login is not a part of a call without a strict limit.
        if !self.limits.throttle_wait.is_zero() {
            self.shared.sessions.logged_in().await?;
        }
        let mut deadline = CallDeadline::new(&self.limits);
        loop {
            let attempt_end = deadline.of_attempt();
            match tokio::time::timeout_at(attempt_end, self.answer_once(call, is_own)).await {
                Ok(Ok(answer)) => return Ok((answer, attempt_end)),
                Ok(Err(error)) => deadline.wait_for_retry(&call.method, error).await?,
                Err(_) => return Err(Error::TimedOut(self.limits.time)),
            }
        }
    }

    /// Sends `call` once. A login that is refused is read once more: the token may have been replaced since.
    async fn answer_once(&self, call: &HttpCall, is_own: bool) -> Result<ApiAnswer, Error> {
        let ClientShared { address, sessions, connections, .. } = &*self.shared;
        let session = sessions.current().await?;
        let answer = connections.send(call, address, &session, is_own).await?;
        let answer = match answer.code() {
            401 => match sessions.renewed(&session).await? {
                Some(session) => {
                    connections.forget();
                    connections.send(call, address, &session, is_own).await?
                }
                None => answer,
            },
            _ => answer,
        };
        if answer.response.status().is_success() {
            return Ok(answer);
        }
        let (status, connection) = answer.refusal(&address.text).await?;
        connections.keep(connection);
        Err(status.into())
    }
}
