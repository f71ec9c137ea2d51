//! From rule objects to rules: whenever any of them changes, all are compiled anew and swapped at once.
//!
//! That is cheap enough to need no second way, and a review never sees half a change. Nothing is compiled before all
//! rule objects are known: half a list would pass for rules that were deleted.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use kubewright_cluster::Store;
use kubewright_engine::{ObjectName, WatchRole};
use kubewright_value::{Document, Value};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::log::Level;
use crate::{Settings, Snapshot, State, Stores};

/// How long nothing must happen before rules are compiled.
const QUIET: Duration = Duration::from_millis(30);

/// After how long they are compiled though it is not quiet.
const LONGEST: Duration = Duration::from_millis(200);

/// How often is looked whether what the first rules need is there.
const LOOK: Duration = Duration::from_millis(20);

/// What is waited for before reviews are answered.
const RULES: &str = "rules";

/// What is waited for besides.
const CACHES: &str = "caches";

/// Keeps the rules of `state` as the rule objects of `stores` are, on a thread of its own, as long as the process lives.
/// Returns the number of the snapshot, to wait for the next one. The state is not ready before there are rules and what
/// they need; what later ones need does not make it unready again.
///
/// # Errors
/// When there can be no thread.
///
/// # Panics
/// Outside of a runtime.
pub fn keep_compiled(state: &Arc<State>, stores: &Arc<Stores>) -> std::io::Result<watch::Receiver<u64>> {
    state.readiness.wait_for(RULES);
    state.readiness.wait_for(CACHES);
    let (sender, receiver) = watch::channel(0);
    let compiler = Compiler {
        state: Arc::clone(state),
        stores: Arc::clone(stores),
        is_ready: false,
        generations: sender,
    };
    let runtime = Handle::current();
    let thread = std::thread::Builder::new().name("compile".to_owned());
    thread.spawn(move || runtime.block_on(compiler.run()))?;
    Ok(receiver)
}

struct Compiler {
    state: Arc<State>,
    stores: Arc<Stores>,
    is_ready: bool,
    generations: watch::Sender<u64>,
}

impl Compiler {
    async fn run(mut self) {
        let mut changes = self.stores.changes();
        loop {
            if self.stores.are_rules_synced() {
                self.compile();
                self.await_caches(&mut changes).await;
            }
            if changes.changed().await.is_err() {
                return;
            }
            settle(&mut changes).await;
        }
    }

    fn compile(&mut self) {
        let generation = *self.generations.borrow() + 1;
        let begun = Instant::now();
        let built = catch_unwind(AssertUnwindSafe(|| build(&self.state.settings, &self.stores, generation)));
        let Ok(snapshot) = built else {
            // Each object is compiled on its own already, so this is our mistake. The rules of before still hold.
            self.state.log.line(Level::Error, "the rules could not be loaded; those of before go on").write();
            return;
        };
        let (rules, wrong) = count(&snapshot);
        self.stores.meet(&snapshot.needs);
        self.state.snapshot.store(Arc::new(snapshot));
        self.state.readiness.done(RULES);
        self.generations.send_replace(generation);
        let line = self.state.log.line(Level::Info, "rules loaded");
        let micros = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        line.number("rules", rules)
            .number("wrong", wrong)
            .number("generation", generation)
            .number("microseconds", micros)
            .write();
    }

    /// Waits until what the first rules need is known, unless the rules change meanwhile.
    async fn await_caches(&mut self, changes: &mut watch::Receiver<u64>) {
        while !self.is_ready {
            if self.stores.are_caches_synced() {
                self.is_ready = true;
                self.state.readiness.done(CACHES);
            } else if changes.has_changed().unwrap_or(true) {
                return;
            } else {
                sleep(LOOK).await;
            }
        }
    }
}

/// Waits until nothing happens for a moment.
async fn settle(changes: &mut watch::Receiver<u64>) {
    let deadline = Instant::now() + LONGEST;
    while timeout(QUIET, timeout_at(deadline, changes.changed()))
        .await
        .is_ok_and(|change| matches!(change, Ok(Ok(()))))
    {}
}

fn build(settings: &Settings, stores: &Stores, generation: u64) -> Snapshot {
    let mut options = settings.options.clone();
    let is_allowed = |object: &Value| {
        let namespace = ObjectName::of(object).namespace;
        settings.exception_namespaces.iter().any(|name| name == "*" || *name == namespace)
    };
    let exceptions = documents(stores, WatchRole::Exception).filter(|document| is_allowed(&document.value));
    options.exceptions.extend(exceptions);
    let documents: Vec<Document> = documents(stores, WatchRole::Rule).collect();
    Snapshot::of(&options, &settings.dialects, &documents, generation)
}

/// Returns the objects of a role, by kind, namespace and name.
fn documents(stores: &Stores, role: WatchRole) -> impl Iterator<Item = Document> {
    let objects = stores.of_role(role).map(|(_, store): (_, &Arc<Store>)| store.all());
    objects.flatten().map(|object| {
        let name = ObjectName::of(&object).to_string();
        Document::written(object, name)
    })
}

fn count(snapshot: &Snapshot) -> (u64, u64) {
    let rules: usize = snapshot.states.iter().map(|state| state.rules).sum();
    let wrong = snapshot.states.iter().filter(|state| state.rules == 0).count();
    (rules as u64, wrong as u64)
}
