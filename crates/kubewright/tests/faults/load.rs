//! Requests through the API server, by schedule, each of which the rules change or deny.

use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use kubewright_controlplane::TestCluster;
use kubewright_load::{LoadClient, LoadError, LoadRun, LoadTarget, RequestOutcome, at_rate};
use kubewright_value::json;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;

/// Requests a second.
const RATE: f64 = 100.0;

/// How long one may take: longer than the API server waits for a webhook.
const LIMIT: Duration = Duration::from_secs(20);

const PATH: &str = "/api/v1/namespaces/faults/configmaps?dryRun=All";

/// Rules about ConfigMaps in the namespace `faults`: each is marked, and some are denied.
pub(crate) const LOAD_RULES: &str = "
apiVersion: api.kubemod.io/v1beta1
kind: ModRule
metadata: {name: mark, namespace: faults}
spec:
  type: Patch
  match: [{select: '$.kind', matchValue: ConfigMap}]
  patch: [{op: add, path: /metadata/labels/marked, value: there}]
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: no-denied}
spec:
  failurePolicy: Fail
  rules:
    - name: no-denied
      match: {any: [{resources: {kinds: [ConfigMap], namespaces: [faults]}}]}
      validate:
        failureAction: Enforce
        message: this is to be denied
        deny: {conditions: {any: [{key: '{{ request.object.data.verdict }}', operator: Equals, value: deny}]}}
";

/// The reasons of what went wrong begin so.
pub(crate) const API_SERVER: &str = "API server: ";
pub(crate) const UNJUDGED: &str = "not judged: ";

/// Where requests go.
pub(crate) struct Load {
    client: Arc<LoadClient>,
    /// How many requests may be under way; the others wait.
    places: Arc<Semaphore>,
    runtime: Runtime,
}

impl Load {
    /// Requests of the administrator of `cluster`, of which at most `most` are under way.
    pub(crate) fn on(cluster: &TestCluster, most: usize) -> Self {
        let address: SocketAddr =
            cluster.server().trim_start_matches("https://").parse().expect("an address");
        let authorities = std::fs::read_to_string(cluster.ca()).expect("a certificate");
        let target = LoadTarget { address, authorities, token: Some(cluster.token().to_owned()) };
        let client = Arc::new(LoadClient::new(target, 2).expect("a client"));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        Self { client, places: Arc::new(Semaphore::new(most)), runtime: runtime.expect("a runtime") }
    }

    /// Sends requests as long as `work` takes. It is told when they began.
    pub(crate) fn during<T>(&self, work: impl FnOnce(Instant) -> T) -> (LoadRun, T) {
        let is_over = AtomicBool::new(false);
        let start = Instant::now();
        thread::scope(|scope| {
            let requests = || {
                let go_on = |_| !is_over.load(Ordering::Relaxed);
                at_rate(self.runtime.handle(), RATE, go_on, |number| self.request(number))
            };
            let run = scope.spawn(requests);
            // A fault that fails ends the requests too: the scope waits for them.
            let done = catch_unwind(AssertUnwindSafe(|| work(start)));
            is_over.store(true, Ordering::Relaxed);
            let done = done.unwrap_or_else(|failure| resume_unwind(failure));
            (run.join().expect("a run"), done)
        })
    }

    /// Sends one request and returns whether it is judged rightly.
    pub(crate) fn is_right(&self, number: usize) -> bool {
        self.runtime.block_on(self.request(number)) == RequestOutcome::Right
    }

    /// Sends one request and returns what is wrong with the answer.
    pub(crate) fn reason(&self, number: usize) -> String {
        format!("{:?}", self.runtime.block_on(self.request(number)))
    }

    /// Posts `body` to any path and returns the status and the text of the answer.
    pub(crate) fn post(&self, path: &str, body: String) -> Result<(u16, String), String> {
        let answer = self.runtime.block_on(self.client.post(path, Bytes::from(body), LIMIT));
        let answer = answer.map_err(|error| error.to_string())?;
        Ok((answer.status, String::from_utf8_lossy(&answer.body).into_owned()))
    }

    /// Every second one is to be denied.
    fn request(&self, number: usize) -> impl Future<Output = RequestOutcome> + Send + use<> {
        let (client, places) = (Arc::clone(&self.client), Arc::clone(&self.places));
        let is_allowed = number.is_multiple_of(2);
        let body = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"load-{number}","namespace":"faults","labels":{{"app":"load"}}}},"data":{{"verdict":"{}"}}}}"#,
            if is_allowed { "allow" } else { "deny" }
        );
        async move {
            let _place = places.acquire_owned().await.expect("it is never closed");
            match client.post(PATH, Bytes::from(body), LIMIT).await {
                Ok(answer) => judge(is_allowed, answer.status, &String::from_utf8_lossy(&answer.body)),
                Err(error @ (LoadError::Connection(_) | LoadError::Broken(_))) => {
                    RequestOutcome::Wrong(format!("{API_SERVER}{error}"))
                }
                Err(error) => RequestOutcome::Wrong(error.to_string()),
            }
        }
    }
}

fn judge(is_allowed: bool, status: u16, body: &str) -> RequestOutcome {
    let answer = json::parse(body).unwrap_or_default();
    let message = answer.str_at(&["message"]);
    let is_marked = answer.at(&["metadata", "labels", "marked"]).is_some();
    match (is_allowed, status) {
        (true, 201) if is_marked => RequestOutcome::Right,
        (false, 403) if message.contains("this is to be denied") => RequestOutcome::Right,
        (_, 201) => RequestOutcome::Wrong(format!(
            "{UNJUDGED}made without {}",
            if is_allowed { "its mark" } else { "a no" }
        )),
        // It says so where it is not ready itself, which is no webhook's doing.
        (_, 429 | 503) => RequestOutcome::Wrong(format!("{API_SERVER}{status}: {message}")),
        (_, 401 | 403 | 404) if !message.contains("webhook") => {
            RequestOutcome::Wrong(format!("{API_SERVER}{status}: {message}"))
        }
        _ => RequestOutcome::Wrong(format!("{status}: {message}")),
    }
}
