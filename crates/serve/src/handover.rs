//! Requests that rules in the background need as they were made: because they read who asked, or because the request is about
//! a part of an object, of which nothing is stored.
//!
//! A review writes nothing, so what it saw goes through a bounded queue. It reaches the controller as an Event in our own
//! namespace, where nobody else may write: who could write one could pretend to be another user. The controller deletes it,
//! and the API server does so an hour later. Of an object that is stored the controller reads the stored state, so only
//! requests about parts and deletions carry one, and never a Secret.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use kubewright_cluster::{Client, GroupVersionResource};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Map, Text, Value, json};
use tokio::sync::Notify;

use crate::log::LogLevel;
use crate::review::AdmissionReview;
use crate::{ServerState, clock};

/// The name of the webhook that sees these requests.
pub(crate) const HANDED_WEBHOOK: &str = "requests.background.kubewright.dev";

/// The label of Events that carry a request, and the annotation with it.
pub const HANDED_LABEL: &str = "kubewright.dev/handed-request";
const HANDED_ANNOTATION: &str = "kubewright.dev/request";

/// How many requests wait to be handed over; more are dropped.
const MAX_WAITING_HANDOVERS: usize = 1_000;

/// How large a request may be, in bytes; annotations hold no more.
const MAX_HANDED_BYTES: usize = 200 << 10;

/// How often a write is tried, and the pause before the next.
const HANDOVER_ATTEMPTS: u32 = 3;
const HANDOVER_PAUSE: Duration = Duration::from_millis(500);

/// The requests that wait.
#[derive(Debug, Default)]
pub(crate) struct HandoverQueue {
    waiting: Mutex<VecDeque<Value>>,
    is_new: Notify,
}

/// Returns whether a request is handed over. Events are not, because a handover is one; nor is what happens in our own
/// namespace, and the Leases that programs renew all the time.
pub(crate) fn is_handed_over(request: &AdmissionRequest, own_namespace: &str) -> bool {
    !request.is_dry_run
        && request.namespace != own_namespace
        && !matches!(request.kind.kind.as_str(), "Event" | "Lease")
}

impl HandoverQueue {
    /// Takes up a request that was admitted; false where there is no room for it.
    pub(crate) fn add(&self, review: &AdmissionReview) -> bool {
        let Some(event) = event_of(review) else { return false };
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() >= MAX_WAITING_HANDOVERS {
            return false;
        }
        waiting.push_back(event);
        drop(waiting);
        self.is_new.notify_one();
        true
    }

    fn take(&self) -> Option<Value> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

/// Writes what waits, for ever.
pub(crate) async fn run_handover(state: Arc<ServerState>, client: Client) {
    let namespace = state.settings.namespace.clone();
    let path = GroupVersionResource::new("", "v1", "events").within(&namespace);
    loop {
        let Some(mut event) = state.handovers.take() else {
            state.handovers.is_new.notified().await;
            continue;
        };
        set_place(&mut event, &namespace);
        for attempt in 1..=HANDOVER_ATTEMPTS {
            match client.create(&path, &event).await {
                Ok(_) => break,
                Err(error) if attempt == HANDOVER_ATTEMPTS => {
                    let line = state.log.line(LogLevel::Warn, "a request was not handed over");
                    line.text("error", &error.to_string()).write();
                }
                Err(_) => tokio::time::sleep(HANDOVER_PAUSE).await,
            }
        }
    }
}

/// Returns the request that an Event carries, where it carries one.
#[must_use]
pub fn handed_request(event: &Value) -> Option<AdmissionRequest> {
    let text = event.str_at(&["metadata", "annotations", HANDED_ANNOTATION]);
    let handed = json::parse(text).ok()?;
    let mut request = AdmissionReview::of(handed.get("request")?.clone()).ok()?.request;
    let roles = |key: &str| {
        let list = handed.get(key).and_then(Value::as_array).unwrap_or_default();
        list.iter().filter_map(Value::as_str).map(Text::new).collect()
    };
    (request.roles, request.cluster_roles) = (roles("roles"), roles("clusterRoles"));
    Some(request)
}

/// Returns the Event for a request; nothing where it is too large.
fn event_of(review: &AdmissionReview) -> Option<Value> {
    let request = &review.request;
    let mut raw = review.raw.clone();
    let is_stored = request.subresource.is_empty() && request.operation != Operation::Delete;
    let is_secret = request.kind.group.is_empty() && request.kind.kind == "Secret";
    if let Some(map) = raw.as_object_mut() {
        map.remove("options");
        if is_stored || is_secret {
            let field = |key: &str| request.object.str_at(&["metadata", key]).into();
            let metadata = Map::from([("name", field("name")), ("uid", field("uid"))]);
            map.insert("object".into(), Map::from([("metadata", metadata.into())]).into());
            map.remove("oldObject");
        }
    }
    let texts = |list: &[Text]| Value::array(list.iter().map(|text| text.clone().into()).collect());
    let handed = Map::from([
        ("request", raw),
        ("roles", texts(&request.roles)),
        ("clusterRoles", texts(&request.cluster_roles)),
    ]);
    let text = json::to_string(&handed.into());
    if text.len() > MAX_HANDED_BYTES {
        return None;
    }
    let now = clock::rfc3339_seconds(SystemTime::now());
    let annotations = Map::from([(HANDED_ANNOTATION, text.into())]);
    let labels = Map::from([(HANDED_LABEL, "true".into())]);
    let metadata = Map::from([
        ("generateName", "request-".into()),
        ("labels", labels.into()),
        ("annotations", annotations.into()),
    ]);
    let event = Map::from([
        ("apiVersion", "v1".into()),
        ("kind", "Event".into()),
        ("metadata", metadata.into()),
        ("type", "Normal".into()),
        ("reason", "RequestHandedOver".into()),
        ("message", format!("{} {}", request.operation.name(), request.subject()).into()),
        ("source", Map::from([("component", "kubewright".into())]).into()),
        ("firstTimestamp", now.as_str().into()),
        ("lastTimestamp", now.as_str().into()),
        ("count", 1_i64.into()),
    ]);
    Some(event.into())
}

/// An Event is about an object of its own namespace: here the namespace itself.
fn set_place(event: &mut Value, namespace: &str) {
    let Some(event) = event.as_object_mut() else { return };
    if let Some(metadata) = event.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("namespace".into(), namespace.into());
    }
    let about = Map::from([
        ("apiVersion", "v1".into()),
        ("kind", "Namespace".into()),
        ("name", namespace.into()),
        ("namespace", namespace.into()),
    ]);
    event.insert("involvedObject".into(), about.into());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn review(rest: &str) -> AdmissionReview {
        let text = format!(
            r#"{{"uid":"u","userInfo":{{"username":"nancy"}},"namespace":"shop","name":"a",{rest}}}"#
        );
        AdmissionReview::of(json::parse(&text).expect("JSON")).expect("a request")
    }

    #[test]
    fn a_stored_object_is_handed_over_by_its_uid_alone() {
        let mut asked = review(
            r#""operation":"CREATE","kind":{"group":"","version":"v1","kind":"ConfigMap"},"object":{"metadata":{"name":"a","uid":"x"},"data":{"a":"b"}}"#,
        );
        asked.request.cluster_roles = vec!["view".into()];
        let request = handed_request(&event_of(&asked).expect("an Event")).expect("a request");
        assert_eq!(json::to_string(&request.object), r#"{"metadata":{"name":"a","uid":"x"}}"#);
        assert_eq!(request.user.str_at(&["username"]), "nancy");
        assert_eq!(request.cluster_roles, ["view"]);
    }

    #[test]
    fn a_part_is_handed_over_whole() {
        let asked = review(
            r#""operation":"CREATE","subResource":"eviction","resource":{"group":"","version":"v1","resource":"pods"},"kind":{"group":"policy","version":"v1","kind":"Eviction"},"object":{"kind":"Eviction","metadata":{"name":"a"}}"#,
        );
        let request = handed_request(&event_of(&asked).expect("an Event")).expect("a request");
        assert_eq!(request.subresource, "eviction");
        assert_eq!(request.object.str_at(&["kind"]), "Eviction");
    }

    #[test]
    fn a_handover_leads_to_no_handover() {
        let event = review(r#""operation":"CREATE","kind":{"group":"","version":"v1","kind":"Event"}"#);
        assert!(!is_handed_over(&event.request, "kubewright-system"));
        let pod = review(r#""operation":"CREATE","kind":{"group":"","version":"v1","kind":"Pod"}"#);
        assert!(is_handed_over(&pod.request, "kubewright-system"));
        assert!(!is_handed_over(&pod.request, "shop"), "the own namespace");
    }

    #[test]
    fn what_waits_is_bounded() {
        let queue = HandoverQueue::default();
        let asked = review(r#""operation":"CREATE","kind":{"group":"","version":"v1","kind":"Pod"}"#);
        let count = (0..MAX_WAITING_HANDOVERS + 10).filter(|_| queue.add(&asked)).count();
        assert_eq!(count, MAX_WAITING_HANDOVERS);
    }
}
