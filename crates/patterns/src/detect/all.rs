//! Many patterns in one graph, shared among threads.

use std::sync::atomic::Ordering;

use kubewright_engine::Diagnostic;
use kubewright_graph::Graph;
use kubewright_value::workers::map_in_parallel;
use kubewright_value::{Budget, Exhausted, Limits};

use super::super::diagnostics as code;
use super::super::finding::PatternFindings;
use super::super::pattern::Pattern;
use super::candidates::Asking;
use super::shared::SharedAnswers;
use super::some::contain_panic;
use super::{DetectionSettings, detect_sharing};

/// Searches `graph` for each of `patterns` with at most `threads` threads, and returns the results in their order.
/// Each pattern has its own budget, so that an expensive one does not affect the others.
#[must_use]
pub fn detect_all(
    patterns: &[Pattern],
    graph: &Graph,
    settings: &DetectionSettings,
    threads: usize,
) -> Vec<Result<PatternFindings, Exhausted>> {
    let shared = SharedAnswers::among(patterns.iter());
    let asking = Asking { graph, settings, shared: &shared };
    let one = |pattern: &Pattern| {
        let found = detect_sharing(pattern, &asking, &mut detection_budget(pattern, graph));
        if let Some(finished) = &settings.finished {
            finished.fetch_add(1, Ordering::Relaxed);
        }
        found
    };
    map_in_parallel(patterns, threads, one)
}

/// Many patterns that are looked for one after the other, each in the whole graph.
pub(crate) struct WholeSearch<'a> {
    graph: &'a Graph,
    settings: &'a DetectionSettings,
    shared: SharedAnswers<'a>,
}

/// Why a search has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DetectionFailure {
    Exhausted(Exhausted),
    Panicked,
}

impl<'a> WholeSearch<'a> {
    /// Prepares the search for `patterns`, which share what they ask of objects.
    pub(crate) fn new(
        patterns: impl Iterator<Item = &'a Pattern>,
        graph: &'a Graph,
        settings: &'a DetectionSettings,
    ) -> Self {
        Self { graph, settings, shared: SharedAnswers::among(patterns) }
    }

    /// Looks for one of the patterns.
    pub(crate) fn detect(&self, pattern: &Pattern) -> Result<PatternFindings, DetectionFailure> {
        let asking = Asking { graph: self.graph, settings: self.settings, shared: &self.shared };
        let budget = &mut detection_budget(pattern, self.graph);
        contain_panic(|| detect_sharing(pattern, &asking, budget))
    }
}

/// Returns the budget of one search, which grows with the number of objects and the size of the pattern.
#[must_use]
pub fn detection_budget(pattern: &Pattern, graph: &Graph) -> Budget {
    let conditions: usize = pattern.roles.iter().map(|role| role.filter.len()).sum();
    let asked = pattern.roles.len() + pattern.entries.len() + conditions;
    let objects = graph.len() as u64;
    let each = STEPS_PER_OBJECT.saturating_mul(asked.min(MAX_COUNTED_PARTS) as u64);
    let steps = BASE_STEPS.saturating_add(objects.saturating_mul(each));
    let bytes = BASE_BYTES.saturating_add(objects.saturating_mul(BYTES_PER_OBJECT));
    Budget::new(Limits { steps, bytes, ..Limits::default() })
}

/// Returns the diagnostic of a pattern that exceeded its budget.
#[must_use]
pub fn exhausted_diagnostic(pattern: &Pattern, error: Exhausted) -> Diagnostic {
    let message = format!("the search for `{}` was stopped: {error}", pattern.name);
    Diagnostic::new(&code::EXHAUSTED, message, pattern.location.clone())
        .help("connect every actor with the leader by a required relationship, or pass fewer objects")
}

/// The budget of any search, and what each object adds.
const BASE_STEPS: u64 = 5_000_000;
const STEPS_PER_OBJECT: u64 = 100;
/// The roles, relationships and conditions of a pattern that enlarge its budget.
const MAX_COUNTED_PARTS: usize = 16;
const BASE_BYTES: u64 = 32 << 20;
const BYTES_PER_OBJECT: u64 = 1 << 10;
