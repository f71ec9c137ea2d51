//! The search for a pattern with a few leaders: nothing is listed that they do not lead to.

use std::panic::{AssertUnwindSafe, catch_unwind};

use kubewright_graph::{Graph, Id};
use kubewright_value::{Budget, Exhausted};

use super::super::finding::PatternFinding;
use super::super::pattern::Pattern;
use super::all::DetectionFailure;
use super::candidates::Candidates;
use super::{DetectionSettings, PatternSearch};

/// Searches, and turns a panic into a failure: a defect in the search for one pattern must not end the others.
pub(crate) fn contain_panic<T>(search: impl FnOnce() -> Result<T, Exhausted>) -> Result<T, DetectionFailure> {
    match catch_unwind(AssertUnwindSafe(search)) {
        Ok(result) => result.map_err(DetectionFailure::Exhausted),
        Err(_) => Err(DetectionFailure::Panicked),
    }
}

/// The findings of a few leaders.
#[derive(Debug, Default)]
pub(crate) struct LeaderFindings {
    /// By leader in canonical order.
    pub(crate) findings: Vec<PatternFinding>,
    /// Whether a leader has more findings than the limits allow.
    pub(crate) is_truncated: bool,
}

/// Looks for `pattern` with `leaders`, which may not be candidates at all. What is found for one leader is what a search with
/// all leaders finds for it, unless the pattern counts exchanged roles as one.
///
/// # Errors
/// When the budget is used up.
pub(crate) fn detect_leaders(
    pattern: &Pattern,
    (graph, settings): (&Graph, &DetectionSettings),
    leaders: &[Id],
    budget: &mut Budget,
) -> Result<LeaderFindings, Exhausted> {
    let candidates = pattern.roles.iter().map(|role| Candidates::on_demand(role, graph, settings)).collect();
    let mut search = PatternSearch::new(pattern, graph, settings, candidates);
    for leader in leaders {
        let candidates = search.candidates.get(pattern.leader);
        if candidates.is_some_and(|found| found.contains(*leader)) && search.is_wanted(*leader) {
            search.leader(*leader, settings.per_leader, budget)?;
        }
        if let Some(exhausted) = search.candidates.iter().find_map(Candidates::exhausted) {
            return Err(exhausted);
        }
    }
    Ok(LeaderFindings { findings: search.found.findings, is_truncated: search.found.truncated })
}
