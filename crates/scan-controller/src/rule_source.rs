//! The rules of the cluster: watched, and compiled again when they change.
//!
//! Every replica does this, the leader or not, so that dashboards get the same answers from all.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kubewright_cluster::{Client, Discovery, GroupVersionResource, Store, WatchPolicy, run_reflector};
use kubewright_dialects::all_dialects;
use kubewright_engine::{GENERATED_LABEL, WatchRole};
use kubewright_k8s::ObjectName;
use kubewright_scan::{ScanRuleOptions, ScanRules};
use kubewright_serve::Stores;
use kubewright_serve::log::{Log, LogLevel};
use kubewright_value::{Document, Value};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout, timeout_at};

use crate::ScanControllerSettings;
use crate::rule_kinds::{RuleResourceRole, rule_resources};

/// How long no change must arrive before rules are compiled, and after how long they are compiled in any case.
const DEBOUNCE: Duration = Duration::from_millis(100);
const MAX_DEBOUNCE: Duration = Duration::from_millis(500);

/// How often rules that capture the time are compiled again.
const CLOCK_RECOMPILE_INTERVAL: Duration = Duration::from_secs(60);

/// How often others are compiled again though nothing has changed.
const UNCHANGED_RECOMPILE_INTERVAL: Duration = Duration::from_secs(3600);

/// Rules, compiled from what the cluster had at one moment.
#[derive(Debug)]
pub(crate) struct LoadedRules {
    pub(crate) rules: Arc<ScanRules>,
    /// What they were compiled from.
    pub(crate) documents: Vec<Document>,
    /// The versions of the rule objects of the cluster, as numbers.
    pub(crate) versions: HashMap<ObjectName, u64>,
}

/// The objects that rules are compiled from.
pub(crate) struct RuleSource {
    client: Client,
    settings: ScanControllerSettings,
    /// The objects of languages that say what they watch, and what rules read most.
    pub(crate) stores: Arc<Stores>,
    /// The others, such as bindings and patterns, as far as the cluster serves them.
    further: Mutex<BTreeMap<GroupVersionResource, FurtherStore>>,
    changes: watch::Sender<u64>,
    log: Arc<Log>,
}

struct FurtherStore {
    store: Arc<Store>,
    tasks: [AbortHandle; 2],
}

impl Drop for FurtherStore {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

/// Rule objects without what compiling does not look at.
#[derive(PartialEq, Default)]
struct RuleObjects {
    rules: Vec<Value>,
    exceptions: Vec<Value>,
}

impl RuleSource {
    /// Begins to watch rules.
    pub(crate) fn start(client: &Client, settings: &ScanControllerSettings, log: &Arc<Log>) -> Arc<Self> {
        Arc::new(Self {
            stores: Stores::start(client, &settings.lookups, WatchPolicy::default()),
            client: client.clone(),
            settings: settings.clone(),
            further: Mutex::default(),
            changes: watch::Sender::new(0),
            log: Arc::clone(log),
        })
    }

    /// Compiles the rules whenever they change, for ever.
    pub(crate) async fn compile_changes(
        self: Arc<Self>,
        discovery: Arc<Discovery>,
        loaded: watch::Sender<Option<Arc<LoadedRules>>>,
    ) {
        let mut changes = (self.stores.changes(), self.changes.subscribe());
        let mut known = None;
        let mut fresh_until = Instant::now();
        loop {
            if self.watch_further(&discovery).await && self.is_synced() {
                let objects = self.objects();
                if known.as_ref() != Some(&objects) || Instant::now() >= fresh_until {
                    let source = Arc::clone(&self);
                    let compiled = tokio::task::spawn_blocking(move || (source.compile(&objects), objects));
                    if let Ok((rules, objects)) = compiled.await {
                        fresh_until = Instant::now() + recompile_interval(&rules.rules);
                        self.stores.meet(rules.rules.needs());
                        loaded.send_replace(Some(Arc::new(rules)));
                        known = Some(objects);
                    }
                }
            }
            // A resource that is not synced yet announces itself.
            let until =
                fresh_until.min(Instant::now() + Duration::from_secs(5)).max(Instant::now() + DEBOUNCE);
            if timeout_at(until, next_change(&mut changes)).await.is_ok() {
                let deadline = Instant::now() + MAX_DEBOUNCE;
                while timeout(DEBOUNCE, timeout_at(deadline, next_change(&mut changes)))
                    .await
                    .is_ok_and(|change| change.is_ok())
                {}
            }
        }
    }

    /// Watches the kinds of rules that the cluster serves now. Returns whether that is known.
    async fn watch_further(&self, discovery: &Discovery) -> bool {
        if !self.settings.has_cluster_rules {
            return true;
        }
        let Ok(served) = discovery.resources().await else { return false };
        let dialects = all_dialects(&self.settings.lookups.options);
        let watched: Vec<(&str, &str)> = dialects
            .iter()
            .filter_map(|dialect| dialect.cluster_support())
            .flat_map(|support| support.watched_resources())
            .map(|watched| (watched.group, watched.resource))
            .collect();
        let is_further = |resource: &GroupVersionResource| {
            !watched.contains(&(resource.group.as_str(), resource.name.as_str()))
        };
        let wanted: Vec<GroupVersionResource> = rule_resources(&served, &dialects)
            .into_iter()
            .filter(|found| found.role == RuleResourceRole::Rule && found.resource.can("watch"))
            .map(|found| found.resource.address())
            .filter(is_further)
            .collect();
        let mut further = self.further.lock().unwrap_or_else(PoisonError::into_inner);
        let before = further.len();
        further.retain(|resource, _| wanted.contains(resource));
        if further.len() != before {
            self.changes.send_modify(|count| *count += 1);
        }
        for resource in wanted {
            further.entry(resource.clone()).or_insert_with(|| self.begin(&resource));
        }
        true
    }

    fn begin(&self, resource: &GroupVersionResource) -> FurtherStore {
        let store = Arc::new(Store::default());
        let reflector =
            run_reflector(self.client.clone(), resource.all(), Arc::clone(&store), WatchPolicy::default());
        let (mut seen, changes) = (store.changes(), self.changes.clone());
        let announcing = tokio::spawn(async move {
            while seen.changed().await.is_ok() {
                changes.send_modify(|count| *count += 1);
            }
        });
        FurtherStore { store, tasks: [tokio::spawn(reflector).abort_handle(), announcing.abort_handle()] }
    }

    fn is_synced(&self) -> bool {
        let further = self.further.lock().unwrap_or_else(PoisonError::into_inner);
        // One that may not be read is no reason to wait for ever: the log names it.
        let is_known = |further: &FurtherStore| {
            further.store.is_synced() || further.store.problem().is_some_and(|problem| problem.is_forbidden())
        };
        self.stores.are_rules_synced() && further.values().all(is_known)
    }

    fn objects(&self) -> RuleObjects {
        if !self.settings.has_cluster_rules {
            return RuleObjects::default();
        }
        let of_role = |role| {
            let stores = self.stores.of_role(role);
            stores.flat_map(|(_, store)| store.all()).map(without_status).collect::<Vec<Value>>()
        };
        let mut rules = of_role(WatchRole::Rule);
        let further = self.further.lock().unwrap_or_else(PoisonError::into_inner);
        rules.extend(further.values().flat_map(|further| further.store.all()).map(without_status));
        // What was generated from a rule is judged as that rule.
        rules.retain(|rule| rule.at(&["metadata", "labels", GENERATED_LABEL]).is_none());
        RuleObjects { rules, exceptions: of_role(WatchRole::Exception) }
    }

    /// Returns the versions of the rule objects of the cluster.
    fn versions(&self) -> HashMap<ObjectName, u64> {
        let further = self.further.lock().unwrap_or_else(PoisonError::into_inner);
        let rules = self.stores.of_role(WatchRole::Rule).flat_map(|(_, store)| store.all());
        let rules = rules.chain(further.values().flat_map(|further| further.store.all()));
        let version =
            |rule: &Value| rule.str_at(&["metadata", "resourceVersion"]).parse().unwrap_or_default();
        rules.map(|rule| (ObjectName::of(&rule), version(&rule))).collect()
    }

    fn compile(&self, objects: &RuleObjects) -> LoadedRules {
        let begun = Instant::now();
        let mut documents: Vec<Document> = objects.rules.iter().map(cluster_document).collect();
        documents.extend(self.settings.rules.iter().cloned());
        let exceptions: Vec<Document> = objects.exceptions.iter().map(cluster_document).collect();
        let options = ScanRuleOptions {
            dialects: self.settings.lookups.options.clone(),
            exception_namespaces: self.settings.lookups.exception_namespaces.clone(),
            now: nanoseconds_since_1970(),
            runs_admission_rules: self.settings.runs_admission_rules,
            ..ScanRuleOptions::default()
        };
        let (rules, diagnostics) = ScanRules::compile(&documents, &exceptions, &options);
        let line = self.log.line(LogLevel::Info, "rules loaded");
        let millis = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        line.number("documents", documents.len() as u64)
            .number("rules", rules.rule_ids().count() as u64)
            .number("problems", diagnostics.len() as u64)
            .number("milliseconds", millis)
            .write();
        LoadedRules { rules: Arc::new(rules), documents, versions: self.versions() }
    }
}

async fn next_change((stores, further): &mut (watch::Receiver<u64>, watch::Receiver<u64>)) {
    tokio::select! {
        _ = stores.changed() => {}
        _ = further.changed() => {}
    }
}

/// Returns after how long rules are compiled again though nothing has changed.
fn recompile_interval(rules: &ScanRules) -> Duration {
    let usual = match rules.captures_time() {
        true => CLOCK_RECOMPILE_INTERVAL,
        false => UNCHANGED_RECOMPILE_INTERVAL,
    };
    let left = rules.expiry().map(|expiry| expiry - nanoseconds_since_1970());
    let left = left.map(|left| Duration::from_nanos(u64::try_from(left).unwrap_or_default()));
    left.map_or(usual, |left| left.min(usual))
}

fn nanoseconds_since_1970() -> i128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i128::try_from(since.as_nanos()).unwrap_or(i128::MAX)
}

fn cluster_document(object: &Value) -> Document {
    Document::written(object.clone(), ObjectName::of(object).to_string())
}

/// A status says nothing that is compiled, and is written all the time.
fn without_status(mut object: Value) -> Value {
    if let Some(map) = object.as_object_mut() {
        map.remove("status");
        if let Some(metadata) = map.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("resourceVersion");
        }
    }
    object
}
