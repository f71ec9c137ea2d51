//! What rules see of the cluster without waiting for anybody.

use std::sync::Arc;

use kubewright_cluster::Store;
use kubewright_engine::{Answer, ObjectName, Query, World};

use crate::Stores;

/// What the stores know. What is not watched, or not known yet, is for a lookup.
#[derive(Debug)]
pub struct Known(pub Arc<Stores>);

impl World for Known {
    fn get(&self, query: &Query) -> Answer {
        let Query::Object(name) = query else { return Answer::Unknown };
        match (name.group.as_str(), name.kind.as_str()) {
            // Whoever asks about an object in a namespace has seen it; we may not have heard of it yet.
            ("", "Namespace") => match answer(Some(self.0.namespaces()), name) {
                Answer::Absent => Answer::Unknown,
                answer => answer,
            },
            ("", "Node") => answer(self.0.nodes().as_ref(), name),
            ("", "ConfigMap") => answer(self.0.config_map(&name.namespace, &name.name).as_ref(), name),
            _ => Answer::Unknown,
        }
    }
}

/// Only a store that has seen everything can say that something is not there.
fn answer(store: Option<&Arc<Store>>, name: &ObjectName) -> Answer {
    match store.map(|store| (store.get(&name.namespace, &name.name), store.is_synced())) {
        Some((Some(object), true)) => Answer::Found(object),
        Some((None, true)) => Answer::Absent,
        Some((_, false)) | None => Answer::Unknown,
    }
}
