//! Requests that the webhook hands over, because rules need them as they were made: who asked, or a part of an object.
//!
//! They come as Events in the namespace of the Lease, which are deleted once they are worked on. A request is known before
//! its object is stored, and may still be refused: so the object is waited for, and then read.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kubewright_cluster::{GroupVersionResource, ResourceEvent, ResourceWatch, watch_resource};
use kubewright_k8s::AdmissionRequest;
use kubewright_scan::ObjectKey;
use kubewright_serve::handover::{HANDED_LABEL, handed_request};
use kubewright_value::{Text, Value};
use tokio::sync::mpsc;

use super::BackgroundParts;
use super::job::JobContext;
use super::queue::TriggerWork;

/// How often is looked whether a rule needs such requests.
const HANDED_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// For how long the object of a request is waited for.
const STORED_TIMEOUT: Duration = Duration::from_secs(15);

/// How many Events wait.
const MAX_WAITING_REQUESTS: usize = 64;

/// A request that was handed over.
#[derive(Debug, Clone)]
pub(crate) struct HandedRequest {
    pub(crate) request: AdmissionRequest,
    /// The name of the Event.
    pub(crate) event: Text,
    /// Until when its object is waited for.
    pub(crate) until: Instant,
}

/// An Event carries one request.
impl PartialEq for HandedRequest {
    fn eq(&self, other: &Self) -> bool {
        self.event == other.event
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
    let needs_requests = || context.state().policies().rules().any(|(_, rule)| rule.takes_handed());
    while !needs_requests() {
        tokio::time::sleep(HANDED_POLL_INTERVAL).await;
    }
    let mut path = events().within(&parts.lease.namespace);
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

/// Returns the resource of Events.
pub(crate) fn events() -> GroupVersionResource {
    GroupVersionResource::new("", "v1", "events")
}

fn take_request(context: &JobContext, event: &Value) {
    let text = |key: &str| Text::from(event.str_at(&["metadata", key]));
    let Some(request) = handed_request(event) else { return };
    let handed = HandedRequest { request, event: text("name"), until: Instant::now() + STORED_TIMEOUT };
    let work = TriggerWork { key: handed.key(), handed: Some(Box::new(handed)), ..TriggerWork::default() };
    context.state().queue.add(format!("request/{}", text("uid")).into(), work);
}
