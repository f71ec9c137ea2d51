//! What a store holds, and which of two states of an object is newer.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use kubewright_value::{Text, Value};

use super::resource_version;

/// How many deletions are remembered. Events that are older than that many deletions do not come.
const MAX_REMEMBERED_DELETIONS: usize = 1024;

/// What a store holds.
#[derive(Debug, Default)]
pub(super) struct StoreContent {
    pub(super) is_synced: bool,
    /// Where a watch goes on.
    pub(super) version: Text,
    /// The version of the list: whatever happened up to it is in.
    floor: Option<u64>,
    objects: BTreeMap<Text, BTreeMap<Text, Value>>,
    deleted: RememberedDeletions,
}

/// What was deleted since the list.
#[derive(Debug, Default)]
struct RememberedDeletions {
    /// The version of the last deletion, by namespace and name.
    versions: HashMap<StoredName, u64>,
    /// In the order of the deletions; the oldest are forgotten.
    order: VecDeque<(StoredName, u64)>,
}

/// Namespace and name.
type StoredName = (Text, Text);

impl StoreContent {
    /// All objects of a list of this version are in.
    pub(super) fn finish_list(&mut self, version: &str) {
        self.is_synced = true;
        self.version = version.into();
        self.floor = version.parse().ok();
        self.deleted = RememberedDeletions::default();
    }

    /// The stored object of the same name and version.
    pub(super) fn same_version(&self, object: &Value) -> Option<&Value> {
        let metadata = |key| object.str_at(&["metadata", key]);
        let stored = self.get(metadata("namespace"), metadata("name"))?;
        let version = resource_version(object);
        (!version.is_empty() && resource_version(stored) == version).then_some(stored)
    }

    pub(super) fn get(&self, namespace: &str, name: &str) -> Option<&Value> {
        self.objects.get(namespace)?.get(name)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Value> {
        self.objects.values().flat_map(BTreeMap::values)
    }

    pub(super) fn insert(&mut self, object: Value) {
        let (namespace, name) = stored_name(&object);
        self.objects.entry(namespace).or_default().insert(name, object);
    }

    pub(super) fn set(&mut self, object: Value) -> bool {
        let (namespace, name) = stored_name(&object);
        if self.is_old(&namespace, &name, version_number(resource_version(&object))) {
            return false;
        }
        self.advance(resource_version(&object));
        self.insert(object);
        true
    }

    pub(super) fn remove(&mut self, object: &Value) -> bool {
        let (namespace, name) = stored_name(object);
        let version = version_number(resource_version(object));
        // The last state of an object may come with the version it had before.
        let is_same = self
            .get(&namespace, &name)
            .is_some_and(|stored| version_number(resource_version(stored)) == version);
        if !is_same && self.is_old(&namespace, &name, version) {
            return false;
        }
        self.advance(resource_version(object));
        if let Some(version) = version {
            self.deleted.remember((namespace.clone(), name.clone()), version);
        }
        let Some(objects) = self.objects.get_mut(&namespace) else { return false };
        let is_change = objects.remove(&name).is_some();
        if objects.is_empty() {
            self.objects.remove(&namespace);
        }
        is_change
    }

    /// Nothing is missing up to `version`; never goes back.
    pub(super) fn advance(&mut self, version: &str) {
        advance_version(&mut self.version, version);
    }

    pub(super) fn has_same_versions(&self, other: &Self) -> bool {
        let key = |object: &Value| (stored_name(object), Text::new(resource_version(object)));
        self.iter().map(key).eq(other.iter().map(key))
    }

    pub(super) fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.iter().for_each(|object| hash_value(object, &mut hasher));
        hasher.finish()
    }

    /// Whether a state of `version` adds nothing to what is known. One without a number is taken for new.
    fn is_old(&self, namespace: &str, name: &str, version: Option<u64>) -> bool {
        let Some(version) = version else { return false };
        let stored = self.get(namespace, name).and_then(|object| version_number(resource_version(object)));
        let deleted = self.deleted.version_of(namespace, name);
        self.floor.into_iter().chain(stored).chain(deleted).any(|known| version <= known)
    }
}

impl RememberedDeletions {
    fn remember(&mut self, name: StoredName, version: u64) {
        let latest = self.versions.entry(name.clone()).or_default();
        *latest = version.max(*latest);
        self.order.push_back((name, version));
        if self.order.len() > MAX_REMEMBERED_DELETIONS
            && let Some((name, version)) = self.order.pop_front()
            && self.versions.get(&name) == Some(&version)
        {
            self.versions.remove(&name);
        }
    }

    fn version_of(&self, namespace: &str, name: &str) -> Option<u64> {
        // Most stores see no deletions, and then no names are made to look for.
        match self.versions.is_empty() {
            true => None,
            false => self.versions.get(&(namespace.into(), name.into())).copied(),
        }
    }
}

/// Moves `known` to `version`, unless that is older.
pub(crate) fn advance_version(known: &mut Text, version: &str) {
    let is_newer = match (version_number(known), version_number(version)) {
        (Some(known), Some(new)) => new > known,
        _ => !version.is_empty(),
    };
    if is_newer {
        *known = version.into();
    }
}

/// Versions are numbers in every API server, though the API does not promise it.
fn version_number(version: &str) -> Option<u64> {
    version.parse().ok()
}

fn stored_name(object: &Value) -> (Text, Text) {
    let metadata = |key| object.str_at(&["metadata", key]);
    (metadata("namespace").into(), metadata("name").into())
}

/// Objects are equal whatever the order of their keys.
fn hash_value(value: &Value, hasher: &mut DefaultHasher) {
    match value {
        Value::Array(items) => {
            items.len().hash(hasher);
            items.iter().for_each(|item| hash_value(item, hasher));
        }
        Value::Object(map) => {
            map.len().hash(hasher);
            for (key, value) in map.sorted() {
                key.hash(hasher);
                hash_value(value, hasher);
            }
        }
        scalar => kubewright_value::json::to_string(scalar).hash(hasher),
    }
}
