//! The world as the watch caches know it, read without waiting.

use std::sync::Arc;

use kubewright_cluster::Store;
use kubewright_engine::{ApiCall, Query, QueryAnswer, World};
use kubewright_k8s::{ApiPath, ObjectName};

use crate::Stores;

/// The watch caches as a world. What is not watched, or not known yet, is left to a lookup.
#[derive(Debug)]
pub struct CachedWorld(pub Arc<Stores>);

impl World for CachedWorld {
    fn get(&self, query: &Query) -> QueryAnswer {
        match query {
            Query::Object(name) => self.object(name),
            Query::Api(call) => self.call(call),
            _ => QueryAnswer::Unknown,
        }
    }
}

impl CachedWorld {
    fn object(&self, name: &ObjectName) -> QueryAnswer {
        match (name.group.as_str(), name.kind.as_str()) {
            // A namespace of a request exists; the watch may only not have reported it yet.
            ("", "Namespace") => absent_as_unknown(store_answer(Some(self.0.namespaces()), name)),
            ("", "Node") => store_answer(self.0.nodes().as_ref(), name),
            ("", "ConfigMap") => store_answer(self.0.config_map(&name.namespace, &name.name).as_ref(), name),
            _ => QueryAnswer::Unknown,
        }
    }

    /// A call that reads one object, by far the most frequent being the namespace of the request. What is not there is
    /// left to the API server, which has words of its own for that.
    fn call(&self, call: &ApiCall) -> QueryAnswer {
        let Some(path) = call.path.as_ref().filter(|_| call.method == "GET" && call.service.is_none()) else {
            return QueryAnswer::Unknown;
        };
        let ApiPath { group, version, namespace, resource, name, subresource, query } = path;
        let is_plain = group.is_empty() && version == "v1" && subresource.is_empty() && query.is_empty();
        let kind = match resource.as_str() {
            "namespaces" => "Namespace",
            "configmaps" => "ConfigMap",
            _ => return QueryAnswer::Unknown,
        };
        if !is_plain || name.is_empty() {
            return QueryAnswer::Unknown;
        }
        let name = ObjectName {
            kind: kind.into(),
            namespace: namespace.clone(),
            name: name.clone(),
            ..ObjectName::default()
        };
        absent_as_unknown(self.object(&name))
    }
}

fn absent_as_unknown(answer: QueryAnswer) -> QueryAnswer {
    match answer {
        QueryAnswer::Absent => QueryAnswer::Unknown,
        answer => answer,
    }
}

/// Only a store that has seen everything can say that something is not there.
fn store_answer(store: Option<&Arc<Store>>, name: &ObjectName) -> QueryAnswer {
    match store.map(|store| (store.get(&name.namespace, &name.name), store.is_synced())) {
        Some((Some(object), true)) => QueryAnswer::Found(object),
        Some((None, true)) => QueryAnswer::Absent,
        Some((_, false)) | None => QueryAnswer::Unknown,
    }
}
