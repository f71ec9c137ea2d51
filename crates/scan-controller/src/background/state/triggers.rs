//! Triggers as watches bring them: what is new, changed or gone.

use std::collections::BTreeSet;

use kubewright_k8s::Operation;
use kubewright_scan::{KindKey, ObjectKey};
use kubewright_value::{Text, Value, json};

use super::BackgroundState;
use crate::background::labels::LabelledRule;
use crate::background::own_writes::OwnWrites;
use crate::background::policies::PolicyIdentity;
use crate::background::queue::TriggerWork;
use crate::background::state::key_of;
use crate::background::times::{seconds_of, version_of};

/// A trigger that is there.
#[derive(Debug, Clone)]
pub(crate) struct KnownTrigger {
    pub(crate) key: ObjectKey,
    pub(crate) version: u64,
    /// When it was created, in seconds since 1970.
    created: i64,
    /// The object, where a rule compares it with what it becomes.
    object: Option<Value>,
    /// The object, where it is small and may be asked about again; and how large it is.
    kept: Option<(Value, usize)>,
}

/// How large a trigger may be that is kept, and all of them together, in bytes of JSON.
const MAX_KEPT_BYTES: usize = 4 << 10;
const MAX_ALL_KEPT_BYTES: usize = 16 << 20;

/// Rules that are asked about triggers that are just there.
#[derive(Debug, Default)]
pub(super) struct StandingRules {
    pub(super) all: BTreeSet<LabelledRule>,
    /// Those that were there before, and were changed.
    pub(super) updated: BTreeSet<LabelledRule>,
}

impl BackgroundState {
    /// Takes up a trigger in its new state. `is_first` says that it may have been so for a long time.
    pub(super) fn see_trigger(&mut self, kind: &KindKey, object: Value, own: &OwnWrites, is_first: bool) {
        let text = |name: &str| Text::from(object.str_at(&["metadata", name]));
        let (uid, version_text) = (text("uid"), text("resourceVersion"));
        let version = version_of(&version_text);
        let known = self.triggers.get(&uid);
        if known.is_some_and(|known| known.version == version) {
            return;
        }
        self.newest = self.newest.max(version);
        // A deletion that has begun is one: what is made in between would be in the way.
        if object.at(&["metadata", "deletionTimestamp"]).is_some() {
            return self.trigger_is_gone(&uid, Some(object));
        }
        let before = known.and_then(|known| known.object.clone());
        let is_new = known.is_none();
        let keeps_object = self.rules_of(kind).any(|(policy, _)| policy.reads_old_object);
        let trigger = KnownTrigger {
            key: key_of(kind, &object),
            version,
            created: seconds_of(&text("creationTimestamp")).unwrap_or_default(),
            object: keeps_object.then(|| object.clone()),
            kept: None,
        };
        let key = trigger.key.clone();
        let trigger = KnownTrigger { kept: self.kept_of(&uid, kind, &object), ..trigger };
        self.triggers.insert(uid.clone(), trigger);
        if is_first {
            let rules = StandingRules { all: self.all_rules(), ..StandingRules::default() };
            return self.consider_standing(&uid, &rules, Some(object));
        }
        let written = own.depth_of(&uid, &version_text);
        let owners =
            object.at(&["metadata", "ownerReferences"]).and_then(Value::as_array).unwrap_or_default();
        let inherited =
            own.inherited_depth(&key.namespace, owners.iter().map(|owner| owner.str_at(&["uid"])));
        let event = if is_new { Operation::Create } else { Operation::Update };
        let work = TriggerWork {
            key,
            event: Some(event),
            object: Some(object),
            before,
            depth: written.unwrap_or(if is_new { inherited } else { 0 }),
            is_own_write: written.is_some(),
            ..TriggerWork::default()
        };
        if self.has_rule_for(kind, event) {
            self.queue.add(uid, work);
        }
    }

    /// Takes up that a trigger is gone; `object` is its last state, if that is known.
    pub(super) fn trigger_is_gone(&mut self, uid: &Text, object: Option<Value>) {
        self.forget_kept(uid);
        let Some(known) = self.triggers.remove(uid) else { return };
        self.inputs.forget(uid);
        let version =
            object.as_ref().map(|object| version_of(object.str_at(&["metadata", "resourceVersion"])));
        self.newest = self.newest.max(version.unwrap_or_default());
        let work = TriggerWork {
            key: known.key,
            event: Some(Operation::Delete),
            object: object.or(known.object),
            ..TriggerWork::default()
        };
        self.queue.add(uid.clone(), work);
    }

    /// Queues a trigger that is just there, for those of `rules` that are to handle it: because they handle what exists, or
    /// because it is newer than they are.
    pub(super) fn consider_standing(&mut self, uid: &Text, rules: &StandingRules, object: Option<Value>) {
        let Some(trigger) = self.triggers.get(uid) else { return };
        let is_due = |policy: &PolicyIdentity, rule: &LabelledRule| {
            // A rule that was updated has worked on what was there before.
            let is_later = trigger.created > policy.created && !rules.updated.contains(rule);
            trigger.version > self.mark && (trigger.version > policy.version || is_later)
        };
        let due: BTreeSet<LabelledRule> = self
            .rules_of(&KindKey::of(&trigger.key))
            .filter(|(_, rule)| rules.all.contains(&rule.key))
            .filter(|(policy, rule)| rule.handles_existing() || is_due(&policy.identity, &rule.key))
            .map(|(_, rule)| rule.key.clone())
            .collect();
        if !due.is_empty() {
            let work = TriggerWork { key: trigger.key.clone(), object, rules: due, ..TriggerWork::default() };
            self.queue.add(uid.clone(), work);
        }
    }

    /// Returns a trigger in the state that watches have brought, if it is kept.
    pub(crate) fn kept_object(&self, uid: &Text) -> Option<Value> {
        self.triggers.get(uid).and_then(|known| known.kept.as_ref()).map(|(object, _)| object.clone())
    }

    /// Returns what is kept of a trigger in place of what was kept before. Secrets are not.
    fn kept_of(&mut self, uid: &Text, kind: &KindKey, object: &Value) -> Option<(Value, usize)> {
        self.forget_kept(uid);
        let is_secret = kind.group.is_empty() && kind.kind == "Secret";
        if is_secret || self.kept_bytes >= MAX_ALL_KEPT_BYTES {
            return None;
        }
        let bytes = json::to_string(object).len();
        if bytes > MAX_KEPT_BYTES {
            return None;
        }
        self.kept_bytes += bytes;
        Some((object.clone(), bytes))
    }

    /// Forgets a trigger that is not watched any more.
    pub(super) fn forget_trigger(&mut self, uid: &Text) {
        self.forget_kept(uid);
        self.triggers.remove(uid);
    }

    fn forget_kept(&mut self, uid: &Text) {
        let kept = self.triggers.get_mut(uid).and_then(|known| known.kept.take());
        self.kept_bytes = self.kept_bytes.saturating_sub(kept.map_or(0, |(_, bytes)| bytes));
    }

    fn all_rules(&self) -> BTreeSet<LabelledRule> {
        self.policies.rules().map(|(_, rule)| rule.key.clone()).collect()
    }

    fn has_rule_for(&self, kind: &KindKey, event: Operation) -> bool {
        self.rules_of(kind).any(|(_, rule)| rule.operations().contains(event))
    }
}
