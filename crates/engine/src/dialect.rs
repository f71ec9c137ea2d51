//! The seam between the engine and a rule language.

use kubewright_value::Document;

use crate::{Code, Diagnostic, InCluster, Rule};

/// One rule language.
pub trait Dialect: Send + Sync {
    /// Returns the name that starts every rule id.
    fn name(&self) -> &'static str;

    /// Returns whether `document` is written in this language.
    fn claims(&self, document: &Document) -> bool;

    /// Returns whether `document` was probably meant to be written in this language, and is not.
    fn is_meant(&self, document: &Document) -> bool;

    /// Returns whether `document` is no rule itself and says something about rules of this language, such as where they hold.
    fn is_companion(&self, _document: &Document) -> bool {
        false
    }

    /// Compiles a claimed document. A rule with a mistake in it is left out, the others of the document are not.
    ///
    /// `beside` are the companions that were loaded with it, of which some may be about other documents.
    fn compile(&self, document: &Document, beside: &[Document]) -> Compiled;

    /// Returns what is wrong with companions of `rules`.
    fn check_companions(&self, _companions: &[Document], _rules: &[Rule]) -> Vec<Diagnostic> {
        Vec::new()
    }

    /// Returns what the language is where its rules live in a cluster, if they can.
    fn in_cluster(&self) -> Option<&dyn InCluster> {
        None
    }

    /// Returns the codes of the mistakes this language can report.
    fn codes(&self) -> &'static [&'static Code];
}

/// The rules of a document, and what is wrong with it.
#[derive(Debug, Default)]
pub struct Compiled {
    /// The rules that can run.
    pub rules: Vec<Rule>,
    /// Every mistake, in the order in which they stand.
    pub diagnostics: Vec<Diagnostic>,
    /// How many parts were read that are no rules about one object, and are run in another way.
    pub others: usize,
}
