//! Keeps the configurations: writes what the rules want, and puts right what somebody else has changed.
//!
//! All replicas do. Each waits a random moment before it writes, so that the second finds it done; and before it takes
//! back a change of somebody else it waits longer, because that may be a replica that has heard of a rule earlier.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use kubewright_cluster::{Client, Discovery, Pace, Resource, Resources, Store};
use kubewright_engine::{WatchRole, WatchedResource};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::configuration::Configuration;
use super::installation::Installation;
use super::{Address, Wanted, desired, originals, resources};
use crate::log::Level;
use crate::reread::reread;
use crate::{Snapshot, State};

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
    /// Whether it was said that no configuration is kept.
    has_left: bool,
}

impl Keeper {
    fn start(state: Arc<State>, client: Client, discovery: Arc<Discovery>) -> Self {
        let name = state.settings.name.clone();
        let watch = |resource: &Resource, store: &Arc<Store>, is_named: bool| {
            let path = if is_named { resource.only("", &name) } else { resource.all() };
            tokio::spawn(kubewright_cluster::keep(client.clone(), path, Arc::clone(store), Pace::default()));
        };
        let configurations = resources().map(|resource| {
            let store = Arc::new(Store::default());
            watch(&resource, &store, true);
            Configuration::new(resource, store)
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
            has_left: false,
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
        self.has_left = false;
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
        let kinds: Vec<WatchedResource> =
            snapshot.languages().flat_map(|language| language.watched_resources()).copied().collect();
        // Where the program that a language comes from is installed, it checks its rules itself, and knows sorts of
        // them that we do not.
        let checked = snapshot.languages().filter(|language| {
            !language.upstream_webhooks().iter().any(|name| originals.iter().any(|found| found == name))
        });
        let checked = checked.flat_map(|language| language.watched_resources()).copied();
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
            observes_pod_bindings: snapshot.languages().any(|language| language.observes_pod_bindings()),
            exempt: &settings.guard_exempt,
            owner: self.installation.owner(),
            injected_from: settings.injected_from.as_deref(),
        }
    }

    /// Returns the resources that there are, asked for anew where definitions have changed since. A definition counts
    /// a little later than it is there, so it is asked once more.
    async fn discover(&mut self) -> Result<(Arc<Resources>, Duration), String> {
        const AGAIN: Duration = Duration::from_millis(1500);
        const LONGEST: Duration = Duration::from_secs(300);
        let digest = self.definitions.digest();
        let now = Instant::now();
        let (is_new, since) = match self.discovered {
            Some((known, since)) if known == digest && now.duration_since(since) < LONGEST => (false, since),
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
        if !std::mem::replace(&mut self.has_left, true) {
            let message = "webhook configurations are held off, or the installation is gone: none is kept";
            self.state.log.line(Level::Warn, message).text("name", &self.state.settings.name).write();
        }
        for configuration in &mut self.configurations {
            configuration.forget();
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
