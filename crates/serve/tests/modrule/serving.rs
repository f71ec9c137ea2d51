//! A server beside a cluster: rules by watch, webhooks by address.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::thread;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_cluster::{Client, Config, Pace};
use kubewright_controlplane::Cluster;
use kubewright_dialects::Options;
use kubewright_serve::log::Level;
use kubewright_serve::{Known, Server, Settings, State, Stores, keep_compiled, tell};
use kubewright_value::{Value, json};
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use tokio::sync::mpsc;

/// A rule that does not work, and is stored all the same.
pub(crate) const BROKEN: &str =
    "{apiVersion: api.kubemod.io/v1beta1, kind: ModRule, metadata: {name: broken, namespace: default},
    spec: {type: Reject, match: [{select: '$.'}]}}";

/// Where the server is, and its certificate.
pub(crate) static SERVER: OnceLock<(SocketAddr, CertificateDer<'static>)> = OnceLock::new();

/// The cluster that all tests of this process share, with a server beside it.
pub(crate) fn cluster() -> Option<&'static Cluster> {
    static READY: OnceLock<()> = OnceLock::new();
    let cluster = Cluster::shared()?;
    READY.get_or_init(|| start(cluster));
    Some(cluster)
}

/// Creates `rule` and waits until it runs.
#[track_caller]
pub(crate) fn create_rule(cluster: &Cluster, namespace: &str, rule: &str) {
    let created = cluster.kubectl(&["create", "-n", namespace, "-o", "name", "-f", "-"], rule).success();
    await_rule(cluster, namespace, created.trim());
}

/// Waits until the rule called `name` runs as it is stored.
#[track_caller]
pub(crate) fn await_rule(cluster: &Cluster, namespace: &str, name: &str) {
    cluster.wait_until(&format!("{name} runs"), || {
        let stored = cluster.kubectl(&["get", name, "-n", namespace, "-o", "json"], "").success();
        let stored = json::parse(&stored).expect("json");
        let seen = stored.at(&["status", "observedGeneration"]).and_then(Value::as_i64);
        seen.is_some() && seen == stored.at(&["metadata", "generation"]).and_then(Value::as_i64)
    });
}

/// Returns the stored object.
#[track_caller]
pub(crate) fn stored(cluster: &Cluster, namespace: &str, name: &str) -> Value {
    let text = cluster.kubectl(&["get", name, "-n", namespace, "-o", "json"], "").success();
    json::parse(&text).expect("json")
}

fn start(cluster: &'static Cluster) {
    let dialects = kubewright_dialects::all(&Options::default());
    let definitions: Vec<_> = dialects
        .iter()
        .filter(|dialect| dialect.name() == "modrule")
        .filter_map(|dialect| dialect.in_cluster())
        .flat_map(|language| language.definitions())
        .collect();
    cluster.kubectl(&["apply", "-f", "-"], &definitions.join("\n---\n")).expect_success();
    let wait = ["wait", "--for=condition=Established", "crd/modrules.api.kubemod.io", "--timeout=30s"];
    cluster.kubectl(&wait, "").expect_success();

    let certificate =
        rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).expect("a certificate");
    let key = PrivateKeyDer::try_from(certificate.signing_key.serialize_der()).expect("a key");
    let key = any_supported_type(&key).expect("a key");
    let certified = CertifiedKey::new(vec![certificate.cert.der().clone()], key);
    let resolver = Arc::new(SingleCertAndKey::from(certified));
    let (sender, receiver) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        runtime.expect("a runtime").block_on(async move {
            let server = serve(cluster).await;
            sender.send(server.address().expect("an address")).expect("somebody waits");
            server.serve(resolver, std::future::pending()).await.expect("it serves");
        });
    });
    let address = receiver.recv().expect("a server");
    // What was stored before anybody checked it.
    cluster.kubectl(&["create", "-f", "-"], BROKEN).expect_success();
    register(cluster, address, &certificate.cert.pem());
    SERVER.get_or_init(|| (address, certificate.cert.der().clone()));
}

async fn serve(cluster: &Cluster) -> Server {
    let config = Config::find(Some(&cluster.kubeconfig()), None).expect("a kubeconfig");
    let client = Client::new(config).expect("a client");
    let local = SocketAddr::from(([127, 0, 0, 1], 0));
    let settings = Settings {
        address: local,
        health_address: local,
        dialects: vec!["modrule".to_owned()],
        log_level: Level::Error,
        ..Settings::default()
    };
    let stores = Stores::start(&client, &settings, Pace::default());
    let (notices, told) = mpsc::channel(1000);
    let mut state = State::new(settings, notices);
    state.world = Box::new(Known(Arc::clone(&stores)));
    state.client = Some(client.clone());
    let state = Arc::new(state);
    keep_compiled(&state, &stores).expect("a thread");
    tokio::spawn(tell(Arc::clone(&state), client, stores, told, "test".to_owned()));
    Server::bind(state).expect("a port")
}

fn register(cluster: &Cluster, address: SocketAddr, certificate: &str) {
    let bundle = STANDARD.encode(certificate);
    let hook = |name: &str, path: &str, rest: &str| {
        format!(
            "- name: {name}.kubewright.dev
  clientConfig: {{url: 'https://{address}/{path}', caBundle: {bundle}}}
  admissionReviewVersions: [v1]
  timeoutSeconds: 5
{rest}"
        )
    };
    let resources = "namespaces, nodes, configmaps, persistentvolumeclaims, persistentvolumes, secrets, services, \
        daemonsets, deployments, replicasets, statefulsets, horizontalpodautoscalers, ingresses, pods, cronjobs, jobs, \
        serviceaccounts, clusterrolebindings, clusterroles, rolebindings, roles";
    let mutate = hook(
        "patch",
        "mutate/ignore",
        &format!(
            "  failurePolicy: Ignore
  sideEffects: None
  reinvocationPolicy: IfNeeded
  namespaceSelector: {{matchExpressions: [{{key: admission.kubemod.io/ignore, operator: NotIn, values: ['true']}}]}}
  rules: [{{apiGroups: ['*'], apiVersions: ['*'], operations: [CREATE, UPDATE, DELETE], scope: '*', resources: [{resources}]}}]"
        ),
    );
    let rules = hook(
        "rules",
        "rules",
        "  failurePolicy: Fail
  sideEffects: None
  rules: [{apiGroups: [api.kubemod.io], apiVersions: ['*'], operations: [CREATE, UPDATE], scope: '*', resources: [modrules]}]",
    );
    let binding = hook(
        "binding",
        "binding",
        "  failurePolicy: Ignore
  sideEffects: NoneOnDryRun
  rules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], scope: '*', resources: [pods/binding]}]",
    );
    let configurations = format!(
        "apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {{name: kubewright}}
webhooks:
{mutate}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {{name: kubewright}}
webhooks:
{rules}
{binding}
"
    );
    cluster.kubectl(&["apply", "-f", "-"], &configurations).expect_success();
    cluster.wait_until("the webhooks are asked", || {
        let broken = BROKEN.replace("name: broken", "name: another");
        let told = cluster.kubectl(&["create", "--dry-run=server", "-f", "-"], &broken);
        !told.is_success() && told.stderr.contains("KW-M005")
    });
}
