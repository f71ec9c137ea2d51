//! From rule objects to rules: whenever any of them changes, all are compiled anew and swapped at once.
//!
//! That is cheap enough to need no second way, and a review never sees half a change. Nothing is compiled before all
//! rule objects are known: half a list would pass for rules that were deleted.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kubewright_dialects::KeySource;
use kubewright_engine::{ClusterSupport, Recompile, WatchRole};
use kubewright_k8s::ObjectName;
use kubewright_value::{Document, Value};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::admission_policies::GenerationProgress;
use crate::log::LogLevel;
use crate::{ServeSettings, ServerState, Snapshot, Stores, admitted_exceptions, cluster_dialects};

/// How long no change must arrive before rules are compiled.
const DEBOUNCE: Duration = Duration::from_millis(30);

/// After how long they are compiled though changes keep arriving.
const MAX_DEBOUNCE: Duration = Duration::from_millis(200);

/// How often rules that capture the time or a random seed are compiled again.
const RECOMPILE_INTERVAL: Duration = Duration::from_secs(10);

/// How often other rules are compiled again though nothing has changed.
const UNCHANGED_RECOMPILE_INTERVAL: Duration = Duration::from_secs(3600);

/// How many times as long as compiling took the server waits before it compiles periodically again.
const RECOMPILE_PAUSE_FACTOR: u32 = 200;

/// How long new rules wait for the caches that they need.
const NEEDS_TIMEOUT: Duration = Duration::from_millis(500);

/// How often the caches that the first rules need are checked.
const CACHE_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// What is waited for before reviews are answered.
const RULES_CONDITION: &str = "rules";

/// What is waited for besides.
const CACHES_CONDITION: &str = "caches";

/// Keeps the rules of `state` as the rule objects of `stores` are, on a thread of its own, as long as the process lives.
/// Returns the number of the snapshot, to wait for the next one. The state is not ready before there are rules and what
/// they need; what later ones need does not make it unready again.
///
/// # Errors
/// When there can be no thread.
pub fn spawn_rule_compiler(
    state: &Arc<ServerState>,
    stores: &Arc<Stores>,
) -> std::io::Result<watch::Receiver<u64>> {
    state.readiness.wait_for(RULES_CONDITION);
    state.readiness.wait_for(CACHES_CONDITION);
    let (sender, receiver) = watch::channel(0);
    let (state, stores) = (Arc::clone(state), Arc::clone(stores));
    let compiler = RuleCompiler {
        state,
        stores,
        known: None,
        is_ready: false,
        took: Duration::ZERO,
        compiled: Instant::now(),
        fresh_until: Instant::now() + UNCHANGED_RECOMPILE_INTERVAL,
        generations: sender,
    };
    // Its own, so that it does not mind when that of the server ends.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let thread = std::thread::Builder::new().name("compile".to_owned());
    thread.spawn(move || runtime.block_on(compiler.run()))?;
    Ok(receiver)
}

struct RuleCompiler {
    state: Arc<ServerState>,
    stores: Arc<Stores>,
    /// What the rules of the moment were made from.
    known: Option<RuleObjects>,
    is_ready: bool,
    /// How long compiling took the last time.
    took: Duration,
    /// When that was.
    compiled: Instant,
    /// When they are compiled anew though nothing has changed.
    fresh_until: Instant,
    generations: watch::Sender<u64>,
}

impl RuleCompiler {
    async fn run(mut self) {
        let mut changes = self.stores.changes();
        let mut is_change = true;
        loop {
            if self.stores.are_rules_synced() {
                self.compile(is_change).await;
                self.await_caches(&mut changes).await;
            }
            is_change = match timeout_at(self.fresh_until, changes.changed()).await {
                Ok(Ok(())) => {
                    if !self.has_lost_rules() && !self.is_idle() {
                        debounce(&mut changes).await;
                    }
                    true
                }
                Ok(Err(_)) => return,
                Err(_) => false,
            };
        }
    }

    /// Returns whether rule objects were deleted and compiling the others is quick: then nothing is waited for, because a
    /// rule that was deleted should refuse nothing any more.
    fn has_lost_rules(&self) -> bool {
        let known = self.known.as_ref().map_or(0, |known| known.rules.len());
        let there: usize = self.stores.of_role(WatchRole::Rule).map(|(_, store)| store.len()).sum();
        there < known && self.took < DEBOUNCE
    }

    /// Returns whether compiling is quick and nothing was compiled lately: a single rule should count soon after it was
    /// stored, and of many the others wait.
    fn is_idle(&self) -> bool {
        self.took < DEBOUNCE && self.compiled.elapsed() > MAX_DEBOUNCE
    }

    /// Compiles all rule objects. Without a change only values that depend on the time are new, so the generation stays.
    async fn compile(&mut self, is_change: bool) {
        let begun = Instant::now();
        let objects = RuleObjects::of(&self.stores, &self.state);
        let is_same = self.known.as_ref() == Some(&objects);
        if is_change && is_same {
            return;
        }
        let is_change = !is_same;
        let generation = *self.generations.borrow() + u64::from(is_change);
        let built = catch_unwind(AssertUnwindSafe(|| objects.snapshot(&self.state, generation)));
        self.fresh_until = begun + RECOMPILE_INTERVAL;
        let Ok((snapshot, until)) = built else {
            // Each object is compiled on its own already, so this is our mistake. The rules of before still hold.
            self.state
                .log
                .line(LogLevel::Error, "could not load rules; the previous ones stay in force")
                .write();
            return;
        };
        let took = begun.elapsed();
        (self.took, self.compiled) = (took, Instant::now());
        self.known = Some(objects);
        let interval = match snapshot.recompile {
            Recompile::Periodically => RECOMPILE_INTERVAL.max(took * RECOMPILE_PAUSE_FACTOR),
            Recompile::OnChange => UNCHANGED_RECOMPILE_INTERVAL,
        };
        self.fresh_until = begun + interval.min(until);
        self.stores.meet(&snapshot.needs);
        self.await_needs().await;
        let (rules, wrong) = count_rules(&snapshot);
        self.state.snapshot.store(Arc::new(snapshot));
        if !is_change {
            return;
        }
        self.state.readiness.done(RULES_CONDITION);
        self.generations.send_replace(generation);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let line = self.state.log.line(LogLevel::Info, "rules loaded").number("generation", generation);
        line.number("rules", rules).number("wrong", wrong).number("microseconds", micros).write();
    }

    /// Waits briefly for the caches that new rules need, so that their first reviews need no lookups.
    async fn await_needs(&self) {
        let deadline = Instant::now() + NEEDS_TIMEOUT;
        while !self.stores.are_caches_synced() && Instant::now() < deadline {
            sleep(Duration::from_millis(2)).await;
        }
    }

    /// Waits until what the first rules need is known, unless the rules change meanwhile.
    async fn await_caches(&mut self, changes: &mut watch::Receiver<u64>) {
        while !self.is_ready {
            if self.stores.are_caches_synced() {
                self.is_ready = true;
                self.state.readiness.done(CACHES_CONDITION);
            } else if changes.has_changed().unwrap_or(true) {
                return;
            } else {
                sleep(CACHE_POLL_INTERVAL).await;
            }
        }
    }
}

/// Rule objects and exceptions from them, without what compiling does not look at.
#[derive(PartialEq)]
struct RuleObjects {
    rules: Vec<Value>,
    exceptions: Vec<Value>,
    /// The rules that the API server enforces itself.
    progress: Arc<GenerationProgress>,
}

/// Waits until nothing happens for a moment.
async fn debounce(changes: &mut watch::Receiver<u64>) {
    let deadline = Instant::now() + MAX_DEBOUNCE;
    while timeout(DEBOUNCE, timeout_at(deadline, changes.changed()))
        .await
        .is_ok_and(|change| matches!(change, Ok(Ok(()))))
    {}
}

impl RuleObjects {
    fn of(stores: &Stores, state: &ServerState) -> Self {
        let of_role = |role| stores.of_role(role).flat_map(|(_, store)| store.all()).map(without_status);
        Self {
            rules: of_role(WatchRole::Rule).collect(),
            exceptions: of_role(WatchRole::Exception).collect(),
            progress: state.admission_policies.load_full(),
        }
    }

    /// Returns the rules, and after how long an exception from them ends.
    fn snapshot(&self, state: &ServerState, generation: u64) -> (Snapshot, Duration) {
        let ServeSettings { options, dialects, exception_namespaces, .. } = &state.settings;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = i128::try_from(now.as_nanos()).unwrap_or(i128::MAX);
        let exceptions: Vec<Document> = self.exceptions.iter().map(rule_document).collect();
        let before = state.snapshot.load();
        let languages: Vec<&dyn ClusterSupport> = before.languages().collect();
        let admitted = admitted_exceptions(&exceptions, exception_namespaces, &languages, now);
        let mut options = options.clone();
        options.inputs.now = Some(now);
        options.inputs.keys = options.inputs.keys.map(|keys| KeySource { valid_from: now, ..keys });
        options.exceptions.extend(admitted.documents);
        let until = admitted.until.and_then(|until| u64::try_from(until - now).ok());
        let until = until.map_or(Duration::MAX, Duration::from_nanos);
        let dialects = cluster_dialects(&options, dialects);
        let snapshot =
            Snapshot::compile(dialects, self.rules.iter().map(rule_document), generation, &self.progress);
        (snapshot, until)
    }
}

fn rule_document(object: &Value) -> Document {
    Document::written(object.clone(), ObjectName::of(object).to_string())
}

/// We write the status ourselves; that must not look like a new rule.
fn without_status(mut object: Value) -> Value {
    if let Some(map) = object.as_object_mut() {
        map.remove("status");
        if let Some(metadata) = map.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("resourceVersion");
        }
    }
    object
}

fn count_rules(snapshot: &Snapshot) -> (u64, u64) {
    let rules: usize = snapshot.states.iter().map(|state| state.rules).sum();
    let wrong = snapshot.states.iter().filter(|state| state.rules == 0).count();
    (rules as u64, wrong as u64)
}
