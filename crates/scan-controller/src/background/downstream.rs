//! The objects that rules made, as watches know them: who made them, because of what, and from what.

use std::collections::{BTreeSet, HashMap};

use kubewright_scan::ObjectKey;
use kubewright_value::{Text, Value};

use super::labels::{DownstreamLabels, LabelledRule};

/// An object that a rule made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Downstream {
    pub(crate) key: ObjectKey,
    pub(crate) uid: Text,
    pub(crate) resource_version: Text,
    pub(crate) labels: DownstreamLabels,
}

impl Downstream {
    /// Reads an object; nothing where no rule made it.
    pub(crate) fn of(key: ObjectKey, object: &Value) -> Option<Self> {
        let text = |name: &str| object.str_at(&["metadata", name]).into();
        let labels = DownstreamLabels::of(object)?;
        Some(Self { key, uid: text("uid"), resource_version: text("resourceVersion"), labels })
    }
}

/// All of them, found by what made them.
#[derive(Debug, Default)]
pub(crate) struct DownstreamIndex {
    all: HashMap<ObjectKey, Downstream>,
    by_trigger: HashMap<Text, BTreeSet<ObjectKey>>,
    by_source: HashMap<Text, BTreeSet<ObjectKey>>,
}

impl DownstreamIndex {
    /// Takes up an object, in place of an earlier state of it.
    pub(crate) fn insert(&mut self, downstream: Downstream) {
        self.remove(&downstream.key);
        let DownstreamLabels { trigger_uid, source_uid, .. } = &downstream.labels;
        self.by_trigger.entry(trigger_uid.clone()).or_default().insert(downstream.key.clone());
        if !source_uid.is_empty() {
            self.by_source.entry(source_uid.clone()).or_default().insert(downstream.key.clone());
        }
        self.all.insert(downstream.key.clone(), downstream);
    }

    /// Forgets an object that is gone or is no rule's any more.
    pub(crate) fn remove(&mut self, key: &ObjectKey) -> Option<Downstream> {
        let downstream = self.all.remove(key)?;
        let DownstreamLabels { trigger_uid, source_uid, .. } = &downstream.labels;
        for (map, uid) in [(&mut self.by_trigger, trigger_uid), (&mut self.by_source, source_uid)] {
            if let Some(keys) = map.get_mut(uid) {
                keys.remove(key);
                if keys.is_empty() {
                    map.remove(uid);
                }
            }
        }
        Some(downstream)
    }

    pub(crate) fn get(&self, key: &ObjectKey) -> Option<&Downstream> {
        self.all.get(key)
    }

    /// Returns what `rule` made because of a trigger.
    pub(crate) fn of_trigger(&self, rule: &LabelledRule, trigger_uid: &Text) -> Vec<Downstream> {
        let keys = self.by_trigger.get(trigger_uid).into_iter().flatten();
        let found = keys.filter_map(|key| self.all.get(key)).filter(|found| found.labels.rule == *rule);
        found.cloned().collect()
    }

    /// Returns the copies of a source.
    pub(crate) fn of_source(&self, source_uid: &Text) -> impl Iterator<Item = &Downstream> {
        self.by_source.get(source_uid).into_iter().flatten().filter_map(|key| self.all.get(key))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Downstream> {
        self.all.values()
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }
}
