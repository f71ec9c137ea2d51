//! Many patterns in one graph, shared among threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use kubewright_engine::Diagnostic;
use kubewright_graph::Graph;
use kubewright_value::{Budget, Exhausted, Limits};

use super::super::diagnostics as code;
use super::super::finding::PatternFindings;
use super::super::pattern::Pattern;
use super::candidates::Asking;
use super::shared::SharedAnswers;
use super::{DetectionSettings, detect_sharing};

/// Looks for each of `patterns` in `graph` with at most `threads` threads, and gives what came of each in their order.
/// Each has a budget of its own, so that one that needs too much takes nothing from the others.
#[must_use]
pub fn detect_all(
    patterns: &[Pattern],
    graph: &Graph,
    settings: &DetectionSettings,
    threads: usize,
) -> Vec<Result<PatternFindings, Exhausted>> {
    let shared = SharedAnswers::among(patterns.iter());
    let asking = Asking { graph, settings, shared: &shared };
    let one = |pattern: &Pattern| detect_sharing(pattern, &asking, &mut detection_budget(pattern, graph));
    let threads = if cfg!(target_family = "wasm") { 1 } else { threads.min(patterns.len()) };
    if threads <= 1 {
        return patterns.iter().map(one).collect();
    }
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(patterns.len()));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(pattern) = patterns.get(at) else { return };
                    let found = one(pattern);
                    done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((at, found));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, found)| found).collect()
}

/// Returns the budget of one search: so many steps for each object, more for a pattern that asks more.
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

/// Returns what to say about a pattern that needed more than its budget.
#[must_use]
pub fn exhausted_diagnostic(pattern: &Pattern, error: Exhausted) -> Diagnostic {
    let message = format!("the search for `{}` was stopped: {error}", pattern.name);
    Diagnostic::new(&code::EXHAUSTED, message, pattern.location.clone())
        .help("connect every actor with the leader by a required relationship, or pass fewer objects")
}

const BASE_STEPS: u64 = 5_000_000;
const STEPS_PER_OBJECT: u64 = 100;
const MAX_COUNTED_PARTS: usize = 16;
const BASE_BYTES: u64 = 32 << 20;
const BYTES_PER_OBJECT: u64 = 1 << 10;
