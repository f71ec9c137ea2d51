//! Tells what rules did and what became of them: Events and the statuses of rule objects.
//!
//! One task for all of it, fed by a bounded channel. A review never waits for it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use kubewright_cluster::{Client, Error, Patch, Resource};
use kubewright_engine::{RuleReport, WatchedResource};
use kubewright_k8s::{ApiPath, ObjectName};
use kubewright_value::{Text, Value};
use tokio::sync::mpsc::Receiver;

use crate::events::{Events, Regarding, Write};
use crate::jitter::jitter;
use crate::statuses::{self, Failures};
use crate::{Notice, NoticeKind, Snapshot, State, Stores};

/// How often is looked what there is to write.
const TICK: Duration = Duration::from_millis(500);

/// How long a replica may wait before it writes a status, so that another may have written it before.
const JITTER: Duration = Duration::from_millis(300);

/// For how long the same change to a status is not sent again: what its definition does not have is not kept.
const AGAIN: Duration = Duration::from_secs(60);

/// How long one call may take.
const CALL: Duration = Duration::from_secs(5);

/// Writes Events and statuses as long as the server lives. `instance` is a name that no other replica has.
pub async fn run(
    state: Arc<State>,
    client: Client,
    stores: Arc<Stores>,
    mut notices: Receiver<Notice>,
    instance: String,
) {
    let client = client.limited(kubewright_cluster::Limits { time: CALL, ..Default::default() });
    let mut teller = Teller {
        events: Events::new(&instance, Instant::now()),
        failures: Failures::default(),
        sent: HashMap::new(),
        generation: None,
        stores,
        client,
    };
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            notice = notices.recv() => match notice {
                Some(notice) => teller.hear(&notice),
                None => return,
            },
            _ = tick.tick() => {
                let snapshot = state.snapshot.load_full();
                teller.tell(&snapshot).await;
            }
        }
    }
}

struct Teller {
    client: Client,
    stores: Arc<Stores>,
    events: Events,
    failures: Failures,
    /// The last change to the status of each rule object.
    sent: HashMap<ObjectName, (Value, Instant)>,
    /// The snapshot whose statuses are written.
    generation: Option<u64>,
}

impl Teller {
    fn hear(&mut self, notice: &Notice) {
        let (now, time) = (Instant::now(), SystemTime::now());
        self.events.add(notice, now, time);
        if notice.kind == NoticeKind::Failed {
            self.failures.add(notice, time);
        }
    }

    async fn tell(&mut self, snapshot: &Snapshot) {
        self.tell_events().await;
        let is_new = self.generation != Some(snapshot.generation);
        let failed = self.failures.due(Instant::now());
        if !is_new && failed.is_empty() {
            return;
        }
        if is_new {
            let rules: HashSet<&ObjectName> = snapshot.states.iter().map(|state| &state.name).collect();
            self.failures.keep(|rule| rules.contains(rule));
            self.sent.retain(|rule, _| rules.contains(rule));
            tokio::time::sleep(jitter(JITTER)).await;
        }
        let mut is_whole = true;
        for state in &snapshot.states {
            if is_new || failed.contains(&state.name) {
                let written = self.write(snapshot, state).await;
                is_whole &= written.is_ok();
                if written.is_err_and(|error| error.code().is_none()) {
                    // Nobody is there; the others would only wait in vain.
                    break;
                }
            }
        }
        if is_whole {
            self.generation = Some(snapshot.generation);
        }
    }

    async fn tell_events(&mut self) {
        let stores = Arc::clone(&self.stores);
        let find = |rule: &ObjectName| regarding(&stores.object(rule).unwrap_or_default());
        let mut is_away = false;
        for write in self.events.due(Instant::now(), find) {
            // An API server that does not answer is not asked for each of them.
            let written = if is_away { Err(None) } else { put(&self.client, &write).await.map_err(Some) };
            is_away |= matches!(&written, Err(Some(error)) if error.code().is_none());
            // What is refused is lost, which is no reason to do anything else.
            if written.is_err_and(|error| error.is_none_or(|error| may_pass(&error))) {
                self.events.again(&write);
            }
        }
    }

    /// Writes the status of one rule object, if it has another one.
    async fn write(&mut self, snapshot: &Snapshot, state: &crate::RuleState) -> Result<(), Error> {
        let Some(stored) = self.stores.object(&state.name) else { return Ok(()) };
        let Some(language) = snapshot.language(state.dialect) else { return Ok(()) };
        let Some(path) = path(language.watched_resources(), &state.name) else { return Ok(()) };
        // A newer one is on its way into a snapshot.
        let generation = stored.at(&["metadata", "generation"]).and_then(Value::as_i64).unwrap_or_default();
        if generation != state.generation {
            return Ok(());
        }
        let report =
            RuleReport { failure: self.failures.news(&state.name).cloned(), ..statuses::report(state) };
        let change = statuses::change(&stored, report, SystemTime::now(), |report| language.status(report));
        let now = Instant::now();
        let Some(change) = change else { return Ok(()) };
        if let Some((sent, at)) = self.sent.get(&state.name)
            && *sent == change
            && now.saturating_duration_since(*at) < AGAIN
        {
            return Ok(());
        }
        match self.client.patch(&path, Patch::Merge, &change).await {
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

/// Returns whether the same Event may be written later.
fn may_pass(error: &Error) -> bool {
    error.code().is_none_or(|code| matches!(code, 404 | 429) || code >= 500)
}

async fn put(client: &Client, write: &Write) -> Result<Value, Error> {
    let events = Resource::new("", "v1", "events");
    if write.is_new {
        return client.create(&events.within(&write.namespace), &write.object).await;
    }
    client.patch(&events.named(&write.namespace, &write.name), Patch::Merge, &write.object).await
}

/// Returns the address of the status of the rule object called `name`.
fn path(watched: &[WatchedResource], name: &ObjectName) -> Option<ApiPath> {
    let of = watched.iter().find(|of| of.group == name.group && of.kind == name.kind)?;
    let path = Resource::new(of.group, of.version, of.resource).named(&name.namespace, &name.name);
    Some(ApiPath { subresource: "status".into(), ..path })
}

fn regarding(object: &Value) -> Regarding {
    let text = |keys: &[&str]| object.at(keys).and_then(Value::as_str).map(Text::new).unwrap_or_default();
    Regarding { api_version: text(&["apiVersion"]), uid: text(&["metadata", "uid"]) }
}
