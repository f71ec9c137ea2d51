//! The workload that an object belongs to: the last owner that is known.

use std::collections::HashMap;

use kubewright_value::{Text, Value};

/// How many owners are followed.
const MAX_OWNERS: usize = 8;

/// What an object is called.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ObjectKey {
    /// The kind.
    pub(super) kind: Text,
    /// Empty for an object without one.
    pub(super) namespace: Text,
    /// May be empty.
    pub(super) name: Text,
}

impl ObjectKey {
    /// Returns what `object` is called.
    pub(super) fn of(object: &Value) -> Self {
        Self {
            kind: object.str_at(&["kind"]).into(),
            namespace: object.str_at(&["metadata", "namespace"]).into(),
            name: object.str_at(&["metadata", "name"]).into(),
        }
    }

    /// Returns the owner that controls `object`, or its first owner.
    pub(super) fn owner_of(object: &Value) -> Option<Self> {
        let owners = object.at(&["metadata", "ownerReferences"]).and_then(Value::as_array)?;
        let controls = |owner: &&Value| owner.get("controller").and_then(Value::as_bool) == Some(true);
        let owner = owners.iter().find(controls).or_else(|| owners.first())?;
        Some(Self {
            kind: owner.str_at(&["kind"]).into(),
            namespace: object.str_at(&["metadata", "namespace"]).into(),
            name: owner.str_at(&["name"]).into(),
        })
    }
}

/// The owners of all objects.
#[derive(Debug, Default)]
pub(super) struct OwnerChains {
    owners: HashMap<ObjectKey, ObjectKey>,
}

impl OwnerChains {
    /// Adds an object and its owner.
    pub(super) fn add(&mut self, object: ObjectKey, owner: Option<ObjectKey>) {
        if let Some(owner) = owner {
            self.owners.insert(object, owner);
        }
    }

    /// Returns the last owner of `object` as `Kind/name`, or the object itself.
    pub(super) fn owner_text(&self, object: &ObjectKey) -> String {
        let mut last = object;
        for _ in 0..MAX_OWNERS {
            match self.owners.get(last) {
                Some(owner) => last = owner,
                None => break,
            }
        }
        format!("{}/{}", last.kind, last.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_owner_is_the_last_one_that_is_known() {
        let key = |kind: &str, name: &str| ObjectKey {
            kind: kind.into(),
            namespace: "a".into(),
            name: name.into(),
        };
        let mut chains = OwnerChains::default();
        chains.add(key("Pod", "p"), Some(key("ReplicaSet", "r")));
        chains.add(key("ReplicaSet", "r"), Some(key("Deployment", "d")));
        chains.add(key("Deployment", "d"), None);
        assert_eq!(chains.owner_text(&key("Pod", "p")), "Deployment/d");
        assert_eq!(chains.owner_text(&key("Service", "s")), "Service/s");
        chains.add(key("Deployment", "d"), Some(key("Pod", "p")));
        assert!(chains.owner_text(&key("Pod", "p")).contains('/'), "a circle ends");
    }
}
