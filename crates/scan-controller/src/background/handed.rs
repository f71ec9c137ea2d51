//! Requests that the webhook hands over, because rules need them as they were made: who asked, or a part of an object.
//!
//! They come as ConfigMaps in the namespace of the Lease, which are deleted once they are worked on. A request is known before
//! its object is stored, and may still be refused: so the object is waited for, and then read.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kubewright_cluster::{GroupVersionResource, ResourceEvent, ResourceWatch, watch_resource};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_scan::ObjectKey;
use kubewright_serve::handover::{HANDED_LABEL, handed_request, is_unchanged_request};
use kubewright_value::{Text, Value};
use tokio::sync::mpsc;

use super::BackgroundParts;
use super::job::{JobContext, JobEnd, TriggerJob, end_of};
use super::labels::LabelledRule;
use super::policies::{TriggeredPolicy, TriggeredRule};
use super::queue::TriggerWork;
use super::send::SendError;
use crate::writer::delete_exactly;

/// How often is looked whether a rule needs such requests.
const HANDED_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// For how long the object of a request is waited for.
const STORED_TIMEOUT: Duration = Duration::from_secs(15);

/// How many of them wait to be read.
const MAX_WAITING_REQUESTS: usize = 64;

/// A request that was handed over.
#[derive(Debug, Clone)]
pub(crate) struct HandedRequest {
    pub(crate) request: AdmissionRequest,
    /// Whether it is an update that changes nothing, of which no watch tells.
    pub(crate) is_unchanged: bool,
    /// The name of the ConfigMap that carries it, and its uid.
    pub(crate) config_map: (Text, Text),
    /// Until when its object is waited for.
    pub(crate) until: Instant,
}

/// A ConfigMap carries one request.
impl PartialEq for HandedRequest {
    fn eq(&self, other: &Self) -> bool {
        self.config_map == other.config_map
    }
}

impl HandedRequest {
    /// Returns the name of what the request is about.
    pub(crate) fn key(&self) -> ObjectKey {
        let AdmissionRequest { kind, namespace, name, .. } = &self.request;
        ObjectKey {
            group: kind.group.clone(),
            kind: kind.kind.clone(),
            namespace: namespace.clone(),
            name: name.clone(),
        }
    }
}

/// Takes requests that are handed over, as long as a rule needs them.
pub(crate) async fn run_handed(parts: BackgroundParts, context: Arc<JobContext>) {
    let is_handed = |rule: &TriggeredRule| rule.takes_handed || rule.takes_unchanged;
    let needs_requests = || context.state().policies().rules().any(|(_, rule)| is_handed(rule));
    while !needs_requests() {
        tokio::time::sleep(HANDED_POLL_INTERVAL).await;
    }
    let mut path = config_maps().within(&parts.lease.namespace);
    path.query.push(("labelSelector".into(), format!("{HANDED_LABEL}=true").into()));
    let (sender, mut received) = mpsc::channel(MAX_WAITING_REQUESTS);
    let watching = tokio::spawn(watch_resource(parts.client.clone(), ResourceWatch::new(path), sender));
    let _watching = super::AbortAll(vec![watching.abort_handle()]);
    while let Some(event) = received.recv().await {
        if let ResourceEvent::InitialObject(event) | ResourceEvent::Applied(event) = event {
            take_request(&context, &event);
        }
    }
}

impl JobContext {
    /// Asks rules about a request that was handed over, and deletes the ConfigMap that it came with.
    pub(super) async fn work_on_request(
        &self,
        uid: &Text,
        work: &TriggerWork,
        handed: &HandedRequest,
    ) -> JobEnd {
        match self.requested_object(handed).await {
            Ok(Some(object)) => {
                let end = self.ask_about_request(uid, work, handed, object).await;
                if !matches!(end, JobEnd::Done) {
                    return end;
                }
            }
            Ok(None) if Instant::now() < handed.until => return JobEnd::Again(None),
            // It was refused, or is gone again.
            Ok(None) => {}
            Err(error) => return end_of(&error),
        }
        let path = config_maps().named(&self.namespace, &handed.config_map.0);
        // One that stays is asked about once more after a restart, which does no harm.
        let _ = delete_exactly(self.sender.client(), &path, &handed.config_map.1, &Text::default()).await;
        JobEnd::Done
    }

    async fn ask_about_request(
        &self,
        uid: &Text,
        work: &TriggerWork,
        handed: &HandedRequest,
        object: Value,
    ) -> JobEnd {
        let text = |key: &str| Text::from(object.str_at(&["metadata", key]));
        let written = self.sender.own().depth_of(&text("uid"), &text("resourceVersion"));
        let policies = self.asked_policies(written.is_some(), handed.is_unchanged);
        let trigger = if text("uid").is_empty() { uid.clone() } else { text("uid") };
        let operation = handed.request.operation;
        let depth = written.unwrap_or_default();
        let work = &TriggerWork { event: Some(operation), depth, ..work.clone() };
        let mut job =
            TriggerJob { context: self, uid: &trigger, work, object: Some(object), end: JobEnd::Done };
        for (policy, rules) in policies.into_iter().filter(|(_, rules)| !rules.is_empty()) {
            job.ask(&policy, &rules, Some(operation.name())).await;
        }
        job.end
    }

    /// Returns the rules that are asked about requests, by policy. Rules that a watch tells of changes are asked about requests
    /// that change nothing alone.
    fn asked_policies(
        &self,
        is_own_write: bool,
        is_unchanged: bool,
    ) -> Vec<(Arc<TriggeredPolicy>, Vec<LabelledRule>)> {
        let is_asked = |rule: &&TriggeredRule| {
            let takes = rule.takes_handed || (is_unchanged && rule.takes_unchanged);
            takes && !(is_own_write && rule.skips_own_writes())
        };
        let keys = |policy: &Arc<TriggeredPolicy>| -> Vec<LabelledRule> {
            policy.rules.iter().filter(is_asked).map(|rule| rule.key.clone()).collect()
        };
        let state = self.state();
        state.policies().triggered.iter().map(|policy| (Arc::clone(policy), keys(policy))).collect()
    }

    /// Returns what a request is about, in its stored state where there is one.
    async fn requested_object(&self, handed: &HandedRequest) -> Result<Option<Value>, SendError> {
        let object = &handed.request.object;
        if !handed.request.subresource.is_empty() || handed.request.operation == Operation::Connect {
            return Ok(Some(object.clone()));
        }
        let work = TriggerWork { key: handed.key(), ..TriggerWork::default() };
        let stored = self.object(&object.str_at(&["metadata", "uid"]).into(), &work).await?;
        match handed.request.operation {
            // What is to be deleted is waited for, too.
            Operation::Delete => Ok(stored.is_none().then(|| object.clone())),
            _ => Ok(stored),
        }
    }
}

/// Returns the resource that carries requests.
fn config_maps() -> GroupVersionResource {
    GroupVersionResource::new("", "v1", "configmaps")
}

fn take_request(context: &JobContext, event: &Value) {
    let text = |key: &str| Text::from(event.str_at(&["metadata", key]));
    let Some(request) = handed_request(event) else { return };
    let handed = HandedRequest {
        request,
        is_unchanged: is_unchanged_request(event),
        config_map: (text("name"), text("uid")),
        until: Instant::now() + STORED_TIMEOUT,
    };
    let work = TriggerWork { key: handed.key(), handed: Some(Box::new(handed)), ..TriggerWork::default() };
    context.state().queue.add(format!("request/{}", text("uid")).into(), work);
}
