//! The findings of patterns, sorted: the worst first, then by pattern, then by object.

mod diagnostics;
mod reason;
mod shipped;

use std::borrow::Cow;
use std::cmp::Reverse;

use kubewright_engine::Diagnostic;
use kubewright_graph::{Graph, GraphNode, Id};
use kubewright_patterns::{
    self as patterns, DetectionSettings, Level, Pattern, PatternFinding, PatternFindings,
};
use kubewright_value::{Budget, Exhausted, Text};

use crate::suppression::suppression;
use crate::{Annotation, AnnotationLevel, FilePosition, ObjectPositions, Severity};
use kubewright_value::CompactSort as _;

pub use diagnostics::shown_diagnostics;
pub(crate) use reason::{edge_of, finding_reasons, near_miss};
pub use shipped::{is_shipped, shipped_page, shipped_source};

/// How many near misses are named for each missing relationship.
const MAX_NEAR_MISSES: usize = 1;

/// Every severity that a pattern may have, from the least.
pub const PATTERN_LEVELS: [Level; 6] =
    [Level::Info, Level::Low, Level::Medium, Level::Warning, Level::High, Level::Critical];

/// The objects that patterns are looked for in.
#[derive(Debug, Clone, Copy)]
pub struct FindingContext<'s> {
    /// All objects.
    pub graph: &'s Graph,
    /// Where objects were read.
    pub positions: &'s ObjectPositions,
    /// How many objects there are.
    pub objects: usize,
}

/// Which findings count and are shown.
#[derive(Debug, Clone, Copy, Default)]
pub struct FindingOptions<'s> {
    /// From which severity on a finding is a failure; nothing when none is.
    pub fail_on: Option<Level>,
    /// Whether only failures are shown.
    pub is_quiet: bool,
    /// Whether suppressed findings are shown.
    pub shows_suppressed: bool,
    /// Whether the table shows every finding of a pattern with many.
    pub shows_all: bool,
    /// The namespace of written K8sPattern and Smell resources.
    pub resource_namespace: &'s str,
    /// Whether these resources are put into the namespace of what they are about.
    pub is_beside_object: bool,
}

/// The findings of patterns in a set of objects.
#[derive(Debug)]
#[non_exhaustive]
pub struct ReportedFindings<'s> {
    /// The objects.
    pub context: FindingContext<'s>,
    /// Which findings count and are shown.
    pub options: FindingOptions<'s>,
    /// One for each pattern, in the order of their names.
    pub runs: Vec<PatternRun<'s>>,
    /// The findings.
    pub rows: Vec<FindingRow<'s>>,
    /// What the patterns themselves complain about.
    pub diagnostics: Vec<Diagnostic>,
}

/// What came of one pattern.
#[derive(Debug)]
#[non_exhaustive]
pub struct PatternRun<'s> {
    /// The pattern.
    pub pattern: &'s Pattern,
    /// How many findings there are, suppressed ones aside.
    pub findings: usize,
    /// How many findings are suppressed.
    pub suppressed: usize,
    /// Whether there may be more.
    pub truncated: bool,
    /// How many objects were looked at as leaders.
    pub leaders: usize,
}

/// One finding.
#[derive(Debug)]
#[non_exhaustive]
pub struct FindingRow<'s> {
    /// The pattern.
    pub pattern: &'s Pattern,
    /// What was found.
    pub finding: PatternFinding,
    /// Why it is suppressed, if it is; may be empty.
    pub suppression: Option<Text>,
    /// For each missing relationship, by its id, the object that nearly is in it.
    pub near: Vec<(Text, String)>,
}

impl<'s> ReportedFindings<'s> {
    /// Looks for `patterns` in the objects of `context`, on as many as `threads` threads.
    #[must_use]
    pub fn detect(
        patterns: &'s [Pattern],
        context: FindingContext<'s>,
        options: FindingOptions<'s>,
        (settings, threads): (&DetectionSettings, usize),
    ) -> Self {
        let found = patterns::detect_all(patterns, context.graph, settings, threads);
        let runs = Vec::with_capacity(found.len());
        let mut findings = Self { context, options, runs, rows: Vec::new(), diagnostics: Vec::new() };
        for (pattern, found) in patterns.iter().zip(found) {
            findings.add(pattern, found);
        }
        findings.rows.compact_sort_by_key(|row| Reverse(row.finding.severity));
        findings.find_near_misses();
        findings
    }

    /// Leaves only findings whose leader is one that `is_wanted` takes; those without a leader stay.
    pub fn retain_leaders(&mut self, is_wanted: impl Fn(&GraphNode) -> bool) {
        let graph = self.context.graph;
        let leader = |row: &FindingRow<'_>| row.finding.roles.first().and_then(|(_, id)| graph.node(*id));
        self.rows.retain(|row| leader(row).is_none_or(&is_wanted));
        self.count_again();
    }

    /// Leaves only findings whose leader was read from a file that `is_wanted` takes; those without a leader stay.
    pub fn retain_files(&mut self, is_wanted: impl Fn(&str) -> bool) {
        let rows = std::mem::take(&mut self.rows);
        let is_kept = |row: &FindingRow<'_>| self.position(row).is_none_or(|place| is_wanted(&place.file));
        self.rows = rows.into_iter().filter(is_kept).collect();
        self.count_again();
    }

    /// Counts the findings of each pattern after some were left out.
    fn count_again(&mut self) {
        for run in &mut self.runs {
            let rows = || self.rows.iter().filter(|row| std::ptr::eq(row.pattern, run.pattern));
            run.suppressed = rows().filter(|row| row.suppression.is_some()).count();
            run.findings = rows().count() - run.suppressed;
        }
    }

    /// Returns the findings that are to be shown.
    pub(crate) fn shown(&self) -> impl Iterator<Item = &FindingRow<'s>> {
        let is_shown = |row: &&FindingRow<'s>| {
            (row.suppression.is_none() || self.options.shows_suppressed)
                && (!self.options.is_quiet || self.is_failure(row))
        };
        self.rows.iter().filter(is_shown)
    }

    /// Returns every finding that is shown, at the line of its leader, or of its pattern.
    pub(crate) fn annotations(&self) -> Vec<Annotation<'_>> {
        self.shown().map(|row| self.annotation(row)).collect()
    }

    pub(crate) fn annotation<'f>(&'f self, row: &'f FindingRow<'s>) -> Annotation<'f> {
        let level = if row.suppression.is_some() {
            AnnotationLevel::Notice
        } else {
            Severity::from(row.finding.severity).into()
        };
        let mut text = row.finding.message.clone();
        for reason in finding_reasons(self, row) {
            text.push_str(&format!("\n{reason}"));
        }
        let location = &row.pattern.location;
        let (file, position) = match self.position(row) {
            Some(place) => (Cow::Owned(place.file.to_string()), place.position),
            None => (Cow::Borrowed(location.source.name.as_str()), location.position),
        };
        let objects: Vec<String> = row.finding.roles.iter().map(|(_, id)| self.label(*id)).collect();
        Annotation {
            level,
            severity: row.finding.severity.into(),
            identity: objects.join("\n"),
            file,
            position,
            title: row.pattern.name.to_string(),
            text,
        }
    }

    /// Returns whether a finding counts for the exit code.
    pub(crate) fn is_failure(&self, row: &FindingRow<'_>) -> bool {
        row.suppression.is_none() && self.options.fail_on.is_some_and(|least| row.finding.severity >= least)
    }

    /// Returns whether any finding does.
    #[must_use]
    pub fn has_failures(&self) -> bool {
        self.rows.iter().any(|row| self.is_failure(row))
    }

    /// Returns how many findings of each severity there are, the worst first; suppressed ones aside.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (Level, usize)> {
        let of = |level: Level| {
            let counted = |row: &&FindingRow<'_>| row.suppression.is_none() && row.finding.severity == level;
            self.rows.iter().filter(counted).count()
        };
        PATTERN_LEVELS.into_iter().rev().map(move |level| (level, of(level)))
    }

    /// Returns how many findings are suppressed.
    pub(crate) fn suppressed(&self) -> usize {
        self.runs.iter().map(|run| run.suppressed).sum()
    }

    /// Returns whether there may be more findings than are listed.
    pub(crate) fn is_truncated(&self) -> bool {
        self.runs.iter().any(|run| run.truncated)
    }

    /// Returns a node of the graph.
    pub(crate) fn node(&self, id: Id) -> Option<&'s GraphNode> {
        self.context.graph.node(id)
    }

    /// Returns where the leader of a finding was read.
    pub(crate) fn position(&self, row: &FindingRow<'_>) -> Option<FilePosition> {
        row.finding.roles.first().and_then(|(_, id)| self.context.positions.get(*id))
    }

    /// Returns `Kind namespace/name` of a node.
    pub(crate) fn label(&self, id: Id) -> String {
        self.node(id).map(object_label).unwrap_or_default()
    }

    fn add(&mut self, pattern: &'s Pattern, found: Result<PatternFindings, Exhausted>) {
        let found = match found {
            Ok(found) => found,
            Err(exhausted) => {
                self.diagnostics.push(patterns::exhausted_diagnostic(pattern, exhausted));
                PatternFindings { truncated: true, ..PatternFindings::default() }
            }
        };
        // The user cannot mend a pattern that ships, and need not have all kinds that it asks for.
        if !is_shipped(pattern) && self.context.objects > 0 {
            self.diagnostics.extend(found.diagnostics);
        }
        let rows: Vec<FindingRow<'s>> = found
            .findings
            .into_iter()
            .map(|finding| {
                let leader = finding.roles.first().map(|(_, leader)| *leader);
                let suppression = leader.and_then(|id| self.context.suppression(&pattern.name, id));
                FindingRow { pattern, finding, suppression, near: Vec::new() }
            })
            .collect();
        let suppressed = rows.iter().filter(|row| row.suppression.is_some()).count();
        self.runs.push(PatternRun {
            pattern,
            findings: rows.len() - suppressed,
            suppressed,
            truncated: found.truncated,
            leaders: found.leaders,
        });
        self.rows.extend(rows);
    }

    /// Looks for what nearly is in the relationships that are missing, for as many findings as is cheap.
    fn find_near_misses(&mut self) {
        let graph = self.context.graph;
        let mut budget = Budget::default();
        for row in &mut self.rows {
            let Some((_, leader)) = row.finding.roles.first() else { continue };
            for missing in row.finding.evidence.iter().filter(|evidence| !evidence.held && !evidence.wanted) {
                match patterns::near_misses(
                    row.pattern,
                    &missing.entry,
                    *leader,
                    graph,
                    MAX_NEAR_MISSES,
                    &mut budget,
                ) {
                    Ok(Some(near)) => row.near.push((missing.entry.clone(), near.hint(graph))),
                    Ok(None) => {}
                    Err(_) => return,
                }
            }
        }
    }
}

impl FindingContext<'_> {
    /// Returns why the leader of a finding of `pattern` suppresses it, if it does; may be empty.
    #[must_use]
    pub fn suppression(&self, pattern: &str, leader: Id) -> Option<Text> {
        suppression(self.graph.node(leader)?.object.as_ref()?, pattern)
    }
}

/// Returns `Kind namespace/name`.
#[must_use]
pub fn object_label(node: &GraphNode) -> String {
    match node.namespace.as_str() {
        "" => format!("{} {}", node.kind, node.name),
        namespace => format!("{} {namespace}/{}", node.kind, node.name),
    }
}
