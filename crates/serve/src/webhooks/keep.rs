//! Keeps the configurations: writes what the rules want, and puts right what somebody else has changed.
//!
//! All replicas do. Each waits a random moment before it writes, so that the second finds it done; and before it takes
//! back a change of somebody else it waits longer, because that may be a replica that has heard of a rule earlier.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use kubewright_cluster::{Client, Discovery, Event, Pace, Resource, Resources, Store};
use kubewright_engine::{WatchRole, Watched};
use kubewright_value::Value;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::compare::repaired;
use super::installation::Installation;
use super::rewrites::Rewrites;
use super::{Address, Wanted, desired, originals};
use crate::jitter::jitter;
use crate::log::Level;
use crate::reread::reread;
use crate::{Snapshot, State};

/// The longest wait before a write that our own rules want.
const APART: Duration = Duration::from_millis(150);
/// How long a change of somebody else stands, before the random part.
const SETTLING: Duration = Duration::from_millis(500);
/// How often everything is looked at without a reason.
const LOOK_AGAIN: Duration = Duration::from_secs(30);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Keeps the configurations as the rules of `state` want them, for ever. `snapshots` changes when the rules have.
pub async fn keep(
    state: Arc<State>,
    client: Client,
    discovery: Arc<Discovery>,
    mut snapshots: watch::Receiver<u64>,
) -> Infallible {
    let mut keeper = Keeper::start(state, client, discovery);
    let mut bundles = keeper.state.certificates.bundle();
    let mut changes = keeper.changes();
    let mut wait = Duration::from_millis(100);
    loop {
        snapshots.mark_unchanged();
        bundles.mark_unchanged();
        for change in &mut changes {
            change.mark_unchanged();
        }
        let pause = match keeper.look().await {
            Ok(pause) => {
                wait = Duration::from_millis(100);
                pause
            }
            Err(error) => {
                let line = keeper.state.log.line(Level::Error, "cannot keep the webhook configurations");
                line.text("error", &error).write();
                wait = (wait * 2).min(LONGEST_WAIT);
                wait
            }
        };
        let _ = timeout(pause, async {
            let [mutating, validating, role, namespace, definitions] = &mut changes;
            tokio::select! {
                _ = snapshots.changed() => {}
                _ = bundles.changed() => {}
                _ = mutating.changed() => {}
                _ = validating.changed() => {}
                _ = role.changed() => {}
                _ = namespace.changed() => {}
                _ = definitions.changed() => {}
            }
        })
        .await;
    }
}

struct Keeper {
    state: Arc<State>,
    client: Client,
    discovery: Arc<Discovery>,
    configurations: [Configuration; 2],
    installation: Installation,
    definitions: Arc<Store>,
    /// The version of the definitions that discovery knows of.
    discovered: Option<(u64, Instant)>,
    originals: Option<(Instant, Vec<String>)>,
}

/// One of the two.
struct Configuration {
    resource: Resource,
    store: Arc<Store>,
    /// What was last wanted and written, or found to be there.
    settled: Option<Value>,
    rewrites: Rewrites,
    is_fought: bool,
    /// When the next write is.
    due: Option<Instant>,
    /// Webhooks that the API server does not take, with what it says.
    refused: Vec<(String, Value)>,
}

impl Keeper {
    fn start(state: Arc<State>, client: Client, discovery: Arc<Discovery>) -> Self {
        let name = state.settings.name.clone();
        let watch = |resource: &Resource, store: &Arc<Store>, is_named: bool| {
            let path = if is_named { resource.only("", &name) } else { resource.all() };
            tokio::spawn(kubewright_cluster::keep(client.clone(), path, Arc::clone(store), Pace::default()));
        };
        let configurations =
            ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"].map(|plural| {
                let resource = Resource::new("admissionregistration.k8s.io", "v1", plural);
                let store = Arc::new(Store::default());
                watch(&resource, &store, true);
                Configuration {
                    resource,
                    store,
                    settled: None,
                    rewrites: Rewrites::default(),
                    is_fought: false,
                    due: None,
                    refused: Vec::new(),
                }
            });
        // What a definition says does not matter here, only that it has changed.
        let definitions = Arc::new(Store::new(|object| {
            if let Some(map) = object.as_object_mut() {
                map.remove("spec");
            }
        }));
        let resource = Resource::new("apiextensions.k8s.io", "v1", "customresourcedefinitions");
        watch(&resource, &definitions, false);
        let installation = Installation::watch(&client, &state.settings);
        Self {
            state,
            client,
            discovery,
            configurations,
            installation,
            definitions,
            discovered: None,
            originals: None,
        }
    }

    fn changes(&self) -> [watch::Receiver<u64>; 5] {
        let [mutating, validating] = &self.configurations;
        let (role, namespace) = self.installation.stores();
        [&mutating.store, &validating.store, role, namespace, &self.definitions].map(|store| store.changes())
    }

    /// Brings both configurations nearer to what they should be, and returns when to look again.
    async fn look(&mut self) -> Result<Duration, String> {
        if !self.configurations.iter().all(|one| one.store.is_synced()) || !self.installation.is_known() {
            return Ok(LONGEST_WAIT);
        }
        if self.installation.is_leaving() {
            return self.leave().await;
        }
        if !self.state.readiness.is_loaded() || self.state.readiness.is_stopping() {
            return Ok(Duration::from_millis(100));
        }
        let bundle = self.state.certificates.bundle().borrow().clone();
        let is_told = self.state.settings.injected_from.is_none();
        let (resources, mut pause) = self.discover().await?;
        let found = self.find_originals().await;
        let snapshot = self.state.snapshot.load_full();
        let wanted = self.wanted(&snapshot, bundle.as_deref().filter(|_| is_told), &found);
        let wanted = desired(&wanted, &resources);
        let mut is_settled = true;
        for (place, wanted) in wanted.into_iter().enumerate() {
            let Some(configuration) = self.configurations.get_mut(place) else { continue };
            if let Some(wait) = configuration.settle(&self.state, &self.client, wanted).await? {
                is_settled = false;
                pause = pause.min(wait);
            }
        }
        if let Some(bundle) = bundle.filter(|_| is_settled) {
            self.state.certificates.adopt(&bundle);
        }
        Ok(pause)
    }

    fn wanted<'w>(
        &'w self,
        snapshot: &'w Snapshot,
        bundle: Option<&'w str>,
        originals: &[String],
    ) -> Wanted<'w> {
        let settings = &self.state.settings;
        let kinds: Vec<Watched> =
            snapshot.languages().flat_map(|language| language.watched()).copied().collect();
        // Where the program that a language comes from is installed, it checks its rules itself, and knows sorts of
        // them that we do not.
        let checked = snapshot.languages().filter(|language| {
            !language.originals().iter().any(|name| originals.iter().any(|found| found == name))
        });
        let checked = checked.flat_map(|language| language.watched()).copied();
        Wanted {
            name: &settings.name,
            namespace: &settings.namespace,
            address: match &settings.url {
                Some(url) => Address::Url(url.clone()),
                None => {
                    Address::Service { namespace: settings.namespace.clone(), name: settings.service.clone() }
                }
            },
            bundle,
            hooks: snapshot.hooks.iter().map(|hook| (hook.path.as_str(), &hook.webhook)).collect(),
            kinds,
            checked: checked.filter(|kind| kind.role != WatchRole::Shared).collect(),
            labels: snapshot.languages().filter_map(|language| language.ignore_label()).collect(),
            hears_bindings: snapshot.languages().any(|language| language.hears_bindings()),
            exempt: &settings.guard_exempt,
            owner: self.installation.owner(),
            injected_from: settings.injected_from.as_deref(),
        }
    }

    /// Returns the resources that there are, asked for anew where definitions have changed since. A definition counts
    /// a little later than it is there, so it is asked once more.
    async fn discover(&mut self) -> Result<(Arc<Resources>, Duration), String> {
        const AGAIN: Duration = Duration::from_millis(1500);
        let digest = self.definitions.digest();
        let now = Instant::now();
        let (is_new, since) = match self.discovered {
            Some((known, since)) if known == digest => (false, since),
            _ => (true, now),
        };
        self.discovered = Some((digest, since));
        let age = now.duration_since(since);
        let resources = if is_new || age < AGAIN * 3 {
            self.discovery.refreshed().await
        } else {
            self.discovery.resources().await
        };
        let pause = if age < AGAIN * 3 { AGAIN } else { LOOK_AGAIN };
        resources.map(|resources| (resources, pause)).map_err(|error| error.to_string())
    }

    /// Returns the webhook configurations of the programs that our languages come from. Looked for once a minute.
    async fn find_originals(&mut self) -> Vec<String> {
        const EVERY: Duration = Duration::from_secs(60);
        if let Some((time, found)) = &self.originals
            && time.elapsed() < EVERY
        {
            return found.clone();
        }
        let found = originals(&self.client, &self.state.snapshot.load()).await;
        let known = self.originals.take().map(|(_, known)| known).unwrap_or_default();
        for name in found.iter().filter(|name| !known.contains(name)) {
            let message =
                "the program that a rule language comes from is installed too; its webhooks are left alone";
            self.state.log.line(Level::Warn, message).text("webhookConfiguration", name).write();
        }
        self.originals = Some((Instant::now(), found.clone()));
        found
    }

    /// The installation goes, and with it the configurations. Nothing is written until it is there again.
    async fn leave(&mut self) -> Result<Duration, String> {
        for configuration in &mut self.configurations {
            configuration.settled = None;
            let path = configuration.resource.named("", &self.state.settings.name);
            if configuration.store.get("", &path.name).is_none() {
                continue;
            }
            match self.client.delete(&path).await {
                Ok(_) => {
                    let line = self.state.log.line(Level::Info, "webhook configuration deleted");
                    line.text("resource", &path.resource).text("name", &path.name).write();
                }
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error.to_string()),
            }
            let _ = reread(&self.client, &path, &configuration.store).await;
        }
        Ok(LOOK_AGAIN)
    }
}

impl Configuration {
    /// Writes `wanted` where it is not there. Returns when to look again, or nothing where all is well.
    async fn settle(
        &mut self,
        state: &State,
        client: &Client,
        wanted: Value,
    ) -> Result<Option<Duration>, String> {
        let wanted = self.without_refused(wanted);
        let Some(new) = self.differs(&state.settings.name, &wanted) else {
            self.settled = Some(wanted);
            (self.due, self.is_fought) = (None, false);
            return Ok(None);
        };
        let now = Instant::now();
        let is_ours = self.settled.as_ref() != Some(&wanted);
        if !is_ours && let Some(wait) = self.rewrites.wait(now) {
            self.tell_of_fight(state);
            return Ok(Some(wait));
        }
        // Everything is looked at once more when it is due: what is wanted may be something else by then.
        let due = *self.due.get_or_insert_with(|| match is_ours {
            true => now + jitter(APART),
            false => now + SETTLING + jitter(APART * 2),
        });
        if now < due {
            return Ok(Some(due - now));
        }
        self.due = None;
        self.write(state, client, new, wanted, is_ours).await?;
        Ok(Some(Duration::ZERO))
    }

    /// Returns what is to be written.
    fn differs(&self, name: &str, wanted: &Value) -> Option<Value> {
        match self.store.get("", name) {
            Some(actual) => repaired(&actual, wanted),
            None => Some(wanted.clone()),
        }
    }

    async fn write(
        &mut self,
        state: &State,
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
                self.store.apply(Event::Set(object));
                self.settled = Some(wanted);
                if !is_ours {
                    self.rewrites.add(Instant::now());
                    state.metrics.webhook_rewritten();
                }
                let message = match (is_ours, is_there) {
                    (true, true) => "webhook configuration changed",
                    (true, false) => "webhook configuration created",
                    (false, true) => "webhook configuration was changed by somebody else and is put right",
                    (false, false) => "webhook configuration was deleted by somebody else and is made again",
                };
                let level = if is_ours { Level::Info } else { Level::Warn };
                state.log.line(level, message).text("resource", &self.resource.name).write();
                Ok(())
            }
            Err(error) if error.is_conflict() || error.is_not_found() => {
                reread(client, &path, &self.store).await.map_err(|error| error.to_string())
            }
            Err(error) if error.is_invalid() => self.refuse(state, &new, &error.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Remembers the webhook that the API server does not take, so that the others are not held up by it.
    fn refuse(&mut self, state: &State, new: &Value, message: &str) -> Result<(), String> {
        let number = message.split_once("webhooks[").and_then(|(_, rest)| rest.split_once(']'));
        let number = number.and_then(|(number, _)| number.parse::<usize>().ok());
        let webhook = number.and_then(|number| new.get("webhooks")?.item(number)).cloned();
        let name = webhook.as_ref().and_then(|webhook| webhook.get("name")).and_then(Value::as_str);
        let (Some(name), Some(webhook)) = (name.map(str::to_owned), webhook) else {
            return Err(message.to_owned());
        };
        let line =
            state.log.line(Level::Error, "the API server does not take a webhook; its rules are not asked");
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

    fn tell_of_fight(&mut self, state: &State) {
        if std::mem::replace(&mut self.is_fought, true) {
            return;
        }
        let message = "somebody else keeps changing the webhook configuration; it is put right once a minute from now on";
        state.log.line(Level::Error, message).text("resource", &self.resource.name).write();
    }
}
