//! Carries out what rules ask for. Every write passes the fence of the Lease, names the version that it is about, and is
//! remembered as our own.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use kubewright_cluster::{CallLimits, Client, DiscoveredResources, Error, GroupVersionResource, PatchType};
use kubewright_engine::{DeletionPropagation, WrittenPart};
use kubewright_k8s::{ApiPath, GroupVersionKind};
use kubewright_scan::ObjectKey;
use kubewright_value::{Map, Text, Value};

use super::compare::{BACKGROUND_MANAGER, is_as_wanted, successor_of, without_server_fields};
use super::downstream::Downstream;
use super::labels::{release, set_kept_for, title};
use super::own_writes::OwnWrites;
use super::resources::resource_of_object;
use crate::ScanMetrics;
use crate::lease::LeaseFence;
use crate::metrics::{ScanMetric, WriteVerb};

/// How long one write may take. With the renew deadline of the Lease it ends before another replica may write.
const BACKGROUND_CALL_TIMEOUT: Duration = Duration::from_secs(4);

/// Why something could not be written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SendError {
    /// This replica may not write now.
    Fenced,
    /// Another program wrote the object meanwhile.
    Conflict,
    /// The object was written too often: another program undoes it.
    Rests(String),
    /// Our rights do not suffice.
    Forbidden(String),
    /// The API server refuses it, and will do so again.
    Refused(String),
    /// The API server could not do it now; it may ask for a pause.
    Unavailable(String, Option<Duration>),
}

/// What became of a wanted object.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Sent {
    /// It was written, and is stored like this.
    Written(Value),
    /// It was as wanted already, or is not to be replaced.
    Unchanged(Value),
    /// There is no place for it any more: its namespace is being deleted.
    NoPlace,
}

/// Writes objects.
#[derive(Debug)]
pub(crate) struct ObjectSender {
    client: Client,
    fence: Arc<LeaseFence>,
    metrics: Arc<ScanMetrics>,
    own: Mutex<OwnWrites>,
}

impl ObjectSender {
    pub(crate) fn new(client: &Client, fence: Arc<LeaseFence>, metrics: Arc<ScanMetrics>) -> Self {
        let client = client.limited(CallLimits {
            time: BACKGROUND_CALL_TIMEOUT,
            // What the API server asks for is waited for between writes, where the Lease is looked at again.
            throttle_wait: Duration::ZERO,
            ..Default::default()
        });
        Self { client, fence, metrics, own: Mutex::default() }
    }

    /// Returns what was written lately.
    pub(crate) fn own(&self) -> std::sync::MutexGuard<'_, OwnWrites> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Creates an object. One that is there is made equal if `replaces`, and otherwise left as it is. `is_known` says
    /// that it probably is there.
    pub(crate) async fn make(
        &self,
        path: &ApiPath,
        wanted: &Value,
        how: MakeOptions,
    ) -> Result<Sent, SendError> {
        let stored = match how.is_known {
            true => self.read(path).await?,
            false => None,
        };
        let stored = match stored {
            Some(stored) => stored,
            None => match self.create(path, wanted, &how).await? {
                Created::Done(sent) => return Ok(sent),
                Created::IsThere if !how.replaces => {
                    return Ok(Sent::Unchanged(Value::Null));
                }
                Created::IsThere => self.read(path).await?.ok_or(SendError::Conflict)?,
            },
        };
        if !how.replaces || is_as_wanted(wanted, &stored) {
            return Ok(Sent::Unchanged(stored));
        }
        if stored.at(&["metadata", "deletionTimestamp"]).is_some() {
            // It is on its way out; the end of it is an event.
            return Ok(Sent::Unchanged(stored));
        }
        let _under_way = self.admit(path, wanted)?;
        let written = match how.is_applied {
            true => self.apply(path, wanted).await,
            false => self.client.replace(&managed(path), &successor_of(wanted, &stored)).await,
        };
        let written = written.map_err(|error| self.failure(path, &error))?;
        // A write that changes nothing is not stored.
        let is_changed =
            written.at(&["metadata", "resourceVersion"]) != stored.at(&["metadata", "resourceVersion"]);
        self.written(WriteVerb::Update, &written, how.depth);
        Ok(if is_changed { Sent::Written(written) } else { Sent::Unchanged(written) })
    }

    /// Replaces an object that a rule has read and changed; another version since then is a conflict.
    pub(crate) async fn update(
        &self,
        path: &ApiPath,
        changed: &Value,
        depth: u32,
    ) -> Result<Sent, SendError> {
        let _under_way = self.admit(path, changed)?;
        match self.client.replace(&managed(path), changed).await {
            Ok(written) => {
                let version = |object: &Value| object.at(&["metadata", "resourceVersion"]).cloned();
                let is_changed = version(&written) != version(changed);
                self.written(WriteVerb::Update, &written, depth);
                Ok(if is_changed { Sent::Written(written) } else { Sent::Unchanged(written) })
            }
            Err(error) => Err(self.failure(path, &error)),
        }
    }

    /// Deletes an object in just this version.
    pub(crate) async fn delete(
        &self,
        path: &ApiPath,
        uid: &Text,
        resource_version: &Text,
        propagation: Option<DeletionPropagation>,
    ) -> Result<(), SendError> {
        if !self.fence.is_open() {
            return Err(SendError::Fenced);
        }
        let preconditions =
            Map::from([("uid", uid.clone().into()), ("resourceVersion", resource_version.clone().into())]);
        let mut options = Map::from([
            ("apiVersion", "v1".into()),
            ("kind", "DeleteOptions".into()),
            ("preconditions", preconditions.into()),
        ]);
        if let Some(propagation) = propagation {
            options.insert("propagationPolicy".into(), propagation.name().into());
        }
        match self.client.raw("DELETE", path, Some(&options.into())).await {
            Ok(_) => {
                self.metrics.count_at(ScanMetric::BackgroundWrites, WriteVerb::Delete as usize, 1);
                Ok(())
            }
            Err(error) if error.is_not_found() => Ok(()),
            Err(error) => Err(self.failure(path, &error)),
        }
    }

    /// Lets an object go that stays: it has no label of a policy any more, or none that lets it go with it.
    pub(crate) async fn relabel(
        &self,
        path: &ApiPath,
        found: &Downstream,
        is_released: bool,
    ) -> Result<Value, SendError> {
        if !self.fence.is_open() {
            return Err(SendError::Fenced);
        }
        let Some(mut stored) = self.read(path).await? else { return Ok(Value::Null) };
        let newer = Downstream::of(found.key.clone(), &stored);
        if newer.is_none_or(|newer| newer.uid != found.uid || newer.labels.rule != found.labels.rule) {
            // It belongs to another rule, or to none.
            return Ok(stored);
        }
        match is_released {
            true => release(&mut stored),
            false => set_kept_for(&mut stored, None),
        }
        let _under_way = WriteUnderWay::begin(self, found.key.clone());
        match self.client.replace(&managed(path), &stored).await {
            Ok(written) => {
                self.written(WriteVerb::Update, &written, 0);
                Ok(written)
            }
            Err(error) if error.is_not_found() => Ok(Value::Null),
            Err(error) => Err(self.failure(path, &error)),
        }
    }

    /// Reads an object, with its managed fields.
    pub(crate) async fn read(&self, path: &ApiPath) -> Result<Option<Value>, SendError> {
        match self.client.get(path).await {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(self.failure(path, &error)),
        }
    }

    async fn create(&self, path: &ApiPath, wanted: &Value, how: &MakeOptions) -> Result<Created, SendError> {
        let _under_way = self.admit(path, wanted)?;
        let created = match how.is_applied && how.replaces {
            true => self.apply(path, wanted).await,
            false => {
                let all = ApiPath { name: Text::default(), ..managed(path) };
                self.client.create(&all, &without_server_fields(wanted)).await
            }
        };
        match created {
            Ok(created) => {
                self.written(WriteVerb::Create, &created, how.depth);
                Ok(Created::Done(Sent::Written(created)))
            }
            Err(error) if error.is_already_there() => Ok(Created::IsThere),
            Err(error) if self.is_place_leaving(path, &error).await => Ok(Created::Done(Sent::NoPlace)),
            Err(error) => Err(self.failure(path, &error)),
        }
    }

    /// Returns whether an object was refused because its namespace is being deleted.
    async fn is_place_leaving(&self, path: &ApiPath, error: &Error) -> bool {
        if !error.is_forbidden() || path.namespace.is_empty() {
            return false;
        }
        let namespace = GroupVersionResource::new("", "v1", "namespaces").named("", &path.namespace);
        let found = self.client.get(&namespace).await;
        found.is_ok_and(|found| found.at(&["metadata", "deletionTimestamp"]).is_some())
    }

    async fn apply(&self, path: &ApiPath, wanted: &Value) -> Result<Value, Error> {
        let patch = PatchType::Apply { manager: BACKGROUND_MANAGER, force: true };
        self.client.patch(path, patch, &without_server_fields(wanted)).await
    }

    /// Returns an error unless an object may be written now. It is under way until what is returned is dropped.
    fn admit(&self, path: &ApiPath, object: &Value) -> Result<WriteUnderWay<'_>, SendError> {
        if !self.fence.is_open() {
            return Err(SendError::Fenced);
        }
        let key = ObjectKey { namespace: path.namespace.clone(), ..ObjectKey::of(object) };
        let may_write = self.own().may_write(&key, Instant::now());
        match may_write {
            true => Ok(WriteUnderWay::begin(self, key)),
            false => Err(SendError::Rests(format!(
                "{} was written too often in a minute, and is left alone for five",
                title(&key)
            ))),
        }
    }

    fn written(&self, verb: WriteVerb, object: &Value, depth: u32) {
        self.metrics.count_at(ScanMetric::BackgroundWrites, verb as usize, 1);
        let text = |name: &str| Text::from(object.str_at(&["metadata", name]));
        self.own().record(&ObjectKey::of(object), &text("uid"), &text("resourceVersion"), depth);
    }

    fn failure(&self, path: &ApiPath, error: &Error) -> SendError {
        if !error.is_conflict() {
            self.metrics.count(ScanMetric::BackgroundWriteErrors);
        }
        let message = format!("{} {}/{}: {error}", path.resource, path.namespace, path.name);
        match error.code() {
            Some(409) => SendError::Conflict,
            Some(403 | 401) => SendError::Forbidden(message),
            Some(400 | 404 | 405 | 413 | 422) => SendError::Refused(message),
            _ if !self.fence.is_open() => SendError::Fenced,
            _ => SendError::Unavailable(message, error.retry_after()),
        }
    }
}

/// A write that was begun.
struct WriteUnderWay<'s> {
    sender: &'s ObjectSender,
    key: ObjectKey,
}

impl<'s> WriteUnderWay<'s> {
    fn begin(sender: &'s ObjectSender, key: ObjectKey) -> Self {
        sender.own().begin(&key);
        Self { sender, key }
    }
}

impl Drop for WriteUnderWay<'_> {
    fn drop(&mut self) {
        self.sender.own().end(&self.key);
    }
}

/// How an object is made.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct MakeOptions {
    /// Whether one that is there is made equal.
    pub(crate) replaces: bool,
    /// Whether it is written by server-side apply.
    pub(crate) is_applied: bool,
    /// Whether it probably is there.
    pub(crate) is_known: bool,
    /// Its place in a chain of rules that trigger each other.
    pub(crate) depth: u32,
}

enum Created {
    Done(Sent),
    IsThere,
}

/// Returns the address of `object`, with its namespace filled in, or why there is none.
pub(crate) fn object_path(object: &Value, served: &DiscoveredResources) -> Result<ApiPath, String> {
    let kind = object.str_at(&["kind"]);
    let api_version = object.str_at(&["apiVersion"]);
    let resource = resource_of_object(object, served)
        .ok_or_else(|| format!("the cluster does not serve `{kind}` of `{api_version}`"))?;
    let name = object.str_at(&["metadata", "name"]);
    if name.is_empty() {
        return Err(format!("a `{kind}` without a name cannot be written"));
    }
    let namespace = match (resource.is_namespaced, object.str_at(&["metadata", "namespace"])) {
        (false, _) => "",
        (true, "") => "default",
        (true, namespace) => namespace,
    };
    Ok(resource.address().named(namespace, name))
}

/// Returns the address of `object`, which is a part of another one.
pub(crate) fn part_path(
    part: &WrittenPart,
    object: &Value,
    served: &DiscoveredResources,
) -> Result<ApiPath, String> {
    let GroupVersionKind { group, version, kind } = &part.kind;
    let api_version = if group.is_empty() { version.to_string() } else { format!("{group}/{version}") };
    let metadata = object.get("metadata").cloned().unwrap_or_default();
    let whole = Map::from([
        ("apiVersion", Value::from(api_version)),
        ("kind", kind.clone().into()),
        ("metadata", metadata),
    ]);
    let path = object_path(&whole.into(), served)?;
    Ok(ApiPath { subresource: part.subresource.clone(), ..path })
}

fn managed(path: &ApiPath) -> ApiPath {
    let mut path = path.clone();
    path.query.push(("fieldManager".into(), BACKGROUND_MANAGER.into()));
    path
}
