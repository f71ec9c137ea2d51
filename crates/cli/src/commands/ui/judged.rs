//! What rules do to objects, with traces. Each object is decided once, unless there are so many that most have no trace.

use std::sync::atomic::{AtomicUsize, Ordering};

use kubewright_engine::Diagnostic;
use kubewright_files as files;
use kubewright_report::render::totals_value;
use kubewright_report::{ObjectRow, OutcomeCounts, OutcomeRow, Totals};
use kubewright_value::{Document, Value};

use super::attempt::{coverage_values, object_value};
use super::deadline::check_time;
use super::large;
use crate::arguments::ApplyArguments;
use crate::commands::trace::{OutOfScopeRule, out_of_scope_rules};
use crate::failure::CommandFailure;
use crate::output::Columns;
use crate::review::Reviewer;
use crate::rule_inputs::RuleInputs;
use crate::rules;

/// What rules did.
#[derive(Default)]
pub(super) struct Judged {
    /// The objects as `apply` tells them.
    pub(super) objects: Vec<Value>,
    /// Whether [`objects`](Self::objects) leave something out.
    pub(super) is_large: bool,
    /// Objects with traces.
    pub(super) rows: Vec<(ObjectRow, Vec<OutOfScopeRule>)>,
    pub(super) diagnostics: Vec<Diagnostic>,
    pub(super) summary: Value,
    pub(super) coverage: Vec<Value>,
}

/// Judges the objects that `arguments` name by the rules that they name.
///
/// # Errors
/// When nothing can be judged at all.
pub(super) fn judge_objects(
    arguments: &ApplyArguments,
    open: impl FnOnce() -> Result<RuleInputs, CommandFailure>,
) -> Result<Judged, CommandFailure> {
    if arguments.rules.rules.is_empty() || arguments.objects.resources.is_empty() {
        return Ok(checked_only(arguments));
    }
    let inputs = open()?;
    let (mut judged, problems) = review_all(&inputs)?;
    let counts = take_trace_only(&mut judged);
    let rows: Vec<&ObjectRow> = judged.iter().map(|one| &one.row).collect();
    let is_large = large::is_large(&rows);
    let objects: Vec<Value> = rows.iter().map(|row| shown_object(row, is_large)).collect();
    let chosen = large::traced_objects(&rows);
    let is_partly_traced = chosen.len() < objects.len();
    let rows = trace_chosen(&inputs, judged, &chosen)?;
    let rules = inputs.engine.rules();
    let mut coverage = coverage_values(rules.iter().map(|rule| &**rule), &rows);
    if is_partly_traced {
        // Another object may have reached the other lines.
        coverage.retain(|line| line.get("reached").and_then(Value::as_bool) == Some(true));
    }
    let summary = totals_value(&Totals { rules, objects: objects.len(), counts, findings: None });
    let mut diagnostics = inputs.diagnostics;
    diagnostics.extend(problems);
    Ok(Judged { objects, is_large, rows, diagnostics, summary, coverage })
}

const PLAIN: Columns =
    Columns { all_outcomes: true, patch: true, objects: true, trace: false, case_places: false };
const TRACED: Columns = Columns { trace: true, ..PLAIN };

/// An object that was judged.
struct JudgedObject {
    document: Document,
    row: ObjectRow,
    is_traced: bool,
    /// The outcomes that `apply` does not tell, with their places among all.
    trace_only: Vec<(usize, OutcomeRow)>,
}

/// Judges all objects: with traces as long as there are so few outcomes that each has one.
fn review_all(inputs: &RuleInputs) -> Result<(Vec<JudgedObject>, Vec<Diagnostic>), CommandFailure> {
    let (plain, tracing) = (inputs.reviewer(PLAIN), inputs.reviewer(TRACED));
    let outcomes = AtomicUsize::new(0);
    let review = |document: &Document| {
        let is_traced = outcomes.load(Ordering::Relaxed) <= large::MAX_WHOLE_OUTCOMES;
        let row = if is_traced { &tracing } else { &plain }.review(document);
        let told = row.outcomes.iter().filter(|outcome| !outcome.is_trace_only).count();
        outcomes.fetch_add(told, Ordering::Relaxed);
        JudgedObject { document: document.clone(), row, is_traced, trace_only: Vec::new() }
    };
    let mut judged = Vec::new();
    let problems = files::stream_objects(&inputs.manifests, inputs.wanted(), review, |one, _| {
        judged.push(one);
        Ok(())
    })?;
    Ok((judged, problems))
}

/// Puts the outcomes that `apply` does not tell aside, and counts the others.
fn take_trace_only(judged: &mut [JudgedObject]) -> OutcomeCounts {
    let mut counts = OutcomeCounts::default();
    for one in judged {
        let all = std::mem::take(&mut one.row.outcomes);
        for (place, outcome) in all.into_iter().enumerate() {
            match outcome.is_trace_only {
                true => one.trace_only.push((place, outcome)),
                false => one.row.outcomes.push(outcome),
            }
        }
        for (_, outcome) in &one.trace_only {
            *one.row.counts.of_mut(outcome.status) -= 1;
        }
        counts += one.row.counts;
    }
    counts
}

fn shown_object(row: &ObjectRow, is_large: bool) -> Value {
    let mut value = object_value(row);
    if is_large {
        large::shorten_object(&mut value, row);
    }
    value
}

/// Returns the objects at the `chosen` places with all their traces.
fn trace_chosen(
    inputs: &RuleInputs,
    judged: Vec<JudgedObject>,
    chosen: &[usize],
) -> Result<Vec<(ObjectRow, Vec<OutOfScopeRule>)>, CommandFailure> {
    let tracing = inputs.reviewer(TRACED);
    let places = judged.into_iter().enumerate();
    let chosen: Vec<_> =
        places.filter(|(at, _)| chosen.binary_search(at).is_ok()).map(|(_, one)| one).collect();
    // Why rules do not apply is no evaluation that the deadline interrupts.
    let trace = |one: &JudgedObject| {
        let is_in_time = check_time().is_ok();
        is_in_time.then(|| late_trace(&tracing, one))
    };
    let traces = files::workers::run_on_workers(&chosen, trace)?;
    let rows = chosen.into_iter().zip(traces).filter_map(|(one, trace)| {
        let (again, outside) = trace?;
        Some((again.unwrap_or_else(|| with_trace_only(one)), outside))
    });
    Ok(rows.collect())
}

/// Traces an object that has no trace yet, and says which rules are not about it.
fn late_trace(tracing: &Reviewer<'_>, one: &JudgedObject) -> (Option<ObjectRow>, Vec<OutOfScopeRule>) {
    let again = (!one.is_traced).then(|| tracing.review(&one.document));
    (again, out_of_scope_rules(tracing, &one.document))
}

/// Returns the row with all its outcomes in their places.
fn with_trace_only(one: JudgedObject) -> ObjectRow {
    let mut row = one.row;
    for (place, outcome) in one.trace_only {
        row.outcomes.insert(place.min(row.outcomes.len()), outcome);
    }
    row
}

/// Returns what is wrong with rules that have no objects yet.
fn checked_only(arguments: &ApplyArguments) -> Judged {
    let totals = Totals { rules: &[], objects: 0, counts: OutcomeCounts::default(), findings: None };
    let diagnostics = match arguments.rules.rules.is_empty() {
        true => Vec::new(),
        false => rules::load_rule_files(&arguments.rules, arguments.objects.namespace.as_deref()).diagnostics,
    };
    Judged { diagnostics, summary: totals_value(&totals), ..Judged::default() }
}
