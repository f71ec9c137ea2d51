//! Findings as K8sPatterns and Smells, where the cluster serves these kinds: written by server-side apply, so that
//! `spec.suppress` stays that of the user who set it, and read back to know what users have suppressed.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kubewright_cluster::{ApiResource, Discovery, Store, WatchPolicy, run_reflector};
use kubewright_patterns::{FindingChange, FindingObject};
use kubewright_report::cluster_report::{
    JudgedFinding, PatternObject, PatternObjectChange, PatternObjectKind, StoredPatternObject,
    pattern_object, pattern_object_changes,
};
use kubewright_scan::Scanner;
use kubewright_value::{Text, Value};
use tokio::task::AbortHandle;

use crate::WriteStep;
use crate::scan_thread::ScanContext;

/// How often is looked whether there is something to write.
const PATTERN_WRITE_INTERVAL: Duration = Duration::from_secs(1);

/// How often is looked which of the kinds the cluster serves.
const KINDS_INTERVAL: Duration = Duration::from_secs(10);

/// How many findings become objects at most; the others are rows of reports only.
const MAX_PATTERN_OBJECTS: usize = 5_000;

/// The objects that should be there, by finding.
#[derive(Debug, Default)]
pub(crate) struct WantedPatternObjects {
    findings: Mutex<BTreeMap<FindingIdentity, Vec<PatternObject>>>,
}

/// What tells findings apart: the pattern, and the objects of its actors.
type FindingIdentity = (Text, Vec<FindingObject>);

impl WantedPatternObjects {
    /// Takes up what a search has found; its graph is that of `scanner`.
    pub(crate) fn update(&self, scanner: &Scanner, changes: &[FindingChange], namespace: &str) {
        let Some(live) = scanner.live_patterns() else { return };
        let mut findings = self.findings();
        for change in changes {
            let identity = (change.pattern.clone(), change.actors.clone());
            let pattern = live.patterns().find(|pattern| pattern.name == change.pattern);
            let (Some(found), Some(pattern)) = (&change.finding, pattern) else {
                findings.remove(&identity);
                continue;
            };
            if findings.len() >= MAX_PATTERN_OBJECTS && !findings.contains_key(&identity) {
                continue;
            }
            let judged = JudgedFinding {
                pattern,
                finding: &found.finding,
                graph: live.graph(),
                suppression: found.suppressed.as_deref(),
                is_failure: false,
                since: found.since,
            };
            let objects = PatternObjectKind::ALL.map(|kind| pattern_object(kind, &judged, namespace, true));
            findings.insert(identity, objects.into());
        }
    }

    fn of_kinds(&self, kinds: &HashMap<PatternObjectKind, PatternKindStore>) -> Vec<PatternObject> {
        let findings = self.findings();
        let all = findings.values().flatten();
        all.filter(|object| kinds.contains_key(&object.kind)).cloned().collect()
    }

    fn findings(&self) -> MutexGuard<'_, BTreeMap<FindingIdentity, Vec<PatternObject>>> {
        self.findings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The stored objects of one kind.
struct PatternKindStore {
    resource: ApiResource,
    store: Arc<Store>,
    watching: AbortHandle,
}

impl Drop for PatternKindStore {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

/// Keeps the objects in the cluster as they should be, until the scan is to end.
pub(crate) async fn run_pattern_objects(context: ScanContext, discovery: Arc<Discovery>) {
    let mut kinds: HashMap<PatternObjectKind, PatternKindStore> = HashMap::new();
    let mut suppressed = HashSet::new();
    let mut looked_at: Option<tokio::time::Instant> = None;
    while !context.is_stopping.load(Ordering::Relaxed) {
        if looked_at.is_none_or(|at| at.elapsed() >= KINDS_INTERVAL) {
            follow_kinds(&context, &discovery, &mut kinds);
            looked_at = Some(tokio::time::Instant::now());
        }
        if !kinds.is_empty() && kinds.values().all(|kind| kind.store.is_synced()) {
            write_objects(&context, &kinds, &mut suppressed).await;
        }
        tokio::time::sleep(PATTERN_WRITE_INTERVAL).await;
    }
}

/// Watches the kinds that the cluster serves.
fn follow_kinds(
    context: &ScanContext,
    discovery: &Discovery,
    kinds: &mut HashMap<PatternObjectKind, PatternKindStore>,
) {
    let served = discovery.known();
    for kind in PatternObjectKind::ALL {
        match served.of_kind(kind.group(), kind.name()) {
            None => drop(kinds.remove(&kind)),
            Some(resource) => {
                kinds.entry(kind).or_insert_with(|| {
                    let store = Arc::new(Store::default());
                    let path = resource.address().all();
                    let reflector = run_reflector(
                        context.client.clone(),
                        path,
                        Arc::clone(&store),
                        WatchPolicy::default(),
                    );
                    let watching = tokio::spawn(reflector).abort_handle();
                    PatternKindStore { resource: resource.clone(), store, watching }
                });
            }
        }
    }
}

async fn write_objects(
    context: &ScanContext,
    kinds: &HashMap<PatternObjectKind, PatternKindStore>,
    suppressed: &mut HashSet<(Text, Text)>,
) {
    let all: Vec<(PatternObjectKind, Value)> = kinds
        .iter()
        .flat_map(|(kind, of_kind)| of_kind.store.all().into_iter().map(|object| (*kind, object)))
        .collect();
    let now: HashSet<(Text, Text)> =
        all.iter().filter_map(|(kind, object)| suppressed_finding(*kind, object)).collect();
    if now != *suppressed {
        let mut scanner = context.scanner.write().unwrap_or_else(PoisonError::into_inner);
        scanner.suppress_findings(now.clone());
        *suppressed = now;
    }
    let stored: Vec<StoredPatternObject> =
        all.iter().map(|(kind, object)| StoredPatternObject::read(*kind, object)).collect();
    let wanted = context.pattern_objects.of_kinds(kinds);
    let incomplete = incomplete_patterns(context);
    let is_complete = |pattern: &str| incomplete.as_ref().is_some_and(|names| !names.contains(pattern));
    for change in pattern_object_changes(&wanted, &stored, is_complete) {
        let kind = match &change {
            PatternObjectChange::Apply(object) => object.kind,
            PatternObjectChange::Delete(object) => object.kind,
        };
        let Some(of_kind) = kinds.get(&kind) else { continue };
        let step = context.writer.write_pattern_object(&of_kind.resource.address(), &change).await;
        match step {
            WriteStep::Failed(pause) => tokio::time::sleep(pause).await,
            WriteStep::Fenced | WriteStep::Unserved => return,
            WriteStep::Done | WriteStep::Idle => {}
        }
        if context.is_stopping.load(Ordering::Relaxed) {
            return;
        }
    }
}

/// Returns the patterns whose search was not complete; nothing while none was.
fn incomplete_patterns(context: &ScanContext) -> Option<HashSet<String>> {
    if !context.status.is_complete() {
        return None;
    }
    let scanner = context.scanner.read().unwrap_or_else(PoisonError::into_inner);
    let live = scanner.live_patterns()?;
    // A kind that cannot be read may hold objects that a finding needs. Kinds that no pattern names do not count: some are
    // unreadable in almost every cluster, and findings would never go.
    if context.status.unavailable().keys().any(|kind| live.names_kind(&kind.group, &kind.kind)) {
        return None;
    }
    let incomplete = scanner.incomplete_patterns();
    Some(incomplete.into_iter().map(|incomplete| incomplete.pattern.to_string()).collect())
}

/// Returns the pattern and the uid of the leader of a stored finding that is suppressed.
fn suppressed_finding(kind: PatternObjectKind, object: &Value) -> Option<(Text, Text)> {
    let stored = StoredPatternObject::read(kind, object);
    let uid = match kind {
        PatternObjectKind::Smell => object.str_at(&["spec", "target", "uid"]).into(),
        PatternObjectKind::K8sPattern => object.at(&["spec", "resources"])?.item(0)?.str_at(&["uid"]).into(),
    };
    stored.is_suppressed.then_some((stored.pattern, uid))
}
