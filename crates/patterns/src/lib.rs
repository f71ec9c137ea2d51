//! Patterns: shapes in the graph of objects, such as a Service that leads nowhere or two Pods that should be one.
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
mod message;
mod near;
mod operator;
mod pattern;
mod points;
mod relate;
pub mod resources;
pub mod shipped;
mod source;
mod types;

pub use candidacy::{Candidacy, Checked, candidacies, left_out};
pub use describe::{Relationship, Resource};
pub use detect::{Settings, budget, detect, detect_all, exhausted};
pub use finding::{Confidence, Evidence, Finding, Findings, Phase, Trace, TraceStep};
pub use near::{Difference, Miss, Near, Nearest, nearest};
pub use pattern::{Level, List, Pattern, Topology};
pub use points::Points;

use kubewright_engine::{Code, CompiledPolicy, Diagnostic, Dialect, Rule, SetProgram};
use kubewright_graph::References;
use kubewright_value::{Document, Text, Value};

/// Returns whether `document` is a pattern of either dialect.
#[must_use]
pub fn is_pattern(document: &Document) -> bool {
    source::version(document).is_some_and(|version| version.starts_with("kubepattern."))
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
pub fn compile(document: &Document) -> (Option<Pattern>, Vec<Diagnostic>) {
    compile_with(document, &[])
}

/// Compiles a pattern that may use relationships of the types `own_types` beside those that are built in.
#[must_use]
pub fn compile_with(document: &Document, own_types: &[Text]) -> (Option<Pattern>, Vec<Diagnostic>) {
    if !is_within(&document.value, &mut { MOST_PARTS }) {
        let message = format!("a pattern has at most {MOST_PARTS} fields and values");
        return (None, vec![Diagnostic::new(&diagnostics::TOO_LARGE, message, document.locate(&[]))]);
    }
    let (definition, mut diagnostics) = source::read(document);
    let Some(definition) = definition else { return (None, diagnostics) };
    let (pattern, mut wrong) = compile::compile(&definition, document, own_types);
    if diagnostics.iter().any(Diagnostic::is_error) {
        // What could not be read is missing from the definition, and whatever follows from that is no mistake.
        let is_told = |wrong: &Diagnostic| {
            let place = wrong.location.position;
            diagnostics.iter().any(|told| told.code == wrong.code && told.location.position == place)
        };
        wrong.retain(|wrong| INDEPENDENT.contains(&wrong.code.id) && !is_told(wrong));
        diagnostics.extend(wrong);
        return (None, diagnostics);
    }
    diagnostics.extend(wrong);
    if let Some(pattern) = &pattern {
        diagnostics.extend(lint::lint(pattern, &definition, document));
    }
    (pattern, diagnostics)
}

/// How many parts a pattern has at most: finding where one stands takes as long as there are others before it.
const MOST_PARTS: usize = 10_000;

/// Returns whether `value` has no more parts than are left.
fn is_within(value: &Value, left: &mut usize) -> bool {
    let Some(rest) = left.checked_sub(1) else { return false };
    *left = rest;
    match value {
        Value::Array(_) => value.as_array().unwrap_or_default().iter().all(|item| is_within(item, left)),
        Value::Object(map) => map.values().all(|item| is_within(item, left)),
        _ => true,
    }
}

/// The codes of mistakes that do not follow from others: types, ids, paths, placeholders, expressions.
const INDEPENDENT: [&str; 5] = [
    diagnostics::UNKNOWN_VALUE.id,
    diagnostics::UNKNOWN_ID.id,
    diagnostics::BAD_KEY.id,
    diagnostics::BAD_MESSAGE.id,
    diagnostics::BAD_TRANSFORM.id,
];

/// Returns the references that `documents` teach beside those that are known, and what is wrong with them.
#[must_use]
pub fn taught(documents: &[Document]) -> (References, Vec<Diagnostic>) {
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

/// The dialect. A pattern is no rule about one object: it is looked for in a graph of many.
#[derive(Debug, Default)]
pub struct Patterns;

impl Dialect for Patterns {
    fn name(&self) -> &'static str {
        "pattern"
    }

    fn claims(&self, document: &Document) -> bool {
        is_pattern(document)
    }

    fn looks_like(&self, document: &Document) -> bool {
        source::version(document).is_some_and(|version| version.starts_with("kubepattern."))
    }

    fn is_auxiliary(&self, document: &Document) -> bool {
        References::is_one(document)
    }

    fn compile(&self, document: &Document, auxiliaries: &[Document]) -> CompiledPolicy {
        let own_types = taught(auxiliaries).0.own_types().to_vec();
        let diagnostics = compile_with(document, &own_types).1;
        let set_programs = vec![SetProgram::Pattern];
        CompiledPolicy { diagnostics, set_programs, ..CompiledPolicy::default() }
    }

    fn check_auxiliaries(&self, auxiliaries: &[Document], _rules: &[Rule]) -> Vec<Diagnostic> {
        taught(auxiliaries).1
    }

    fn codes(&self) -> &'static [&'static Code] {
        diagnostics::CODES
    }
}

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
