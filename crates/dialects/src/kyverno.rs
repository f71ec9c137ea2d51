//! Kyverno's validate rules: judge one object by patterns, conditions and loops.
//!
//! How this differs from Kyverno 1.19, and why, is in `docs/dialects/kyverno.md`.

mod autogen;
mod check;
mod compile;
mod conditions;
mod context;
mod diagnostics;
mod evaluate;
mod images;
mod matching;
mod message;
mod mixed;
mod notes;
mod operator;
mod pattern;
mod pod_security;
mod source;
mod template;
mod trace;

use kubewright_engine::{Code, Compiled, Dialect};
use kubewright_lang::jmespath::Functions;
use kubewright_value::{Document, Value};

use crate::Options;

/// The name that starts every rule id.
const NAME: &str = "kyverno";

const GROUP: &str = "kyverno.io/";
const KINDS: [&str; 2] = ["ClusterPolicy", "Policy"];

/// The dialect.
pub struct Kyverno {
    functions: Functions,
    exceptions: Vec<source::Exception>,
}

impl Kyverno {
    /// Returns the dialect as `options` want it.
    #[must_use]
    pub fn new(options: &Options) -> Self {
        let exceptions =
            options.exceptions.iter().filter_map(|document| source::read_exception(document).0).collect();
        Self { functions: Functions::kubernetes(), exceptions }
    }
}

impl Dialect for Kyverno {
    fn name(&self) -> &'static str {
        NAME
    }

    fn claims(&self, document: &Document) -> bool {
        field(document, "apiVersion").starts_with(GROUP) && KINDS.contains(&field(document, "kind"))
    }

    fn is_meant(&self, document: &Document) -> bool {
        field(document, "kind") == "ClusterPolicy" && document.value.at(&["spec", "rules"]).is_some()
    }

    fn compile(&self, document: &Document) -> Compiled {
        compile::compile(self, document)
    }

    fn codes(&self) -> &'static [&'static Code] {
        diagnostics::CODES
    }
}

fn field<'d>(document: &'d Document, key: &str) -> &'d str {
    document.value.get(key).and_then(Value::as_str).unwrap_or_default()
}
