//! Changes of what rules read from watch caches: namespaces, nodes, ConfigMaps and shared entries.
//!
//! A cache is compared with what it was before, and only then are dependent objects judged again: so they never see a
//! state of the cache that is older than the change.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use kubewright_cluster::Store;
use kubewright_engine::{Query, WatchRole};
use kubewright_scan::{ObjectKey, Scanner, WatchedInput};
use kubewright_serve::{ClusterLookup, Lookup as _, Stores};
use kubewright_value::{Text, json};
use tokio::sync::mpsc::Sender;

use crate::scan_input::ScanInput;

/// How often caches are compared.
const CACHE_INTERVAL: Duration = Duration::from_millis(200);

/// How often the data of shared entries is compared.
const SHARED_INTERVAL: Duration = Duration::from_secs(3);

/// How long the data of a shared entry may take to be read.
const SHARED_TIMEOUT: Duration = Duration::from_secs(5);

/// What caches had when they were looked at last.
#[derive(Default)]
struct KnownVersions {
    /// The digest of each store, by kind and, for a ConfigMap, its name.
    digests: HashMap<ObjectKey, u64>,
    versions: HashMap<ObjectKey, Text>,
    shared: HashMap<Text, u64>,
}

/// Sends a [`ScanInput::Changed`] for everything that changes in caches, until the receiver is gone.
pub(crate) async fn follow_store_changes(
    stores: Arc<Stores>,
    lookup: Arc<ClusterLookup>,
    scanner: Arc<RwLock<Scanner>>,
    inputs: Sender<ScanInput>,
) {
    let mut known = KnownVersions::default();
    // What is there now was there before the first object is judged.
    known.compare(&stores);
    let mut last_shared = Instant::now();
    loop {
        tokio::time::sleep(CACHE_INTERVAL).await;
        for key in known.compare(&stores) {
            let input = match key.kind.is_empty() {
                true => ScanInput::SharedChanged(key.name),
                false => ScanInput::Changed(key),
            };
            if inputs.send(input).await.is_err() {
                return;
            }
        }
        if last_shared.elapsed() >= SHARED_INTERVAL {
            for name in known.compare_shared(&lookup, &scanner).await {
                if inputs.send(ScanInput::SharedChanged(name)).await.is_err() {
                    return;
                }
            }
            last_shared = Instant::now();
        }
    }
}

impl KnownVersions {
    /// Returns what is not as it was. A shared entry has no kind here.
    fn compare(&mut self, stores: &Stores) -> Vec<ObjectKey> {
        let mut changed = Vec::new();
        self.compare_store(stores.namespaces(), &object_key("Namespace", "", ""), &mut changed);
        if let Some(nodes) = stores.nodes() {
            self.compare_store(&nodes, &object_key("Node", "", ""), &mut changed);
        }
        for (namespace, name) in stores.watched_config_maps() {
            if let Some(store) = stores.config_map(&namespace, &name) {
                self.compare_store(&store, &object_key("ConfigMap", &namespace, &name), &mut changed);
            }
        }
        for (_, store) in stores.of_role(WatchRole::Shared) {
            self.compare_store(store, &object_key("", "", ""), &mut changed);
        }
        changed
    }

    fn compare_store(&mut self, store: &Store, of: &ObjectKey, changed: &mut Vec<ObjectKey>) {
        if !store.is_synced() {
            return;
        }
        let digest = store.digest();
        if self.digests.insert(of.clone(), digest) == Some(digest) {
            return;
        }
        let mut now = HashMap::new();
        for object in store.all() {
            let text = |key: &str| Text::from(object.str_at(&["metadata", key]));
            let key = ObjectKey { namespace: text("namespace"), name: text("name"), ..of.clone() };
            now.insert(key, text("resourceVersion"));
        }
        // A ConfigMap is a store of its own, the others are stores of a kind.
        let is_of = |key: &ObjectKey| key.kind == of.kind && (of.name.is_empty() || key == of);
        let gone = self.versions.keys().filter(|key| is_of(key) && !now.contains_key(*key));
        changed.extend(gone.cloned());
        let new = now.iter().filter(|(key, version)| self.versions.get(*key) != Some(version));
        changed.extend(new.map(|(key, _)| key.clone()));
        self.versions.retain(|key, _| !is_of(key));
        self.versions.extend(now);
    }

    /// Returns the shared entries that decisions read and whose data is not as it was.
    async fn compare_shared(&mut self, lookup: &ClusterLookup, scanner: &RwLock<Scanner>) -> Vec<Text> {
        let inputs = scanner.read().unwrap_or_else(PoisonError::into_inner).watched_inputs();
        let mut changed = Vec::new();
        for input in inputs {
            let WatchedInput::Shared(name) = input else { continue };
            let query = Query::Shared(name.clone());
            let answer = lookup.look_up(&query, Instant::now() + SHARED_TIMEOUT).await;
            let mut hasher = DefaultHasher::new();
            match &answer {
                Ok(value) => value.as_ref().map(json::to_string).hash(&mut hasher),
                // That it cannot be read is one state, whatever the words.
                Err(_) => 0.hash(&mut hasher),
            }
            let hash = hasher.finish();
            if self.shared.insert(name.clone(), hash) != Some(hash) {
                changed.push(name);
            }
        }
        changed
    }
}

fn object_key(kind: &str, namespace: &str, name: &str) -> ObjectKey {
    ObjectKey { kind: kind.into(), namespace: namespace.into(), name: name.into(), ..ObjectKey::default() }
}
