//! What rules ask for and the caches do not know, asked of the cluster.
//!
//! What is sent to the API server is an [`ApiPath`], the one that was checked, and never a text. The same question of many
//! reviews is asked once, and its answer is good for a second.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use kubewright_cluster::{Client, Discovery, Limits};
use kubewright_engine::{ApiCall, ImageLookup, Query};
use kubewright_k8s::{ApiPath, ObjectName};
use kubewright_value::{Map, Value, json};
use tokio::sync::OnceCell;

use crate::registry::{Credentials, Registries};
use crate::services::{LARGEST, Services};
use crate::shared::Entries;
use crate::{Looking, Lookup, Settings, Stores};

/// How long an answer is good.
const GOOD: Duration = Duration::from_secs(1);

/// How many answers are remembered.
const REMEMBERED: usize = 1000;

/// API groups in which making an object asks a question and stores nothing.
const REVIEWS: [&str; 2] = ["authorization.k8s.io", "authentication.k8s.io"];

/// Asks the cluster.
pub struct Live {
    client: Client,
    discovery: Arc<Discovery>,
    services: Services,
    registries: Registries,
    /// The namespace of the pull secrets of policies that are in none: our own.
    namespace: String,
    entries: Entries,
    recent: Mutex<HashMap<Query, Recent>>,
}

/// A question that was asked, and perhaps answered.
#[derive(Clone)]
struct Recent {
    since: Instant,
    answer: Arc<OnceCell<Found>>,
}

type Found = Result<Option<Value>, String>;

impl Live {
    /// Asks with `client`, as far as `settings` let it.
    #[must_use]
    pub fn new(
        client: &Client,
        discovery: &Arc<Discovery>,
        stores: &Arc<Stores>,
        settings: &Settings,
    ) -> Self {
        Self {
            client: client.clone(),
            discovery: Arc::clone(discovery),
            services: Services::new(&settings.allowed_hosts),
            registries: Registries::new(&settings.allowed_registries),
            namespace: settings.namespace.clone(),
            entries: Entries::new(client.clone(), Arc::clone(stores), settings),
            recent: Mutex::default(),
        }
    }

    async fn once(&self, query: &Query, deadline: Instant) -> Found {
        let recent = self.recent(query);
        // Who waits takes over where the one who asked has no more time; that it had none is no answer for others.
        let asking = || async {
            match self.ask(query, deadline).await {
                Err(late) if Instant::now() >= deadline => Err(late),
                found => Ok(found),
            }
        };
        recent.answer.get_or_try_init(asking).await?.clone()
    }

    fn recent(&self, query: &Query) -> Recent {
        let mut all = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.get(query).filter(|known| known.since.elapsed() < GOOD) {
            return known.clone();
        }
        if all.len() >= REMEMBERED {
            all.retain(|_, known| known.since.elapsed() < GOOD);
        }
        let new = Recent { since: Instant::now(), answer: Arc::default() };
        if all.len() < REMEMBERED {
            all.insert(query.clone(), new.clone());
        }
        new
    }

    async fn ask(&self, query: &Query, deadline: Instant) -> Found {
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
                self.entries.get(name, deadline, call).await.map(Some)
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
            let secret = secret.ok_or_else(|| wrong("there is none"))?;
            credentials.add(&secret).map_err(|error| wrong(&error))?;
        }
        Ok(credentials)
    }

    async fn object(&self, name: &ObjectName, deadline: Instant) -> Found {
        let ObjectName { group, kind, namespace, name } = name;
        let found = self.discovery.of_kind(group, kind).await.map_err(|error| error.to_string())?;
        let Some(resource) = found else { return Ok(None) };
        // An object that is in no namespace is none of those in one, whoever asks for it there.
        if !resource.is_namespaced && !namespace.is_empty() {
            return Ok(None);
        }
        let path = resource.address().named(namespace, name);
        // Its parts are texts of a rule or of an object.
        self.get(&ApiPath::parse(&path.to_string())?, deadline).await
    }

    async fn call(&self, call: &ApiCall, deadline: Instant) -> Found {
        if call.service.is_some() {
            let answered = self.services.call(call).await?;
            return match answered.status {
                200..=299 => {
                    let body = json::parse(&answered.body);
                    body.map(Some).map_err(|error| format!("the answer is not JSON: {error}"))
                }
                404 => Ok(None),
                status => Err(format!("HTTP {status}: {}", start(&answered.body))),
            };
        }
        let Some(path) = &call.path else { return Err(ApiPath::parse(&call.url).err().unwrap_or_default()) };
        match call.method.as_str() {
            "GET" => self.get(path, deadline).await,
            "POST" => self.post(path, call, deadline).await,
            other => Err(format!("`{other}` is no method of a call")),
        }
    }

    async fn get(&self, path: &ApiPath, deadline: Instant) -> Found {
        let answer = self.within(deadline).raw("GET", path, None).await;
        read(answer)
    }

    /// A review must not leave anything behind.
    async fn post(&self, path: &ApiPath, call: &ApiCall, deadline: Instant) -> Found {
        let is_dry = path.query.iter().any(|(key, value)| key == "dryRun" && value == "All");
        if !is_dry && !REVIEWS.contains(&path.group.as_str()) {
            return Err("a call may not store anything".to_owned());
        }
        let data = match call.data.as_str() {
            "" => Value::object(Map::new()),
            text => json::parse(text).map_err(|error| format!("what is sent is not JSON: {error}"))?,
        };
        read(self.within(deadline).raw("POST", path, Some(&data)).await)
    }

    fn within(&self, deadline: Instant) -> Client {
        let time = deadline.saturating_duration_since(Instant::now());
        self.client.limited(Limits { time, size: LARGEST })
    }
}

impl Lookup for Live {
    fn look_up<'a>(&'a self, query: &'a Query, deadline: Instant) -> Looking<'a> {
        Box::pin(self.once(query, deadline))
    }
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Live").field("services", &self.services).finish_non_exhaustive()
    }
}

fn read(answer: Result<String, kubewright_cluster::Error>) -> Found {
    match answer {
        Ok(text) => json::parse(&text).map(Some).map_err(|error| format!("the answer is not JSON: {error}")),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

fn start(text: &str) -> String {
    text.chars().take(200).collect()
}
