//! One pass over the cluster: one thread lists, all cores judge, and rows are rendered in the order of the lists.
//!
//! No more batches exist at a time than there are permits, so memory does not grow with the cluster. Only what patterns
//! read is kept until the end.

use std::collections::{BTreeMap, HashMap};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use kubewright_cluster::ApiResource;
use kubewright_engine::{Diagnostic, RuleStatus};
use kubewright_files::{Progress, workers};
use kubewright_graph::Id;
use kubewright_patterns::LivePatterns;
use kubewright_report::{FilePosition, FindingContext, ObjectRow, OutcomeCounts, OutcomeRow, Severity};
use kubewright_scan::{ObjectDecision, Scanner};
use kubewright_value::Value;

use super::cluster::ScanCluster;
use super::extent::ScanExtent;
use super::judge::ObjectJudge;
use super::kinds::{KindReaders, ScanKind, is_quiet, scan_kinds};
use super::lister::{KindLister, ObjectBatch, UnreadKind};
use super::rules::ScanRuleSet;
use super::world::PassWorld;
use crate::arguments::{ScanArguments, Threshold};
use crate::failure::CommandFailure;
use crate::output::{ColorChoice, Columns, Output, Renderer, TableOptions};
use crate::progress::ProgressBar;

/// How many batches are under way at a time.
const MAX_BATCHES: usize = 16;

/// One pass over the cluster.
pub(super) struct ScanPass<'a> {
    /// The cluster.
    pub(super) cluster: &'a ScanCluster,
    /// The rules.
    pub(super) rules: &'a ScanRuleSet,
    /// Which objects are judged.
    pub(super) extent: &'a ScanExtent,
    /// The arguments of the command.
    pub(super) arguments: &'a ScanArguments,
    /// The outputs.
    pub(super) outputs: &'a [Output],
}

/// What a pass found.
pub(super) struct PassResult {
    /// How many objects were judged.
    pub(super) objects: usize,
    /// All outcomes.
    pub(super) counts: OutcomeCounts,
    /// How many outcomes make the command exit with 1.
    pub(super) failures: usize,
    /// What could not be read.
    pub(super) diagnostics: Vec<Diagnostic>,
    /// The kinds that could not be listed.
    pub(super) unread: Vec<ApiResource>,
    /// What is kept of the objects.
    pub(super) store: PassStore,
    in_graph: usize,
    positions: HashMap<Id, FilePosition>,
}

/// What is kept of the objects until the end of the pass.
pub(super) enum PassStore {
    /// What patterns read.
    Graph(Box<LivePatterns>),
    /// Also the results, for reports in the cluster.
    Results(Box<Scanner>),
}

impl PassStore {
    fn new(pass: &ScanPass<'_>) -> Self {
        let ScanRuleSet { compiled, patterns, references, .. } = pass.rules;
        if !pass.arguments.reports.writes() {
            let live = LivePatterns::new(patterns.clone(), references, pass.extent.detection_settings());
            return Self::Graph(Box::new(live));
        }
        let mut scanner = Scanner::new(pass.arguments.reports.scan_settings());
        scanner.replace_rules(Arc::clone(compiled));
        Self::Results(Box::new(scanner))
    }

    fn insert(&mut self, batch: KeptObjects) {
        match self {
            Self::Graph(live) => batch.for_graph.iter().for_each(|object| live.insert(object)),
            Self::Results(scanner) => {
                for (object, decision) in batch.decided {
                    let judgement = scanner.judge_decided(&object, decision);
                    scanner.record(judgement, now_seconds());
                }
            }
        }
    }

    fn patterns(&self) -> Option<&LivePatterns> {
        match self {
            Self::Graph(live) => Some(live),
            Self::Results(scanner) => scanner.live_patterns(),
        }
    }
}

impl PassResult {
    /// Returns the objects that patterns read.
    pub(super) fn context(&self) -> Option<FindingContext<'_>> {
        let graph = self.store.patterns()?.graph();
        Some(FindingContext { graph, positions: &self.positions, objects: self.in_graph })
    }
}

/// The rows of a batch, and what is kept of its objects.
struct JudgedBatch {
    number: usize,
    listed: usize,
    rows: Vec<(ObjectRow, Vec<String>)>,
    kept: KeptObjects,
}

/// What is kept of the objects of a batch.
#[derive(Default)]
struct KeptObjects {
    /// The objects that patterns read.
    for_graph: Vec<Value>,
    /// With --write-reports, the objects that rules or patterns read, each with what the rules say.
    decided: Vec<(Value, ObjectDecision)>,
}

impl ScanPass<'_> {
    /// Runs the pass. The renderers have all rows then, and wait for the end of the report.
    ///
    /// # Errors
    /// When output cannot be written.
    pub(super) fn run(
        &self,
        color: ColorChoice,
    ) -> Result<(PassResult, Vec<Box<dyn Renderer>>), CommandFailure> {
        let mut result = PassResult {
            objects: 0,
            counts: OutcomeCounts::default(),
            failures: 0,
            diagnostics: Vec::new(),
            unread: Vec::new(),
            store: PassStore::new(self),
            in_graph: 0,
            positions: HashMap::new(),
        };
        let kinds = self.kinds(result.store.patterns());
        let world = PassWorld::new(self.cluster, self.rules, &self.arguments.rules);
        let judge = ObjectJudge {
            rules: &self.rules.compiled,
            world: &world,
            columns: self.columns(),
            is_lenient: self.arguments.audit_warn,
        };
        let mut renderers = self.open_renderers(color)?;
        let mut bar = ScanBar::new(self.cluster, &kinds);
        let problems = self.stream(&kinds, &judge, |batch| {
            bar.show(batch.listed);
            result.in_graph += batch.kept.for_graph.len();
            result.store.insert(batch.kept);
            for (row, prepared) in &batch.rows {
                result.objects += 1;
                result.counts += row.counts;
                result.failures += self.failures(row);
                self.render(row, prepared, &mut renderers)?;
            }
            Ok(())
        });
        bar.bar.clear();
        let problems = problems?;
        result.unread = problems.iter().map(|problem| problem.resource.clone()).collect();
        result.diagnostics = problems.into_iter().map(|problem| problem.diagnostic).collect();
        Ok((result, renderers))
    }

    /// Returns the kinds that are listed.
    fn kinds(&self, live: Option<&LivePatterns>) -> Vec<ScanKind> {
        let is_read = |group: &str, kind: &str| {
            !is_quiet(group, kind) && live.is_some_and(|live| live.reads_kind(group, kind))
        };
        let readers = KindReaders { rules: &self.rules.all, patterns: &is_read };
        let mut kinds = scan_kinds(&self.cluster.resources, &readers);
        kinds.iter_mut().for_each(|kind| kind.is_judged &= self.extent.has_kind(&kind.resource));
        kinds.retain(|kind| kind.is_judged || kind.is_in_graph);
        kinds
    }

    /// Lists and judges everything, and hands batches to `take` in order. Returns what could not be listed.
    fn stream(
        &self,
        kinds: &[ScanKind],
        judge: &ObjectJudge<'_>,
        mut take: impl FnMut(JudgedBatch) -> Result<(), CommandFailure>,
    ) -> Result<Vec<UnreadKind>, CommandFailure> {
        let (permits, permitted) = sync_channel(MAX_BATCHES);
        let (batches, listed) = sync_channel(MAX_BATCHES);
        let listed = Mutex::new(listed);
        thread::scope(|scope| {
            let lister = KindLister { cluster: self.cluster, extent: self.extent, batches, permits, sent: 0 };
            let lister = scope.spawn(move || lister.list_all(kinds));
            let (judged, receiver) = sync_channel(MAX_BATCHES);
            for _ in 0..workers::worker_count() {
                let (listed, judged) = (&listed, judged.clone());
                let builder = thread::Builder::new().stack_size(workers::STACK_BYTES);
                builder.spawn_scoped(scope, move || self.run_worker(listed, judge, &judged))?;
            }
            drop(judged);
            let taken = take_in_order(&receiver, &permitted, &mut take);
            // Whoever still sends finds nobody there, and ends.
            drop((receiver, permitted));
            let problems = lister.join().unwrap_or_default();
            taken.map(|()| problems)
        })
    }

    fn run_worker(
        &self,
        listed: &Mutex<Receiver<ObjectBatch>>,
        judge: &ObjectJudge<'_>,
        judged: &SyncSender<JudgedBatch>,
    ) {
        loop {
            let batch = listed.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(batch) = batch else { return };
            if judged.send(self.judge_batch(batch, judge)).is_err() {
                return;
            }
        }
    }

    fn judge_batch(&self, batch: ObjectBatch, judge: &ObjectJudge<'_>) -> JudgedBatch {
        let ObjectBatch { number, is_judged, is_in_graph, source, objects } = batch;
        let mut done =
            JudgedBatch { number, listed: objects.len(), rows: Vec::new(), kept: KeptObjects::default() };
        let keeps_results = self.arguments.reports.writes();
        for object in objects {
            let is_wanted = is_judged && self.extent.has_namespace(object.str_at(&["metadata", "namespace"]));
            let decision = if is_wanted { judge.decide(&object) } else { ObjectDecision::default() };
            if is_in_graph {
                done.kept.for_graph.push(object.clone());
            }
            if keeps_results && (is_wanted || is_in_graph) {
                done.kept.decided.push((object.clone(), decision.clone()));
            }
            if !is_wanted {
                continue;
            }
            let mut row = judge.row(object, decision, &source);
            if row.counts.all() > 0 {
                let prepared = self.outputs.iter().map(|output| (output.format.prepare)(&row)).collect();
                row.drop_patches();
                done.rows.push((row, prepared));
            }
        }
        done
    }

    fn render(
        &self,
        row: &ObjectRow,
        prepared: &[String],
        renderers: &mut [Box<dyn Renderer>],
    ) -> Result<(), CommandFailure> {
        let is_shown = self.arguments.all || row.outcomes.iter().any(is_worth_showing);
        let outputs = self.outputs.iter().zip(prepared).zip(renderers);
        for ((output, prepared), renderer) in outputs {
            if is_shown || !output.is_table() {
                renderer.object(row, prepared)?;
            }
        }
        Ok(())
    }

    /// Returns how many outcomes of an object make the command exit with 1.
    fn failures(&self, row: &ObjectRow) -> usize {
        let least = match self.arguments.fail_on.map(Threshold::least) {
            Some(None) => return 0,
            Some(Some(least)) => Some(Severity::from(least)),
            None => None,
        };
        let is_severe = |outcome: &OutcomeRow| match (least, Severity::named(&outcome.metadata.severity)) {
            (Some(least), Some(own)) => own >= least,
            (Some(_) | None, _) => true,
        };
        let is_failure = |outcome: &&OutcomeRow| match outcome.status {
            RuleStatus::Fail => is_severe(outcome),
            RuleStatus::Error => true,
            RuleStatus::Pass | RuleStatus::Warn | RuleStatus::Skip => false,
        };
        row.outcomes.iter().filter(is_failure).count()
    }

    fn columns(&self) -> Columns {
        let formats = self.outputs.iter().map(|output| output.format.columns);
        formats.fold(Columns::default(), Columns::and)
    }

    fn open_renderers(&self, color: ColorChoice) -> Result<Vec<Box<dyn Renderer>>, CommandFailure> {
        let options = TableOptions {
            paint: color.paint_output(),
            is_quiet: self.arguments.quiet,
            has_differences: false,
        };
        self.outputs.iter().map(|output| output.open(options)).collect()
    }
}

/// Returns the time in seconds since 1970.
pub(super) fn now_seconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// Returns whether the table has a line for an outcome.
fn is_worth_showing(outcome: &OutcomeRow) -> bool {
    match outcome.status {
        RuleStatus::Fail | RuleStatus::Error | RuleStatus::Warn => true,
        RuleStatus::Pass => outcome.is_patched(),
        RuleStatus::Skip => !outcome.exceptions.is_empty(),
    }
}

/// Hands batches to `take` by their numbers, and makes room for others.
fn take_in_order(
    receiver: &Receiver<JudgedBatch>,
    permitted: &Receiver<()>,
    take: &mut impl FnMut(JudgedBatch) -> Result<(), CommandFailure>,
) -> Result<(), CommandFailure> {
    let mut early: BTreeMap<usize, JudgedBatch> = BTreeMap::new();
    let mut expected = 0;
    for batch in receiver {
        early.insert(batch.number, batch);
        while let Some(ready) = early.remove(&expected) {
            expected += 1;
            let _ = permitted.recv();
            take(ready)?;
        }
    }
    Ok(())
}

/// The progress bar, with the number of objects that the API server expects.
struct ScanBar {
    bar: ProgressBar,
    listed: usize,
    expected: Option<u64>,
}

impl ScanBar {
    /// Counts the objects first, if the bar is visible.
    fn new(cluster: &ScanCluster, kinds: &[ScanKind]) -> Self {
        let bar = ProgressBar::new();
        let count = |kind: &ScanKind| {
            let path = kind.resource.address().all();
            cluster.handle().block_on(cluster.client.count_objects(&path)).ok().flatten().unwrap_or(0)
        };
        let expected = bar.is_visible().then(|| kinds.iter().map(count).sum());
        Self { bar, listed: 0, expected }
    }

    #[expect(clippy::cast_precision_loss, reason = "a share is shown to a person")]
    fn show(&mut self, listed: usize) {
        self.listed += listed;
        if let Some(expected) = self.expected {
            let share = self.listed as f64 / expected.max(1) as f64;
            self.bar.show(Progress { objects: self.listed, share: share.min(1.0) });
        }
    }
}
