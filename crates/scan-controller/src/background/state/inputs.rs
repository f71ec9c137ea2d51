//! What rules looked up to make downstreams, and which triggers depend on it.

use std::collections::{BTreeSet, HashMap, HashSet};

use kubewright_engine::Query;
use kubewright_scan::{KindKey, ObjectKey, WatchedInput, is_query_about, watched_input};
use kubewright_value::Text;

use super::{BackgroundState, MAX_GONE_SOURCES};
use crate::background::labels::LabelledRule;
use crate::background::queue::TriggerWork;

/// A rule that was asked about a trigger.
type AskedRule = (Text, LabelledRule);

/// The queries of rules, and whose they are.
#[derive(Debug, Default)]
pub(crate) struct InputIndex {
    dependents: HashMap<Query, HashSet<AskedRule>>,
    /// The queries of each trigger.
    of_trigger: HashMap<Text, HashMap<LabelledRule, Vec<Query>>>,
}

impl InputIndex {
    /// Sets what `rule` looked up when it was asked about a trigger.
    pub(crate) fn set(&mut self, uid: &Text, rule: &LabelledRule, queries: Vec<Query>) {
        let rules = self.of_trigger.entry(uid.clone()).or_default();
        let before = rules.insert(rule.clone(), queries.clone()).unwrap_or_default();
        let asked = (uid.clone(), rule.clone());
        for query in before.iter().filter(|query| !queries.contains(query)) {
            remove_dependent(&mut self.dependents, query, &asked);
        }
        for query in queries {
            self.dependents.entry(query).or_default().insert(asked.clone());
        }
    }

    /// Forgets a trigger.
    pub(crate) fn forget(&mut self, uid: &Text) {
        for (rule, queries) in self.of_trigger.remove(uid).unwrap_or_default() {
            let asked = (uid.clone(), rule);
            queries.iter().for_each(|query| remove_dependent(&mut self.dependents, query, &asked));
        }
    }

    fn dependents_on(&self, is_about: impl Fn(&Query) -> bool) -> Vec<AskedRule> {
        let about = self.dependents.iter().filter(|(query, _)| is_about(query));
        about.flat_map(|(_, asked)| asked.iter().cloned()).collect()
    }
}

fn remove_dependent(dependents: &mut HashMap<Query, HashSet<AskedRule>>, query: &Query, asked: &AskedRule) {
    if let Some(all) = dependents.get_mut(query) {
        all.remove(asked);
        if all.is_empty() {
            dependents.remove(query);
        }
    }
}

impl BackgroundState {
    /// Notes what `rule` looked up when it was asked about a trigger.
    pub(crate) fn set_inputs(&mut self, uid: &Text, rule: &LabelledRule, queries: Vec<Query>) {
        if self.triggers.contains_key(uid) {
            self.inputs.set(uid, rule, queries);
        }
    }

    /// Returns what rules looked up and a watch can announce changes of.
    pub(crate) fn watched_inputs(&self) -> BTreeSet<WatchedInput> {
        let of_labels =
            self.downstreams.iter().map(|found| &found.labels).filter(|labels| !labels.source_uid.is_empty());
        let of_labels = of_labels.map(|labels| {
            WatchedInput::Kind(KindKey {
                group: labels.source_group.clone(),
                kind: labels.source_kind.clone(),
            })
        });
        self.inputs.dependents.keys().filter_map(watched_input).chain(of_labels).collect()
    }

    /// Lets rules be asked again that looked up `changed`.
    pub(super) fn input_changed(&mut self, changed: &ObjectKey) {
        let dependents = self.inputs.dependents_on(|query| is_query_about(query, changed));
        self.queue_dependents(dependents);
    }

    /// Lets rules be asked again that looked up objects of `kind`.
    pub(super) fn kind_changed(&mut self, kind: &KindKey) {
        let is_about = |query: &Query| match watched_input(query) {
            Some(WatchedInput::Kind(of)) => of == *kind,
            Some(WatchedInput::Resource { group, .. }) => group == kind.group,
            Some(WatchedInput::Shared(_)) | None => false,
        };
        let dependents = self.inputs.dependents_on(is_about);
        self.queue_dependents(dependents);
    }

    /// Notes that a source is gone: its copies go, unless their rules say otherwise.
    pub(super) fn source_is_gone(&mut self, uid: &Text, key: Option<&ObjectKey>) {
        let copies: Vec<AskedRule> = self
            .downstreams
            .of_source(uid)
            .map(|found| (found.labels.trigger_uid.clone(), found.labels.rule.clone()))
            .collect();
        if !copies.is_empty() {
            if self.gone_sources.len() >= MAX_GONE_SOURCES {
                self.gone_sources.clear();
            }
            self.gone_sources.insert(uid.clone());
        }
        self.queue_dependents(copies);
        if let Some(key) = key {
            self.input_changed(key);
        }
    }

    fn queue_dependents(&mut self, dependents: Vec<AskedRule>) {
        for (uid, rule) in dependents {
            let Some(trigger) = self.triggers.get(&uid) else { continue };
            let work = TriggerWork {
                key: trigger.key.clone(),
                rules: BTreeSet::from([rule]),
                ..TriggerWork::default()
            };
            self.queue.add(uid, work);
        }
    }
}
