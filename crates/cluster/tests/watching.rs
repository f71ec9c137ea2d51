//! A store that is kept by a watch equals a fresh list, whatever happens between here and the API server.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use kubewright_cluster::{
    Client, Config, GroupVersionResource, InitialListStrategy, ObjectList, ResourceEvent, ResourceWatch,
    Store, WatchPolicy, run_reflector, watch_resource,
};
use kubewright_controlplane::{ControlPlaneComponent, TestCluster};
use kubewright_k8s::ApiPath;
use kubewright_value::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

struct Watched {
    runtime: Runtime,
    client: Client,
    path: ApiPath,
    store: Arc<Store>,
}

impl Watched {
    fn start(cluster: &TestCluster, path: ApiPath, pace: WatchPolicy) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let client = Client::new(Config::of_files(&[cluster.kubeconfig()], None).unwrap()).unwrap();
        let store = Arc::new(Store::default());
        runtime.spawn(run_reflector(client.clone(), path.clone(), Arc::clone(&store), pace));
        let watched = Self { runtime, client, path, store };
        wait_until("the store is synced", || watched.store.is_synced());
        watched
    }

    fn write(&self, name: &str, text: &str) {
        let maps = GroupVersionResource::new("", "v1", "configmaps");
        let object = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"}},"data":{{"key":"{text}"}}}}"#
        );
        let patch = kubewright_cluster::PatchType::Apply { manager: "test", force: true };
        let path = maps.named(&self.path.namespace, name);
        self.runtime.block_on(self.client.patch(&path, patch, &json::parse(&object).unwrap())).unwrap();
    }

    fn delete(&self, name: &str) {
        let path = GroupVersionResource::new("", "v1", "configmaps").named(&self.path.namespace, name);
        self.runtime.block_on(self.client.delete(&path)).unwrap();
    }

    /// Waits until the store is what a list says now, and returns how long that took.
    #[track_caller]
    fn assert_equals_list(&self) -> Duration {
        let started = Instant::now();
        wait_until("the store equals a list", || {
            let Ok(list) = self.runtime.block_on(self.client.list(&self.path)) else { return false };
            digest(list) == self.store.digest()
        });
        started.elapsed()
    }
}

fn digest(list: ObjectList) -> u64 {
    let store = Store::default();
    store.replace(list);
    store.digest()
}

#[track_caller]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "waited for a minute: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A cluster of its own.
fn steady() -> Option<&'static TestCluster> {
    static STEADY: OnceLock<Option<TestCluster>> = OnceLock::new();
    STEADY.get_or_init(|| TestCluster::builder().api_server_only().start()).as_ref()
}

/// A cluster to disturb, for one test at a time.
fn disturbed() -> Option<(&'static TestCluster, MutexGuard<'static, ()>)> {
    static DISTURBED: OnceLock<Option<TestCluster>> = OnceLock::new();
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let cluster = DISTURBED.get_or_init(|| TestCluster::builder().api_server_only().start()).as_ref();
    cluster.map(|cluster| (cluster, turn))
}

fn config_maps() -> ApiPath {
    GroupVersionResource::new("", "v1", "configmaps").within("default")
}

#[test]
fn six_hundred_writes_arrive() {
    let Some(cluster) = steady() else { return };
    let watched = Watched::start(cluster, config_maps(), WatchPolicy::default());
    thread::scope(|scope| {
        for writer in 0..6 {
            let watched = &watched;
            scope.spawn(move || {
                for number in 0..100 {
                    let name = format!("map-{writer}-{}", number % 13);
                    match number % 5 {
                        4 => watched.delete(&format!("map-{writer}-{}", (number - 1) % 13)),
                        _ => watched.write(&name, &number.to_string()),
                    }
                }
            });
        }
    });
    println!("equal {:?} after the last write", watched.assert_equals_list());
    assert!(watched.store.len() > 30, "{}", watched.store.len());
    assert!(
        watched.store.all().iter().all(|map| map.get("kind").and_then(Value::as_str) == Some("ConfigMap"))
    );
}

/// Reads the list with which `watch` begins, by name.
fn initial_objects(runtime: &Runtime, client: &Client, watch: ResourceWatch) -> BTreeMap<String, Value> {
    let (sender, mut receiver) = mpsc::channel(16);
    runtime.spawn(watch_resource(client.clone(), watch, sender));
    let mut objects = BTreeMap::new();
    runtime.block_on(async {
        assert_eq!(receiver.recv().await.unwrap(), ResourceEvent::InitialListStarted);
        loop {
            match receiver.recv().await.unwrap() {
                ResourceEvent::InitialObject(object) => {
                    objects.insert(object.str_at(&["metadata", "name"]).to_owned(), object);
                }
                ResourceEvent::InitialListEnded => return objects,
                other => panic!("{other:?} is no part of a list"),
            }
        }
    })
}

#[test]
fn streamed_and_paged_lists_hold_the_same_objects() {
    const OBJECTS: usize = 2000;
    let Some(cluster) = steady() else { return };
    cluster.kubectl(&["create", "namespace", "many"], "").expect_success();
    let path = GroupVersionResource::new("", "v1", "configmaps").within("many");
    let watched = Watched::start(cluster, path.clone(), WatchPolicy::default());
    thread::scope(|scope| {
        for writer in 0..8 {
            let watched = &watched;
            scope.spawn(move || {
                for number in (writer..OBJECTS).step_by(8) {
                    watched.write(&format!("map-{number}"), "ü\\n\\\"]}");
                }
            });
        }
    });
    let Watched { runtime, client, .. } = &watched;
    let streamed = initial_objects(runtime, client, ResourceWatch::new(path.clone()));
    assert!(streamed.len() >= OBJECTS && streamed.contains_key("map-1999"));
    let pages = InitialListStrategy::ListWatch;
    let paged = ResourceWatch { initial_list: pages, page_size: 300, ..ResourceWatch::new(path.clone()) };
    assert_eq!(streamed, initial_objects(runtime, client, paged));
    for initial_list in [pages, InitialListStrategy::StreamingList] {
        let watch =
            ResourceWatch { initial_list, is_metadata_only: true, ..ResourceWatch::new(path.clone()) };
        let metadata = initial_objects(runtime, client, watch);
        assert_eq!(metadata.len(), streamed.len());
        for (name, object) in metadata {
            assert_eq!(object.str_at(&["kind"]), "PartialObjectMetadata");
            assert_eq!(object.get("data"), None);
            assert_eq!(object.get("metadata"), streamed[&name].get("metadata"));
        }
    }
    let count = runtime.block_on(client.count_objects(&path)).unwrap();
    assert_eq!(count, Some(streamed.len() as u64));
    watched.assert_equals_list();
}

#[test]
fn a_watch_goes_on_after_the_api_server_was_killed_and_has_forgotten() {
    let Some((cluster, _turn)) = disturbed() else { return };
    let watched = Watched::start(cluster, config_maps(), WatchPolicy::default());
    watched.write("kept", "1");
    watched.write("deleted", "1");
    wait_until("both arrived", || watched.store.get("default", "deleted").is_some());
    // A new API server remembers nothing that is older than its start, and other kinds make our version older.
    let leases = GroupVersionResource::new("coordination.k8s.io", "v1", "leases").within("default");
    for number in 0..20 {
        let lease = format!(
            r#"{{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{{"name":"other-{number}"}}}}"#
        );
        watched.runtime.block_on(watched.client.create(&leases, &json::parse(&lease).unwrap())).unwrap();
    }
    let before = watched.store.version();
    cluster.kill(ControlPlaneComponent::ApiServer);
    wait_until("the loss is noticed", || watched.store.problem().is_some());
    let store = Arc::clone(&watched.store);
    let is_gone = move || store.problem().is_some_and(|problem| problem.is_gone());
    let forgotten = thread::spawn(move || wait_until("the version is forgotten", is_gone));
    cluster.start_again(ControlPlaneComponent::ApiServer).unwrap();
    watched.delete("deleted");
    watched.write("new", "1");
    forgotten.join().unwrap();
    println!("equal {:?} after the API server has forgotten", watched.assert_equals_list());
    assert_ne!(watched.store.version(), before);
    assert!(
        watched.store.get("default", "deleted").is_none() && watched.store.get("default", "new").is_some()
    );
    wait_until("the problem is over", || watched.store.problem().is_none());
}

#[test]
fn a_watch_goes_on_after_a_pause() {
    let Some((cluster, _turn)) = disturbed() else { return };
    let pace = WatchPolicy { idle: Duration::from_secs(2), ..WatchPolicy::default() };
    let watched = Watched::start(cluster, config_maps(), pace);
    watched.write("one", "1");
    watched.assert_equals_list();
    cluster.pause(ControlPlaneComponent::ApiServer);
    wait_until("the silence is noticed", || watched.store.problem().is_some());
    assert!(watched.store.get("default", "one").is_some(), "what is known stays");
    cluster.resume(ControlPlaneComponent::ApiServer);
    watched.write("one", "2");
    println!("equal {:?} after the pause", watched.assert_equals_list());
}

#[test]
fn a_resource_that_comes_later_is_found() {
    let Some(cluster) = steady() else { return };
    let watched = Watched::start(
        cluster,
        GroupVersionResource::new("late.example.com", "v1", "things").all(),
        WatchPolicy::default(),
    );
    assert!(watched.store.is_empty() && watched.store.problem().is_some());
    cluster.kubectl(&["apply", "-f", "-"], THINGS).expect_success();
    cluster.wait_until("a thing can be made", || cluster.kubectl(&["apply", "-f", "-"], THING).is_success());
    let started = Instant::now();
    wait_until("it is seen", || watched.store.get("default", "one").is_some());
    println!("seen after {:?}", started.elapsed());
    cluster.delete(&["crd", "things.late.example.com"], "");
    wait_until("it is gone", || watched.store.is_empty());
    cluster.kubectl(&["apply", "-f", "-"], THINGS).expect_success();
    cluster.wait_until("a thing can be made", || cluster.kubectl(&["apply", "-f", "-"], THING).is_success());
    wait_until("it is seen again", || watched.store.get("default", "one").is_some());
}

const THINGS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.late.example.com}
spec:
  group: late.example.com
  scope: Namespaced
  names: {plural: things, singular: thing, kind: Thing}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
";

const THING: &str =
    "{apiVersion: late.example.com/v1, kind: Thing, metadata: {name: one, namespace: default}}";
