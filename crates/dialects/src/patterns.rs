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

use kubewright_engine::{Code, Compiled, Diagnostic, Dialect, Rule};
use kubewright_graph::References;
use kubewright_value::{Document, Text, Value};

/// Returns whether `document` is a pattern of either dialect.
#[must_use]
pub fn is_pattern(document: &Document) -> bool {
    source::version(document).is_some_and(|version| version.starts_with("kubepattern."))
        && matches!(document.value.get("kind").and_then(Value::as_str), Some("Pattern" | "PatternAsCode"))
}

/// Compiles a pattern. Where there is a mistake in it, there is none; what is doubtful is said as well.
#[must_use]
pub fn compile(document: &Document) -> (Option<Pattern>, Vec<Diagnostic>) {
    compile_with(document, &[])
}

/// Compiles a pattern that may use relationships of the types `own_types` beside those that are built in.
#[must_use]
pub fn compile_with(document: &Document, own_types: &[Text]) -> (Option<Pattern>, Vec<Diagnostic>) {
    let (definition, mut diagnostics) = source::read(document);
    let Some(definition) = definition else { return (None, diagnostics) };
    let (pattern, wrong) = compile::compile(&definition, document, own_types);
    diagnostics.extend(wrong);
    if let Some(pattern) = &pattern {
        diagnostics.extend(lint::lint(pattern, &definition, document));
    }
    (pattern, diagnostics)
}

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

    fn is_meant(&self, document: &Document) -> bool {
        source::version(document).is_some_and(|version| version.starts_with("kubepattern."))
    }

    fn is_companion(&self, document: &Document) -> bool {
        References::is_one(document)
    }

    fn compile(&self, document: &Document, beside: &[Document]) -> Compiled {
        let own_types = taught(beside).0.own_types().to_vec();
        Compiled { diagnostics: compile_with(document, &own_types).1, others: 1, ..Compiled::default() }
    }

    fn check_companions(&self, companions: &[Document], _rules: &[Rule]) -> Vec<Diagnostic> {
        taught(companions).1
    }

    fn codes(&self) -> &'static [&'static Code] {
        diagnostics::CODES
    }
}
