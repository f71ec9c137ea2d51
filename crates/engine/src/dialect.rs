//! The seam between the engine and a rule language.

use std::fmt;
use std::sync::Arc;

use kubewright_value::{Document, Value};

use crate::{
    BackgroundProgram, ClusterSupport, Code, Diagnostic, NativeRule, Needs, Rule, RuleId, WebhookPlan,
};

/// One rule language.
pub trait Dialect: Send + Sync {
    /// Returns the name that starts every rule id.
    fn name(&self) -> &'static str;

    /// Returns whether `document` is written in this language.
    fn claims(&self, document: &Document) -> bool;

    /// Returns whether `document` was probably meant to be written in this language, and is not.
    fn looks_like(&self, document: &Document) -> bool;

    /// Returns whether `document` is auxiliary: no rule itself, but it changes how rules of this language work, as a
    /// binding does.
    fn is_auxiliary(&self, _document: &Document) -> bool {
        false
    }

    /// Compiles a claimed document. A rule with a mistake in it is left out, the others of the document are not.
    ///
    /// `auxiliaries` were loaded with it; some may belong to other documents.
    fn compile(&self, document: &Document, auxiliaries: &[Document]) -> CompiledPolicy;

    /// Returns the mistakes in `auxiliaries`, which were loaded with rules of these names.
    fn check_auxiliaries(&self, _auxiliaries: &[Document], _rules: &[Arc<RuleId>]) -> Vec<Diagnostic> {
        Vec::new()
    }

    /// Returns the cluster side of the language, if its rules can run in a cluster.
    fn cluster_support(&self) -> Option<&dyn ClusterSupport> {
        None
    }

    /// Returns the codes of the mistakes this language can report.
    fn codes(&self) -> &'static [&'static Code];
}

/// Everything that compiling one document found out.
#[derive(Debug, Default)]
pub struct CompiledPolicy {
    /// The rules that can run.
    pub rules: Vec<Rule>,
    /// Rules that only scans of stored objects ask, because `rules` do not say what reports need.
    pub scan_rules: Vec<Rule>,
    /// The webhooks that the rules ask for in a cluster: at most one for each admission phase. Each rule runs behind the
    /// one of its [`Rule::phase`].
    pub webhooks: Vec<WebhookPlan>,
    /// What the rules read besides the request.
    pub needs: Needs,
    /// When the document must be compiled again.
    pub recompile: Recompile,
    /// The rule that the API server can enforce itself, or why it cannot; nothing where documents of this kind never ask
    /// for that.
    pub native: Option<Result<NativeRule, String>>,
    /// Fields of the status of its rule object that follow from the document alone.
    pub status: StatusFields,
    /// The programs about sets of objects, which the engine does not run.
    pub set_programs: Vec<SetProgram>,
    /// What the rules do apart from admission, which a controller carries out.
    pub background: Vec<BackgroundProgram>,
    /// Every mistake, in the order of the document.
    pub diagnostics: Vec<Diagnostic>,
}

impl CompiledPolicy {
    /// Returns what compiling a document found out from which no rule can be made.
    #[must_use]
    pub fn of_diagnostics(diagnostics: Vec<Diagnostic>) -> Self {
        Self { diagnostics, ..Self::default() }
    }
}

/// Fields of the status of a rule object, which are made when a server asks for them: commands do not.
#[derive(Default)]
pub struct StatusFields(Option<Box<dyn FnOnce() -> Value + Send + Sync>>);

impl StatusFields {
    /// Returns the fields that `make` returns.
    pub fn new(make: impl FnOnce() -> Value + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(make)))
    }

    /// Returns the fields; null where there are none.
    #[must_use]
    pub fn into_value(self) -> Value {
        self.0.map(|make| make()).unwrap_or_default()
    }
}

impl fmt::Debug for StatusFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StatusFields").field(&self.0.is_some()).finish()
    }
}

/// When a document must be compiled again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Recompile {
    /// When it changes.
    #[default]
    OnChange,
    /// Also periodically, because the compiled rules capture the time or a random seed.
    Periodically,
}

/// A program about a set of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SetProgram {
    /// Detects objects that stand in certain relations.
    Pattern,
    /// Renders manifests with parameters.
    Trait,
}
