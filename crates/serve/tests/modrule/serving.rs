//! Two servers beside a cluster, started as `kubewright serve` starts them. The second is never asked, and keeps
//! everything as it should be like the first: what they write must not differ.

use std::net::SocketAddr;
use std::sync::OnceLock;
use std::thread;

use kubewright_cluster::{Client, Config};
use kubewright_controlplane::TestCluster;
use kubewright_dialects::DialectOptions;
use kubewright_serve::log::LogLevel;
use kubewright_serve::{ServeSettings, start_server};
use kubewright_value::{Value, json};

/// A rule that does not work, and is stored all the same.
pub(crate) const BROKEN: &str =
    "{apiVersion: api.kubemod.io/v1beta1, kind: ModRule, metadata: {name: broken, namespace: default},
    spec: {type: Reject, match: [{select: '$.'}]}}";

/// The cluster that all tests of this process share, with a server beside it.
pub(crate) fn cluster() -> Option<&'static TestCluster> {
    static READY: OnceLock<()> = OnceLock::new();
    let cluster = TestCluster::shared()?;
    READY.get_or_init(|| serve(cluster));
    Some(cluster)
}

/// Creates `rule` and waits until it runs.
#[track_caller]
pub(crate) fn create_rule(cluster: &TestCluster, namespace: &str, rule: &str) {
    let created = cluster.kubectl(&["create", "-n", namespace, "-o", "name", "-f", "-"], rule).success();
    await_rule(cluster, namespace, created.trim());
}

/// Waits until the rule called `name` runs as it is stored.
#[track_caller]
pub(crate) fn await_rule(cluster: &TestCluster, namespace: &str, name: &str) {
    cluster.wait_until(&format!("{name} runs"), || {
        let stored = cluster.kubectl(&["get", name, "-n", namespace, "-o", "json"], "").success();
        let stored = json::parse(&stored).expect("json");
        let seen = stored.at(&["status", "observedGeneration"]).and_then(Value::as_i64);
        seen.is_some() && seen == stored.at(&["metadata", "generation"]).and_then(Value::as_i64)
    });
}

/// Returns the stored object.
#[track_caller]
pub(crate) fn stored(cluster: &TestCluster, namespace: &str, name: &str) -> Value {
    let text = cluster.kubectl(&["get", name, "-n", namespace, "-o", "json"], "").success();
    json::parse(&text).expect("json")
}

/// A rule about nothing, so that the webhook matches everything from the beginning.
const ANY: &str = "{apiVersion: api.kubemod.io/v1beta1, kind: ModRule, metadata: {name: any, namespace: default},
    spec: {type: Patch, match: [{select: '$.metadata.name', matchValue: probe}], patch: [{op: add, path: /metadata/labels/a, value: b}]}}";

/// The namespace of the servers.
pub(crate) const NAMESPACE: &str = "kubewright-system";

/// Where the first server is.
pub(crate) static SERVER: OnceLock<SocketAddr> = OnceLock::new();

fn serve(cluster: &'static TestCluster) {
    let dialects = kubewright_dialects::all_dialects(&DialectOptions::default());
    let languages = dialects.iter().filter(|dialect| dialect.name() == "modrule");
    let definitions: Vec<_> = languages
        .filter_map(|it| it.cluster_support())
        .flat_map(|language| language.custom_resource_definitions())
        .collect();
    cluster.kubectl(&["apply", "-f", "-"], &definitions.join("\n---\n")).expect_success();
    cluster.await_definitions().expect("established definitions");
    cluster.wait_until("rules can be stored", || {
        cluster.kubectl(&["create", "-f", "-"], &format!("{BROKEN}\n---\n{ANY}")).is_success()
    });
    cluster.kubectl(&["create", "namespace", NAMESPACE], "").expect_success();

    let address = *SERVER.get_or_init(|| cluster.reserve_address());
    let (sender, receiver) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        runtime.expect("a runtime").block_on(async move {
            let any = SocketAddr::from(([127, 0, 0, 1], 0));
            let [first, second] = [address, any].map(|own| {
                let config = Config::find(Some(&cluster.kubeconfig()), None).expect("a kubeconfig");
                let client = Client::new(config).expect("a client");
                start_server(settings(own, address), client).expect("a server")
            });
            // A test that fails says so itself.
            let _ = std::panic::take_hook();
            sender.send(()).expect("the receiver lives");
            let certificates = [&first, &second].map(|server| server.state().certificates.resolver());
            let [of_first, of_second] = certificates;
            tokio::join!(
                async { first.serve(of_first, std::future::pending()).await.expect("it serves") },
                async { second.serve(of_second, std::future::pending()).await.expect("it serves") }
            );
        });
    });
    receiver.recv().expect("two servers");
    cluster.wait_until("rules are checked", || {
        let broken = BROKEN.replace("name: broken", "name: another");
        let told = cluster.kubectl(&["create", "--dry-run=server", "-f", "-"], &broken);
        !told.is_success() && told.stderr.contains("KW-M005")
    });
    cluster.wait_until("objects are changed", || {
        let probe = ["create", "configmap", "probe", "-n", "default", "--dry-run=server", "-o", "json"];
        cluster.kubectl(&probe, "").stdout.contains("\"a\": \"b\"")
    });
}

fn settings(address: SocketAddr, asked: SocketAddr) -> ServeSettings {
    ServeSettings {
        address,
        health_address: SocketAddr::from(([127, 0, 0, 1], 0)),
        namespace: NAMESPACE.to_owned(),
        url: Some(format!("https://{asked}")),
        dialects: vec!["modrule".to_owned()],
        log_level: LogLevel::Error,
        ..ServeSettings::default()
    }
}
