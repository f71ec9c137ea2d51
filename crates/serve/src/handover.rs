//! Requests that rules in the background need as they were made: because they read who asked, or because nothing is stored: the
//! request is about a part of an object, or it is an update that changes nothing.
//!
//! A review writes nothing, so what it saw goes through a bounded queue. It reaches the controller as a ConfigMap in our own
//! namespace, which the controller deletes. A program that can create one there can pretend to be another user, so it is not
//! an Event, which every node may create. The names are a fixed set, so that no more than that are ever stored while no
//! controller runs. Of an object that is stored the controller reads the stored state, so only requests about parts and
//! deletions carry one, and never a Secret.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kubewright_cluster::{Client, GroupVersionResource};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Map, Text, Value, json};
use tokio::sync::Notify;

use crate::ServerState;
use crate::log::LogLevel;
use crate::review::AdmissionReview;

/// The name of the webhook that sees these requests.
pub(crate) const HANDED_WEBHOOK: &str = "requests.background.kubewright.dev";

/// The name of the webhook that sees updates, of which those that change nothing are handed over.
pub(crate) const UNCHANGED_WEBHOOK: &str = "unchanged.background.kubewright.dev";

/// The label of ConfigMaps that carry a request, and the key of the request.
pub const HANDED_LABEL: &str = "kubewright.dev/handed-request";
const HANDED_KEY: &str = "request";

/// The key that says of a request that it changes nothing.
const UNCHANGED_KEY: &str = "unchanged";

/// How many requests are stored at most, under names with these numbers.
const MAX_STORED_HANDOVERS: usize = 500;

/// How many requests wait to be handed over; more are dropped.
const MAX_WAITING_HANDOVERS: usize = 1_000;

/// How large a request may be, in bytes.
const MAX_HANDED_BYTES: usize = 200 << 10;

/// How often a write is tried, and the pause before the next.
const HANDOVER_ATTEMPTS: u32 = 10;
const HANDOVER_PAUSE: Duration = Duration::from_millis(500);

/// The requests that wait.
#[derive(Debug, Default)]
pub(crate) struct HandoverQueue {
    waiting: Mutex<VecDeque<String>>,
    is_new: Notify,
}

/// Returns whether a request is handed over. What happens in our own namespace is not, because a handover does; nor are the
/// Events and Leases that programs write all the time.
pub(crate) fn is_handed_over(request: &AdmissionRequest, own_namespace: &str) -> bool {
    !request.is_dry_run
        && request.namespace != own_namespace
        && !matches!(request.kind.kind.as_str(), "Event" | "Lease")
}

/// Returns whether a request changes nothing, so that nothing is stored and no watch tells of it.
pub(crate) fn is_unchanged(request: &AdmissionRequest) -> bool {
    let content = |object: &Value| {
        let mut object = object.clone();
        let metadata =
            object.as_object_mut().and_then(|map| map.get_mut("metadata")).and_then(Value::as_object_mut);
        if let Some(metadata) = metadata {
            // Who wrote when: the API server does not store that alone.
            metadata.remove("managedFields");
            metadata.remove("resourceVersion");
        }
        object
    };
    request.operation == Operation::Update && content(&request.object) == content(&request.old_object)
}

impl HandoverQueue {
    /// Takes up a request that was admitted; false where there is no room for it.
    pub(crate) fn add(&self, review: &AdmissionReview) -> bool {
        let Some(request) = handed_text(review) else { return false };
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() >= MAX_WAITING_HANDOVERS {
            return false;
        }
        waiting.push_back(request);
        drop(waiting);
        self.is_new.notify_one();
        true
    }

    fn take(&self) -> Option<String> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

/// Writes what waits, for ever.
pub(crate) async fn run_handover(state: Arc<ServerState>, client: Client) {
    let namespace = state.settings.namespace.clone();
    let path = GroupVersionResource::new("", "v1", "configmaps").within(&namespace);
    // Replicas begin at different places, so that they seldom meet.
    let mut slot = usize::try_from(std::process::id()).unwrap_or_default();
    loop {
        let Some(request) = state.handovers.take() else {
            state.handovers.is_new.notified().await;
            continue;
        };
        for attempt in 1..=HANDOVER_ATTEMPTS {
            slot = (slot + 1) % MAX_STORED_HANDOVERS;
            match client.create(&path, &config_map(slot, &namespace, &request)).await {
                Ok(_) => break,
                Err(error) if attempt == HANDOVER_ATTEMPTS => {
                    let line = state.log.line(LogLevel::Warn, "a request was not handed over");
                    line.text("error", &error.to_string()).write();
                }
                // The slot holds a request that still waits: the next one may be free.
                Err(error) if error.is_conflict() => {}
                Err(_) => tokio::time::sleep(HANDOVER_PAUSE).await,
            }
        }
    }
}

/// Returns the request that a ConfigMap carries, where it carries one.
#[must_use]
pub fn handed_request(config_map: &Value) -> Option<AdmissionRequest> {
    let text = config_map.str_at(&["data", HANDED_KEY]);
    let handed = json::parse(text).ok()?;
    let mut request = AdmissionReview::of(handed.get("request")?.clone()).ok()?.request;
    let roles = |key: &str| {
        let list = handed.get(key).and_then(Value::as_array).unwrap_or_default();
        list.iter().filter_map(Value::as_str).map(Text::new).collect()
    };
    (request.roles, request.cluster_roles) = (roles("roles"), roles("clusterRoles"));
    Some(request)
}

/// Returns whether a ConfigMap carries a request that changes nothing.
#[must_use]
pub fn is_unchanged_request(config_map: &Value) -> bool {
    let handed = json::parse(config_map.str_at(&["data", HANDED_KEY])).unwrap_or_default();
    handed.get(UNCHANGED_KEY).and_then(Value::as_bool).unwrap_or_default()
}

/// Returns what is handed over of a request; nothing where it is too large.
fn handed_text(review: &AdmissionReview) -> Option<String> {
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
        (UNCHANGED_KEY, is_unchanged(request).into()),
    ]);
    let text = json::to_string(&handed.into());
    (text.len() <= MAX_HANDED_BYTES).then_some(text)
}

/// Returns the ConfigMap that carries `request`.
fn config_map(slot: usize, namespace: &str, request: &str) -> Value {
    let metadata = Map::from([
        ("name", Value::from(format!("kubewright-request-{slot}"))),
        ("namespace", namespace.into()),
        ("labels", Map::from([(HANDED_LABEL, "true".into())]).into()),
    ]);
    Map::from([
        ("apiVersion", Value::from("v1")),
        ("kind", "ConfigMap".into()),
        ("metadata", metadata.into()),
        ("data", Map::from([(HANDED_KEY, request.into())]).into()),
    ])
    .into()
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

    fn handed(review: &AdmissionReview) -> AdmissionRequest {
        let text = handed_text(review).expect("a small request");
        handed_request(&config_map(7, "kubewright-system", &text)).expect("a request")
    }

    #[test]
    fn a_stored_object_is_handed_over_by_its_uid_alone() {
        let mut asked = review(
            r#""operation":"CREATE","kind":{"group":"","version":"v1","kind":"ConfigMap"},"object":{"metadata":{"name":"a","uid":"x"},"data":{"a":"b"}}"#,
        );
        asked.request.cluster_roles = vec!["view".into()];
        let request = handed(&asked);
        assert_eq!(json::to_string(&request.object), r#"{"metadata":{"name":"a","uid":"x"}}"#);
        assert_eq!(request.user.str_at(&["username"]), "nancy");
        assert_eq!(request.cluster_roles, ["view"]);
    }

    #[test]
    fn an_update_that_changes_nothing_is_told_apart() {
        let update = |object: &str| {
            review(&format!(
                r#""operation":"UPDATE","kind":{{"group":"","version":"v1","kind":"Secret"}},"object":{object},
                "oldObject":{{"metadata":{{"name":"a","resourceVersion":"7","managedFields":[1]}},"data":{{"a":"b"}}}}"#
            ))
        };
        let same = update(r#"{"metadata":{"name":"a","managedFields":[2]},"data":{"a":"b"}}"#);
        let changed = update(r#"{"metadata":{"name":"a"},"data":{"a":"c"}}"#);
        for (asked, want) in [(same, true), (changed, false)] {
            assert_eq!(is_unchanged(&asked.request), want);
            let text = handed_text(&asked).expect("a small request");
            assert_eq!(is_unchanged_request(&config_map(7, "kubewright-system", &text)), want);
        }
    }

    #[test]
    fn a_part_is_handed_over_whole() {
        let asked = review(
            r#""operation":"CREATE","subResource":"eviction","resource":{"group":"","version":"v1","resource":"pods"},"kind":{"group":"policy","version":"v1","kind":"Eviction"},"object":{"kind":"Eviction","metadata":{"name":"a"}}"#,
        );
        let request = handed(&asked);
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
