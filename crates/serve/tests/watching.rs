//! Rules that live in a real cluster: how fast they are live, and what goes on when something is wrong.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use kubewright_cluster::{Client, Config, WatchPolicy};
use kubewright_controlplane::{ControlPlaneComponent, TestCluster};
use kubewright_engine::{ApiCall, Query, QueryAnswer, World};
use kubewright_serve::{
    CachedWorld, ServeSettings, ServerState, Snapshot, Stores, review, spawn_rule_compiler,
};
use kubewright_value::{Value, json};
use tokio::runtime::Runtime;

/// The part of a server that keeps the rules.
struct Serving {
    _runtime: Runtime,
    state: Arc<ServerState>,
    stores: Arc<Stores>,
    world: CachedWorld,
}

impl Serving {
    fn start(cluster: &TestCluster) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let _inside = runtime.enter();
        let client = Client::new(Config::of_files(&[cluster.kubeconfig()], None).unwrap()).unwrap();
        let state = Arc::new(ServerState::new(ServeSettings::default(), tokio::sync::mpsc::channel(10).0));
        let stores = Stores::start(&client, &state.settings, WatchPolicy::default());
        spawn_rule_compiler(&state, &stores).unwrap();
        let world = CachedWorld(Arc::clone(&stores));
        drop(_inside);
        Self { _runtime: runtime, state, stores, world }
    }

    fn ready(cluster: &TestCluster) -> Self {
        let serving = Self::start(cluster);
        wait_until("it is ready", || serving.state.readiness.reason().is_none());
        serving
    }

    fn snapshot(&self) -> Arc<Snapshot> {
        self.state.snapshot.load_full()
    }

    /// The labels that a ConfigMap in `namespace` gets.
    fn labels(&self, namespace: &str) -> Vec<String> {
        let object = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"a","namespace":"{namespace}","labels":{{}}}}}}"#
        );
        let review = format!(
            r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"u","operation":"CREATE",
            "kind":{{"group":"","version":"v1","kind":"ConfigMap"}},
            "resource":{{"group":"","version":"v1","resource":"configmaps"}},
            "name":"a","namespace":"{namespace}","userInfo":{{"username":"me"}},"object":{object}}}}}"#
        );
        let answer = review::decide_offline(&self.snapshot(), "mutate", review.as_bytes()).unwrap().unwrap();
        let answer = json::parse(&answer).unwrap();
        let Some(patch) = answer.at(&["response", "patch"]).and_then(Value::as_str) else {
            return Vec::new();
        };
        let patch = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, patch).unwrap();
        let patch = json::parse(&String::from_utf8(patch).unwrap()).unwrap();
        let path = |step: &Value| step.get("path").and_then(Value::as_str).map(str::to_owned);
        patch.as_array().unwrap().iter().filter_map(path).collect()
    }
}

#[track_caller]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "waited for a minute: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A cluster that tests share, each with a namespace of its own.
fn prepared() -> Option<&'static TestCluster> {
    static PREPARED: OnceLock<Option<TestCluster>> = OnceLock::new();
    PREPARED.get_or_init(prepare).as_ref()
}

/// A cluster with the definitions of all languages, and no webhook that would refuse a rule.
fn prepare() -> Option<TestCluster> {
    let cluster = TestCluster::builder().api_server_only().start()?;
    define(&cluster);
    Some(cluster)
}

fn define(cluster: &TestCluster) {
    let snapshot = Snapshot::empty();
    let definitions: Vec<&str> =
        snapshot.languages().flat_map(|language| language.custom_resource_definitions()).collect();
    cluster.kubectl(&["apply", "--server-side", "-f", "-"], &definitions.join("\n---\n")).expect_success();
    cluster.wait_until("rules can be stored", || {
        cluster.kubectl(&["create", "--dry-run=server", "-f", "-"], &rule("r", "label")).is_success()
    });
}

/// A rule that gives every ConfigMap of its namespace a label.
fn rule(name: &str, label: &str) -> String {
    format!(
        "{{apiVersion: api.kubemod.io/v1beta1, kind: ModRule, metadata: {{name: {name}}}, spec: \
         {{type: Patch, match: [{{select: '$.kind', matchValue: ConfigMap}}], \
         patch: [{{op: add, path: /metadata/labels/{label}, value: x}}]}}}}\n---\n"
    )
}

fn apply(cluster: &TestCluster, namespace: &str, text: &str) {
    cluster.kubectl(&["apply", "-n", namespace, "-f", "-"], text).expect_success();
}

#[test]
fn a_rule_is_live_within_a_second_of_being_stored() {
    let Some(cluster) = prepared() else { return };
    cluster.create_namespace("live");
    let serving = Serving::ready(cluster);
    assert_eq!(serving.labels("live"), Vec::<String>::new());
    let mut slowest = Duration::ZERO;
    for number in 0..5 {
        apply(cluster, "live", &rule("one", &format!("label-{number}")));
        let stored = Instant::now();
        wait_until("the rule is live", || {
            serving.labels("live") == [format!("/metadata/labels/label-{number}")]
        });
        slowest = slowest.max(stored.elapsed());
    }
    println!("a change is live at most {slowest:?} after kubectl has ended");
    assert!(slowest < Duration::from_secs(1), "{slowest:?}");
    assert_eq!(serving.labels("other"), Vec::<String>::new(), "the rule is about its own namespace");

    cluster.kubectl(&["delete", "modrule", "one", "-n", "live"], "").expect_success();
    let deleted = Instant::now();
    wait_until("the rule is gone", || serving.labels("live").is_empty());
    assert!(deleted.elapsed() < Duration::from_secs(1), "{:?}", deleted.elapsed());
}

#[test]
fn a_rule_that_does_not_compile_leaves_its_neighbours_and_readiness_alone() {
    let Some(cluster) = prepared() else { return };
    cluster.create_namespace("wrong");
    let wrong = rule("wrong", "b").replace("$.kind", "$.[");
    apply(cluster, "wrong", &format!("{}{wrong}{}", rule("a", "a"), rule("c", "c")));
    let serving = Serving::ready(cluster);
    assert_eq!(serving.labels("wrong"), ["/metadata/labels/a", "/metadata/labels/c"]);
    let snapshot = serving.snapshot();
    let state = snapshot.states.iter().find(|state| state.name.name == "wrong").unwrap();
    assert_eq!(state.rules, 0);
    assert!(!state.diagnostics.is_empty());

    apply(cluster, "wrong", &rule("wrong", "b"));
    wait_until("the rule is live", || serving.labels("wrong").len() == 3);
    apply(cluster, "wrong", &wrong);
    wait_until("the rule is wrong again", || serving.labels("wrong").len() == 2);
    assert_eq!(serving.state.readiness.reason(), None);
}

#[test]
fn rules_go_on_while_the_api_server_is_away_and_are_as_stored_afterwards() {
    let Some(cluster) = prepare() else { return };
    apply(&cluster, "default", &format!("{}{}", rule("kept", "kept"), rule("gone", "gone")));
    let serving = Serving::ready(&cluster);
    wait_until("both are live", || serving.labels("default").len() == 2);
    cluster.kill(ControlPlaneComponent::ApiServer);
    wait_until("the loss is noticed", || !serving.stores.problems().is_empty());
    assert_eq!(serving.labels("default").len(), 2);
    assert_eq!(serving.state.readiness.reason(), None);
    cluster.start_again(ControlPlaneComponent::ApiServer).unwrap();
    cluster.kubectl(&["delete", "modrule", "gone", "-n", "default"], "").expect_success();
    apply(&cluster, "default", &rule("new", "new"));
    let back = Instant::now();
    wait_until("the rules are as stored", || {
        serving.labels("default") == ["/metadata/labels/kept", "/metadata/labels/new"]
    });
    println!("the rules are as stored {:?} after the API server is back", back.elapsed());
}

#[test]
fn what_is_there_later_is_known_and_does_not_make_it_unready() {
    let Some(cluster) = TestCluster::builder().api_server_only().start() else { return };
    let started = Instant::now();
    let serving = Serving::ready(&cluster);
    println!("ready without any definition after {:?}", started.elapsed());
    assert!(serving.snapshot().states.is_empty());
    let world = &serving.world;
    assert!(matches!(world.get(&Query::namespace("default")), QueryAnswer::Found(_)));
    assert_eq!(world.get(&Query::namespace("no-such")), QueryAnswer::Unknown, "it may be new");
    assert_eq!(world.get(&Query::node("node-1")), QueryAnswer::Unknown, "no rule needs nodes yet");
    cluster.kubectl(&["create", "namespace", "later"], "").expect_success();
    wait_until("it is known", || matches!(world.get(&Query::namespace("later")), QueryAnswer::Found(_)));

    define(&cluster);
    cluster.create_node("node-1", &[("rack", "12")]);
    apply(&cluster, "default", &rule("one", "label"));
    wait_until("the rule is live", || serving.labels("default") == ["/metadata/labels/label"]);
    assert_eq!(world.get(&Query::node("node-1")), QueryAnswer::Unknown, "still no rule needs nodes");
    apply(&cluster, "default", &rule("nosy", "rack").replace("$.kind", "$.syntheticRefs.node.kind"));
    wait_until("the other rule is live", || serving.snapshot().needs.nodes);
    assert_eq!(serving.state.readiness.reason(), None);
    assert!(
        matches!(world.get(&Query::node("node-1")), QueryAnswer::Found(_)),
        "rules wait for what they need"
    );
    assert_eq!(world.get(&Query::node("node-2")), QueryAnswer::Absent);
}

#[test]
fn a_call_that_reads_a_namespace_is_answered_from_memory() {
    let Some(cluster) = prepared() else { return };
    let serving = Serving::ready(cluster);
    let call = |method: &str, url: &str| {
        let call = ApiCall::resource(method, url, "".into());
        matches!(serving.world.get(&Query::Api(call)), QueryAnswer::Found(_))
    };
    assert!(call("GET", "/api/v1/namespaces/default"));
    for unknown in
        ["/api/v1/namespaces", "/api/v1/namespaces/default/status", "/api/v1/namespaces/default?limit=1"]
    {
        assert!(!call("GET", unknown), "{unknown}");
    }
    assert!(!call("POST", "/api/v1/namespaces/default"));
}

#[test]
fn a_server_that_waits_for_its_api_server_does_nothing_meanwhile() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let _inside = runtime.enter();
    let client = Client::new(Config::at("http://127.0.0.1:1")).unwrap();
    let state = Arc::new(ServerState::new(ServeSettings::default(), tokio::sync::mpsc::channel(10).0));
    let stores = Stores::start(&client, &state.settings, WatchPolicy::default());
    let before = busy();
    spawn_rule_compiler(&state, &stores).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let Some((before, after)) = before.zip(busy()) else { return };
    assert!(after - before < 25, "{} hundredths of a second of work", after - before);
    assert_eq!(state.readiness.reason().as_deref(), Some("waiting for caches, rules"));
    assert!(!stores.problems().is_empty());
}

/// How long the thread that compiles has worked, in hundredths of a second; `None` where the system does not say.
fn busy() -> Option<u64> {
    let mut all = 0;
    for task in std::fs::read_dir("/proc/self/task").ok()?.flatten() {
        let text = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        if text.contains("(compile)") {
            let fields: Vec<&str> = text.split_whitespace().collect();
            all += fields.get(13)?.parse::<u64>().ok()? + fields.get(14)?.parse::<u64>().ok()?;
        }
    }
    Some(all)
}
