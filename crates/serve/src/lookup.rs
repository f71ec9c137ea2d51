//! Lookups: queries of rules that the watch caches cannot answer.
//!
//! Only a checked [`ApiPath`] is sent to the API server, never a text of a rule. Equal queries of concurrent reviews are
//! sent once. An answer of another service is cached for a second; one about the cluster only for a moment, because a rule must
//! see what was stored before the request that it is asked about.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use kubewright_cluster::{CallLimits, Client, Discovery};
use kubewright_engine::{ApiCall, ImageLookup, Query, WatchedResource};
use kubewright_k8s::{ApiPath, ObjectName};
use kubewright_value::{Map, Value, json};
use tokio::sync::OnceCell;

use crate::registry::{Credentials, Registries};
use crate::services::{MAX_SERVICE_ANSWER_BYTES, Services};
use crate::shared::{SharedEntries, SharedObjects};
use crate::{Looking, Lookup, ServeSettings, Stores};

/// How long an answer is good, and how long one about the cluster.
const ANSWER_TTL: Duration = Duration::from_secs(1);
const CLUSTER_ANSWER_TTL: Duration = Duration::from_millis(40);

/// How many answers are remembered.
const MAX_REMEMBERED_ANSWERS: usize = 1000;

/// API groups in which making an object asks a question and stores nothing.
const REVIEW_GROUPS: [&str; 2] = ["authorization.k8s.io", "authentication.k8s.io"];

/// Asks the cluster.
pub struct ClusterLookup {
    client: Client,
    discovery: Arc<Discovery>,
    services: Services,
    registries: Registries,
    /// The namespace of the pull secrets of policies that are in none: our own.
    namespace: String,
    entries: SharedEntries,
    recent: Mutex<HashMap<Query, RecentAnswer>>,
    /// How long an answer is good.
    answer_ttl: Duration,
}

/// A question that was asked, and perhaps answered.
#[derive(Clone)]
struct RecentAnswer {
    since: Instant,
    answer: Arc<OnceCell<LookupResult>>,
}

type LookupResult = Result<Option<Value>, String>;

impl ClusterLookup {
    /// Asks with `client`, as far as `settings` let it.
    #[must_use]
    pub fn new(
        client: &Client,
        discovery: &Arc<Discovery>,
        stores: &Arc<Stores>,
        settings: &ServeSettings,
    ) -> Self {
        Self::reading(client, discovery, SharedObjects::Watched(Arc::clone(stores)), settings)
    }

    /// Asks with `client`, as far as `settings` let it. The cluster-wide shared entries are `entries`, and stay so.
    #[must_use]
    pub fn with_entries(
        client: &Client,
        discovery: &Arc<Discovery>,
        entries: Vec<(WatchedResource, Value)>,
        settings: &ServeSettings,
    ) -> Self {
        Self::reading(client, discovery, SharedObjects::Listed(entries), settings)
    }

    fn reading(
        client: &Client,
        discovery: &Arc<Discovery>,
        entries: SharedObjects,
        settings: &ServeSettings,
    ) -> Self {
        Self {
            client: client.clone(),
            discovery: Arc::clone(discovery),
            services: Services::new(&settings.allowed_hosts),
            registries: Registries::new(&settings.allowed_registries),
            namespace: settings.namespace.clone(),
            entries: SharedEntries::new(client.clone(), entries, settings),
            recent: Mutex::default(),
            answer_ttl: ANSWER_TTL,
        }
    }

    /// Returns a lookup that asks anew each time, for a caller that remembers answers itself.
    #[must_use]
    pub fn without_memory(self) -> Self {
        Self { answer_ttl: Duration::ZERO, ..self }
    }

    async fn once(&self, query: &Query, deadline: Instant) -> LookupResult {
        let recent = self.recent(query);
        // If the first caller times out, a waiting caller retries; a timeout is never cached.
        let asking = || async {
            match self.ask(query, deadline).await {
                Err(late) if Instant::now() >= deadline => Err(late),
                found => Ok(found),
            }
        };
        recent.answer.get_or_try_init(asking).await?.clone()
    }

    fn recent(&self, query: &Query) -> RecentAnswer {
        let ttl = match query {
            Query::Object(_) | Query::Api(ApiCall { service: None, .. }) => {
                self.answer_ttl.min(CLUSTER_ANSWER_TTL)
            }
            _ => self.answer_ttl,
        };
        let is_good = |known: &&RecentAnswer| {
            let ttl = if known.answer.initialized() { ttl } else { self.answer_ttl };
            known.since.elapsed() < ttl
        };
        let mut all = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.get(query).filter(is_good) {
            return known.clone();
        }
        if all.len() >= MAX_REMEMBERED_ANSWERS {
            all.retain(|_, known| known.since.elapsed() < self.answer_ttl);
        }
        let new = RecentAnswer { since: Instant::now(), answer: Arc::default() };
        if all.len() < MAX_REMEMBERED_ANSWERS {
            all.insert(query.clone(), new.clone());
        }
        new
    }

    async fn ask(&self, query: &Query, deadline: Instant) -> LookupResult {
        match query {
            Query::Object(name) => self.object(name, deadline).await,
            Query::Api(call) => self.call(call, deadline).await,
            Query::Http(call) => {
                let answered = self.services.call(call).await?;
                let body = json::parse(&answered.body).unwrap_or_else(|_| answered.body.as_str().into());
                let status = i64::from(answered.status);
                Ok(Some(Map::from([("statusCode", Value::from(status)), ("body", body)]).into()))
            }
            Query::Image(image) => {
                let credentials = self.credentials(image, deadline).await?;
                self.registries.describe(image, &credentials).await
            }
            Query::Shared(name) => {
                let call = |call: ApiCall| async move { self.call(&call, deadline).await };
                self.entries.get(name, deadline, call).await
            }
        }
    }

    /// Returns what the pull secrets hold that the rule lists, of its own namespace or of ours.
    async fn credentials(&self, image: &ImageLookup, deadline: Instant) -> Result<Credentials, String> {
        let namespace = match image.namespace.as_str() {
            "" => self.namespace.as_str(),
            namespace => namespace,
        };
        let mut credentials = Credentials::default();
        for name in &image.secrets {
            let wrong = |why: &str| format!("the pull secret `{namespace}/{name}` cannot be used: {why}");
            let path = format!("/api/v1/namespaces/{namespace}/secrets/{name}");
            let path = ApiPath::parse(&path).map_err(|error| wrong(&error))?;
            let secret = self.get(&path, deadline).await.map_err(|error| wrong(&error))?;
            let secret = secret.ok_or_else(|| wrong("it does not exist"))?;
            credentials.add(&secret).map_err(|error| wrong(&error))?;
        }
        Ok(credentials)
    }

    async fn object(&self, name: &ObjectName, deadline: Instant) -> LookupResult {
        let ObjectName { group, kind, namespace, name } = name;
        let found = self.discovery.of_kind(group, kind).await.map_err(|error| error.to_string())?;
        let Some(resource) = found else { return Ok(None) };
        // A cluster-scoped object is never found in a namespace.
        if !resource.is_namespaced && !namespace.is_empty() {
            return Ok(None);
        }
        let path = resource.address().named(namespace, name);
        // Its parts are texts of a rule or of an object.
        self.get(&ApiPath::parse(&path.to_string())?, deadline).await
    }

    async fn call(&self, call: &ApiCall, deadline: Instant) -> LookupResult {
        if call.service.is_some() {
            let answered = self.services.call(call).await?;
            return match answered.status {
                200..=299 => {
                    let body = json::parse(&answered.body);
                    body.map(Some).map_err(|error| format!("the answer is not JSON: {error}"))
                }
                404 => Ok(None),
                status => Err(format!("HTTP {status}: {}", answer_start(&answered.body))),
            };
        }
        let Some(path) = &call.path else { return Err(ApiPath::parse(&call.url).err().unwrap_or_default()) };
        match call.method.as_str() {
            "GET" => self.get(path, deadline).await,
            "POST" => self.post(path, call, deadline).await,
            other => Err(format!("method `{other}` is not supported: use GET or POST")),
        }
    }

    async fn get(&self, path: &ApiPath, deadline: Instant) -> LookupResult {
        let answer = self.within(deadline).raw("GET", path, None).await;
        parse_api_answer(answer)
    }

    /// A review must not leave anything behind.
    async fn post(&self, path: &ApiPath, call: &ApiCall, deadline: Instant) -> LookupResult {
        let is_dry = path.query.iter().any(|(key, value)| key == "dryRun" && value == "All");
        if !is_dry && !REVIEW_GROUPS.contains(&path.group.as_str()) {
            return Err("a call may not store anything".to_owned());
        }
        let data = match call.data.as_str() {
            "" => Value::object(Map::new()),
            text => json::parse(text).map_err(|error| format!("what is sent is not JSON: {error}"))?,
        };
        parse_api_answer(self.within(deadline).raw("POST", path, Some(&data)).await)
    }

    fn within(&self, deadline: Instant) -> Client {
        let time = deadline.saturating_duration_since(Instant::now());
        // A throttled call is repeated only within the deadline of the review.
        let limits = CallLimits { time, size: MAX_SERVICE_ANSWER_BYTES, throttle_wait: Duration::ZERO };
        self.client.limited(limits)
    }
}

impl Lookup for ClusterLookup {
    fn look_up<'a>(&'a self, query: &'a Query, deadline: Instant) -> Looking<'a> {
        Box::pin(self.once(query, deadline))
    }
}

impl std::fmt::Debug for ClusterLookup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Live").field("services", &self.services).finish_non_exhaustive()
    }
}

fn parse_api_answer(answer: Result<String, kubewright_cluster::Error>) -> LookupResult {
    match answer {
        Ok(text) => json::parse(&text).map(Some).map_err(|error| format!("the answer is not JSON: {error}")),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

fn answer_start(text: &str) -> String {
    text.chars().take(200).collect()
}
