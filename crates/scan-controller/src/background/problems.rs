//! What is wrong with policies in the background, told where their users look: a condition of the status of the policy, an
//! Event about it, and the log.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use kubewright_cluster::{Client, DiscoveredResources, Error, PatchType};
use kubewright_k8s::ApiPath;
use kubewright_scan::ObjectKey;
use kubewright_serve::clock::rfc3339_seconds;
use kubewright_serve::log::{Log, LogLevel};
use kubewright_value::text::{TextLimit, shorten_text};
use kubewright_value::{Map, Text, Value};

use super::policies::PolicyIdentity;
use super::resources::resource_of_object;
use crate::lease::LeaseFence;

/// The type of the condition.
const BACKGROUND_CONDITION: &str = "BackgroundReady";

/// How long a message may be, in bytes.
const MAX_PROBLEM_BYTES: usize = 1000;

/// After how long the same Event is written again.
const EVENT_INTERVAL: Duration = Duration::from_secs(600);

/// How many Events are written in one look.
const MAX_EVENTS_AT_ONCE: usize = 20;

/// How many Events wait; more are dropped.
const MAX_WAITING_EVENTS: usize = 500;

/// What is wrong with a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ProblemReason {
    /// Our rights do not suffice.
    MissingPermission,
    /// Rules trigger each other without end, or fight another program.
    LoopDetected,
    /// A rule could not be evaluated.
    EvaluationFailed,
    /// The API server refuses what a rule wants.
    WriteFailed,
    /// Objects are not watched that the rule is about.
    TriggerNotWatched,
}

impl ProblemReason {
    fn name(self) -> &'static str {
        match self {
            Self::MissingPermission => "MissingPermission",
            Self::LoopDetected => "LoopDetected",
            Self::EvaluationFailed => "PolicyError",
            Self::WriteFailed => "WriteFailed",
            Self::TriggerNotWatched => "TriggerNotWatched",
        }
    }
}

/// The problems of all policies.
#[derive(Debug, Default)]
pub(crate) struct PolicyProblems {
    state: Mutex<ProblemState>,
}

#[derive(Debug, Default)]
struct ProblemState {
    /// The problems of each policy; each reason once for the trigger or object that it is about.
    current: HashMap<ObjectKey, BTreeMap<(ProblemReason, Text), String>>,
    identities: HashMap<ObjectKey, PolicyIdentity>,
    /// What the status of a policy says.
    written: HashMap<ObjectKey, (bool, String)>,
    events: Vec<PolicyEvent>,
    told: HashMap<(ObjectKey, &'static str, String), Instant>,
}

#[derive(Debug, Clone)]
struct PolicyEvent {
    policy: PolicyIdentity,
    is_warning: bool,
    reason: &'static str,
    message: String,
}

impl PolicyProblems {
    /// Takes up the policies that there are.
    pub(crate) fn set_policies(&self, policies: impl Iterator<Item = PolicyIdentity>) {
        let mut state = self.state();
        let before = std::mem::take(&mut state.identities);
        state.identities = policies.map(|policy| (policy.key.clone(), policy)).collect();
        // What was wrong with another version of a policy says nothing about this one.
        let identities = state.identities.clone();
        let is_same = |key: &ObjectKey| {
            identities.get(key).is_some_and(|now| before.get(key).is_some_and(|old| old.digest == now.digest))
        };
        state.current.retain(|key, _| is_same(key));
        state.written.retain(|key, _| is_same(key));
    }

    /// Takes up a problem about `subject`, a trigger or what a problem is about.
    pub(crate) fn add(&self, policy: &PolicyIdentity, reason: ProblemReason, subject: &str, message: &str) {
        let message = shorten_text(message, TextLimit::BytesInAll(MAX_PROBLEM_BYTES)).into_owned();
        let mut state = self.state();
        let of_policy = state.current.entry(policy.key.clone()).or_default();
        let is_new = of_policy.insert((reason, subject.into()), message.clone()).as_ref() != Some(&message);
        if is_new {
            state.tell(policy, true, reason.name(), message);
        }
    }

    /// Takes up that the problems about `subject` are over.
    pub(crate) fn clear(&self, policy: &PolicyIdentity, subject: &str) {
        let mut state = self.state();
        if let Some(of_policy) = state.current.get_mut(&policy.key) {
            of_policy.retain(|(_, about), _| about != subject);
        }
    }

    /// Writes an Event about something that a policy did.
    pub(crate) fn applied(&self, policy: &PolicyIdentity, message: String) {
        self.state().tell(policy, false, "PolicyApplied", message);
    }

    /// Returns how many policies have problems.
    pub(crate) fn count(&self) -> usize {
        self.state().current.values().filter(|problems| !problems.is_empty()).count()
    }

    /// Writes what is new.
    pub(crate) async fn write(&self, to: &ProblemWriter<'_>) {
        let events: Vec<PolicyEvent> = {
            let mut state = self.state();
            let count = state.events.len().min(MAX_EVENTS_AT_ONCE);
            state.events.drain(..count).collect()
        };
        for event in events {
            if event.is_warning {
                let line = to.log.line(LogLevel::Warn, "policy has a problem in the background");
                line.text("policy", &super::labels::title(&event.policy.key))
                    .text("reason", event.reason)
                    .text("problem", &event.message)
                    .write();
            }
            to.write_event(&event).await;
        }
        for (policy, is_ready, reason, message) in self.due_statuses(to.is_compatible) {
            if to.write_status(&policy, is_ready, reason, &message).await.is_ok() {
                self.state().written.insert(policy.key.clone(), (is_ready, message));
            }
        }
    }

    /// Returns the conditions to write. Kyverno tells of a rule that could not be evaluated for an object by Events alone.
    fn due_statuses(&self, is_compatible: bool) -> Vec<(PolicyIdentity, bool, &'static str, String)> {
        let state = self.state();
        let mut due = Vec::new();
        for (key, policy) in &state.identities {
            let is_told =
                |reason: ProblemReason| !(is_compatible && reason == ProblemReason::EvaluationFailed);
            let problems = state.current.get(key).map(|problems| {
                let told = problems.iter().filter(|((reason, _), _)| is_told(*reason));
                told.collect::<BTreeMap<_, _>>()
            });
            let problems = problems.filter(|problems| !problems.is_empty());
            let written = state.written.get(key);
            let (is_ready, reason, message) = match problems {
                Some(problems) => {
                    let reason = problems.keys().next().map_or("", |(reason, _)| reason.name());
                    let mut messages: Vec<&str> = problems.values().map(|message| message.as_str()).collect();
                    messages.dedup();
                    let more = messages.len().saturating_sub(3);
                    messages.truncate(3);
                    let mut message = messages.join("; ");
                    if more > 0 {
                        message.push_str(&format!("; and {more} more"));
                    }
                    (
                        false,
                        reason,
                        shorten_text(&message, TextLimit::BytesInAll(MAX_PROBLEM_BYTES)).into_owned(),
                    )
                }
                // Nothing is said about a policy with which nothing was wrong.
                None if written.is_none_or(|(is_ready, _)| *is_ready) => continue,
                None => (true, "Succeeded", "nothing is wrong in the background".to_owned()),
            };
            if written != Some(&(is_ready, message.clone())) {
                due.push((policy.clone(), is_ready, reason, message));
            }
        }
        due
    }

    fn state(&self) -> std::sync::MutexGuard<'_, ProblemState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ProblemState {
    fn tell(&mut self, policy: &PolicyIdentity, is_warning: bool, reason: &'static str, message: String) {
        let now = Instant::now();
        self.told.retain(|_, at| now.saturating_duration_since(*at) < EVENT_INTERVAL);
        let key = (policy.key.clone(), reason, message.clone());
        if self.events.len() < MAX_WAITING_EVENTS && self.told.insert(key, now).is_none() {
            self.events.push(PolicyEvent { policy: policy.clone(), is_warning, reason, message });
        }
    }
}

/// Where problems are written.
pub(crate) struct ProblemWriter<'w> {
    pub(crate) client: &'w Client,
    pub(crate) fence: &'w LeaseFence,
    pub(crate) served: &'w DiscoveredResources,
    pub(crate) log: &'w Log,
    pub(crate) identity: &'w str,
    /// Whether Events have Kyverno's words.
    pub(crate) is_compatible: bool,
}

impl ProblemWriter<'_> {
    pub(crate) fn policy_path(&self, policy: &PolicyIdentity) -> Option<ApiPath> {
        let object = Map::from([
            ("apiVersion", policy.api_version.clone().into()),
            ("kind", policy.key.kind.clone().into()),
        ]);
        let resource = resource_of_object(&object.into(), self.served)?;
        Some(resource.address().named(&policy.key.namespace, &policy.key.name))
    }

    /// Merges `fields` into the status of a policy.
    pub(crate) async fn patch_status(&self, policy: &PolicyIdentity, status: Value) -> Result<(), Error> {
        self.patch_policy(policy, Map::from([("status", status)]).into()).await
    }

    async fn patch_policy(&self, policy: &PolicyIdentity, patch: Value) -> Result<(), Error> {
        let Some(path) = self.policy_path(policy).filter(|_| self.fence.is_open()) else { return Ok(()) };
        let path = ApiPath { subresource: "status".into(), ..path };
        match self.client.patch(&path, PatchType::Merge, &patch).await {
            // It is gone, or has no status: trying again would not help.
            Err(error) if !matches!(error.code(), Some(403 | 404 | 422)) => Err(error),
            _ => Ok(()),
        }
    }

    async fn write_status(
        &self,
        policy: &PolicyIdentity,
        is_ready: bool,
        reason: &str,
        message: &str,
    ) -> Result<(), Error> {
        let Some(path) = self.policy_path(policy) else { return Ok(()) };
        let stored = match self.client.get(&path).await {
            Ok(stored) => stored,
            Err(error) if error.is_not_found() => return Ok(()),
            Err(error) => return Err(error),
        };
        let conditions = stored.at(&["status", "conditions"]).and_then(Value::as_array).unwrap_or_default();
        let is_ours = |condition: &&Value| condition.str_at(&["type"]) == BACKGROUND_CONDITION;
        let word = if is_ready { "True" } else { "False" };
        let before = conditions.iter().find(is_ours);
        let since = match before.filter(|before| before.str_at(&["status"]) == word) {
            Some(before) => before.str_at(&["lastTransitionTime"]).to_owned(),
            None => rfc3339_seconds(SystemTime::now()),
        };
        let mut all: Vec<Value> =
            conditions.iter().filter(|condition| !is_ours(condition)).cloned().collect();
        let ours = Map::from([
            ("type", BACKGROUND_CONDITION.into()),
            ("status", word.into()),
            ("reason", reason.into()),
            ("message", message.into()),
            ("lastTransitionTime", since.into()),
        ]);
        all.push(ours.into());
        // The list is replaced as a whole: a condition that was written meanwhile is a conflict, and looked at again.
        let version = stored.str_at(&["metadata", "resourceVersion"]).to_owned();
        let status = Map::from([("conditions", Value::array(all))]);
        let patch = Map::from([
            ("metadata", Map::from([("resourceVersion", version.into())]).into()),
            ("status", status.into()),
        ]);
        self.patch_policy(policy, patch.into()).await
    }

    async fn write_event(&self, event: &PolicyEvent) {
        if !self.fence.is_open() {
            return;
        }
        let now = SystemTime::now();
        let time = rfc3339_seconds(now);
        let nanoseconds = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        let PolicyIdentity { key, api_version, uid, component, .. } = &event.policy;
        let (reason, component) = match (self.is_compatible, event.is_warning) {
            (false, _) => (event.reason, "kubewright.dev/background"),
            (true, false) => (event.reason, *component),
            (true, true) => ("PolicyError", *component),
        };
        let namespace = if key.namespace.is_empty() { "default" } else { key.namespace.as_str() };
        let involved = Map::from([
            ("apiVersion", api_version.clone().into()),
            ("kind", key.kind.clone().into()),
            ("namespace", key.namespace.clone().into()),
            ("name", key.name.clone().into()),
            ("uid", uid.clone().into()),
        ]);
        let name = format!("{}.{nanoseconds:x}", key.name);
        let metadata = Map::from([("name", name.into()), ("namespace", namespace.into())]);
        let object = Map::from([
            ("apiVersion", "v1".into()),
            ("kind", "Event".into()),
            ("metadata", metadata.into()),
            ("type", if event.is_warning { "Warning" } else { "Normal" }.into()),
            ("reason", reason.into()),
            ("message", event.message.as_str().into()),
            ("involvedObject", involved.into()),
            ("count", 1_i64.into()),
            ("firstTimestamp", time.as_str().into()),
            ("lastTimestamp", time.as_str().into()),
            (
                "source",
                Map::from([("component", "kubewright".into()), ("host", self.identity.into())]).into(),
            ),
            ("reportingComponent", component.into()),
            ("reportingInstance", self.identity.into()),
        ]);
        let events = kubewright_cluster::GroupVersionResource::new("", "v1", "events").within(namespace);
        // One that is refused is lost: the log says the same.
        let _ = self.client.create(&events, &object.into()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_that_fails_for_an_object_is_no_condition_where_events_are_kyvernos() {
        let key = ObjectKey { kind: "ClusterPolicy".into(), name: "p".into(), ..ObjectKey::default() };
        let policy = PolicyIdentity { key, ..PolicyIdentity::default() };
        let problems = PolicyProblems::default();
        problems.set_policies(std::iter::once(policy.clone()));
        problems.add(&policy, ProblemReason::EvaluationFailed, "pod", "no such variable");
        assert!(problems.due_statuses(true).is_empty());
        let due = problems.due_statuses(false);
        assert!(
            matches!(due.as_slice(), [(_, false, "PolicyError", message)] if message == "no such variable")
        );
        problems.add(&policy, ProblemReason::MissingPermission, "permissions", "no right");
        let due = problems.due_statuses(true);
        assert!(
            matches!(due.as_slice(), [(_, false, "MissingPermission", message)] if message == "no right")
        );
    }
}
