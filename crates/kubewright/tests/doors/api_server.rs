//! The third door: a real API server, which asks the webhook about requests that are only tried.
//!
//! Between them stands a recorder. It is registered once, hands each review on to the webhook of the case at hand, and
//! remembers it: the object as it arrived is what the other doors are asked about.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use bytes::Bytes;
use hyper::Method;
use kubewright_controlplane::TestCluster;
use kubewright_load::{LoadAnswer, LoadClient, LoadTarget, allow_review, serve_answers};
use kubewright_value::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::cases::{Case, is_cluster_wide, kind};
use crate::command::USER;
use crate::verdict::Verdict;
use crate::webhook::Webhook;

const PATIENCE: Duration = Duration::from_secs(20);

/// What comes after an API server's words about a webhook's refusal.
const DENIED: &str = "denied the request";

/// A real API server, and the recorder that it asks.
pub(crate) struct ApiServer<'c> {
    cluster: &'c TestCluster,
    client: LoadClient,
    runtime: Runtime,
    recorder: Arc<Recorder>,
    resources: BTreeMap<(String, String), Resource>,
}

/// What was asked and answered.
pub(crate) struct Asked {
    pub(crate) verdict: Verdict,
    /// The object as the webhook saw it first.
    pub(crate) arrived: Value,
}

#[derive(Debug, Clone)]
struct Resource {
    plural: String,
    is_namespaced: bool,
}

/// Hands on and remembers.
#[derive(Default)]
struct Recorder {
    /// Whom to ask; without anybody everything is allowed.
    webhook: Mutex<Option<Arc<LoadClient>>>,
    reviews: Mutex<Vec<(String, Value)>>,
}

impl<'c> ApiServer<'c> {
    /// Registers the recorder, and makes the namespaces and the kinds that the cases need.
    pub(crate) fn prepare(cluster: &'c TestCluster, cases: &[Case]) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let address: SocketAddr =
            cluster.server().trim_start_matches("https://").parse().expect("an address");
        let authorities = std::fs::read_to_string(cluster.ca()).expect("a certificate");
        let target = LoadTarget { address, authorities, token: Some(cluster.token().to_owned()) };
        let client = LoadClient::new(target, 1).expect("a client");
        let mut server =
            Self { cluster, client, runtime, recorder: Arc::default(), resources: BTreeMap::new() };
        server.discover();
        server.define(cases);
        server.discover();
        let namespaces =
            cases.iter().flat_map(|case| case.objects.iter().map(|object| namespace_of(object, case)));
        for namespace in namespaces.collect::<std::collections::BTreeSet<_>>() {
            let object =
                format!(r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{namespace}"}}}}"#);
            let _ = server.send(Method::POST, "/api/v1/namespaces", object);
        }
        server.register();
        server
    }

    /// Tries what `case` does to `object`, with `webhook` in place.
    pub(crate) fn ask(&self, case: &Case, object: &Value, webhook: &Webhook) -> Result<Asked, String> {
        let (collection, path) = self.paths(case, object)?;
        let body = json::to_string(object);
        // Namespaces are there already, and are not removed: that takes a controller.
        let must_exist = case.operation != "CREATE" && kind(object) != "Namespace";
        if must_exist {
            self.aim(None);
            let made = self.send(Method::POST, &format!("{collection}?fieldValidation=Ignore"), body.clone());
            made.map_err(|(_, reason)| format!("the API server refuses to make it first: {reason}"))?;
        }
        self.aim(Some(&webhook.client));
        let options = "dryRun=All&fieldValidation=Ignore";
        let answer = match case.operation.as_str() {
            "CREATE" => self.send(Method::POST, &format!("{collection}?{options}"), body),
            "DELETE" => self.send(Method::DELETE, &format!("{path}?{options}"), String::new()),
            _ => self.send(Method::PUT, &format!("{path}?{options}"), body),
        };
        let reviews = std::mem::take(&mut *lock(&self.recorder.reviews));
        if must_exist {
            self.aim(None);
            let _ = self.send(Method::DELETE, &format!("{path}?gracePeriodSeconds=0"), String::new());
        }
        let key = if case.operation == "DELETE" { "oldObject" } else { "object" };
        let arrived = reviews.first().and_then(|(_, review)| review.at(&["request", key]).cloned());
        let verdict = match answer {
            Ok(object) => Verdict { is_allowed: true, object: bare(object), reasons: Vec::new() },
            Err((_, message)) if message.contains(DENIED) => {
                Verdict { is_allowed: false, object: Value::Null, reasons: vec![message] }
            }
            Err((reason, message)) => {
                return Err(format!("the API server refuses it: {reason}: {}", short(&message)));
            }
        };
        let arrived = arrived.ok_or("the API server called no webhook")?;
        Ok(Asked { verdict, arrived })
    }

    /// Returns what the API server would make of `object` if there were no rules.
    pub(crate) fn without_rules(&self, case: &Case, object: &Value) -> Result<Value, String> {
        let (collection, _) = self.paths(case, object)?;
        self.aim(None);
        let path = format!("{collection}?dryRun=All&fieldValidation=Ignore");
        let answer = self.send(Method::POST, &path, json::to_string(object));
        answer.map(bare).map_err(|(_, message)| message)
    }

    /// The paths of all objects of its kind, and of the object.
    fn paths(&self, case: &Case, object: &Value) -> Result<(String, String), String> {
        let version = object.str_at(&["apiVersion"]);
        let known = self.resources.get(&(version.to_owned(), kind(object).to_owned()));
        let Resource { plural, is_namespaced } =
            known.ok_or_else(|| format!("the API server has no {} of {version}", kind(object)))?;
        let root = if version.contains('/') { format!("/apis/{version}") } else { format!("/api/{version}") };
        let collection = match is_namespaced {
            true => format!("{root}/namespaces/{}/{plural}", namespace_of(object, case)),
            false => format!("{root}/{plural}"),
        };
        let name = object.str_at(&["metadata", "name"]);
        let path = format!("{collection}/{name}");
        Ok((collection, path))
    }

    /// Chooses whom the recorder asks, and lets it forget.
    fn aim(&self, webhook: Option<&Arc<LoadClient>>) {
        *lock(&self.recorder.webhook) = webhook.cloned();
        lock(&self.recorder.reviews).clear();
    }

    /// Returns the object, or the reason and the message of a refusal.
    fn send(&self, method: Method, path: &str, body: String) -> Result<Value, (String, String)> {
        let answer = self.runtime.block_on(self.client.send(method, path, Bytes::from(body), PATIENCE));
        let answer = answer.map_err(|error| (String::new(), error.to_string()))?;
        let value = json::parse(&String::from_utf8_lossy(&answer.body)).unwrap_or_default();
        if (200..300).contains(&answer.status) {
            return Ok(value);
        }
        let text = |key: &str| value.str_at(&[key]).to_owned();
        Err((text("reason"), text("message")))
    }

    /// Learns which kinds there are.
    fn discover(&mut self) {
        let get = |path: &str| self.send(Method::GET, path, String::new()).unwrap_or_default();
        let list = |value: &Value, key: &str| {
            value.get(key).and_then(Value::as_array).map(<[Value]>::to_vec).unwrap_or_default()
        };
        let text = |value: &Value, key: &str| value.str_at(&[key]).to_owned();
        let groups = list(&get("/apis"), "groups");
        let versions = groups.iter().flat_map(|group| list(group, "versions"));
        let versions = versions.map(|version| text(&version, "groupVersion"));
        let roots = versions.map(|version| (format!("/apis/{version}"), version));
        let mut found = BTreeMap::new();
        for (path, version) in roots.chain([("/api/v1".to_owned(), "v1".to_owned())]) {
            for resource in list(&get(&path), "resources") {
                let plural = text(&resource, "name");
                if plural.contains('/') {
                    continue;
                }
                let is_namespaced = resource.get("namespaced").and_then(Value::as_bool) == Some(true);
                found.insert((version.clone(), text(&resource, "kind")), Resource { plural, is_namespaced });
            }
        }
        self.resources = found;
    }

    /// Defines the kinds that the API server does not have, without saying what they look like.
    fn define(&self, cases: &[Case]) {
        let mut missing = BTreeMap::<(String, String), Vec<String>>::new();
        for object in cases.iter().flat_map(|case| &case.objects) {
            let version = object.str_at(&["apiVersion"]);
            let Some((group, version)) = version.split_once('/') else { continue };
            let key = (format!("{group}/{version}"), kind(object).to_owned());
            // Groups of Kubernetes itself are not for others.
            let is_free = group.contains('.') && !group.ends_with("k8s.io");
            if is_free && !self.resources.contains_key(&key) {
                let versions = missing.entry((group.to_owned(), key.1)).or_default();
                if !versions.iter().any(|known| known == version) {
                    versions.push(version.to_owned());
                }
            }
        }
        let definitions: Vec<Value> =
            missing.iter().map(|((group, kind), versions)| definition(group, kind, versions)).collect();
        for definition in &definitions {
            let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
            let _ = self.send(Method::POST, path, json::to_string(definition));
        }
        if !definitions.is_empty() {
            self.cluster.await_definitions().expect("established definitions");
        }
    }

    /// Lets the API server ask the recorder about all that the tests do.
    fn register(&self) {
        let listener = self.runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
        let address = listener.local_addr().expect("an address");
        let (sender, receiver) = std::sync::mpsc::channel();
        let recorder = Arc::clone(&self.recorder);
        self.runtime.spawn(serve_answers(
            listener,
            move |certificate| sender.send(certificate.to_owned()).map_err(std::io::Error::other),
            move |path, body| Arc::clone(&recorder).answer(path, body),
        ));
        let certificate = receiver.recv().expect("a certificate");
        let bundle = base64::engine::general_purpose::STANDARD.encode(certificate);
        for (kind, path) in [("Mutating", "mutate"), ("Validating", "validate")] {
            let configuration = format!(
                r#"{{"apiVersion":"admissionregistration.k8s.io/v1","kind":"{kind}WebhookConfiguration","metadata":{{"name":"doors"}},
                "webhooks":[{{"name":"{path}.doors.example.com","admissionReviewVersions":["v1"],"sideEffects":"None","failurePolicy":"Fail","timeoutSeconds":10,
                "rules":[{{"apiGroups":["*"],"apiVersions":["*"],"operations":["*"],"resources":["*"]}}],
                "matchConditions":[{{"name":"ours","expression":"request.userInfo.username == '{USER}'"}}],
                "clientConfig":{{"url":"https://{address}/{path}","caBundle":"{bundle}"}}}}]}}"#
            );
            let plural = format!("{}webhookconfigurations", kind.to_lowercase());
            let path = format!("/apis/admissionregistration.k8s.io/v1/{plural}");
            self.send(Method::POST, &path, configuration).expect("it is registered");
        }
        let probe =
            r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"probe","namespace":"default"}}"#;
        self.cluster.wait_until("both are asked", || {
            self.aim(None);
            let _ =
                self.send(Method::POST, "/api/v1/namespaces/default/configmaps?dryRun=All", probe.to_owned());
            lock(&self.recorder.reviews).len() == 2
        });
    }
}

impl Recorder {
    async fn answer(self: Arc<Self>, path: String, body: Bytes) -> LoadAnswer {
        // Some rules say yes to what is only tried; what they would say otherwise is of interest.
        let body =
            Bytes::from(String::from_utf8_lossy(&body).replace(r#""dryRun":true"#, r#""dryRun":false"#));
        let review = json::parse(&String::from_utf8_lossy(&body)).unwrap_or_default();
        lock(&self.reviews).push((path.clone(), review));
        let webhook = lock(&self.webhook).clone();
        let Some(webhook) = webhook else { return allow_review(&body) };
        let answer = webhook.post(&path, body, PATIENCE).await;
        answer.unwrap_or_else(|error| LoadAnswer { status: 500, body: Bytes::from(error.to_string()) })
    }
}

fn definition(group: &str, kind: &str, versions: &[String]) -> Value {
    let plural = kubewright_k8s::resource_name(kind);
    let schema = r#"{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}"#;
    let version = |(number, name): (usize, &String)| {
        format!(r#"{{"name":"{name}","served":true,"storage":{},"schema":{schema}}}"#, number == 0)
    };
    let versions: Vec<String> = versions.iter().enumerate().map(version).collect();
    let scope = if is_cluster_wide(kind) { "Cluster" } else { "Namespaced" };
    let text = format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{{"name":"{plural}.{group}"}},
        "spec":{{"group":"{group}","scope":"{scope}","names":{{"plural":"{plural}","kind":"{kind}"}},"versions":[{}]}}}}"#,
        versions.join(",")
    );
    json::parse(&text).expect("a definition")
}

/// An object without what is new each time it is made.
fn bare(mut object: Value) -> Value {
    let mut new = vec!["uid", "creationTimestamp", "managedFields", "resourceVersion"];
    if object.at(&["metadata", "generateName"]).is_some() {
        new.push("name");
    }
    remove(&mut object, "metadata", &new);
    match kind(&object) {
        "PersistentVolume" => remove(&mut object, "status", &["lastPhaseTransitionTime"]),
        "Service" => remove(&mut object, "spec", &["clusterIP", "clusterIPs"]),
        // The pods of a Job are found by its id.
        "Job" => forget(&mut object, "controller-uid"),
        _ => {}
    }
    object
}

fn remove(object: &mut Value, part: &str, keys: &[&str]) {
    let part = object.as_object_mut().and_then(|map| map.get_mut(part)).and_then(Value::as_object_mut);
    if let Some(part) = part {
        for key in keys {
            part.remove(key);
        }
    }
}

/// Removes keys that end so, wherever they are.
fn forget(value: &mut Value, end: &str) {
    if let Some(items) = value.as_array_mut() {
        items.iter_mut().for_each(|item| forget(item, end));
    }
    let Some(map) = value.as_object_mut() else { return };
    let keys: Vec<_> = map.keys().filter(|key| key.ends_with(end)).cloned().collect();
    for key in keys {
        map.remove(&key);
    }
    map.iter_mut().for_each(|(_, value)| forget(value, end));
}

fn namespace_of(object: &Value, case: &Case) -> String {
    let named = object.at(&["metadata", "namespace"]).and_then(Value::as_str);
    named.unwrap_or(&case.namespace).to_owned()
}

/// The sort of a refusal, without the names in it.
fn short(message: &str) -> String {
    let end = message.rsplit("is invalid: ").next().unwrap_or(message);
    end.chars().take(70).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
