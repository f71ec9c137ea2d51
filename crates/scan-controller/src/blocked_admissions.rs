//! The last requests that rules refused in the whole cluster, from the Events that the webhooks write about them.
//!
//! A webhook has several replicas, and each knows only what it refused itself. Events are deleted after an hour; what was
//! seen before is kept here.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kubewright_cluster::{Client, GroupVersionResource, ResourceEvent, ResourceWatch, watch_resource};
use kubewright_engine::BLOCKED_ACTION;
use kubewright_k8s::{ApiPath, ObjectName};
use kubewright_serve::EVENT_RULE_ANNOTATION;
use kubewright_serve::log::{Log, LogLevel};
use kubewright_value::{Text, Value};
use tokio::sync::{mpsc, watch};

/// How many are kept.
const MAX_BLOCKED_ADMISSIONS: usize = 1_000;

/// Which Events are watched: those that a webhook of ours writes about violations.
const BLOCKED_SELECTOR: &str = "type=Warning,reason=PolicyViolation,source=kubewright";

/// How many Events wait.
const MAX_WAITING_BLOCKED: usize = 64;

/// The last requests that rules refused.
#[derive(Debug, Default)]
pub struct BlockedAdmissions {
    // INVARIANT: sorted by time, the newest last.
    kept: Mutex<VecDeque<KeptAdmission>>,
    version: watch::Sender<u64>,
}

/// A request that a rule refused, once or several times within a minute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedAdmission {
    /// When it was refused the last time, as in RFC 3339.
    pub time: Text,
    /// How often it was refused.
    pub count: u64,
    /// The object that was to be written. The group is known only where it is empty.
    pub subject: ObjectName,
    /// The rule object.
    pub policy: ObjectName,
    /// The id of the rule.
    pub rule: Text,
    /// Why; nothing of a Secret.
    pub message: Text,
}

#[derive(Debug)]
struct KeptAdmission {
    /// The namespace and name of the Event.
    event: (Text, Text),
    admission: BlockedAdmission,
}

impl BlockedAdmissions {
    /// Returns where the Events are.
    #[must_use]
    pub fn events_path() -> ApiPath {
        let mut path = GroupVersionResource::new("", "v1", "events").all();
        path.query.push(("fieldSelector".into(), BLOCKED_SELECTOR.into()));
        path
    }

    /// Returns what `events` tell.
    #[must_use]
    pub fn of_events(events: &[Value]) -> Self {
        let blocked = Self::default();
        events.iter().for_each(|event| blocked.add(event));
        blocked
    }

    /// Returns them, the newest first.
    #[must_use]
    pub fn newest_first(&self) -> Vec<BlockedAdmission> {
        self.kept().iter().rev().map(|kept| kept.admission.clone()).collect()
    }

    /// Returns a number that grows with every change, to wait for changes.
    #[must_use]
    pub fn version(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// Takes up an Event; one that is not about a refused request is ignored.
    fn add(&self, event: &Value) {
        if event.str_at(&["action"]) != BLOCKED_ACTION {
            return;
        }
        let new = KeptAdmission::of(event);
        let mut kept = self.kept();
        if let Some(place) = kept.iter().position(|kept| kept.event == new.event) {
            if kept.get(place).is_some_and(|old| old.admission == new.admission) {
                return;
            }
            kept.remove(place);
        }
        let place = kept.partition_point(|kept| kept.admission.time <= new.admission.time);
        kept.insert(place, new);
        if kept.len() > MAX_BLOCKED_ADMISSIONS {
            kept.pop_front();
        }
        drop(kept);
        self.version.send_modify(|version| *version += 1);
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<KeptAdmission>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeptAdmission {
    fn of(event: &Value) -> Self {
        let text = |keys: &[&str]| Text::new(event.str_at(keys));
        let count = event.at(&["count"]).and_then(Value::as_i64).unwrap_or(1);
        let admission = BlockedAdmission {
            time: text(&["lastTimestamp"]),
            count: u64::try_from(count).unwrap_or_default(),
            subject: object_name(event, "related"),
            policy: object_name(event, "involvedObject"),
            rule: text(&["metadata", "annotations", EVENT_RULE_ANNOTATION]),
            message: text(&["message"]),
        };
        Self { event: (text(&["metadata", "namespace"]), text(&["metadata", "name"])), admission }
    }
}

fn object_name(event: &Value, reference: &str) -> ObjectName {
    let text = |key: &str| Text::new(event.str_at(&[reference, key]));
    let api_version = event.str_at(&[reference, "apiVersion"]);
    ObjectName {
        group: api_version.rsplit_once('/').map_or("", |(group, _)| group).into(),
        kind: text("kind"),
        namespace: text("namespace"),
        name: text("name"),
    }
}

/// Follows the Events of the cluster for ever.
pub(crate) async fn follow_blocked_admissions(
    client: Client,
    blocked: Arc<BlockedAdmissions>,
    log: Arc<Log>,
) {
    let watch =
        ResourceWatch { has_managed_fields: false, ..ResourceWatch::new(BlockedAdmissions::events_path()) };
    let (sender, mut events) = mpsc::channel(MAX_WAITING_BLOCKED);
    let mut is_failing = false;
    let following = async {
        while let Some(event) = events.recv().await {
            match event {
                ResourceEvent::InitialObject(event) | ResourceEvent::Applied(event) => blocked.add(&event),
                ResourceEvent::InitialListEnded => is_failing = false,
                ResourceEvent::Failed(error) if error.code() == Some(403) && !is_failing => {
                    is_failing = true;
                    let line = log.line(LogLevel::Warn, "events not read: blocked requests are not known");
                    line.shown("problem", &error).write();
                }
                _ => {}
            }
        }
    };
    tokio::join!(watch_resource(client, watch, sender), following);
}

#[cfg(test)]
mod tests {
    use kubewright_value::json;

    use super::*;

    fn event(name: &str, action: &str, time: &str) -> Value {
        let text = format!(
            r#"{{"metadata": {{"name": "{name}", "namespace": "default",
                  "annotations": {{"kubewright.dev/rule": "kyverno/tags/no-latest"}}}},
                "action": "{action}", "lastTimestamp": "{time}", "count": 2, "message": "Pod shop/web refused: why",
                "involvedObject": {{"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "name": "tags"}},
                "related": {{"apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "web"}}}}"#
        );
        json::parse(&text).unwrap()
    }

    #[test]
    fn only_refused_requests_are_kept_the_newest_first() {
        let blocked = BlockedAdmissions::default();
        let version = blocked.version();
        blocked.add(&event("b", BLOCKED_ACTION, "2026-01-01T00:00:02Z"));
        blocked.add(&event("a", BLOCKED_ACTION, "2026-01-01T00:00:01Z"));
        blocked.add(&event("c", "Resource Passed", "2026-01-01T00:00:03Z"));
        let times = || blocked.newest_first().into_iter().map(|one| one.time).collect::<Vec<_>>();
        assert_eq!(times(), ["2026-01-01T00:00:02Z", "2026-01-01T00:00:01Z"]);
        blocked.add(&event("a", BLOCKED_ACTION, "2026-01-01T00:00:04Z"));
        blocked.add(&event("a", BLOCKED_ACTION, "2026-01-01T00:00:04Z"));
        assert_eq!(times(), ["2026-01-01T00:00:04Z", "2026-01-01T00:00:02Z"]);
        assert_eq!(*version.borrow(), 3, "what is known already is no change");
        let first = blocked.newest_first().remove(0);
        assert_eq!((first.rule.as_str(), first.count), ("kyverno/tags/no-latest", 2));
        assert_eq!((first.subject.name.as_str(), first.policy.group.as_str()), ("web", "kyverno.io"));
    }

    #[test]
    fn the_oldest_one_makes_room() {
        let blocked = BlockedAdmissions::default();
        for number in 0..MAX_BLOCKED_ADMISSIONS + 3 {
            let time = format!("2026-01-01T00:{:02}:{:02}Z", number / 60, number % 60);
            blocked.add(&event(&number.to_string(), BLOCKED_ACTION, &time));
        }
        let kept = blocked.newest_first();
        assert_eq!(kept.len(), MAX_BLOCKED_ADMISSIONS);
        assert_eq!(kept.last().map(|one| one.time.as_str()), Some("2026-01-01T00:00:03Z"));
    }
}
