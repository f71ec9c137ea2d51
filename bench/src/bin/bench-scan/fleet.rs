//! Writing a generated cluster to an API server: many applications at a time, over a few HTTP/2 connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::Method;
use kubewright_controlplane::TestCluster;
use kubewright_load::{LoadAnswer, LoadClient, LoadTarget};
use kubewright_value::{Value, json};
use tokio::task::JoinSet;

use crate::objects::{ApplicationTemplate, namespace_count, namespace_manifest, namespace_name};

/// Connections to the API server.
const CONNECTIONS: usize = 4;
/// How long one request may take.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);
/// How often a request is sent that the API server was too busy for.
const ATTEMPTS: u32 = 8;

/// The API server that objects are written to.
#[derive(Clone)]
pub(crate) struct Fleet {
    client: Arc<LoadClient>,
}

impl Fleet {
    pub(crate) fn new(cluster: &TestCluster) -> Result<Self, String> {
        let address = cluster.server().trim_start_matches("https://").to_owned();
        let target = LoadTarget {
            address: address.parse().map_err(|error| format!("{address}: {error}"))?,
            authorities: std::fs::read_to_string(cluster.ca()).map_err(|error| error.to_string())?,
            token: Some(cluster.token().to_owned()),
        };
        let client = LoadClient::new(target, CONNECTIONS).map_err(|error| error.to_string())?;
        Ok(Self { client: Arc::new(client) })
    }

    /// Creates `applications` with their namespaces, `under_way` at a time, and returns how many objects that were.
    pub(crate) async fn write(&self, applications: usize, under_way: usize) -> Result<usize, String> {
        for number in 0..namespace_count(applications) {
            self.create("/api/v1/namespaces", namespace_manifest(&namespace_name(number))).await?;
        }
        let template = Arc::new(ApplicationTemplate::read()?);
        let next = Arc::new(AtomicUsize::new(0));
        let mut tasks = JoinSet::new();
        for _ in 0..under_way.max(1) {
            let (fleet, template, next) = (self.clone(), Arc::clone(&template), Arc::clone(&next));
            tasks.spawn(async move {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= applications {
                        return Ok(());
                    }
                    fleet.create_application(&template, number).await?;
                }
            });
        }
        while let Some(ended) = tasks.join_next().await {
            ended.unwrap_or_else(|error| Err(error.to_string()))?;
        }
        Ok(applications * template.size())
    }

    /// Creates the objects of one application, owners first.
    async fn create_application(&self, template: &ApplicationTemplate, number: usize) -> Result<(), String> {
        let mut uids: Vec<String> = Vec::new();
        for object in template.application(number) {
            let owner = object.owner.and_then(|place| uids.get(place)).map_or("", String::as_str);
            let created = self.create(&object.collection, object.with_owner(owner)).await?;
            uids.push(uid_of(&created));
        }
        Ok(())
    }

    async fn create(&self, path: &str, manifest: String) -> Result<LoadAnswer, String> {
        self.request(Method::POST, path, manifest).await
    }

    /// Reads an object; `None` if there is none.
    pub(crate) async fn get(&self, path: &str) -> Result<Option<Value>, String> {
        let answer = self.request(Method::GET, path, String::new()).await?;
        if answer.status == 404 {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&answer.body);
        json::parse(&text).map(Some).map_err(|error| format!("GET {path}: {error}"))
    }

    /// Changes an object by a merge patch.
    pub(crate) async fn patch(&self, path: &str, patch: &str) -> Result<Value, String> {
        let answer = self.request(Method::PATCH, path, patch.to_owned()).await?;
        let text = String::from_utf8_lossy(&answer.body);
        json::parse(&text).map_err(|error| format!("PATCH {path}: {error}"))
    }

    /// The bytes of all objects of a collection as JSON, and how many they are.
    pub(crate) async fn stored_bytes(&self, collection: &str) -> Result<StoredBytes, String> {
        let list = self.get(collection).await?;
        let items =
            list.as_ref().and_then(|list| list.get("items")).and_then(Value::as_array).unwrap_or_default();
        let bytes = items.iter().map(|item| json::to_string(item).len()).sum();
        Ok(StoredBytes { objects: items.len(), bytes })
    }

    async fn request(&self, method: Method, path: &str, body: String) -> Result<LoadAnswer, String> {
        let body = Bytes::from(body);
        let mut last = String::new();
        for attempt in 0..ATTEMPTS {
            match self.client.send(method.clone(), path, body.clone(), WRITE_TIMEOUT).await {
                Ok(answer) if answer.status < 300 => return Ok(answer),
                Ok(answer) if answer.status == 404 && method == Method::GET => return Ok(answer),
                Ok(answer) if matches!(answer.status, 429 | 500 | 503 | 504) => {
                    last = refusal(&method, path, &answer);
                }
                Ok(answer) => return Err(refusal(&method, path, &answer)),
                Err(error) => last = format!("{method} {path}: {error}"),
            }
            tokio::time::sleep(Duration::from_millis(100 << attempt)).await;
        }
        Err(last)
    }
}

/// What is stored of a kind.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StoredBytes {
    pub(crate) objects: usize,
    pub(crate) bytes: usize,
}

/// Waits until `is_so`, and returns how long that took.
pub(crate) async fn wait_for<F>(limit: Duration, mut is_so: impl FnMut() -> F) -> Result<Duration, String>
where
    F: Future<Output = Result<bool, String>>,
{
    let start = Instant::now();
    while !is_so().await? {
        if start.elapsed() > limit {
            return Err(format!("not so after {} s", limit.as_secs()));
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    Ok(start.elapsed())
}

fn refusal(method: &Method, path: &str, answer: &LoadAnswer) -> String {
    format!("{method} {path}: {} {}", answer.status, String::from_utf8_lossy(&answer.body))
}

/// The first uid of an answer is that of the object: metadata comes first, and owners after it.
fn uid_of(answer: &LoadAnswer) -> String {
    let text = String::from_utf8_lossy(&answer.body);
    let uid = text.split_once(r#""uid":""#).and_then(|(_, rest)| rest.split_once('"'));
    uid.map(|(uid, _)| uid.to_owned()).unwrap_or_default()
}
