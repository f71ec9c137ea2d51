//! What is known of the cluster, kept by watches: the objects of the rule languages, namespaces, and what rules need.
//!
//! Secrets are never among them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use kubewright_cluster::{Client, Error, GroupVersionResource, Store, WatchPolicy, run_reflector};
use kubewright_engine::{Needs, WatchRole, WatchedResource};
use kubewright_k8s::{ApiPath, ObjectName};
use kubewright_value::{Map, Text, Value};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::ServeSettings;

/// How many ConfigMaps are watched; the others are looked up.
const MAX_WATCHED_CONFIG_MAPS: usize = 64;

const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

/// What is known of the cluster.
#[derive(Debug)]
pub struct Stores {
    client: Client,
    runtime: Handle,
    pace: WatchPolicy,
    languages: Vec<(WatchedResource, WatchHandle)>,
    namespaces: WatchHandle,
    needed: ArcSwap<NeededStores>,
    changes: watch::Sender<u64>,
}

/// What is known only because rules need it.
#[derive(Debug, Default, Clone)]
struct NeededStores {
    nodes: Option<WatchHandle>,
    role_bindings: Option<[WatchHandle; 2]>,
    config_maps: BTreeMap<(Text, Text), WatchHandle>,
}

/// A store, which is kept as long as anybody holds this.
#[derive(Debug, Clone)]
struct WatchHandle {
    store: Arc<Store>,
    name: Arc<str>,
    _watch: Arc<AbortOnDrop>,
}

#[derive(Debug)]
struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Stores {
    /// Begins to watch what the languages of `settings` live by, and namespaces.
    ///
    /// # Panics
    /// Outside of a runtime.
    #[must_use]
    pub fn start(client: &Client, settings: &ServeSettings, pace: WatchPolicy) -> Arc<Self> {
        let runtime = Handle::current();
        let begin = |path, trim, name: String| WatchHandle::begin(&runtime, client, path, pace, trim, &name);
        let languages = watched_kinds(settings).into_iter().map(|of| {
            let resource = GroupVersionResource::new(of.group, of.version, of.resource);
            (of, begin(resource.all(), untrimmed, format!("{}/{}/{}", of.group, of.version, of.kind)))
        });
        let languages: Vec<(WatchedResource, WatchHandle)> = languages.collect();
        let namespaces = begin(
            GroupVersionResource::new("", "v1", "namespaces").all(),
            untrimmed,
            "v1/Namespace".to_owned(),
        );
        let changes = watch::Sender::new(0);
        for (_, kept) in languages.iter().filter(|(of, _)| of.role != WatchRole::Shared) {
            let (mut seen, changes) = (kept.store.changes(), changes.clone());
            runtime.spawn(async move {
                while seen.changed().await.is_ok() {
                    changes.send_modify(|count| *count += 1);
                }
            });
        }
        Arc::new(Self {
            client: client.clone(),
            runtime,
            pace,
            languages,
            namespaces,
            needed: ArcSwap::default(),
            changes,
        })
    }

    /// Returns a number that grows whenever rules or exceptions from them change.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Lets rules be compiled anew, because something else has changed that they hang on.
    pub fn touch(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    /// Returns the stores of the languages' objects of a role.
    pub fn of_role(&self, role: WatchRole) -> impl Iterator<Item = (&WatchedResource, &Arc<Store>)> {
        self.languages.iter().filter(move |(of, _)| of.role == role).map(|(of, kept)| (of, &kept.store))
    }

    /// Returns the object of a language, such as a rule.
    #[must_use]
    pub fn object(&self, name: &ObjectName) -> Option<Value> {
        let of = self.languages.iter().find(|(of, _)| of.group == name.group && of.kind == name.kind);
        of.and_then(|(_, kept)| kept.store.get(&name.namespace, &name.name))
    }

    /// Returns the namespaces.
    #[must_use]
    pub fn namespaces(&self) -> &Arc<Store> {
        &self.namespaces.store
    }

    /// Returns the nodes, if rules need them.
    #[must_use]
    pub fn nodes(&self) -> Option<Arc<Store>> {
        self.needed.load().nodes.as_ref().map(|kept| Arc::clone(&kept.store))
    }

    /// Returns the bindings of roles and of cluster roles, if rules need them.
    #[must_use]
    pub fn bindings(&self) -> Option<[Arc<Store>; 2]> {
        let needed = self.needed.load();
        needed.role_bindings.as_ref().map(|both| both.each_ref().map(|kept| Arc::clone(&kept.store)))
    }

    /// Returns the store of a ConfigMap, if rules need it.
    #[must_use]
    pub fn config_map(&self, namespace: &str, name: &str) -> Option<Arc<Store>> {
        let needed = self.needed.load();
        let kept = needed.config_maps.get(&(namespace.into(), name.into()));
        kept.map(|kept| Arc::clone(&kept.store))
    }

    /// Returns the namespaces and names of the ConfigMaps that are watched.
    #[must_use]
    pub fn watched_config_maps(&self) -> Vec<(Text, Text)> {
        self.needed.load().config_maps.keys().cloned().collect()
    }

    /// Watches what `needs` says from now on. Nodes and bindings are not given up again.
    pub fn meet(&self, needs: &Needs) {
        let begin = |path, trim, name: &str| {
            WatchHandle::begin(&self.runtime, &self.client, path, self.pace, trim, name)
        };
        let mut needed = NeededStores::clone(&self.needed.load());
        if needs.nodes && needed.nodes.is_none() {
            needed.nodes =
                Some(begin(GroupVersionResource::new("", "v1", "nodes").all(), without_images, "v1/Node"));
        }
        if needs.role_bindings && needed.role_bindings.is_none() {
            let of = |resource| GroupVersionResource::new(RBAC_GROUP, "v1", resource).all();
            needed.role_bindings = Some([
                begin(of("rolebindings"), only_binding, "rbac.authorization.k8s.io/v1/RoleBinding"),
                begin(
                    of("clusterrolebindings"),
                    only_binding,
                    "rbac.authorization.k8s.io/v1/ClusterRoleBinding",
                ),
            ]);
        }
        needed.config_maps.retain(|key, _| needs.config_maps.contains(key));
        for (namespace, name) in needs.config_maps.iter().take(MAX_WATCHED_CONFIG_MAPS) {
            let maps = GroupVersionResource::new("", "v1", "configmaps");
            let kept = || begin(maps.only(namespace, name), untrimmed, "v1/ConfigMap");
            needed.config_maps.entry((namespace.clone(), name.clone())).or_insert_with(kept);
        }
        self.needed.store(Arc::new(needed));
    }

    /// Returns whether all rules, and all exceptions from them, are known.
    #[must_use]
    pub fn are_rules_synced(&self) -> bool {
        let mut kept = self.languages.iter().filter(|(of, _)| of.role != WatchRole::Shared);
        kept.all(|(_, kept)| kept.store.is_synced())
    }

    /// Returns whether everything else is known too.
    #[must_use]
    pub fn are_caches_synced(&self) -> bool {
        self.all().iter().all(|kept| kept.store.is_synced())
    }

    /// Returns how long ago everything was surely as it is in the cluster; `None` while something is not known.
    #[must_use]
    pub fn age(&self) -> Option<Duration> {
        let ages: Option<Vec<Duration>> =
            self.all().iter().map(|kept| kept.store.age().filter(|_| kept.store.is_synced())).collect();
        ages?.into_iter().max()
    }

    /// Returns what is wrong with the watches: the kind, and why.
    #[must_use]
    pub fn problems(&self) -> Vec<(Arc<str>, Error)> {
        let of = |kept: &WatchHandle| Some((Arc::clone(&kept.name), kept.store.problem()?));
        self.all().iter().filter_map(of).collect()
    }

    /// Returns how many objects of each kind, written `group/version/Kind`, are held.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<Arc<str>, usize> {
        let mut counts = BTreeMap::new();
        for kept in self.all() {
            *counts.entry(kept.name).or_default() += kept.store.len();
        }
        counts
    }

    fn all(&self) -> Vec<WatchHandle> {
        let needed = self.needed.load();
        let languages = self.languages.iter().map(|(_, kept)| kept).chain([&self.namespaces]);
        let needed = needed
            .nodes
            .iter()
            .chain(needed.role_bindings.iter().flatten())
            .chain(needed.config_maps.values());
        languages.chain(needed).cloned().collect()
    }
}

impl WatchHandle {
    fn begin(
        runtime: &Handle,
        client: &Client,
        path: ApiPath,
        pace: WatchPolicy,
        trim: fn(&mut Value),
        name: &str,
    ) -> Self {
        let store = Arc::new(Store::new(trim));
        let watch = runtime.spawn(run_reflector(client.clone(), path, Arc::clone(&store), pace));
        Self { store, name: name.into(), _watch: Arc::new(AbortOnDrop(watch.abort_handle())) }
    }
}

/// What is watched for the languages that `settings` names.
fn watched_kinds(settings: &ServeSettings) -> Vec<WatchedResource> {
    let mut all = Vec::new();
    for dialect in kubewright_dialects::all_dialects(&settings.options) {
        let is_wanted =
            settings.dialects.is_empty() || settings.dialects.iter().any(|name| name == dialect.name());
        let Some(language) = dialect.cluster_support().filter(|_| is_wanted) else { continue };
        for of in language.watched_resources() {
            let is_off = of.role == WatchRole::Exception && settings.exception_namespaces.is_empty();
            if !is_off && !all.contains(of) {
                all.push(*of);
            }
        }
    }
    all
}

fn untrimmed(_: &mut Value) {}

/// A node names every image it has, which is most of it.
fn without_images(node: &mut Value) {
    if let Some(map) = node.as_object_mut()
        && let Some(status) = map.get_mut("status").and_then(Value::as_object_mut)
    {
        status.remove("images");
    }
}

/// Whose role it is, and which.
fn only_binding(binding: &mut Value) {
    let kept = ["apiVersion", "kind", "roleRef", "subjects"]
        .into_iter()
        .filter_map(|key| key_and_value(binding, key));
    let metadata = binding.get("metadata").cloned().unwrap_or_default();
    let names =
        ["name", "namespace", "resourceVersion"].into_iter().filter_map(|key| key_and_value(&metadata, key));
    let mut all: Map = kept.collect();
    all.insert("metadata".into(), names.collect::<Map>().into());
    *binding = all.into();
}

fn key_and_value(value: &Value, key: &str) -> Option<(Text, Value)> {
    Some((key.into(), value.get(key)?.clone()))
}
