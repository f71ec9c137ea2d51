//! A whole server beside a cluster: rules by watch, certificates and webhooks of its own.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use kubewright_cluster::{Client, Config};
use kubewright_controlplane::{CommandOutput, TestCluster};
use kubewright_serve::log::LogLevel;
use kubewright_serve::{ServeSettings, start_server};

use crate::definitions;

/// The namespace from which exceptions count.
pub(crate) const EXEMPT: &str = "exempt";

/// The cluster that all tests of this process share, with a server beside it.
pub(crate) fn cluster() -> Option<&'static TestCluster> {
    static READY: OnceLock<()> = OnceLock::new();
    let cluster = definitions::cluster()?;
    READY.get_or_init(|| {
        cluster.create_namespace("kubewright-system");
        cluster.create_namespace(EXEMPT);
        let address = cluster.reserve_address();
        let (sender, receiver) = std::sync::mpsc::channel();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
            runtime.expect("a runtime").block_on(async move {
                let config = Config::find(Some(&cluster.kubeconfig()), None).expect("a kubeconfig");
                let client = Client::new(config).expect("a client");
                let server = start_server(settings(address), client).expect("a server");
                // A test that fails says why.
                drop(std::panic::take_hook());
                sender.send(()).expect("the receiver lives");
                let certificates = server.state().certificates.resolver();
                server.serve(certificates, std::future::pending()).await.expect("it serves");
            });
        });
        receiver.recv().expect("a server");
    });
    Some(cluster)
}

fn settings(address: SocketAddr) -> ServeSettings {
    ServeSettings {
        address,
        health_address: SocketAddr::from(([127, 0, 0, 1], 0)),
        url: Some(format!("https://{address}")),
        dialects: vec!["kyverno".to_owned()],
        exception_namespaces: vec![EXEMPT.to_owned()],
        log_level: LogLevel::Error,
        ..ServeSettings::default()
    }
}

/// A ClusterPolicy with `spec`, in flow style.
pub(crate) fn policy(name: &str, spec: &str) -> String {
    format!(
        "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: {name}}}, spec: {{{spec}}}}}"
    )
}

/// A rule about `kind` in `namespace` with `rest`, in flow style.
pub(crate) fn rule(name: &str, kind: &str, namespace: &str, rest: &str) -> String {
    format!(
        "{{name: {name}, match: {{any: [{{resources: {{kinds: ['{kind}'], namespaces: ['{namespace}']}}}}]}}, {rest}}}"
    )
}

pub(crate) fn config_map(name: &str, data: &str) -> String {
    format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}, data: {{{data}}}}}")
}

/// Stores `object`.
#[track_caller]
pub(crate) fn apply(cluster: &TestCluster, namespace: &str, object: &str) {
    cluster.kubectl(&["apply", "-n", namespace, "-f", "-"], object).expect_success();
}

/// Asks whether `object` may be created; nothing is stored.
pub(crate) fn ask(cluster: &TestCluster, namespace: &str, object: &str) -> CommandOutput {
    cluster.kubectl(&["create", "--dry-run=server", "-n", namespace, "-f", "-"], object)
}

/// Asks whether another user may create `object`.
pub(crate) fn ask_as(
    cluster: &TestCluster,
    kubeconfig: &Path,
    namespace: &str,
    object: &str,
) -> CommandOutput {
    let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
    cluster.kubectl(&["create", &kubeconfig, "--dry-run=server", "-n", namespace, "-f", "-"], object)
}

/// Waits until `object` is refused, and returns what is said.
#[track_caller]
pub(crate) fn refused(cluster: &TestCluster, namespace: &str, object: &str) -> String {
    let mut told = String::new();
    cluster.wait_until(&format!("{object} is refused"), || {
        let answer = ask(cluster, namespace, object);
        told.clone_from(&answer.stderr);
        !answer.is_success()
    });
    told
}

/// Waits until `object` is refused with `want` in what is said.
#[track_caller]
pub(crate) fn refused_with(cluster: &TestCluster, namespace: &str, object: &str, want: &str) {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let answer = ask(cluster, namespace, object);
        if !answer.is_success() && answer.stderr.contains(want) {
            return;
        }
        assert!(Instant::now() < deadline, "it is not said that {want}: {answer}");
    }
}

/// Waits until `object` is let pass.
#[track_caller]
pub(crate) fn allowed(cluster: &TestCluster, namespace: &str, object: &str) {
    cluster.wait_until(&format!("{object} is let pass"), || ask(cluster, namespace, object).is_success());
}
