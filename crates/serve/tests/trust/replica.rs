//! A replica of the server in this process: rules that stay as they are, certificates and webhooks by a cluster.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kubewright_cluster::{Client, Config, Discovery};
use kubewright_controlplane::{Balancer, TestCluster};
use kubewright_serve::{ServeSettings, ServerState, Snapshot, WebhookServer, certificates, webhooks};
use kubewright_value::{Source, Value, json, yaml};
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};

/// A policy about everything, with `failurePolicy: Fail`.
pub(crate) const POLICY: &str = "
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: no-secret-agents}
spec:
  validationFailureAction: Enforce
  failurePolicy: Fail
  background: false
  rules:
  - name: agents
    match: {any: [{resources: {kinds: ['*']}}]}
    validate:
      message: agents are not welcome
      pattern: {metadata: {=(labels): {=(agent): '!yes'}}}
";

pub(crate) struct Replica {
    pub(crate) state: Arc<ServerState>,
    pub(crate) address: SocketAddr,
    generations: watch::Sender<u64>,
    runtime: Option<Runtime>,
}

impl Replica {
    /// Starts a replica behind `balancer` with the rules in `documents`.
    pub(crate) fn start(
        cluster: &TestCluster,
        balancer: &Balancer,
        settings: ServeSettings,
        documents: &str,
    ) -> Self {
        let (notices, mut told) = mpsc::channel(1000);
        let state = Arc::new(ServerState::new(settings, notices));
        state.snapshot.store(Arc::new(snapshot(&state.settings, documents)));
        let client = client(cluster);
        let (generations, seen) = watch::channel(1);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let address = runtime.block_on(async {
            tokio::spawn(async move { while told.recv().await.is_some() {} });
            tokio::spawn(certificates::reconcile_certificates(Arc::clone(&state), client.clone()));
            let discovery = Arc::new(Discovery::new(client.clone()));
            tokio::spawn(webhooks::reconcile_webhooks(Arc::clone(&state), client, discovery, seen));
            let server = WebhookServer::bind(Arc::clone(&state)).expect("addresses");
            let address = server.address().expect("an address");
            balancer.add(address, server.health_address().expect("an address"));
            let resolver = state.certificates.resolver();
            tokio::spawn(server.serve(resolver, std::future::pending()));
            address
        });
        Self { state, address, generations, runtime: Some(runtime) }
    }

    /// Lets it have other rules.
    pub(crate) fn learn(&self, documents: &str) {
        self.state.snapshot.store(Arc::new(snapshot(&self.state.settings, documents)));
        self.generations.send_modify(|generation| *generation += 1);
    }
}

/// Gone at once, without a word to anybody.
impl Drop for Replica {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Settings of a server that is reached through `balancer`.
pub(crate) fn settings(balancer: &Balancer, name: &str, namespace: &str) -> ServeSettings {
    let free = SocketAddr::from(([127, 0, 0, 1], 0));
    ServeSettings {
        address: free,
        health_address: free,
        name: name.to_owned(),
        namespace: namespace.to_owned(),
        url: Some(format!("https://{}", balancer.address())),
        certificate_grace: Duration::from_secs(1),
        ..ServeSettings::default()
    }
}

pub(crate) fn client(cluster: &TestCluster) -> Client {
    let config = Config::find(Some(&cluster.kubeconfig()), None).expect("a kubeconfig");
    Client::new(config).expect("a client")
}

/// Returns the object that `kubectl get` finds, or nothing.
pub(crate) fn get(cluster: &TestCluster, arguments: &[&str]) -> Option<Value> {
    let arguments = [&["get", "-o", "json", "--ignore-not-found"], arguments].concat();
    let text = cluster.kubectl(&arguments, "").success();
    (!text.trim().is_empty()).then(|| json::parse(&text).expect("json"))
}

/// Waits until `is_so`, and returns how long that took.
#[track_caller]
pub(crate) fn time(cluster: &TestCluster, what: &str, is_so: impl FnMut() -> bool) -> Duration {
    let begun = Instant::now();
    cluster.wait_until(what, is_so);
    begun.elapsed()
}

fn snapshot(settings: &ServeSettings, documents: &str) -> Snapshot {
    let source = Arc::new(Source::new("rules.yaml", documents));
    let documents = yaml::read(&source).documents;
    Snapshot::of(&settings.options, &settings.dialects, &documents, 1)
}
