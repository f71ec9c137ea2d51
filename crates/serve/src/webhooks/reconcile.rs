//! Reconciles the webhook configurations: writes what the rules want, and restores what other clients have changed.
//!
//! All replicas do it. Each waits a random time before it writes, so that the others find it done; before it undoes a
//! change by another client it waits longer, because that may be a replica that has seen a new rule earlier.

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use kubewright_cluster::{Client, DiscoveredResources, Discovery, GroupVersionResource, Store, WatchPolicy};
use kubewright_engine::{WatchRole, WatchedResource, WebhookPlan};
use kubewright_value::Text;
use tokio::sync::watch;
use tokio::time::Instant;

use super::configuration::WebhookConfiguration;
use super::desired::webhook_name;
use super::installation::Installation;
use super::{
    WebhookAddress, WebhookInputs, desired_configurations, installed_upstream_webhooks, webhook_resources,
};
use crate::log::LogLevel;
use crate::reconcile::{ChangeTrigger, Reconciler, run_reconciler};
use crate::reread::refresh_object;
use crate::{ServerState, Snapshot};

/// How often everything is looked at without a reason.
const WEBHOOK_RESYNC_INTERVAL: Duration = Duration::from_secs(30);
const MAX_WEBHOOK_BACKOFF: Duration = Duration::from_secs(10);

/// Reconciles the webhook configurations with the rules of `state`, for ever. `snapshots` changes when the rules have.
pub async fn reconcile_webhooks(
    state: Arc<ServerState>,
    client: Client,
    discovery: Arc<Discovery>,
    snapshots: watch::Receiver<u64>,
) -> Infallible {
    state.webhook_progress.begin();
    let reconciler = WebhookReconciler::start(state, client, discovery);
    let mut triggers: Vec<Box<dyn ChangeTrigger>> =
        vec![Box::new(snapshots), Box::new(reconciler.state.certificates.bundle())];
    for changes in reconciler.changes() {
        triggers.push(Box::new(changes));
    }
    run_reconciler(reconciler, triggers).await
}

impl Reconciler for WebhookReconciler {
    const MAX_BACKOFF: Duration = MAX_WEBHOOK_BACKOFF;

    async fn reconcile(&mut self) -> Result<Duration, String> {
        self.reconcile_once().await
    }

    fn log_failure(&self, error: &str) {
        let line = self.state.log.line(LogLevel::Error, "could not reconcile webhook configurations");
        line.text("error", error).write();
    }
}

struct WebhookReconciler {
    state: Arc<ServerState>,
    client: Client,
    discovery: Arc<Discovery>,
    configurations: [WebhookConfiguration; 2],
    installation: Installation,
    definitions: Arc<Store>,
    /// The version of the definitions that discovery knows of.
    discovered: Option<(u64, Instant)>,
    originals: Option<(Instant, Vec<String>)>,
    /// The conditions that the API server did not take, by the webhook that they were for.
    refused_conditions: HashSet<RefusedConditions>,
    /// Whether it was said that no configuration is kept.
    has_left: bool,
}

/// The name of a dedicated webhook, and its conditions.
type RefusedConditions = (Option<Text>, Vec<(Text, Text)>);

impl WebhookReconciler {
    fn start(state: Arc<ServerState>, client: Client, discovery: Arc<Discovery>) -> Self {
        let name = state.settings.name.clone();
        let watch = |resource: &GroupVersionResource, store: &Arc<Store>, is_named: bool| {
            let path = if is_named { resource.only("", &name) } else { resource.all() };
            tokio::spawn(kubewright_cluster::run_reflector(
                client.clone(),
                path,
                Arc::clone(store),
                WatchPolicy::default(),
            ));
        };
        let configurations = webhook_resources().map(|resource| {
            let store = Arc::new(Store::default());
            watch(&resource, &store, true);
            WebhookConfiguration::new(resource, store)
        });
        // What a definition says does not matter here, only that it has changed.
        let definitions = Arc::new(Store::new(|object| {
            if let Some(map) = object.as_object_mut() {
                map.remove("spec");
            }
        }));
        let resource = GroupVersionResource::new("apiextensions.k8s.io", "v1", "customresourcedefinitions");
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
            refused_conditions: HashSet::new(),
            has_left: false,
        }
    }

    fn changes(&self) -> [watch::Receiver<u64>; 5] {
        let [mutating, validating] = &self.configurations;
        let (role, namespace) = self.installation.stores();
        [&mutating.store, &validating.store, role, namespace, &self.definitions].map(|store| store.changes())
    }

    /// Brings both configurations nearer to what they should be, and returns when to look again.
    async fn reconcile_once(&mut self) -> Result<Duration, String> {
        if !self.configurations.iter().all(|one| one.store.is_synced()) || !self.installation.is_known() {
            return Ok(MAX_WEBHOOK_BACKOFF);
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
        let (paths, plans) = self.plans(&snapshot);
        let hooks = paths.into_iter().zip(&plans);
        let wanted = self.wanted(&snapshot, bundle.as_deref().filter(|_| is_told), &found);
        let wanted = WebhookInputs { hooks: hooks.collect(), ..wanted };
        let wanted = desired_configurations(&wanted, &resources);
        let mut is_settled = true;
        for (place, wanted) in wanted.into_iter().enumerate() {
            let Some(configuration) = self.configurations.get_mut(place) else { continue };
            if let Some(wait) = configuration.settle(&self.state, &self.client, wanted).await? {
                is_settled = false;
                pause = pause.min(wait);
            }
        }
        if self.drop_refused_conditions(&plans) {
            return Ok(Duration::ZERO);
        }
        if is_settled {
            self.state.webhook_progress.reached(snapshot.generation);
        }
        if let Some(bundle) = bundle.filter(|_| is_settled) {
            self.state.certificates.adopt(&bundle);
        }
        Ok(pause)
    }

    /// Returns the paths and the webhooks that rules want, without conditions that the API server did not take.
    fn plans<'s>(&self, snapshot: &'s Snapshot) -> (Vec<&'s str>, Vec<WebhookPlan>) {
        let plan = |(path, plan): (&'s str, &WebhookPlan)| {
            let mut plan = plan.clone();
            if self.refused_conditions.contains(&conditions_of(&plan)) {
                plan.match_conditions.clear();
            }
            (path, plan)
        };
        snapshot.webhooks().map(plan).unzip()
    }

    /// Notes conditions that the API server does not take, an older one for instance, where the rules evaluate them
    /// themselves. Returns whether there are new ones.
    fn drop_refused_conditions(&mut self, plans: &[WebhookPlan]) -> bool {
        let refused: HashSet<&str> =
            self.configurations.iter().flat_map(WebhookConfiguration::refused_names).collect();
        let is_refused = |plan: &&WebhookPlan| {
            plan.repeats_conditions
                && !plan.match_conditions.is_empty()
                && [false, true].iter().any(|twin| refused.contains(webhook_name(plan, *twin).as_str()))
        };
        let found: Vec<RefusedConditions> = plans.iter().filter(is_refused).map(conditions_of).collect();
        let mut is_new = false;
        for conditions in found {
            is_new |= self.refused_conditions.insert(conditions);
        }
        is_new
    }

    fn wanted<'w>(
        &'w self,
        snapshot: &'w Snapshot,
        bundle: Option<&'w str>,
        originals: &[String],
    ) -> WebhookInputs<'w> {
        let settings = &self.state.settings;
        let kinds: Vec<WatchedResource> =
            snapshot.languages().flat_map(|language| language.watched_resources()).copied().collect();
        // Where the program that a language comes from is installed, it checks its rules itself, and knows sorts of
        // them that we do not.
        let checked = snapshot.languages().filter(|language| {
            !language.upstream_webhooks().iter().any(|name| originals.iter().any(|found| found == name))
        });
        let checked = checked.flat_map(|language| language.watched_resources()).copied();
        WebhookInputs {
            name: &settings.name,
            namespace: &settings.namespace,
            address: match &settings.url {
                Some(url) => WebhookAddress::Url(url.clone()),
                None => WebhookAddress::Service {
                    namespace: settings.namespace.clone(),
                    name: settings.service.clone(),
                },
            },
            bundle,
            hooks: Vec::new(),
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
    async fn discover(&mut self) -> Result<(Arc<DiscoveredResources>, Duration), String> {
        const DISCOVERY_RETRY_INTERVAL: Duration = Duration::from_millis(1500);
        const DISCOVERY_TTL: Duration = Duration::from_secs(300);
        let digest = self.definitions.digest();
        let now = Instant::now();
        let (is_new, since) = match self.discovered {
            Some((known, since)) if known == digest && now.duration_since(since) < DISCOVERY_TTL => {
                (false, since)
            }
            _ => (true, now),
        };
        self.discovered = Some((digest, since));
        let age = now.duration_since(since);
        let resources = if is_new || age < DISCOVERY_RETRY_INTERVAL * 3 {
            self.discovery.refreshed().await
        } else {
            self.discovery.resources().await
        };
        let pause = if age < DISCOVERY_RETRY_INTERVAL * 3 {
            DISCOVERY_RETRY_INTERVAL
        } else {
            WEBHOOK_RESYNC_INTERVAL
        };
        resources.map(|resources| (resources, pause)).map_err(|error| error.to_string())
    }

    /// Returns the webhook configurations of the programs that our languages come from. Looked for once a minute.
    async fn find_originals(&mut self) -> Vec<String> {
        const UPSTREAM_CHECK_INTERVAL: Duration = Duration::from_secs(60);
        if let Some((time, found)) = &self.originals
            && time.elapsed() < UPSTREAM_CHECK_INTERVAL
        {
            return found.clone();
        }
        let found = installed_upstream_webhooks(&self.client, &self.state.snapshot.load()).await;
        let known = self.originals.take().map(|(_, known)| known).unwrap_or_default();
        for name in found.iter().filter(|name| !known.contains(name)) {
            let message =
                "the upstream project of a rule language is installed too; its webhooks are left alone";
            self.state.log.line(LogLevel::Warn, message).text("webhookConfiguration", name).write();
        }
        self.originals = Some((Instant::now(), found.clone()));
        found
    }

    /// The installation goes, and with it the configurations. Nothing is written until it is there again.
    async fn leave(&mut self) -> Result<Duration, String> {
        if !std::mem::replace(&mut self.has_left, true) {
            let message =
                "webhooks are switched off or kubewright is uninstalled; removing webhook configurations";
            self.state.log.line(LogLevel::Warn, message).text("name", &self.state.settings.name).write();
        }
        for configuration in &mut self.configurations {
            configuration.forget();
            let path = configuration.resource.named("", &self.state.settings.name);
            if configuration.store.get("", &path.name).is_none() {
                continue;
            }
            match self.client.delete(&path).await {
                Ok(_) => {
                    let line = self.state.log.line(LogLevel::Info, "webhook configuration deleted");
                    line.text("resource", &path.resource).text("name", &path.name).write();
                }
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error.to_string()),
            }
            let _ = refresh_object(&self.client, &path, &configuration.store).await;
        }
        Ok(WEBHOOK_RESYNC_INTERVAL)
    }
}

fn conditions_of(plan: &WebhookPlan) -> RefusedConditions {
    (plan.dedicated_name.clone(), plan.match_conditions.clone())
}
