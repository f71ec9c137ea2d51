//! Events about objects that a rule has begun to object to: one about the rule object, and one about the object.
//!
//! Only what begins while the scan runs is told: what its first pass finds is in the reports, and may have been told before.
//! The queue is bounded and written slowly, because a new rule can find more than anyone reads.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use kubewright_cluster::Client;
use kubewright_dialects::{DialectOptions, all_dialects};
use kubewright_engine::{EventOccasion, EventWords, NoticeKind, RuleId, RuleStatus};
use kubewright_k8s::ObjectName;
use kubewright_report::cluster_report::{ObjectResults, ReportResult, ReportScope, ReportSource};
use kubewright_scan::CHANGES_PROPERTY;
use kubewright_serve::{EventQueue, EventWording, Notice, Regarding, is_secret};
use kubewright_value::{Document, Text};
use tokio::sync::mpsc::{self, Receiver, Sender};

use crate::lease::LeaseFence;

/// How long ago a row may have begun to be so, to be told.
const MAX_ROW_AGE_SECONDS: i64 = 30;

/// How often Events are written.
const EVENT_WRITE_INTERVAL: Duration = Duration::from_millis(500);

/// How many objects and rows are remembered; beyond it everything is forgotten, and some Events lack a uid.
const MAX_REMEMBERED: usize = 10_000;

/// How many notices wait for the task that writes Events; more are dropped.
const MAX_WAITING_NOTICES: usize = 1_000;

/// What was told already, and what Events point to.
#[derive(Debug)]
pub(crate) struct ViolationEvents {
    component: &'static str,
    state: Mutex<ViolationState>,
    notices: Sender<Notice>,
}

#[derive(Debug, Default)]
struct ViolationState {
    /// The languages and rule objects, by the name of the language and the policy.
    documents: HashMap<(Text, Text), (&'static str, ObjectName)>,
    rule_objects: HashMap<ObjectName, Regarding>,
    objects: HashMap<ObjectName, Regarding>,
    /// Since when the rows are so that were told, by object, policy and rule.
    told: HashMap<(Text, Text, Text), i64>,
}

impl ViolationEvents {
    /// Returns one without rules, and the notices that it sends. `is_compatible` is whether the reports of the scan are found
    /// as those of Kyverno: then its Events are too.
    pub(crate) fn new(is_compatible: bool) -> (Self, Receiver<Notice>) {
        let component = if is_compatible { "kyverno-scan" } else { "kubewright.dev/scan" };
        let (notices, received) = mpsc::channel(MAX_WAITING_NOTICES);
        (Self { component, state: Mutex::default(), notices }, received)
    }

    /// Takes up the rule objects of the cluster.
    pub(crate) fn set_rules(&self, documents: &[Document]) {
        let dialects = all_dialects(&DialectOptions::default());
        let mut state = self.state();
        (state.documents, state.rule_objects) = (HashMap::new(), HashMap::new());
        for document in documents {
            let Some(dialect) = dialects.iter().find(|dialect| dialect.claims(document)) else { continue };
            let name = ObjectName::of(&document.value);
            let policy: Text = match name.namespace.as_str() {
                "" => name.name.clone(),
                namespace => format!("{namespace}/{}", name.name).into(),
            };
            state.rule_objects.insert(name.clone(), Regarding::of(&document.value));
            state.documents.insert((dialect.name().into(), policy), (dialect.name(), name));
        }
    }

    /// Takes up the changed results of an object. `now` is in seconds since 1970. What the first pass finds is only remembered.
    pub(crate) fn add(&self, results: &ObjectResults, now: i64, is_first_pass: bool) {
        if results.source != ReportSource::Rules || results.scope.kind == "Event" {
            return;
        }
        let mut state = self.state();
        for row in &results.results {
            if row.since.saturating_add(MAX_ROW_AGE_SECONDS) < now {
                continue;
            }
            let notices = state.notices_of(&results.scope, row, self.component);
            for notice in notices.into_iter().filter(|_| !is_first_pass) {
                // The report says the same.
                let _ = self.notices.try_send(notice);
            }
        }
    }

    /// Returns how an Event points to the object called `name`.
    fn regarding(&self, name: &ObjectName) -> Regarding {
        let state = self.state();
        state.rule_objects.get(name).or_else(|| state.objects.get(name)).cloned().unwrap_or_default()
    }

    fn state(&self) -> MutexGuard<'_, ViolationState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ViolationState {
    /// Returns what is to be told about a row: nothing where the rule is content, or it was told already.
    fn notices_of(
        &mut self,
        scope: &ReportScope,
        row: &ReportResult,
        component: &'static str,
    ) -> Vec<Notice> {
        let Some(kind) = violation_kind(row) else { return Vec::new() };
        let Some((rule, document)) = self.rule_of(row) else { return Vec::new() };
        let key = (scope.uid.clone(), row.policy.clone(), row.rule.clone());
        if self.told.insert(key, row.since) == Some(row.since) {
            return Vec::new();
        }
        let subject = subject_of(scope);
        let message = if is_secret(&subject) { "" } else { row.message.as_str() };
        let occasion =
            EventOccasion { kind, subject: &subject, rule: &row.rule, message, is_mutation: false };
        let words = occasion.policy_words(component);
        let about_object = EventWords { message: object_message(row, message), ..words };
        let notice = |document: &ObjectName, subject: &ObjectName, words| Notice {
            rule: Arc::clone(&rule),
            document: document.clone(),
            subject: subject.clone(),
            kind,
            message: message.into(),
            wording: EventWording::Given(words),
        };
        let notices = vec![notice(&document, &subject, words), notice(&subject, &document, about_object)];
        self.remember(subject, scope);
        notices
    }

    fn remember(&mut self, subject: ObjectName, scope: &ReportScope) {
        if self.objects.len() >= MAX_REMEMBERED || self.told.len() >= MAX_REMEMBERED {
            (self.objects, self.told) = (HashMap::new(), HashMap::new());
        }
        let regarding = Regarding { api_version: scope.api_version.clone(), uid: scope.uid.clone() };
        self.objects.insert(subject, regarding);
    }

    /// Returns the rule of a row, and its rule object in the cluster.
    fn rule_of(&self, row: &ReportResult) -> Option<(Arc<RuleId>, ObjectName)> {
        let (_, dialect) = row.properties.iter().find(|(key, _)| key == "dialect")?;
        let (dialect, document) = self.documents.get(&(dialect.clone(), row.policy.clone()))?;
        let rule = RuleId { dialect, policy: row.policy.clone(), rule: row.rule.clone() };
        Some((Arc::new(rule), document.clone()))
    }
}

/// Writes Events until the task is aborted, while this replica may write. `identity` is a name that no other one has.
pub(crate) async fn run_violation_events(
    events: Arc<ViolationEvents>,
    mut notices: Receiver<Notice>,
    client: Client,
    fence: Arc<LeaseFence>,
    identity: String,
) {
    let mut queue = EventQueue::new(&identity, Instant::now());
    let mut tick = tokio::time::interval(EVENT_WRITE_INTERVAL);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            notice = notices.recv() => match notice {
                Some(notice) => drop(queue.add(&notice, Instant::now(), SystemTime::now())),
                None => return,
            },
            _ = tick.tick(), if fence.is_open() => {
                queue.write_due(&client, |name| events.regarding(name)).await;
            }
        }
    }
}

fn subject_of(scope: &ReportScope) -> ObjectName {
    let group = scope.api_version.split_once('/').map_or("", |(group, _)| group);
    ObjectName {
        group: group.into(),
        kind: scope.kind.clone(),
        namespace: scope.namespace.clone(),
        name: scope.name.clone(),
    }
}

/// Returns what is told about a row; nothing where the rule is content, or would change the object and objects to nothing.
fn violation_kind(row: &ReportResult) -> Option<NoticeKind> {
    if row.properties.iter().any(|(name, _)| name == CHANGES_PROPERTY) {
        return None;
    }
    match row.result {
        RuleStatus::Fail | RuleStatus::Warn => Some(NoticeKind::Reported),
        RuleStatus::Error => Some(NoticeKind::Failed),
        RuleStatus::Pass | RuleStatus::Skip => None,
    }
}

/// Returns what the Event about the object says, in Kyverno's words.
fn object_message(row: &ReportResult, message: &str) -> String {
    let status = row.result.name();
    match message.is_empty() {
        true => format!("policy {}/{} {status}", row.policy, row.rule),
        false => format!("policy {}/{} {status}: {message}", row.policy, row.rule),
    }
}

#[cfg(test)]
mod tests;
