//! ModRule, the rule language of KubeMod: patches or rejects one object.
//!
//! How this differs from KubeMod 0.20, and why, is in `docs/dialects/modrule.md`.

mod annotation;
mod binding;
mod cluster;
mod compile;
mod criterion;
mod diagnostics;
mod dry_run;
mod evaluate;
mod hint;
mod idempotence;
mod ignored;
mod path;
mod references;
mod resources;
mod shared;
mod source;
mod unreadable;
mod value;

pub use annotation::LAST_APPLIED;
pub use binding::{PodBinding, binding_annotations};
pub use compile::compile_criterion;
pub use criterion::{CompiledCriterion, CriterionResult};
pub use dry_run::{DryRun, RuleRun, run_dry_run};
pub use evaluate::PATCH_OPTIONS;
pub use path::{PathTemplate, expand_shorthand};

use std::borrow::Cow;

use kubewright_engine::{ClusterSupport, Code, CompiledPolicy, Decision, Dialect, RuleOutcome};
use kubewright_gotemplate::{FunctionSet, Inputs};
use kubewright_value::{Document, Text};

/// The namespace whose rules cover the whole cluster, unless another one is chosen.
pub const CLUSTER_NAMESPACE: &str = "kubemod-system";

/// The program that the rule language comes from.
pub const PROGRAM_NAME: &str = "kubemod";

const KIND: &str = "ModRule";
const GROUP: &str = "api.kubemod.io/";

fn document_field<'d>(document: &'d Document, key: &str) -> &'d str {
    document.value.str_at(&[key])
}

/// The options of ModRules.
#[derive(Debug, Clone)]
pub struct ModRuleOptions {
    /// Rules in this namespace cover the whole cluster.
    pub cluster_rules_namespace: Text,
    /// The namespace of rules that name none; without it they cover every namespace.
    pub default_namespace: Option<Text>,
    /// Template functions that are refused unless they are named here.
    pub allowed_functions: Vec<String>,
    /// Whether a request is refused when a rule of type Reject cannot answer.
    pub fails_closed: bool,
    /// Changes to the list of resources that the webhook covers: `+name` or `-name`, or the whole list.
    pub targets: Vec<String>,
    /// Programs that are followed where they and the documentation of the rule language disagree: [`PROGRAM_NAME`].
    pub compatible_with: Vec<String>,
}

impl Default for ModRuleOptions {
    fn default() -> Self {
        Self {
            cluster_rules_namespace: CLUSTER_NAMESPACE.into(),
            default_namespace: None,
            allowed_functions: Vec::new(),
            fails_closed: false,
            targets: Vec::new(),
            compatible_with: Vec::new(),
        }
    }
}

/// The dialect.
#[derive(Debug, Clone)]
pub struct ModRule {
    cluster_namespace: Text,
    default_namespace: Option<Text>,
    functions: FunctionSet,
    inputs: Inputs,
    /// Whether a request is refused when a rule of type Reject cannot answer.
    fails_closed: bool,
    /// The node of every pod; overrides its annotations.
    assumed_node: Option<Text>,
    /// Whether templates may look at the clock or throw dice.
    has_allowed_functions: bool,
    /// Whether rules are read as KubeMod's program reads them where its documentation differs.
    follows_program: bool,
    /// The resources that the webhook covers.
    resources: Vec<resources::WebhookResource>,
}

impl ModRule {
    /// Returns the dialect as `options` want it, for functions that see `inputs`.
    #[must_use]
    pub fn new(options: &ModRuleOptions, inputs: Inputs) -> Self {
        let functions = options
            .allowed_functions
            .iter()
            .fold(FunctionSet::rules(), |functions, name| functions.allow(name));
        Self {
            cluster_namespace: options.cluster_rules_namespace.clone(),
            default_namespace: options.default_namespace.clone(),
            functions,
            inputs,
            fails_closed: options.fails_closed,
            assumed_node: None,
            has_allowed_functions: !options.allowed_functions.is_empty(),
            follows_program: options.compatible_with.iter().any(|program| program == PROGRAM_NAME),
            resources: resources::webhook_resources(&options.targets),
        }
    }
}

impl Dialect for ModRule {
    fn name(&self) -> &'static str {
        "modrule"
    }

    fn claims(&self, document: &Document) -> bool {
        document_field(document, "kind") == KIND && document_field(document, "apiVersion").starts_with(GROUP)
    }

    fn looks_like(&self, document: &Document) -> bool {
        document_field(document, "kind").eq_ignore_ascii_case(KIND)
            || document_field(document, "apiVersion").contains("kubemod")
    }

    fn compile(&self, document: &Document, _auxiliaries: &[Document]) -> CompiledPolicy {
        compile::compile_modrule(self, document)
    }

    fn cluster_support(&self) -> Option<&dyn ClusterSupport> {
        Some(self)
    }

    fn codes(&self) -> &'static [&'static Code] {
        diagnostics::CODES
    }
}

/// Returns KubeMod's message for a requester whose object was refused.
#[must_use]
pub fn denial(decision: &Decision) -> Option<String> {
    denial_of(decision.outcomes.iter())
}

fn denial_of<'o>(outcomes: impl Iterator<Item = &'o RuleOutcome>) -> Option<String> {
    let reasons: Vec<_> = outcomes.filter_map(denial_reason).collect();
    (!reasons.is_empty())
        .then(|| format!("operation rejected by the following ModRule(s): {}", reasons.join(",")))
}

/// Returns why an object is refused because of `outcome`, if it is.
fn denial_reason(outcome: &RuleOutcome) -> Option<Cow<'_, str>> {
    match &outcome.denial {
        Some(denial) => Some(denial.into()),
        // Only where rules that could reject must refuse what they cannot evaluate.
        None if outcome.is_refusal => {
            let name = outcome.rule.short();
            Some(format!("{name}: \"the rule could not answer: {}\"", outcome.message).into())
        }
        None => None,
    }
}

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

#[cfg(test)]
mod tests;
