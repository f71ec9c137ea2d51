//! Side effects of a decided review: log, metrics, traces, and notices for Events and statuses.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use kubewright_engine::{Decision, EvalErrorKind, RuleOutcome, RuleStatus, SECRET_MARK, WatchRole};
use kubewright_k8s::{GroupVersionKind, ObjectName};
use kubewright_patch as patch;
use kubewright_value::text::{TextLimit, shorten_text};
use kubewright_value::{Text, Value, json};
use tokio::sync::mpsc::error::TrySendError;

use super::{AdmissionResponse, AdmissionReview};
use crate::events::truncated_text;
use crate::handover::{HANDED_WEBHOOK, UNCHANGED_WEBHOOK, is_handed_over, is_unchanged};
use crate::log::LogLevel;
use crate::metrics::{MetricId, RequestKey, RuleErrorReason};
use crate::traces::{ReviewSpan, RuleSpan, TraceParent};
use crate::{EventWording, Notice, NoticeKind, ServerState, Snapshot};

/// How long a patch in the log may be, in bytes and in operations.
const MAX_LOGGED_PATCH_BYTES: usize = 16 << 10;
const MAX_LOGGED_PATCH_OPERATIONS: usize = 200;

/// How many rules are in one line of the log, how long what each says may be, and what all say together.
const MAX_LOGGED_RULES: usize = 50;
const MAX_LOGGED_MESSAGE_BYTES: usize = 2 << 10;
const MAX_LOGGED_RULES_BYTES: usize = 32 << 10;

/// How long the name of an object may be of which others hear: no Event can be about a longer one.
const MAX_NAME_BYTES: usize = 253;

/// How much of a message an Event or a status can use.
const MAX_NOTICE_BYTES: usize = 4 << 10;

/// A review that was decided.
pub(super) struct ReviewObserver<'a> {
    pub(super) state: &'a ServerState,
    pub(super) snapshot: &'a Arc<Snapshot>,
    pub(super) hook: &'a str,
    pub(super) review: &'a AdmissionReview,
}

impl ReviewObserver<'_> {
    /// Counts and logs the review, and sends notices about its outcomes.
    pub(super) fn observe(&self, decision: &Decision, response: &AdmissionResponse, time: Duration) {
        self.count(decision, response, time);
        self.log(decision, response, time);
        if !self.review.request.is_dry_run {
            self.hand_over(response);
            self.notice(decision);
        }
    }

    /// Sends notices about the outcomes, all in one message.
    fn notice(&self, decision: &Decision) {
        let mut notices = Vec::new();
        for outcome in &decision.outcomes {
            self.add_notices(outcome, &mut notices);
        }
        self.state.blocked.add(&mut notices, self.review.request.operation, SystemTime::now());
        if self.state.settings.has_success_events {
            self.add_successes(decision, &mut notices);
        }
        if notices.is_empty() {
            return;
        }
        if let Err(TrySendError::Full(dropped) | TrySendError::Closed(dropped)) =
            self.state.notices.try_send(notices)
        {
            dropped.iter().for_each(|_| self.state.metrics.count(MetricId::NoticesDropped));
        }
    }

    /// Lets the controller know of a request that its rules need as it was made.
    fn hand_over(&self, response: &AdmissionResponse) {
        let is_about = self.hook.ends_with(HANDED_WEBHOOK)
            || (self.hook.ends_with(UNCHANGED_WEBHOOK) && is_unchanged(&self.review.request));
        let is_seen = is_about && response.is_allowed;
        if !is_seen || !is_handed_over(&self.review.request, &self.state.settings.namespace) {
            return;
        }
        if !self.state.handovers.add(self.review) {
            let line =
                self.state.log.line(LogLevel::Warn, "a request is not handed over: too many, or too large");
            line.text("uid", &self.review.request.uid).write();
        }
    }

    /// Sends the spans of the review and of the rules that had to say something.
    pub(super) fn trace(&self, decision: &Decision, parent: Option<TraceParent>, time: Duration) {
        let request = &self.review.request;
        let rules = decision
            .outcomes
            .iter()
            .map(|outcome| RuleSpan { rule: Arc::clone(&outcome.rule), result: outcome.status.name() });
        let ended = SystemTime::now();
        self.state.traces.send(ReviewSpan {
            parent,
            begun: ended.checked_sub(time).unwrap_or(ended),
            ended,
            webhook: self.hook.into(),
            uid: request.uid.clone(),
            kind: request.kind.clone(),
            operation: request.operation,
            is_allowed: decision.is_allowed,
            rules: rules.collect(),
        });
    }

    fn count(&self, decision: &Decision, response: &AdmissionResponse, time: Duration) {
        let metrics = &self.state.metrics;
        metrics.reviewed(self.hook.starts_with("mutate"), time);
        metrics.requested(RequestKey {
            is_allowed: response.is_allowed,
            webhook: self.hook.into(),
            kind: self.review.request.kind.kind.clone(),
            operation: self.review.request.operation,
        });
        let meters = metrics.rules.of(self.snapshot);
        decision.passed.iter().for_each(|rule| meters.count_pass(*rule));
        for outcome in &decision.outcomes {
            meters.count(outcome);
            if outcome.status == RuleStatus::Error {
                let reason = match &outcome.error {
                    Some(EvalErrorKind::Limit) => RuleErrorReason::Limit,
                    Some(EvalErrorKind::Query(_) | EvalErrorKind::Failed) => RuleErrorReason::Lookup,
                    Some(EvalErrorKind::Evaluation) | None => RuleErrorReason::Evaluation,
                };
                metrics.rule_failed(reason);
            }
            if !outcome.exceptions.is_empty() {
                metrics.count(MetricId::ExceptionsUsed);
            }
        }
    }

    /// Writes a line, which most reviews need not have: nothing was refused, changed, or wrong.
    fn log(&self, decision: &Decision, response: &AdmissionResponse, time: Duration) {
        let is_quiet = response.is_allowed
            && response.patch.is_empty()
            && !decision.outcomes.iter().any(is_worth_logging);
        let level = if is_quiet { LogLevel::Debug } else { LogLevel::Info };
        let log = &self.state.log;
        if !log.is_on(level) {
            return;
        }
        let request = &self.review.request;
        let GroupVersionKind { group, version, kind } = &request.kind;
        let full_kind = match group.as_str() {
            "" => [version.as_str(), "/", kind].concat(),
            group => [group, "/", version, "/", kind].concat(),
        };
        let (shown, more) = logged_rules(decision);
        let mut line = log
            .line(level, "review")
            .text("uid", &request.uid)
            .text("webhook", self.hook)
            .text("operation", request.operation.name())
            .text("kind", &full_kind)
            .text("namespace", &request.namespace)
            .text("name", &request.name);
        if !request.subresource.is_empty() {
            line = line.text("subresource", &request.subresource);
        }
        let user = request.user.str_at(&["username"]);
        line = line
            .text("user", user)
            .value("dryRun", &request.is_dry_run.into())
            .value("allowed", &response.is_allowed.into())
            .json("rules", |text| write_rules(text, &shown));
        if more > 0 {
            line = line.number("moreRules", more as u64);
        }
        if response.patch.len() > MAX_LOGGED_PATCH_OPERATIONS {
            line = line.number("patchOperations", response.patch.len() as u64);
        } else if !response.patch.is_empty() {
            let patch = shown_patch(&response.patch, decision.shown_object.as_ref());
            let text = json::to_string(&patch);
            line = match text.len() <= MAX_LOGGED_PATCH_BYTES {
                true => line.value("patch", &patch),
                false => line.number("patchBytes", text.len() as u64),
            };
        }
        line.number("microseconds", u64::try_from(time.as_micros()).unwrap_or(u64::MAX)).write();
    }

    fn add_notices(&self, outcome: &RuleOutcome, notices: &mut Vec<Notice>) {
        let Some(kind) = notice_kind(outcome) else { return };
        let Some(document) = self.snapshot.document_of(&outcome.rule) else { return };
        let Some(notice) = self.notice_about(outcome, kind, document.name.clone()) else { return };
        for exception in self.exceptions_of(outcome) {
            notices.push(Notice { document: exception, ..notice.clone() });
        }
        notices.push(notice);
    }

    /// Adds a notice for every rule object whose rules had something to say and were all content.
    fn add_successes(&self, decision: &Decision, notices: &mut Vec<Notice>) {
        let mut told: Vec<&ObjectName> = Vec::new();
        for outcome in decision.outcomes.iter().filter(|outcome| outcome.status == RuleStatus::Pass) {
            let Some(document) = self.snapshot.document_of(&outcome.rule) else { continue };
            let is_own = |other: &&RuleOutcome| {
                self.snapshot.document_of(&other.rule).is_some_and(|of| of.name == document.name)
            };
            let mut objections =
                decision.outcomes.iter().filter(is_own).filter(|one| notice_kind(one).is_some());
            if told.contains(&&document.name) || objections.next().is_some() {
                continue;
            }
            told.push(&document.name);
            notices.extend(self.notice_about(outcome, NoticeKind::Applied, document.name.clone()));
        }
    }

    /// Returns a notice about `document`; nothing about an Event, which would be the subject of the next one, without an
    /// end.
    fn notice_about(&self, outcome: &RuleOutcome, kind: NoticeKind, document: ObjectName) -> Option<Notice> {
        let request = &self.review.request;
        if request.kind.kind == "Event" || request.name.len() > MAX_NAME_BYTES {
            return None;
        }
        let subject = ObjectName {
            group: request.kind.group.clone(),
            kind: request.kind.kind.clone(),
            namespace: request.namespace.clone(),
            name: request.name.clone(),
        };
        let message = truncated_text(&outcome.message, MAX_NOTICE_BYTES);
        let component =
            self.snapshot.language(outcome.rule.dialect).and_then(|language| language.event_component());
        let is_mutation = !outcome.patch.is_empty();
        let wording = component
            .map_or(EventWording::Plain, |component| EventWording::Policy { component, is_mutation });
        Some(Notice { rule: Arc::clone(&outcome.rule), document, subject, kind, message, wording })
    }

    /// Returns the exceptions that `outcome` is due to, as objects.
    fn exceptions_of(&self, outcome: &RuleOutcome) -> Vec<ObjectName> {
        if outcome.exceptions.is_empty() {
            return Vec::new();
        }
        let language = self.snapshot.language(outcome.rule.dialect);
        let watched = language.map(|language| language.watched_resources()).unwrap_or_default();
        let Some(of) = watched.iter().find(|of| of.role == WatchRole::Exception) else { return Vec::new() };
        let object = |key: &Text| {
            let (namespace, name) = key.split_once('/')?;
            Some(ObjectName {
                group: of.group.into(),
                kind: of.kind.into(),
                namespace: namespace.into(),
                name: name.into(),
            })
        };
        outcome.exceptions.iter().filter_map(object).collect()
    }
}

/// Returns the rules that had something to say, as far as they fit into a line, and how many more there are.
fn logged_rules(decision: &Decision) -> (Vec<&RuleOutcome>, usize) {
    let mut rules = decision.outcomes.iter().filter(|outcome| is_worth_logging(outcome));
    let (mut shown, mut bytes) = (Vec::new(), 0);
    while shown.len() < MAX_LOGGED_RULES
        && bytes < MAX_LOGGED_RULES_BYTES
        && let Some(outcome) = rules.next()
    {
        bytes += outcome.message.len().min(MAX_LOGGED_MESSAGE_BYTES);
        shown.push(outcome);
    }
    (shown, rules.count())
}

/// Appends `rules` as a JSON array.
fn write_rules(text: &mut String, rules: &[&RuleOutcome]) {
    text.push('[');
    for (place, outcome) in rules.iter().enumerate() {
        if place > 0 {
            text.push(',');
        }
        text.push_str("{\"rule\":");
        json::write_text(text, &outcome.rule.text());
        text.push_str(",\"result\":");
        json::write_text(text, outcome.status.name());
        if !outcome.message.is_empty() {
            text.push_str(",\"message\":");
            let limit = TextLimit::BytesInAll(MAX_LOGGED_MESSAGE_BYTES);
            json::write_text(text, &shorten_text(&outcome.message, limit));
        }
        if outcome.is_refusal {
            text.push_str(",\"refused\":true");
        }
        if !outcome.exceptions.is_empty() {
            text.push_str(",\"exceptions\":");
            json::write(text, &outcome.exceptions.clone().into());
        }
        text.push('}');
    }
    text.push(']');
}

/// Returns `patch` as JSON. Where a Secret was read, what is put in and where is shown as far as `shown` has it.
fn shown_patch(patch: &[patch::JsonPatchOperation], shown: Option<&Value>) -> Value {
    let Some(shown) = shown else {
        return Value::array(patch.iter().map(patch::JsonPatchOperation::to_value).collect());
    };
    let masked = patch.iter().map(|operation| {
        let mut value = operation.to_value();
        let found = value_at(shown, operation.path());
        let members = value.as_object_mut();
        if let Some(members) = members.filter(|members| members.get("value").is_some()) {
            members.insert("value".into(), found.cloned().unwrap_or_else(|| SECRET_MARK.into()));
            if found.is_none() {
                members.insert("path".into(), SECRET_MARK.into());
            }
        }
        value
    });
    Value::array(masked.collect())
}

/// Returns the value that `pointer` names.
fn value_at<'v>(object: &'v Value, pointer: &patch::Pointer) -> Option<&'v Value> {
    let step_into =
        |value: &'v Value, step: &Text| value.get(step).or_else(|| value.item(step.parse().ok()?));
    pointer.tokens().iter().try_fold(object, step_into)
}

fn notice_kind(outcome: &RuleOutcome) -> Option<NoticeKind> {
    match outcome.status {
        RuleStatus::Error => Some(NoticeKind::Failed),
        RuleStatus::Fail | RuleStatus::Warn if outcome.is_refusal => Some(NoticeKind::Refused),
        RuleStatus::Fail | RuleStatus::Warn => Some(NoticeKind::Reported),
        RuleStatus::Skip if !outcome.exceptions.is_empty() => Some(NoticeKind::Excepted),
        RuleStatus::Skip | RuleStatus::Pass => None,
    }
}

fn is_worth_logging(outcome: &RuleOutcome) -> bool {
    notice_kind(outcome).is_some() || !outcome.patch.is_empty()
}
