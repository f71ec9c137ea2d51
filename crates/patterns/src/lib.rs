//! Patterns: shapes in the graph of objects, such as a Service without Pods or two Pods that should be one.
//!
//! Two dialects are read into one form: the contract (`kubepattern.it/v1`: resources, actors, relationships that veto
//! or score) and its successor (`kubepattern.dev/v1`: a target, its dependencies, and criteria between them).

mod candidacy;
mod compile;
mod criteria;
mod describe;
mod detect;
mod diagnostics;
mod filter;
mod finding;
mod key;
mod lint;
mod live;
mod message;
mod near;
mod operator;
mod pattern;
mod points;
mod relate;
pub mod resources;
pub mod shipped;
mod source;
pub mod suppression;
mod trim;
mod types;

pub use candidacy::{Candidacy, ConditionCheck, candidacies_of, count_filtered_leaders};
pub use describe::{RelationshipSummary, ResourceSummary};
pub use detect::{DetectionSettings, detect, detect_all, detection_budget, exhausted_diagnostic};
pub use finding::{
    Confidence, DetectionPhase, Evidence, LeaderTrace, PatternFinding, PatternFindings, TraceStep,
};
pub use live::{
    FindingChange, FindingObject, IncompletePattern, IncompleteReason, LiveFinding, LivePatterns,
    RedetectionCounts,
};
pub use near::{LabelDifference, MissReason, NearMiss, NearMisses, near_misses};
pub use pattern::{Level, Pattern, RelationshipList, Topology};
pub use points::Points;
pub use trim::{ObjectTrimmer, SharedObjects};

use std::sync::Arc;

use kubewright_engine::{Code, CompiledPolicy, Diagnostic, Dialect, RuleId, SetProgram};
use kubewright_graph::References;
use kubewright_value::{Document, Text, Value};

/// Returns whether `document` is a pattern of either dialect.
#[must_use]
pub fn is_pattern_document(document: &Document) -> bool {
    source::pattern_version(document).is_some_and(|version| version.starts_with("kubepattern."))
        && matches!(document.value.get("kind").and_then(Value::as_str), Some("Pattern" | "PatternAsCode"))
}

/// Returns whether `code` is about patterns.
#[must_use]
pub fn is_pattern_code(code: &Code) -> bool {
    diagnostics::CODES.contains(&code)
}

/// Returns whether `code` says that no object has a kind that a pattern asks for.
#[must_use]
pub fn is_missing_kind(code: &Code) -> bool {
    [&diagnostics::KIND_NOT_THERE, &diagnostics::EMPTY_VETO].contains(&code)
}

/// Compiles a pattern. Where there is a mistake in it, there is none; what is doubtful is said as well.
#[must_use]
pub fn compile_pattern_document(document: &Document) -> (Option<Pattern>, Vec<Diagnostic>) {
    compile_pattern_with(document, &[])
}

/// Compiles a pattern that may use the declared edge types `own_types` besides the built-in ones.
#[must_use]
pub fn compile_pattern_with(document: &Document, own_types: &[Text]) -> (Option<Pattern>, Vec<Diagnostic>) {
    if !is_within_size(&document.value, &mut { MAX_PATTERN_VALUES }) {
        let message = format!("a pattern has at most {MAX_PATTERN_VALUES} fields and values");
        return (None, vec![Diagnostic::new(&diagnostics::TOO_LARGE, message, document.locate(&[]))]);
    }
    let (definition, mut diagnostics) = source::read_definition(document);
    let Some(definition) = definition else { return (None, diagnostics) };
    let (pattern, mut wrong) = compile::compile_definition(&definition, document, own_types);
    if diagnostics.iter().any(Diagnostic::is_error) {
        // Fields with errors are missing from the definition; errors that follow from that are not reported.
        let is_reported = |wrong: &Diagnostic| {
            let place = wrong.location.position;
            diagnostics
                .iter()
                .any(|reported| reported.code == wrong.code && reported.location.position == place)
        };
        wrong.retain(|wrong| INDEPENDENT_CODES.contains(&wrong.code.id) && !is_reported(wrong));
        diagnostics.extend(wrong);
        return (None, diagnostics);
    }
    diagnostics.extend(wrong);
    if let Some(pattern) = &pattern {
        diagnostics.extend(lint::lint_pattern(pattern, &definition, document));
    }
    (pattern, diagnostics)
}

/// The maximum number of fields and values of a pattern: locating one takes time linear in those before it.
const MAX_PATTERN_VALUES: usize = 10_000;

/// Returns whether `value` has no more parts than are left.
fn is_within_size(value: &Value, left: &mut usize) -> bool {
    let Some(rest) = left.checked_sub(1) else { return false };
    *left = rest;
    match value {
        Value::Array(_) => value.as_array().unwrap_or_default().iter().all(|item| is_within_size(item, left)),
        Value::Object(map) => map.values().all(|item| is_within_size(item, left)),
        _ => true,
    }
}

/// The codes of mistakes that do not follow from others: types, ids, paths, placeholders, expressions.
const INDEPENDENT_CODES: [&str; 5] = [
    diagnostics::UNKNOWN_VALUE.id,
    diagnostics::UNKNOWN_ID.id,
    diagnostics::BAD_KEY.id,
    diagnostics::BAD_MESSAGE.id,
    diagnostics::BAD_TRANSFORM.id,
];

/// Returns the built-in references with those that `documents` declare, and diagnostics.
#[must_use]
pub fn read_references(documents: &[Document]) -> (References, Vec<Diagnostic>) {
    let nothing = (References::default(), Vec::new());
    documents.iter().filter(|document| References::is_one(document)).fold(
        nothing,
        |(known, mut wrong), document| {
            let (more, mistakes) = known.with(document);
            wrong.extend(mistakes);
            (more, wrong)
        },
    )
}

/// The pattern dialect. A pattern is not a rule about one object; it is searched in a graph of many objects.
#[derive(Debug, Default)]
pub struct PatternDialect;

impl Dialect for PatternDialect {
    fn name(&self) -> &'static str {
        "pattern"
    }

    fn claims(&self, document: &Document) -> bool {
        is_pattern_document(document)
    }

    fn looks_like(&self, document: &Document) -> bool {
        source::pattern_version(document).is_some_and(|version| version.starts_with("kubepattern."))
    }

    fn is_auxiliary(&self, document: &Document) -> bool {
        References::is_one(document)
    }

    fn compile(&self, document: &Document, auxiliaries: &[Document]) -> CompiledPolicy {
        let own_types = read_references(auxiliaries).0.own_types().to_vec();
        let diagnostics = compile_pattern_with(document, &own_types).1;
        let set_programs = vec![SetProgram::Pattern];
        CompiledPolicy { diagnostics, set_programs, ..CompiledPolicy::default() }
    }

    fn check_auxiliaries(&self, auxiliaries: &[Document], _rules: &[Arc<RuleId>]) -> Vec<Diagnostic> {
        read_references(auxiliaries).1
    }

    fn codes(&self) -> &'static [&'static Code] {
        diagnostics::CODES
    }
}

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
