//! Which roles are bound to those who ask.
//!
//! Two watches keep what is bound to users and groups; a review only looks it up. Bindings are trimmed to what is asked
//! for, and what they say is arranged anew with every change.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use arc_swap::ArcSwap;
use kubewright_cluster::{Client, Pace, Resource, Store, keep};
use kubewright_value::{Map, Text, Value};

use crate::Roles;

/// The roles of users and groups.
#[derive(Debug)]
pub struct Bindings {
    in_namespaces: Arc<Store>,
    of_cluster: Arc<Store>,
    index: ArcSwap<Index>,
}

/// What is bound to users and groups, by their names.
#[derive(Debug, Default)]
struct Index {
    users: HashMap<Text, Vec<Bound>>,
    groups: HashMap<Text, Vec<Bound>>,
}

/// A role that is bound to somebody.
#[derive(Debug, Clone)]
enum Bound {
    /// `namespace:name`.
    Role(Text),
    /// A cluster role, in one namespace or in all.
    ClusterRole(Option<Text>, Text),
}

impl Default for Bindings {
    fn default() -> Self {
        Self {
            in_namespaces: Arc::new(Store::new(trim)),
            of_cluster: Arc::new(Store::new(trim)),
            index: ArcSwap::default(),
        }
    }
}

impl Bindings {
    /// Keeps them as the cluster has them. Never ends.
    pub async fn keep(&self, client: Client) {
        let of = |resource: &str| Resource::new("rbac.authorization.k8s.io", "v1", resource).all();
        let watch = |resource: &str, store: &Arc<Store>| {
            keep(client.clone(), of(resource), Arc::clone(store), Pace::default())
        };
        let (mut some, mut others) = (self.in_namespaces.changes(), self.of_cluster.changes());
        let arrange = async {
            loop {
                self.arrange();
                tokio::select! {
                    _ = some.changed() => {}
                    _ = others.changed() => {}
                }
            }
        };
        tokio::select! {
            _ = watch("rolebindings", &self.in_namespaces) => {}
            _ = watch("clusterrolebindings", &self.of_cluster) => {}
            () = arrange => {}
        }
    }

    /// Returns whether all bindings are known.
    #[must_use]
    pub fn is_synced(&self) -> bool {
        self.in_namespaces.is_synced() && self.of_cluster.is_synced()
    }

    fn arrange(&self) {
        let index = Index::of(&self.in_namespaces.all(), &self.of_cluster.all());
        self.index.store(Arc::new(index));
    }
}

impl Roles for Bindings {
    fn of(&self, user: &Value, namespace: &str) -> (Vec<Text>, Vec<Text>) {
        self.index.load().roles(user, namespace)
    }
}

impl Index {
    fn of_subjects(&mut self, binding: &Value, home: &str, bound: &Bound) {
        for subject in binding.get("subjects").and_then(Value::as_array).unwrap_or_default() {
            let (name, given) = (text(subject, "name"), text(subject, "namespace"));
            let namespace = if given.is_empty() { home } else { given };
            let (all, name) = match text(subject, "kind") {
                "User" => (&mut self.users, Text::new(name)),
                "Group" => (&mut self.groups, Text::new(name)),
                "ServiceAccount" if !namespace.is_empty() => {
                    (&mut self.users, format!("system:serviceaccount:{namespace}:{name}").into())
                }
                _ => continue,
            };
            all.entry(name).or_default().push(bound.clone());
        }
    }

    fn of(in_namespaces: &[Value], of_cluster: &[Value]) -> Self {
        let mut index = Self::default();
        let role = |binding: &Value| {
            let part = |key| binding.at(&["roleRef", key]).and_then(Value::as_str).unwrap_or_default();
            (part("kind").to_owned(), Text::new(part("name")))
        };
        for binding in in_namespaces {
            let home = binding.at(&["metadata", "namespace"]).and_then(Value::as_str).unwrap_or_default();
            let bound = match role(binding) {
                (kind, name) if kind == "Role" => Bound::Role(format!("{home}:{name}").into()),
                (kind, name) if kind == "ClusterRole" => Bound::ClusterRole(Some(home.into()), name),
                _ => continue,
            };
            index.of_subjects(binding, home, &bound);
        }
        for binding in of_cluster {
            if let (kind, name) = role(binding)
                && kind == "ClusterRole"
            {
                index.of_subjects(binding, "", &Bound::ClusterRole(None, name));
            }
        }
        index
    }

    fn of_user<'i>(&'i self, user: &'i Value) -> impl Iterator<Item = &'i Bound> {
        let groups = user.get("groups").and_then(Value::as_array).unwrap_or_default();
        let groups = groups.iter().filter_map(Value::as_str).filter_map(|group| self.groups.get(group));
        self.users.get(text(user, "username")).into_iter().chain(groups).flatten()
    }
}

impl Index {
    fn roles(&self, user: &Value, namespace: &str) -> (Vec<Text>, Vec<Text>) {
        let (mut roles, mut cluster_roles) = (BTreeSet::new(), BTreeSet::new());
        for bound in self.of_user(user) {
            match bound {
                Bound::Role(role) => _ = roles.insert(role.clone()),
                Bound::ClusterRole(Some(home), _) if home != namespace => {}
                Bound::ClusterRole(_, role) => _ = cluster_roles.insert(role.clone()),
            }
        }
        (roles.into_iter().collect(), cluster_roles.into_iter().collect())
    }
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Leaves what is asked for.
fn trim(binding: &mut Value) {
    let metadata = |key: &str| Some((Text::new(key), binding.at(&["metadata", key])?.clone()));
    let metadata: Map = ["name", "namespace", "resourceVersion"].into_iter().filter_map(metadata).collect();
    let kept = |key: &str| Some((Text::new(key), binding.get(key)?.clone()));
    let mut trimmed: Map = ["roleRef", "subjects"].into_iter().filter_map(kept).collect();
    trimmed.insert("metadata".into(), metadata.into());
    *binding = trimmed.into();
}

#[cfg(test)]
mod tests;
