//! An index of the roles of users and groups.
//!
//! It is rebuilt with every change of a binding, so that a review only reads it.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use kubewright_value::{Text, Value};
use tokio::sync::watch;

use crate::{Roles, Stores};

/// The roles of users and groups, as the bindings in the stores say.
#[derive(Debug)]
pub struct RoleIndex {
    stores: Arc<Stores>,
    index: ArcSwapOption<SubjectRoles>,
}

/// What is bound to users and groups, by their names.
#[derive(Debug, Default)]
struct SubjectRoles {
    users: HashMap<Text, Vec<BoundRole>>,
    groups: HashMap<Text, Vec<BoundRole>>,
}

/// A role that is bound to a user or group.
#[derive(Debug, Clone)]
enum BoundRole {
    /// `namespace:name`.
    Role(Text),
    /// A cluster role, in one namespace or in all.
    ClusterRole(Option<Text>, Text),
}

impl RoleIndex {
    /// Returns the roles by the bindings of `stores`. Nothing is known before [`RoleIndex::follow_bindings`] has run.
    #[must_use]
    pub fn new(stores: Arc<Stores>) -> Self {
        Self { stores, index: ArcSwapOption::empty() }
    }

    /// Keeps them as the stores have them, from when rules first need them. `snapshots` tells when that may be. Ends with it.
    pub async fn follow_bindings(&self, mut snapshots: watch::Receiver<u64>) {
        let [in_namespaces, of_cluster] = loop {
            match self.stores.bindings() {
                Some(both) => break both,
                None if snapshots.changed().await.is_err() => return,
                None => {}
            }
        };
        let (mut some, mut others) = (in_namespaces.changes(), of_cluster.changes());
        loop {
            if in_namespaces.is_synced() && of_cluster.is_synced() {
                let index = SubjectRoles::of(&in_namespaces.all(), &of_cluster.all());
                self.index.store(Some(Arc::new(index)));
            }
            let is_over = tokio::select! {
                change = some.changed() => change.is_err(),
                change = others.changed() => change.is_err(),
            };
            if is_over {
                return;
            }
        }
    }
}

impl RoleIndex {
    /// Builds the index on first use, if the bindings are known already.
    fn first(&self) -> Option<Arc<SubjectRoles>> {
        let [in_namespaces, of_cluster] = self.stores.bindings()?;
        if !in_namespaces.is_synced() || !of_cluster.is_synced() {
            return None;
        }
        let index = Arc::new(SubjectRoles::of(&in_namespaces.all(), &of_cluster.all()));
        self.index.store(Some(Arc::clone(&index)));
        Some(index)
    }
}

impl Roles for Arc<RoleIndex> {
    fn of(&self, user: &Value, namespace: &str) -> Option<(Vec<Text>, Vec<Text>)> {
        let known = self.index.load();
        let index = known.as_ref().map(Arc::clone).or_else(|| self.first());
        index.map(|index| index.roles(user, namespace))
    }
}

impl SubjectRoles {
    fn of_subjects(&mut self, binding: &Value, home: &str, bound: &BoundRole) {
        for subject in binding.get("subjects").and_then(Value::as_array).unwrap_or_default() {
            let (name, given) = (text_field(subject, "name"), text_field(subject, "namespace"));
            let namespace = if given.is_empty() { home } else { given };
            let (all, name) = match text_field(subject, "kind") {
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
            let part = |key| binding.str_at(&["roleRef", key]);
            (part("kind").to_owned(), Text::new(part("name")))
        };
        for binding in in_namespaces {
            let home = binding.str_at(&["metadata", "namespace"]);
            let bound = match role(binding) {
                (kind, name) if kind == "Role" => BoundRole::Role(format!("{home}:{name}").into()),
                (kind, name) if kind == "ClusterRole" => BoundRole::ClusterRole(Some(home.into()), name),
                _ => continue,
            };
            index.of_subjects(binding, home, &bound);
        }
        for binding in of_cluster {
            if let (kind, name) = role(binding)
                && kind == "ClusterRole"
            {
                index.of_subjects(binding, "", &BoundRole::ClusterRole(None, name));
            }
        }
        index
    }

    fn of_user<'i>(&'i self, user: &'i Value) -> impl Iterator<Item = &'i BoundRole> {
        let groups = user.get("groups").and_then(Value::as_array).unwrap_or_default();
        let groups = groups.iter().filter_map(Value::as_str).filter_map(|group| self.groups.get(group));
        self.users.get(text_field(user, "username")).into_iter().chain(groups).flatten()
    }
}

impl SubjectRoles {
    fn roles(&self, user: &Value, namespace: &str) -> (Vec<Text>, Vec<Text>) {
        let (mut roles, mut cluster_roles) = (BTreeSet::new(), BTreeSet::new());
        for bound in self.of_user(user) {
            match bound {
                BoundRole::Role(role) => _ = roles.insert(role.clone()),
                BoundRole::ClusterRole(Some(home), _) if home != namespace => {}
                BoundRole::ClusterRole(_, role) => _ = cluster_roles.insert(role.clone()),
            }
        }
        (roles.into_iter().collect(), cluster_roles.into_iter().collect())
    }
}

fn text_field<'v>(value: &'v Value, key: &str) -> &'v str {
    value.str_at(&[key])
}

#[cfg(test)]
mod tests;
