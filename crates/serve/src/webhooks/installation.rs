//! Whether kubewright is still installed: the ClusterRole that owns the configurations, and our namespace.
//!
//! Both may be missing from the start, as for a server that runs outside of the cluster; then the configurations have
//! no owner. If they existed and are deleted, the installation goes, and the configurations must not be created again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kubewright_cluster::{Client, GroupVersionResource, Store, WatchPolicy};
use kubewright_value::Value;

use super::OwnerRole;
use crate::ServeSettings;

/// The annotation of the ClusterRole whose value `off` removes the webhooks, so that an operator can repair a cluster.
pub const WEBHOOKS_ANNOTATION: &str = "kubewright.dev/webhooks";

/// What tells whether we are installed.
pub(super) struct Installation {
    role_name: String,
    namespace_name: String,
    role: Arc<Store>,
    namespace: Arc<Store>,
    had_role: AtomicBool,
    had_namespace: AtomicBool,
}

impl Installation {
    pub(super) fn watch(client: &Client, settings: &ServeSettings) -> Self {
        let keep = |resource: &GroupVersionResource, name: &str| {
            // Neither the rules of a role nor the spec of a namespace is asked for.
            let store = Arc::new(Store::new(|object| {
                if let Some(map) = object.as_object_mut() {
                    map.remove("rules");
                }
            }));
            let path = resource.only("", name);
            tokio::spawn(kubewright_cluster::run_reflector(
                client.clone(),
                path,
                Arc::clone(&store),
                WatchPolicy::default(),
            ));
            store
        };
        Self {
            role: keep(
                &GroupVersionResource::new("rbac.authorization.k8s.io", "v1", "clusterroles"),
                &settings.name,
            ),
            namespace: keep(&GroupVersionResource::new("", "v1", "namespaces"), &settings.namespace),
            role_name: settings.name.clone(),
            namespace_name: settings.namespace.clone(),
            had_role: AtomicBool::new(false),
            had_namespace: AtomicBool::new(false),
        }
    }

    pub(super) fn stores(&self) -> (&Arc<Store>, &Arc<Store>) {
        (&self.role, &self.namespace)
    }

    /// Whether both have been looked for. One that we may not even look for is none.
    pub(super) fn is_known(&self) -> bool {
        [&self.role, &self.namespace]
            .into_iter()
            .all(|store| store.is_synced() || store.problem().is_some_and(|problem| problem.is_forbidden()))
    }

    /// Whether the installation goes, or an operator wants the webhooks away.
    pub(super) fn is_leaving(&self) -> bool {
        let role = self.role.get("", &self.role_name);
        let namespace = self.namespace.get("", &self.namespace_name);
        let is_off = role.as_ref().is_some_and(|role| {
            role.at(&["metadata", "annotations", WEBHOOKS_ANNOTATION]).and_then(Value::as_str) == Some("off")
        });
        is_off || is_gone(role.as_ref(), &self.had_role) || is_gone(namespace.as_ref(), &self.had_namespace)
    }

    pub(super) fn owner(&self) -> Option<OwnerRole> {
        let role = self.role.get("", &self.role_name)?;
        let uid = role.at(&["metadata", "uid"]).and_then(Value::as_str)?;
        Some(OwnerRole { name: self.role_name.as_str().into(), uid: uid.into() })
    }
}

fn is_gone(object: Option<&Value>, was_there: &AtomicBool) -> bool {
    match object {
        Some(object) => {
            was_there.store(true, Ordering::Relaxed);
            object.at(&["metadata", "deletionTimestamp"]).is_some_and(|time| !time.is_null())
        }
        None => was_there.load(Ordering::Relaxed),
    }
}
