//! Writes Events and the statuses of rule objects.
//!
//! One task does all of it, fed by a bounded channel, so that a review never waits for a write.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use kubewright_cluster::{CallLimits, Client, Error, GroupVersionResource, PatchType, jitter};
use kubewright_engine::{RuleReport, WatchedResource};
use kubewright_k8s::{ApiPath, ObjectName};
use kubewright_value::Value;
use tokio::sync::mpsc::Receiver;

use crate::events::{EventQueue, Regarding};
use crate::notice::take_notices;
use crate::statuses::{self, RecordedFailures};
use crate::{Notice, NoticeKind, ServerState, Snapshot, Stores};

/// How often is looked what there is to write.
const WRITE_INTERVAL: Duration = Duration::from_millis(500);

/// How long a replica may wait before it writes a status, so that another may have written it before.
const STATUS_JITTER: Duration = Duration::from_millis(300);

/// For how long the same change to a status is not sent again: what its definition does not have is not kept.
const STATUS_RESEND_INTERVAL: Duration = Duration::from_secs(60);

/// For how long the statuses of new rules wait until the API server asks about them: who waits for `Ready` expects that the
/// rule is enforced.
const ENFORCEMENT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long one call may take.
const STATUS_CALL_TIMEOUT: Duration = Duration::from_secs(5);

/// Writes Events and statuses as long as the server lives. `instance` is a name that no other replica has.
pub async fn run_status_writer(
    state: Arc<ServerState>,
    client: Client,
    stores: Arc<Stores>,
    mut notices: Receiver<Vec<Notice>>,
    instance: String,
) {
    // Notices arrive while a call waits, so a busy API server must not hold the writer for long.
    let client = client.limited(CallLimits {
        time: STATUS_CALL_TIMEOUT,
        throttle_wait: Duration::ZERO,
        ..CallLimits::default()
    });
    let mut writer = StatusWriter {
        events: EventQueue::new(&instance, Instant::now()),
        failures: RecordedFailures::default(),
        sent: HashMap::new(),
        generation: None,
        awaited: None,
        stores,
        client,
    };
    let mut tick = tokio::time::interval(WRITE_INTERVAL);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            // What was taken is recorded at once, so it is not lost when the tick comes first.
            goes_on = take_notices(&mut notices, |notice| writer.record(&notice)) => if !goes_on {
                return;
            },
            _ = tick.tick() => {
                let snapshot = state.snapshot.load_full();
                let is_enforced = state.webhook_progress.has_reached(snapshot.generation);
                writer.write_due(&snapshot, is_enforced).await;
            }
        }
    }
}

struct StatusWriter {
    client: Client,
    stores: Arc<Stores>,
    events: EventQueue,
    failures: RecordedFailures,
    /// The last change to the status of each rule object.
    sent: HashMap<ObjectName, (Value, Instant)>,
    /// The snapshot whose statuses are written.
    generation: Option<u64>,
    /// The snapshot whose enforcement is awaited, and since when.
    awaited: Option<(u64, Instant)>,
}

impl StatusWriter {
    fn record(&mut self, notice: &Notice) {
        let (now, time) = (Instant::now(), SystemTime::now());
        self.events.add(notice, now, time);
        if notice.kind == NoticeKind::Failed {
            self.failures.add(notice, time);
        }
    }

    async fn write_due(&mut self, snapshot: &Snapshot, is_enforced: bool) {
        self.write_events().await;
        let is_new = self.generation != Some(snapshot.generation);
        if is_new && !is_enforced && self.is_early(snapshot.generation) {
            return;
        }
        let failed = self.failures.due(Instant::now());
        if !is_new && failed.is_empty() {
            return;
        }
        if is_new {
            let rules: HashSet<&ObjectName> = snapshot.states.iter().map(|state| &state.name).collect();
            self.failures.retain(|rule| rules.contains(rule));
            self.sent.retain(|rule, _| rules.contains(rule));
            tokio::time::sleep(jitter(STATUS_JITTER)).await;
        }
        let mut is_whole = true;
        for state in &snapshot.states {
            if is_new || failed.contains(&state.name) {
                let written = self.write(snapshot, state).await;
                is_whole &= written.is_ok();
                if written.is_err_and(|error| error.code().is_none()) {
                    // The API server is unreachable, so the other writes would fail too.
                    break;
                }
            }
        }
        if is_whole {
            self.generation = Some(snapshot.generation);
        }
    }

    /// Returns whether the snapshot `generation` is so new that its enforcement is awaited.
    fn is_early(&mut self, generation: u64) -> bool {
        let now = Instant::now();
        let since = match self.awaited {
            Some((awaited, since)) if awaited == generation => since,
            _ => now,
        };
        self.awaited = Some((generation, since));
        now.saturating_duration_since(since) < ENFORCEMENT_TIMEOUT
    }

    async fn write_events(&mut self) {
        let stores = Arc::clone(&self.stores);
        let find = |rule: &ObjectName| Regarding::of(&stores.object(rule).unwrap_or_default());
        self.events.write_due(&self.client, find).await;
    }

    /// Writes the status of one rule object, if it has another one.
    async fn write(&mut self, snapshot: &Snapshot, state: &crate::RuleState) -> Result<(), Error> {
        let Some(stored) = self.stores.object(&state.name) else { return Ok(()) };
        let Some(language) = snapshot.language(state.dialect) else { return Ok(()) };
        let Some(path) = status_path(language.watched_resources(), &state.name) else { return Ok(()) };
        // A newer one is on its way into a snapshot.
        let generation = stored.at(&["metadata", "generation"]).and_then(Value::as_i64).unwrap_or_default();
        if generation != state.generation {
            return Ok(());
        }
        let report =
            RuleReport { failure: self.failures.news(&state.name).cloned(), ..statuses::rule_report(state) };
        let change =
            statuses::status_patch(&stored, report, SystemTime::now(), |report| language.status(report));
        let now = Instant::now();
        let Some(change) = change else { return Ok(()) };
        if let Some((sent, at)) = self.sent.get(&state.name)
            && *sent == change
            && now.saturating_duration_since(*at) < STATUS_RESEND_INTERVAL
        {
            return Ok(());
        }
        match self.client.patch(&path, PatchType::Merge, &change).await {
            Ok(_) => {
                self.failures.written(&state.name, now);
                self.sent.insert(state.name.clone(), (change, now));
                Ok(())
            }
            // It is gone, or its definition has no status, or this one: trying again would not help.
            Err(error) if error.is_not_found() || error.is_invalid() || error.is_forbidden() => {
                self.failures.written(&state.name, now);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

/// Returns the address of the status of the rule object called `name`.
fn status_path(watched: &[WatchedResource], name: &ObjectName) -> Option<ApiPath> {
    let of = watched.iter().find(|of| of.group == name.group && of.kind == name.kind)?;
    let path =
        GroupVersionResource::new(of.group, of.version, of.resource).named(&name.namespace, &name.name);
    Some(ApiPath { subresource: "status".into(), ..path })
}
