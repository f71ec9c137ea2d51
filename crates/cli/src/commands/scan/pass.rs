//! One pass over the cluster: one thread lists, all cores judge, and rows are rendered in the order of the lists.
//!
//! No more batches exist at a time than there are permits, so memory does not grow with the cluster. Only what patterns
//! read is kept until the end.

mod bar;
mod store;
mod stream;

use kubewright_cluster::ApiResource;
use kubewright_engine::{Diagnostic, RuleStatus};
use kubewright_patterns::LivePatterns;
use kubewright_report::{FindingContext, ObjectPositions, ObjectRow, OutcomeCounts, OutcomeRow, Severity};
use kubewright_scan::is_quiet_kind;

use super::cluster::ScanCluster;
use super::extent::ScanExtent;
use super::judge::ObjectJudge;
use super::kinds::{KindReaders, ScanKind, scan_kinds};
use super::rules::ScanRuleSet;
use super::world::PassWorld;
use crate::arguments::{ScanArguments, Threshold};
use crate::failure::CommandFailure;
use crate::output::{ColorChoice, Columns, Output, Renderer, TableDetail, TableOptions};
use bar::ScanBar;
pub(super) use store::PassStore;

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
    positions: ObjectPositions,
}

impl PassResult {
    /// Returns the objects that patterns read.
    pub(super) fn context(&self) -> Option<FindingContext<'_>> {
        let graph = self.store.patterns()?.graph();
        Some(FindingContext { graph, positions: &self.positions, objects: self.in_graph })
    }
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
            positions: ObjectPositions::default(),
        };
        let kinds = self.kinds(result.store.patterns());
        let world =
            PassWorld::new(self.cluster, &self.rules.options, &self.rules.shared, &self.arguments.rules);
        let judge = ObjectJudge {
            rules: &self.rules.compiled,
            world: &world,
            columns: self.columns(),
            is_lenient: self.arguments.audit_warn,
            is_traced: false,
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
        result.store.finish();
        result.unread = problems.iter().map(|problem| problem.resource.clone()).collect();
        result.diagnostics = problems.into_iter().map(|problem| problem.diagnostic).collect();
        Ok((result, renderers))
    }

    /// Returns the kinds that are listed.
    fn kinds(&self, live: Option<&LivePatterns>) -> Vec<ScanKind> {
        let is_read = |group: &str, kind: &str| {
            !is_quiet_kind(group, kind) && live.is_some_and(|live| live.reads_kind(group, kind))
        };
        let readers = KindReaders { rules: &self.rules.all, patterns: &is_read };
        let mut kinds = scan_kinds(&self.cluster.resources, &readers);
        kinds.iter_mut().for_each(|kind| kind.is_judged &= self.extent.has_kind(&kind.resource));
        kinds.retain(|kind| kind.is_judged || kind.is_in_graph);
        kinds
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
            detail: if self.arguments.verbose { TableDetail::Everything } else { TableDetail::Remarkable },
            ..TableOptions::default()
        };
        self.outputs.iter().map(|output| output.open(options)).collect()
    }
}

/// Returns whether the table has a line for an outcome.
fn is_worth_showing(outcome: &OutcomeRow) -> bool {
    match outcome.status {
        RuleStatus::Fail | RuleStatus::Error | RuleStatus::Warn => true,
        RuleStatus::Pass => outcome.is_patched(),
        RuleStatus::Skip => !outcome.exceptions.is_empty(),
    }
}
