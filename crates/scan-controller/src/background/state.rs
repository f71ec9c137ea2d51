//! What the worker knows: policies, triggers, downstreams and sources, and what waits to be done. No input and output here:
//! events come in, work is queued.

mod inputs;
mod sweep;
mod triggers;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use kubewright_cluster::{DiscoveredResources, ResourceEvent};
use kubewright_scan::{KindKey, ObjectKey};
use kubewright_value::{Text, Value};

use self::inputs::InputIndex;
use self::triggers::{KnownTrigger, StandingRules};
use super::downstream::{Downstream, DownstreamIndex};
use super::labels::LabelledRule;
use super::own_writes::OwnWrites;
use super::policies::{BackgroundPolicies, TriggeredPolicy, TriggeredRule};
use super::queue::{TriggerQueue, TriggerWork};
use super::resources::named_resources;

/// Why a kind is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum WatchPurpose {
    /// Its objects trigger rules.
    Triggers,
    /// Rules make objects of it.
    Downstreams,
    /// Rules read its objects.
    Inputs,
}

/// How many sources are remembered that are gone.
const MAX_GONE_SOURCES: usize = 10_000;

/// The state of the worker.
#[derive(Debug, Default)]
pub(crate) struct BackgroundState {
    pub(crate) queue: TriggerQueue,
    pub(crate) downstreams: DownstreamIndex,
    policies: Arc<BackgroundPolicies>,
    has_policies: bool,
    served: Arc<DiscoveredResources>,
    /// The kinds that trigger each rule.
    kinds: BTreeMap<LabelledRule, BTreeSet<KindKey>>,
    triggers: HashMap<Text, KnownTrigger>,
    inputs: InputIndex,
    gone_sources: BTreeSet<Text>,
    synced: HashSet<(WatchPurpose, KindKey)>,
    /// What lists that are under way have brought.
    listed: HashMap<(WatchPurpose, KindKey), HashSet<Text>>,
    /// Downstreams that are to be compared with what their rules say.
    unchecked: BTreeSet<ObjectKey>,
    /// Rules that lost a downstream of a trigger, and for how many sweeps that is known.
    lost: BTreeMap<(LabelledRule, Text), u32>,
    /// How large the triggers are that are kept, in bytes of JSON.
    kept_bytes: usize,
    /// What was changed before this version was worked on before this term began.
    mark: u64,
    /// The newest version of a trigger that was seen.
    newest: u64,
}

impl BackgroundState {
    /// Returns a state that has worked on everything up to the version `mark`.
    pub(crate) fn new(mark: u64) -> Self {
        Self { mark, newest: mark, ..Self::default() }
    }

    pub(crate) fn policies(&self) -> &Arc<BackgroundPolicies> {
        &self.policies
    }

    pub(crate) fn served(&self) -> &Arc<DiscoveredResources> {
        &self.served
    }

    pub(crate) fn newest(&self) -> u64 {
        self.newest
    }

    /// Takes up other policies: rules that are new or have changed are asked about what they are to handle at once.
    pub(crate) fn set_policies(&mut self, policies: Arc<BackgroundPolicies>) {
        let before = self.policies.digests();
        let known: BTreeSet<LabelledRule> = before.keys().cloned().collect();
        self.policies = policies;
        self.has_policies = true;
        self.resolve_kinds();
        let changed: BTreeSet<LabelledRule> = self
            .policies
            .digests()
            .into_iter()
            .filter(|(rule, digest)| before.get(rule) != Some(digest))
            .map(|(rule, _)| rule)
            .collect();
        let standing =
            StandingRules { updated: changed.intersection(&known).cloned().collect(), all: changed };
        let uids: Vec<Text> = self.triggers.keys().cloned().collect();
        for uid in uids {
            self.consider_standing(&uid, &standing, None);
        }
        let changed = standing.all;
        // What was made by rules that are gone is looked at, too.
        let is_affected = |found: &&Downstream| {
            changed.contains(&found.labels.rule) || self.policies.rule(&found.labels.rule).is_none()
        };
        self.unchecked.extend(self.downstreams.iter().filter(is_affected).map(|found| found.key.clone()));
    }

    /// Takes up which resources there are.
    pub(crate) fn set_served(&mut self, served: Arc<DiscoveredResources>) {
        self.served = served;
        self.resolve_kinds();
    }

    fn resolve_kinds(&mut self) {
        let resolve =
            |rule: &TriggeredRule| named_resources(rule.triggers(), &self.served).into_keys().collect();
        self.kinds = self.policies.rules().map(|(_, rule)| (rule.key.clone(), resolve(rule))).collect();
    }

    /// Returns whether `rule` is about triggers of `kind`.
    fn is_triggered_by(&self, rule: &TriggeredRule, kind: &KindKey) -> bool {
        self.kinds.get(&rule.key).is_some_and(|kinds| kinds.contains(kind))
    }

    /// Takes up an event of a watch.
    pub(crate) fn handle(
        &mut self,
        purpose: WatchPurpose,
        kind: &KindKey,
        event: ResourceEvent,
        own: &OwnWrites,
    ) {
        let place = (purpose, kind.clone());
        match event {
            ResourceEvent::InitialListStarted => drop(self.listed.insert(place, HashSet::new())),
            ResourceEvent::InitialObject(object) => {
                let is_first = !self.synced.contains(&place);
                if let Some(listed) = self.listed.get_mut(&place) {
                    listed.insert(object.str_at(&["metadata", "uid"]).into());
                }
                self.see(purpose, kind, object, own, is_first);
            }
            ResourceEvent::InitialListEnded => {
                let listed = self.listed.remove(&place).unwrap_or_default();
                let is_first = self.synced.insert(place);
                self.end_list(purpose, kind, &listed, is_first);
            }
            ResourceEvent::Applied(object) => self.see(purpose, kind, object, own, false),
            ResourceEvent::Deleted(object) => {
                let uid = Text::from(object.str_at(&["metadata", "uid"]));
                match purpose {
                    WatchPurpose::Triggers => self.trigger_is_gone(&uid, Some(object)),
                    WatchPurpose::Downstreams => self.downstream_is_gone(&key_of(kind, &object)),
                    WatchPurpose::Inputs => self.source_is_gone(&uid, Some(&key_of(kind, &object))),
                }
            }
            ResourceEvent::Failed(_) => {}
        }
    }

    /// Forgets what a watch brought that has ended.
    pub(crate) fn forget_watch(&mut self, purpose: WatchPurpose, kind: &KindKey) {
        let place = (purpose, kind.clone());
        self.synced.remove(&place);
        self.listed.remove(&place);
        if purpose == WatchPurpose::Triggers {
            let of_kind = self.triggers.iter().filter(|(_, trigger)| KindKey::of(&trigger.key) == *kind);
            let uids: Vec<Text> = of_kind.map(|(uid, _)| uid.clone()).collect();
            uids.iter().for_each(|uid| self.forget_trigger(uid));
        }
    }

    fn see(&mut self, purpose: WatchPurpose, kind: &KindKey, object: Value, own: &OwnWrites, is_first: bool) {
        match purpose {
            WatchPurpose::Triggers => self.see_trigger(kind, object, own, is_first),
            WatchPurpose::Downstreams => self.see_downstream(kind, &object),
            WatchPurpose::Inputs if is_first => {}
            WatchPurpose::Inputs => self.input_changed(&key_of(kind, &object)),
        }
    }

    fn end_list(&mut self, purpose: WatchPurpose, kind: &KindKey, listed: &HashSet<Text>, is_first: bool) {
        let is_kind = |key: &ObjectKey| KindKey::of(key) == *kind;
        match purpose {
            WatchPurpose::Triggers => {
                let gone =
                    self.triggers.iter().filter(|(uid, known)| is_kind(&known.key) && !listed.contains(*uid));
                let gone: Vec<Text> = gone.map(|(uid, _)| uid.clone()).collect();
                gone.iter().for_each(|uid| self.trigger_is_gone(uid, None));
            }
            WatchPurpose::Downstreams => {
                let gone = self
                    .downstreams
                    .iter()
                    .filter(|found| is_kind(&found.key) && !listed.contains(&found.uid));
                let gone: Vec<ObjectKey> = gone.map(|found| found.key.clone()).collect();
                gone.iter().for_each(|key| self.downstream_is_gone(key));
            }
            WatchPurpose::Inputs => {
                let is_source = |found: &&Downstream| {
                    let labels = &found.labels;
                    labels.source_kind == kind.kind && labels.source_group == kind.group
                };
                let sources = self.downstreams.iter().filter(is_source).map(|found| &found.labels.source_uid);
                let gone: BTreeSet<Text> = sources.filter(|uid| !listed.contains(*uid)).cloned().collect();
                gone.iter().for_each(|uid| self.source_is_gone(uid, None));
                // What changed between the first lookup and the beginning of the watch was not announced.
                if is_first {
                    self.kind_changed(kind);
                }
            }
        }
    }

    /// Takes up a downstream. One that another program has changed is compared with what its rule says.
    fn see_downstream(&mut self, kind: &KindKey, object: &Value) {
        let key = key_of(kind, object);
        let Some(found) = Downstream::of(key.clone(), object) else {
            return self.downstream_is_gone(&key);
        };
        let is_known = self
            .downstreams
            .get(&key)
            .is_some_and(|known| known.uid == found.uid && known.resource_version == found.resource_version);
        if is_known {
            return;
        }
        self.unchecked.insert(key);
        self.downstreams.insert(found);
    }

    fn downstream_is_gone(&mut self, key: &ObjectKey) {
        let Some(gone) = self.downstreams.remove(key) else { return };
        self.unchecked.remove(key);
        let labels = gone.labels;
        self.lost.entry((labels.rule, labels.trigger_uid)).or_default();
    }

    /// Lets a rule be asked about a trigger again, if it keeps what it made.
    fn ask_again(&mut self, rule: &LabelledRule, trigger_uid: &Text) {
        let synchronizes = self.policies.rule(rule).is_some_and(|(_, rule)| rule.synchronizes());
        let Some(trigger) = self.triggers.get(trigger_uid).filter(|_| synchronizes) else { return };
        let work = TriggerWork {
            key: trigger.key.clone(),
            rules: BTreeSet::from([rule.clone()]),
            ..TriggerWork::default()
        };
        self.queue.add(trigger_uid.clone(), work);
    }

    /// Notes that an object was written or found as it should be.
    pub(crate) fn record_downstream(&mut self, key: &ObjectKey, object: &Value) {
        match Downstream::of(key.clone(), object) {
            Some(found) => {
                self.unchecked.remove(key);
                self.downstreams.insert(found);
            }
            None => drop(self.downstreams.remove(key)),
        }
    }

    /// Notes that an object was deleted by us.
    pub(crate) fn forget_downstream(&mut self, key: &ObjectKey) {
        self.downstreams.remove(key);
        self.unchecked.remove(key);
    }

    pub(crate) fn gone_sources(&self) -> &BTreeSet<Text> {
        &self.gone_sources
    }

    pub(crate) fn has_namespace(&self, name: &Text) -> bool {
        self.triggers.values().any(|trigger| trigger.key.kind == "Namespace" && trigger.key.name == *name)
    }

    /// Returns the rules that triggers of `kind` can trigger, each with its policy.
    pub(crate) fn rules_of(
        &self,
        kind: &KindKey,
    ) -> impl Iterator<Item = (&Arc<TriggeredPolicy>, &TriggeredRule)> {
        self.policies.rules().filter(|(_, rule)| self.is_triggered_by(rule, kind))
    }
}

/// Returns the name of an object, which may have only its metadata.
pub(crate) fn key_of(kind: &KindKey, object: &Value) -> ObjectKey {
    let text = |key: &str| object.str_at(&["metadata", key]).into();
    ObjectKey {
        group: kind.group.clone(),
        kind: kind.kind.clone(),
        namespace: text("namespace"),
        name: text("name"),
    }
}
