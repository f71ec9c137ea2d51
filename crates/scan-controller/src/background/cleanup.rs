//! Policies that delete objects by schedule.
//!
//! The time of the last run is in the status of the policy, so a new leader goes on where the last one stopped: a run that
//! was missed is made once. An object is deleted only in the version that the policy was asked about.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kubewright_cluster::{ApiResource, DiscoveredResources};
use kubewright_engine::{DecisionSettings, EvalErrorKind, OpenWorld, RuleOutcome, RuleStatus, WriteVerb};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_scan::ObjectKey;
use kubewright_serve::clock::rfc3339_seconds;
use kubewright_serve::log::LogLevel;
use kubewright_value::{Map, Text, Value};

use super::evaluate::{AskedWorld, ask_rules};
use super::job::JobContext;
use super::labels::title;
use super::policies::ScheduledPolicy;
use super::problems::{ProblemReason, ProblemWriter};
use super::resources::named_resources;
use super::send::SendError;
use super::times::seconds_of;
use super::{BackgroundParts, arranged};
use crate::metrics::ScanMetric;

/// How often is looked which policies are due.
const SCHEDULE_TICK_INTERVAL: Duration = Duration::from_millis(500);

/// How many objects a page of a list has.
const CLEANUP_PAGE_OBJECTS: u32 = 500;

/// How many objects one run deletes; the rest is left to the next.
const MAX_DELETIONS_PER_RUN: usize = 50_000;

/// The subject of problems of a run.
const RUN: &str = "schedule";

/// When a policy runs next.
struct NextRun {
    digest: u64,
    at: Option<i64>,
}

/// Runs policies when they are due.
pub(super) async fn run_cleanup(parts: BackgroundParts, context: Arc<JobContext>) {
    let mut next: HashMap<ObjectKey, NextRun> = HashMap::new();
    while !parts.is_stopping.load(Ordering::Relaxed) {
        tokio::time::sleep(SCHEDULE_TICK_INTERVAL).await;
        let (loaded, served) = (parts.rules.borrow().clone(), parts.served.borrow().clone());
        let (Some(loaded), Some(served)) = (loaded, served) else { continue };
        if !parts.fence.is_open() {
            continue;
        }
        let policies = arranged(&loaded).scheduled;
        next.retain(|key, _| policies.iter().any(|policy| policy.identity.key == *key));
        for policy in policies {
            let run = CleanupRun { parts: &parts, context: &context, policy: &policy, served: &served };
            run.if_due(&mut next).await;
        }
    }
}

/// A policy, and what is needed to run it.
struct CleanupRun<'r> {
    parts: &'r BackgroundParts,
    context: &'r Arc<JobContext>,
    policy: &'r Arc<ScheduledPolicy>,
    served: &'r Arc<DiscoveredResources>,
}

impl CleanupRun<'_> {
    async fn if_due(&self, next: &mut HashMap<ObjectKey, NextRun>) {
        let identity = &self.policy.identity;
        let known = next.get(&identity.key).filter(|run| run.digest == identity.digest);
        let at = match known {
            Some(run) => run.at,
            None => {
                let Some(last) = self.last_run().await else { return };
                self.policy.program.schedule.next_after(last)
            }
        };
        let now = unix_seconds();
        let is_due = at.is_some_and(|at| at <= now);
        let at = if is_due { self.policy.program.schedule.next_after(now) } else { at };
        next.insert(identity.key.clone(), NextRun { digest: identity.digest, at });
        if is_due {
            self.run().await;
        }
    }

    /// Returns when the policy ran last, or was created.
    async fn last_run(&self) -> Option<i64> {
        let writer = self.writer();
        let path = writer.policy_path(&self.policy.identity)?;
        let stored = self.parts.client.get(&path).await.ok()?;
        let last = seconds_of(stored.str_at(&["status", "lastExecutionTime"]));
        last.or_else(|| seconds_of(stored.str_at(&["metadata", "creationTimestamp"])))
    }

    fn writer(&self) -> ProblemWriter<'_> {
        ProblemWriter {
            client: self.context.sender.client(),
            fence: &self.parts.fence,
            served: self.served,
            log: &self.parts.log,
            identity: &self.parts.lease.identity,
            is_compatible: self.parts.is_compatible,
        }
    }

    async fn run(&self) {
        let begun = SystemTime::now();
        let identity = &self.policy.identity;
        self.context.problems.clear(identity, RUN);
        let mut deleted = 0;
        for resource in named_resources(&self.policy.program.targets, self.served).into_values() {
            deleted += self.run_kind(&resource).await;
        }
        let line = self.parts.log.line(LogLevel::Info, "cleanup policy run");
        line.text("policy", &title(&identity.key)).number("deleted", deleted).write();
        let status = Map::from([("lastExecutionTime", rfc3339_seconds(begun).into())]);
        if let Err(error) = self.writer().patch_status(identity, status.into()).await {
            self.problem(ProblemReason::WriteFailed, &format!("the time of the run is not stored: {error}"));
        }
    }

    /// Deletes the objects of one kind that the policy names, and returns how many those were.
    async fn run_kind(&self, resource: &ApiResource) -> u64 {
        let namespace = self.policy.program.namespace.clone().unwrap_or_default();
        if !namespace.is_empty() && !resource.is_namespaced {
            return 0;
        }
        let mut candidates = Vec::new();
        let visit = |object: Value| {
            if self.may_be_deleted(&object) {
                candidates.push(object);
            }
            match candidates.len() < MAX_DELETIONS_PER_RUN {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        };
        let path = resource.address().within(&namespace);
        let listed = self.parts.client.visit_list(&path, CLEANUP_PAGE_OBJECTS, false, visit).await;
        if let Err(error) = listed {
            let reason = match error.is_forbidden() {
                true => ProblemReason::MissingPermission,
                false => ProblemReason::WriteFailed,
            };
            self.problem(reason, &format!("{} are not listed: {error}", resource.full_name()));
        }
        let mut deleted = 0;
        for object in candidates {
            deleted += u64::from(self.delete_if_asked(resource, &object).await);
        }
        deleted
    }

    /// Returns whether the policy deletes an object as far as that is known without looking anything up, so that others
    /// are not kept.
    fn may_be_deleted(&self, object: &Value) -> bool {
        if object.at(&["metadata", "deletionTimestamp"]).is_some() {
            return false;
        }
        let request = deletion_request(object);
        let decision =
            self.policy.engine.decide(&request, &OpenWorld::default(), &DecisionSettings::default());
        !decision.queries.is_empty()
            || decision.outcomes.iter().any(|outcome| asks_for_deletion(outcome) || is_error(outcome))
    }

    async fn delete_if_asked(&self, resource: &ApiResource, object: &Value) -> bool {
        let request = deletion_request(object);
        let asked = AskedWorld { lookup: &self.context.lookup, memo: None };
        let answers = ask_rules(self.policy, |policy| &policy.engine, request, asked).await;
        let key = ObjectKey::of(object);
        if let Some(failed) = answers.outcomes.iter().find(|outcome| is_error(outcome)) {
            self.problem(ProblemReason::EvaluationFailed, &format!("{}: {}", title(&key), failed.message));
        }
        if !answers.outcomes.iter().any(asks_for_deletion) {
            return false;
        }
        let text = |name: &str| Text::from(object.str_at(&["metadata", name]));
        let path = resource.address().named(&key.namespace, &key.name);
        let propagation = self.policy.program.propagation;
        let sent =
            self.context.sender.delete(&path, &text("uid"), &text("resourceVersion"), propagation).await;
        match sent {
            Ok(()) => {
                self.parts.metrics.count_at(ScanMetric::BackgroundDeletions, 0, 1);
                self.context.problems.applied(&self.policy.identity, format!("{} was deleted", title(&key)));
                true
            }
            // It was changed since it was read: the next run looks at it as it is then.
            Err(SendError::Conflict | SendError::Fenced) => false,
            Err(SendError::Forbidden(message)) => {
                self.problem(ProblemReason::MissingPermission, &message);
                false
            }
            Err(
                SendError::Refused(message) | SendError::Rests(message) | SendError::Unavailable(message, _),
            ) => {
                self.problem(ProblemReason::WriteFailed, &message);
                false
            }
        }
    }

    fn problem(&self, reason: ProblemReason, message: &str) {
        self.context.problems.add(&self.policy.identity, reason, RUN, message);
    }
}

fn deletion_request(object: &Value) -> AdmissionRequest {
    AdmissionRequest::for_object(object.clone(), Operation::Create, "")
}

fn asks_for_deletion(outcome: &RuleOutcome) -> bool {
    outcome.status == RuleStatus::Pass && outcome.writes.iter().any(|write| write.verb == WriteVerb::Delete)
}

fn is_error(outcome: &RuleOutcome) -> bool {
    outcome.status == RuleStatus::Error && !matches!(outcome.error, Some(EvalErrorKind::Query(_)))
}

pub(super) fn unix_seconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
