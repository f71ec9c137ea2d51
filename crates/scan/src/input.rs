//! What decisions looked up, and which of them depend on a changed object.
//!
//! Decisions that looked up the same share one set of queries. A changed object is first compared with the queries, of
//! which there are few; only if one is about it are the sets found, and then the objects that have them.
//!
//! Lookups of images and calls of services cannot be watched: what depends on them is judged again by the full pass.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use kubewright_engine::{ApiCall, Query};
use kubewright_k8s::{ApiPath, is_built_in_group, kind_of_resource, resource_name};
use kubewright_value::Text;

use crate::intern::InternTable;
use crate::{KindKey, ObjectKey};

/// Something that decisions looked up and that a watch can announce changes of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WatchedInput {
    /// Objects of a kind.
    Kind(KindKey),
    /// Objects of a resource (plural, lower case) whose kind is not known.
    Resource {
        /// The API group.
        group: Text,
        /// The resource.
        resource: Text,
    },
    /// A cluster-wide shared entry, by name.
    Shared(Text),
}

/// Something that has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ChangedInput {
    /// An object.
    Object(ObjectKey),
    /// A cluster-wide shared entry, by name.
    Shared(Text),
}

impl ChangedInput {
    /// Returns whether the answer to `query` can depend on it.
    pub(crate) fn is_read_by(&self, query: &Query) -> bool {
        match (self, query) {
            (Self::Object(changed), Query::Object(name)) => changed == name,
            (Self::Shared(changed), Query::Shared(name)) => changed == name,
            (Self::Object(changed), query) => watched_path(query)
                .is_some_and(|path| path.group == changed.group && is_answer_about(path, changed)),
            (Self::Shared(_), _) => false,
        }
    }
}

/// The queries of one decision: their numbers, sorted.
type InputSet = Box<[u32]>;

/// The inputs of all decisions.
#[derive(Debug, Default)]
pub(crate) struct InputTable {
    queries: InternTable<Query>,
    sets: InternTable<InputSet>,
    /// The namespaces of the objects that have a set. They may have been in more namespaces, never in others.
    namespaces: HashMap<u32, BTreeSet<Text>>,
    /// The sets that have a query.
    sets_of_query: HashMap<u32, BTreeSet<u32>>,
    /// The queries that are API paths, by group.
    paths: BTreeMap<Text, BTreeSet<u32>>,
}

impl InputTable {
    /// Returns the number of the set of `queries`, which an object in `namespace` refers to now.
    pub(crate) fn acquire(&mut self, queries: Vec<Query>, namespace: &Text) -> u32 {
        let mut numbers: Vec<u32> = queries.into_iter().map(|query| self.acquire_query(query)).collect();
        numbers.sort_unstable();
        let copy = numbers.clone();
        let (set, is_new) = self.sets.acquire(numbers.into());
        if !copy.is_empty() {
            let namespaces = self.namespaces.entry(set).or_default();
            if !namespaces.contains(namespace) {
                namespaces.insert(namespace.clone());
            }
        }
        for number in copy {
            if is_new {
                self.sets_of_query.entry(number).or_default().insert(set);
            } else {
                // The set refers to its queries once, however many objects refer to the set.
                self.release_query(number);
            }
        }
        set
    }

    /// Takes one reference from the set called `number`.
    pub(crate) fn release(&mut self, number: u32) {
        let Some(set) = self.sets.release(number) else { return };
        self.namespaces.remove(&number);
        for query in set.iter().copied() {
            if let Some(sets) = self.sets_of_query.get_mut(&query) {
                sets.remove(&number);
            }
            self.release_query(query);
        }
    }

    /// Returns the sets that depend on `changed`.
    pub(crate) fn sets_reading(&self, changed: &ChangedInput) -> BTreeSet<u32> {
        let (query, group) = match changed {
            ChangedInput::Object(key) => (Query::Object(key.clone()), Some(&key.group)),
            ChangedInput::Shared(name) => (Query::Shared(name.clone()), None),
        };
        let paths = group.and_then(|group| self.paths.get(group)).into_iter().flatten().copied();
        let by_path =
            paths.filter(|number| self.queries.get(*number).is_some_and(|query| changed.is_read_by(query)));
        self.sets_of(self.queries.number_of(&query).into_iter().chain(by_path))
    }

    /// Returns the namespaces of objects that have one of `sets`.
    pub(crate) fn namespaces_of(&self, sets: &BTreeSet<u32>) -> BTreeSet<&Text> {
        sets.iter().filter_map(|set| self.namespaces.get(set)).flatten().collect()
    }

    /// Returns everything that sets depend on and that can be watched.
    pub(crate) fn watched(&self) -> BTreeSet<WatchedInput> {
        self.queries.iter().filter_map(|(_, query, _)| watched_input(query)).collect()
    }

    fn sets_of(&self, queries: impl Iterator<Item = u32>) -> BTreeSet<u32> {
        queries.filter_map(|query| self.sets_of_query.get(&query)).flatten().copied().collect()
    }

    fn acquire_query(&mut self, query: Query) -> u32 {
        let group = watched_path(&query).map(|path| path.group.clone());
        let (number, is_new) = self.queries.acquire(query);
        if let (true, Some(group)) = (is_new, group) {
            self.paths.entry(group).or_default().insert(number);
        }
        number
    }

    fn release_query(&mut self, number: u32) {
        let Some(query) = self.queries.release(number) else { return };
        self.sets_of_query.remove(&number);
        if let Some(paths) = watched_path(&query).and_then(|path| self.paths.get_mut(&path.group)) {
            paths.remove(&number);
        }
    }
}

/// Returns whether the answer to `query` can depend on `changed`.
#[must_use]
pub fn is_query_about(query: &Query, changed: &ObjectKey) -> bool {
    ChangedInput::Object(changed.clone()).is_read_by(query)
}

/// Returns the path of a query whose answer a watch of a resource can announce changes of.
fn watched_path(query: &Query) -> Option<&ApiPath> {
    match query {
        Query::Api(ApiCall { method, path: Some(path), service: None, .. }) => {
            (method == "GET" && !path.version.is_empty()).then_some(path)
        }
        _ => None,
    }
}

/// Returns what is watched to know when the answer to `query` changes.
#[must_use]
pub fn watched_input(query: &Query) -> Option<WatchedInput> {
    match query {
        Query::Object(name) => Some(WatchedInput::Kind(KindKey::of(name))),
        Query::Shared(name) => Some(WatchedInput::Shared(name.clone())),
        query => {
            let ApiPath { group, resource, .. } = watched_path(query)?;
            let kind = kind_of_resource(resource).filter(|_| is_built_in_group(group));
            Some(match kind {
                Some(kind) => WatchedInput::Kind(KindKey { group: group.clone(), kind: kind.into() }),
                None => WatchedInput::Resource { group: group.clone(), resource: resource.clone() },
            })
        }
    }
}

/// Returns whether the answer to `path`, which is in the group of `changed`, can depend on that object. Selectors of a
/// list are not looked at: a changed object may have had other labels.
fn is_answer_about(path: &ApiPath, changed: &ObjectKey) -> bool {
    let is_resource = match is_built_in_group(&path.group) {
        true => resource_name(&changed.kind) == path.resource.as_str(),
        // The plural of a custom resource cannot be known from its kind.
        false => true,
    };
    let is_namespace = path.namespace.is_empty() || path.namespace == changed.namespace;
    is_resource && is_namespace && (path.name.is_empty() || path.name == changed.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether a decision that sent `url` depends on the object `group kind namespace/name`.
    fn depends(url: &str, object: &str) -> bool {
        let [group, kind, rest] = object.split(' ').collect::<Vec<_>>()[..] else { panic!("{object}") };
        let (namespace, name) = rest.split_once('/').expect("a name");
        let key = ObjectKey {
            group: group.trim_matches('-').into(),
            kind: kind.into(),
            namespace: namespace.into(),
            name: name.into(),
        };
        let mut table = InputTable::default();
        let set =
            table.acquire(vec![Query::Api(ApiCall::resource("GET", url, Text::default()))], &"x".into());
        let changed = ChangedInput::Object(key);
        let is_found = table.sets_reading(&changed).contains(&set);
        table.release(set);
        assert!(table.sets_reading(&changed).is_empty() && table.watched().is_empty());
        is_found
    }

    #[test]
    fn list_depends_on_all_objects_of_its_resource_in_its_namespace() {
        let list = "/api/v1/namespaces/x/configmaps?labelSelector=a%3Db";
        assert!(depends(list, "- ConfigMap x/any"));
        assert!(!depends(list, "- ConfigMap y/any"));
        assert!(!depends(list, "- Secret x/any"));
        assert!(depends("/api/v1/configmaps", "- ConfigMap y/any"));
        assert!(depends("/apis/apps/v1/deployments", "apps Deployment y/any"));
        assert!(!depends("/apis/apps/v1/deployments", "- Deployment y/any"));
    }

    #[test]
    fn call_with_a_name_depends_on_one_object() {
        assert!(depends("/api/v1/namespaces/x/configmaps/a", "- ConfigMap x/a"));
        assert!(!depends("/api/v1/namespaces/x/configmaps/a", "- ConfigMap x/b"));
        assert!(depends("/api/v1/namespaces/x", "- Namespace /x"));
    }

    #[test]
    fn custom_resource_with_an_unusual_plural_is_not_missed() {
        assert!(depends("/apis/example.com/v1/mice", "example.com Mouse x/jerry"));
    }

    #[test]
    fn what_is_no_resource_depends_on_no_object() {
        assert!(!depends("/version", "- ConfigMap x/a"));
    }
}
