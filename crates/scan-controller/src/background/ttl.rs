//! Objects with a label that says how long they live, of every kind that we may watch and delete.

mod lifetime;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use kubewright_cluster::{
    ApiResource, Client, DiscoveredResources, ResourceEvent, ResourceWatch, watch_resource,
};
use kubewright_engine::{DeletionPropagation, ResourceAccess};
use kubewright_scan::{KindKey, ObjectKey, is_quiet_kind};
use kubewright_serve::access::is_permitted;
use kubewright_serve::log::LogLevel;
use kubewright_value::{Text, Value};
use tokio::sync::mpsc::{self, Sender};
use tokio::task::AbortHandle;

use self::lifetime::{TTL_LABEL, expiry_of};
use super::BackgroundParts;
use super::cleanup::unix_seconds;
use super::job::JobContext;
use super::labels::title;
use super::send::SendError;
use super::state::key_of;
use super::times::seconds_of;
use crate::metrics::ScanMetric;

/// What becomes of the dependents of an object that is deleted.
const PROPAGATION_ANNOTATION: &str = "cleanup.kyverno.io/propagation-policy";

/// How often is looked what has expired.
const TTL_TICK_INTERVAL: Duration = Duration::from_millis(500);

/// How often is asked which kinds may be deleted.
const RIGHTS_INTERVAL: Duration = Duration::from_secs(60);

/// How many events wait.
const MAX_TTL_EVENTS: usize = 64;

/// How long is waited after a deletion that failed.
const RETRY_PAUSE_SECONDS: i64 = 30;

/// An object that will be deleted.
#[derive(Debug, Clone)]
struct ExpiringObject {
    at: i64,
    uid: Text,
    resource_version: Text,
    propagation: Option<DeletionPropagation>,
}

/// Deletes what has expired.
pub(super) async fn run_ttl(parts: BackgroundParts, context: Arc<JobContext>) {
    let (sender, mut events) = mpsc::channel(MAX_TTL_EVENTS);
    let mut task = TtlTask { parts, context, watches: BTreeMap::new(), expiring: HashMap::new() };
    let mut asked: Option<Instant> = None;
    let mut tick = tokio::time::interval(TTL_TICK_INTERVAL);
    while !task.parts.is_stopping.load(Ordering::Relaxed) {
        tokio::select! {
            Some((kind, event)) = events.recv() => task.take_event(&kind, event),
            _ = tick.tick() => {
                let is_changed = task.parts.served.has_changed().unwrap_or_default();
                if is_changed || asked.is_none_or(|at: Instant| at.elapsed() >= RIGHTS_INTERVAL) {
                    let served = task.parts.served.borrow_and_update().clone();
                    if let Some(served) = served {
                        asked = Some(Instant::now());
                        task.watch_kinds(&served, &sender).await;
                    }
                }
                task.delete_expired().await;
            }
        }
    }
}

struct TtlTask {
    parts: BackgroundParts,
    context: Arc<JobContext>,
    watches: BTreeMap<KindKey, (ApiResource, AbortKindWatch)>,
    expiring: HashMap<ObjectKey, ExpiringObject>,
}

/// Ends the tasks of a watch.
struct AbortKindWatch([AbortHandle; 2]);

impl Drop for AbortKindWatch {
    fn drop(&mut self) {
        self.0.iter().for_each(AbortHandle::abort);
    }
}

impl TtlTask {
    /// Watches the kinds of `served` that we may list, watch and delete.
    async fn watch_kinds(&mut self, served: &DiscoveredResources, events: &Sender<(KindKey, ResourceEvent)>) {
        let mut wanted = BTreeMap::new();
        for resource in served.iter() {
            let key = KindKey { group: resource.group.clone(), kind: resource.kind.clone() };
            let verbs = ["list", "watch", "delete"];
            let is_deletable = verbs.iter().all(|verb| resource.can(verb));
            if is_deletable && !is_quiet_kind(&resource.group, &resource.kind) && !wanted.contains_key(&key) {
                wanted.insert(key, resource.clone());
            }
        }
        let mut allowed = BTreeMap::new();
        for (key, resource) in wanted {
            if may_expire(&self.parts.client, &resource).await {
                allowed.insert(key, resource);
            }
        }
        self.watches.retain(|key, (resource, _)| allowed.get(key) == Some(resource));
        self.expiring.retain(|key, _| allowed.contains_key(&KindKey::of(key)));
        for (key, resource) in allowed {
            if !self.watches.contains_key(&key) {
                let watch = begin_watch(&self.parts.client, &key, &resource, events.clone());
                self.watches.insert(key, (resource, watch));
            }
        }
    }

    fn take_event(&mut self, kind: &KindKey, event: ResourceEvent) {
        match event {
            ResourceEvent::InitialListStarted => self.expiring.retain(|key, _| KindKey::of(key) != *kind),
            ResourceEvent::InitialObject(object) | ResourceEvent::Applied(object) => {
                let key = key_of(kind, &object);
                match expiring(&object) {
                    Some(expiring) => drop(self.expiring.insert(key, expiring)),
                    None => drop(self.expiring.remove(&key)),
                }
            }
            ResourceEvent::Deleted(object) => drop(self.expiring.remove(&key_of(kind, &object))),
            ResourceEvent::InitialListEnded | ResourceEvent::Failed(_) => {}
        }
    }

    async fn delete_expired(&mut self) {
        let now = unix_seconds();
        if !self.parts.fence.is_open() {
            return;
        }
        let expired: Vec<(ObjectKey, ExpiringObject)> = self
            .expiring
            .iter()
            .filter(|(_, expiring)| expiring.at <= now)
            .map(|(key, expiring)| (key.clone(), expiring.clone()))
            .collect();
        for (key, object) in expired {
            let Some((resource, _)) = self.watches.get(&KindKey::of(&key)) else { continue };
            let path = resource.address().named(&key.namespace, &key.name);
            let ExpiringObject { uid, resource_version, propagation, .. } = &object;
            match self.context.sender.delete(&path, uid, resource_version, *propagation).await {
                Ok(()) => {
                    self.parts.metrics.count_at(ScanMetric::BackgroundDeletions, 1, 1);
                    let line = self.parts.log.line(LogLevel::Info, "expired object deleted");
                    line.text("object", &title(&key)).write();
                    self.expiring.remove(&key);
                }
                Err(SendError::Fenced) => return,
                // The watch brings the newer version, which may live longer.
                Err(SendError::Conflict) => drop(self.expiring.remove(&key)),
                Err(error) => {
                    let line = self.parts.log.line(LogLevel::Warn, "expired object not deleted");
                    line.text("object", &title(&key)).text("problem", &format!("{error:?}")).write();
                    if let Some(expiring) = self.expiring.get_mut(&key) {
                        expiring.at = now + RETRY_PAUSE_SECONDS;
                    }
                }
            }
        }
    }
}

async fn may_expire(client: &Client, resource: &ApiResource) -> bool {
    let access = ResourceAccess {
        group: resource.group.clone(),
        resource: resource.resource.clone(),
        ..ResourceAccess::default()
    };
    for verb in ["delete", "list", "watch"] {
        if is_permitted(client, None, &access, verb).await != Some(true) {
            return false;
        }
    }
    true
}

fn begin_watch(
    client: &Client,
    kind: &KindKey,
    resource: &ApiResource,
    events: Sender<(KindKey, ResourceEvent)>,
) -> AbortKindWatch {
    let mut path = resource.address().all();
    path.query.push(("labelSelector".into(), TTL_LABEL.into()));
    let watch =
        ResourceWatch { is_metadata_only: true, has_managed_fields: false, ..ResourceWatch::new(path) };
    let (sender, mut received) = mpsc::channel(1);
    let watching = tokio::spawn(watch_resource(client.clone(), watch, sender));
    let kind = kind.clone();
    let tagging = tokio::spawn(async move {
        while let Some(event) = received.recv().await {
            if events.send((kind.clone(), event)).await.is_err() {
                return;
            }
        }
    });
    AbortKindWatch([watching.abort_handle(), tagging.abort_handle()])
}

/// Returns when an object expires and how it is deleted; nothing where it does not.
fn expiring(object: &Value) -> Option<ExpiringObject> {
    let text = |name: &str| Text::from(object.str_at(&["metadata", name]));
    if object.at(&["metadata", "deletionTimestamp"]).is_some() {
        return None;
    }
    let created = seconds_of(&text("creationTimestamp"))?;
    let at = expiry_of(object.str_at(&["metadata", "labels", TTL_LABEL]), created)?;
    let propagation = object.str_at(&["metadata", "annotations", PROPAGATION_ANNOTATION]);
    let propagation = DeletionPropagation::ALL.iter().find(|(name, _)| *name == propagation);
    Some(ExpiringObject {
        at,
        uid: text("uid"),
        resource_version: text("resourceVersion"),
        propagation: propagation.map(|(_, one)| *one),
    })
}
