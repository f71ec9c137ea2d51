//! One webhook configuration, brought to what it should be.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use kubewright_cluster::{Client, GroupVersionResource, Store, WatchEvent, jitter};
use kubewright_value::Value;
use tokio::time::Instant;

use super::compare::repaired_configuration;
use super::json_object;
use super::rewrites::Rewrites;
use crate::log::LogLevel;
use crate::metrics::MetricId;
use crate::reread::refresh_object;
use crate::{ServeSettings, ServerState, clock};

/// The longest wait before a write that our own rules want. It is short, because a new rule is enforced only then; replicas
/// that write at the same time meet a conflict and find it done.
const MAX_WEBHOOK_WRITE_JITTER: Duration = Duration::from_millis(20);
/// How long a change by another client is left alone, and the longest random part of that.
const FOREIGN_CHANGE_DELAY: Duration = Duration::from_millis(500);
const MAX_FOREIGN_CHANGE_JITTER: Duration = Duration::from_millis(300);

/// The mutating configuration or the validating one.
pub(super) struct WebhookConfiguration {
    pub(super) resource: GroupVersionResource,
    pub(super) store: Arc<Store>,
    /// What was last wanted and written, or found to be there.
    settled: Option<Value>,
    rewrites: Rewrites,
    /// Whether another client has changed it and it is not restored yet.
    is_changed: bool,
    /// Whether the conflict with another client was reported.
    is_conflict_reported: bool,
    /// When the next write is.
    due: Option<Instant>,
    /// Webhooks that the API server does not take, with their names.
    refused: Vec<(String, Value)>,
}

impl WebhookConfiguration {
    pub(super) fn new(resource: GroupVersionResource, store: Arc<Store>) -> Self {
        Self {
            resource,
            store,
            settled: None,
            rewrites: Rewrites::default(),
            is_changed: false,
            is_conflict_reported: false,
            due: None,
            refused: Vec::new(),
        }
    }

    /// Returns the names of the webhooks that the API server does not take.
    pub(super) fn refused_names(&self) -> impl Iterator<Item = &str> {
        self.refused.iter().map(|(name, _)| name.as_str())
    }

    /// Forgets the written state, so that the stored one does not count as a foreign change.
    pub(super) fn forget(&mut self) {
        self.settled = None;
        self.is_changed = false;
    }

    /// Writes `wanted` where it is not there. Returns when to look again, or nothing where all is well.
    pub(super) async fn settle(
        &mut self,
        state: &ServerState,
        client: &Client,
        wanted: Value,
    ) -> Result<Option<Duration>, String> {
        let now = Instant::now();
        let wanted = self.without_refused(wanted);
        let Some(new) = self.differs(&state.settings, &wanted) else {
            // Restored by any replica: all replicas together are one side of the conflict.
            if std::mem::take(&mut self.is_changed) {
                self.rewrites.add(now);
            }
            self.settled = Some(wanted);
            self.due = None;
            return Ok(None);
        };
        let is_ours = self.settled.as_ref() != Some(&wanted);
        self.is_changed |= !is_ours;
        match self.rewrites.wait(now) {
            Some(wait) if !is_ours => {
                self.report_conflict(state, client).await;
                return Ok(Some(wait));
            }
            Some(_) => {}
            None if self.rewrites.is_fought() => {}
            None => self.is_conflict_reported = false,
        }
        // Everything is looked at once more when it is due: what is wanted may be something else by then.
        let due = *self.due.get_or_insert_with(|| match is_ours {
            true => now + jitter(MAX_WEBHOOK_WRITE_JITTER),
            false => now + FOREIGN_CHANGE_DELAY + jitter(MAX_FOREIGN_CHANGE_JITTER),
        });
        if now < due {
            return Ok(Some(due - now));
        }
        self.due = None;
        self.write(state, client, new, wanted, is_ours).await?;
        Ok(Some(Duration::ZERO))
    }

    /// Returns what is to be written.
    fn differs(&self, settings: &ServeSettings, wanted: &Value) -> Option<Value> {
        match self.store.get("", &settings.name) {
            Some(actual) => repaired_configuration(&actual, wanted, settings.tls_folder.is_some()),
            None => Some(wanted.clone()),
        }
    }

    async fn write(
        &mut self,
        state: &ServerState,
        client: &Client,
        new: Value,
        wanted: Value,
        is_ours: bool,
    ) -> Result<(), String> {
        let path = self.resource.named("", &state.settings.name);
        let is_there = new.at(&["metadata", "resourceVersion"]).is_some();
        let written = match is_there {
            true => client.replace(&path, &new).await,
            false => client.create(&self.resource.all(), &new).await,
        };
        match written {
            Ok(object) => {
                self.store.apply(WatchEvent::Set(object));
                self.settled = Some(wanted);
                if !is_ours {
                    self.rewrites.add(Instant::now());
                    self.is_changed = false;
                    state.metrics.count(MetricId::WebhookRewrites);
                }
                let message = match (is_ours, is_there) {
                    (true, true) => "webhook configuration changed",
                    (true, false) => "webhook configuration created",
                    (false, true) => "webhook configuration was changed by another client; restored",
                    (false, false) => "webhook configuration was deleted by another client; created again",
                };
                let level = if is_ours { LogLevel::Info } else { LogLevel::Warn };
                state.log.line(level, message).text("resource", &self.resource.name).write();
                Ok(())
            }
            Err(error) if error.is_conflict() || error.is_not_found() => {
                refresh_object(client, &path, &self.store).await.map_err(|error| error.to_string())
            }
            Err(error) if error.is_invalid() => self.refuse(state, &new, &error.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Remembers the webhook that the API server does not take, so that the others are not held up by it.
    fn refuse(&mut self, state: &ServerState, new: &Value, message: &str) -> Result<(), String> {
        let number = message.split_once("webhooks[").and_then(|(_, rest)| rest.split_once(']'));
        let number = number.and_then(|(number, _)| number.parse::<usize>().ok());
        let webhook = number.and_then(|number| new.get("webhooks")?.item(number)).cloned();
        let name = webhook.as_ref().and_then(|webhook| webhook.get("name")).and_then(Value::as_str);
        let (Some(name), Some(webhook)) = (name.map(str::to_owned), webhook) else {
            return Err(message.to_owned());
        };
        let line =
            state.log.line(LogLevel::Error, "API server rejected a webhook; its rules are not enforced");
        line.text("webhook", &name).text("error", message).write();
        self.refused.push((name, webhook));
        Ok(())
    }

    /// Leaves out the webhooks that were refused, as long as they are what was refused.
    fn without_refused(&mut self, mut wanted: Value) -> Value {
        if self.refused.is_empty() {
            return wanted;
        }
        let list =
            wanted.as_object_mut().and_then(|map| map.get_mut("webhooks")).and_then(Value::as_array_mut);
        if let Some(list) = list {
            self.refused.retain(|(_, refused)| list.contains(refused));
            list.retain(|webhook| !self.refused.iter().any(|(_, refused)| refused == webhook));
        }
        wanted
    }

    async fn report_conflict(&mut self, state: &ServerState, client: &Client) {
        if std::mem::replace(&mut self.is_conflict_reported, true) {
            return;
        }
        let message =
            "another client keeps changing the webhook configuration; it is now restored once a minute";
        state.log.line(LogLevel::Error, message).text("resource", &self.resource.name).write();
        let Some(configuration) = self.store.get("", &state.settings.name) else { return };
        let events = GroupVersionResource::new("", "v1", "events").within("default");
        // It is in the log and counted already; who may not write Events misses nothing else.
        let _ = client.create(&events, &conflict_event(&configuration, message)).await;
    }
}

/// Returns an Event about a configuration. Those about what is in no namespace are in `default`.
fn conflict_event(configuration: &Value, message: &str) -> Value {
    let text = |path: &[&str]| configuration.at(path).cloned().unwrap_or_default();
    let (name, time) = (text(&["metadata", "name"]), clock::rfc3339_seconds(SystemTime::now()));
    let involved = json_object([
        ("apiVersion", text(&["apiVersion"])),
        ("kind", text(&["kind"])),
        ("name", name.clone()),
        ("uid", text(&["metadata", "uid"])),
    ]);
    let metadata = json_object([
        ("generateName", format!("{}-", name.as_str().unwrap_or_default()).into()),
        ("namespace", "default".into()),
    ]);
    json_object([
        ("apiVersion", "v1".into()),
        ("kind", "Event".into()),
        ("metadata", metadata),
        ("involvedObject", involved),
        ("type", "Warning".into()),
        ("reason", "WebhookConfigurationFought".into()),
        ("message", message.into()),
        ("source", json_object([("component", "kubewright".into())])),
        ("firstTimestamp", time.as_str().into()),
        ("lastTimestamp", time.into()),
        ("count", 1_u64.into()),
    ])
}
