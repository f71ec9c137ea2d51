//! Kyverno's rules: they judge one object by patterns, conditions and loops, change it, or make others because of it.
//!
//! How this differs from Kyverno 1.19, and why, is in `docs/dialects/kyverno.md`.

pub mod autogen;
mod cel;
mod check;
pub mod cleanup;
mod cluster;
mod compile;
mod conditions;
mod context;
mod diagnostics;
mod evaluate;
mod generate;
mod gotext;
mod images;
mod manifests;
pub mod matching;
mod message;
mod mutate;
pub mod operator;
pub mod pattern;
mod pod_security;
pub mod signing;
pub mod source;
pub mod tainted;
pub mod template;
mod trace;
mod verify_images;

use kubewright_cel_rules::Environments;
use kubewright_engine::{ClusterSupport, Code, CompiledPolicy, Diagnostic, Dialect, RuleId};
use kubewright_jmespath::{Inputs, JmesPathFunctions};
use kubewright_value::{Document, Text, Value};

/// The name that starts every rule id.
const NAME: &str = "kyverno";

const GROUP: &str = "kyverno.io/";
const KINDS: [&str; 2] = ["ClusterPolicy", "Policy"];

/// The dialect.
pub struct Kyverno {
    functions: JmesPathFunctions,
    cel: Environments,
    /// The current time in seconds since 1970, if it is known.
    now: Option<i64>,
    exceptions: Vec<source::ExceptionSource>,
    write_admission_policy: AdmissionPolicyWriter,
    /// Whether only rules and errors are asked for.
    rules_only: bool,
}

/// Writes the ValidatingAdmissionPolicy and its binding for a policy with one CEL rule, or returns why there is none.
///
/// The policy was read from the document.
pub type AdmissionPolicyWriter = fn(
    &Document,
    source::PolicySource,
    &[source::ExceptionSource],
    &JmesPathFunctions,
) -> Result<[Value; 2], String>;

impl Kyverno {
    /// Returns the dialect with the PolicyExceptions among `exceptions`, for functions that see `inputs`.
    ///
    /// It writes no ValidatingAdmissionPolicies: see [`Kyverno::with_admission_policies`].
    #[must_use]
    pub fn new(exceptions: &[Document], inputs: Inputs) -> Self {
        let has_ended = |document: &Document| {
            inputs.now.zip(cluster::expires(document)).is_some_and(|(now, end)| end <= now)
        };
        let documents = exceptions.iter().filter(|document| is_exception(document));
        let documents = documents.filter(|document| !has_ended(document));
        let exceptions = documents.filter_map(|document| exception(document).0).collect();
        let now = inputs.now.and_then(|now| i64::try_from(now / 1_000_000_000).ok());
        let functions = JmesPathFunctions::kubernetes().with_inputs(inputs);
        let write_admission_policy: AdmissionPolicyWriter =
            |_, _, _, _| Err("it cannot be written as one".to_owned());
        let cel = Environments::admission();
        Self { functions, cel, now, exceptions, write_admission_policy, rules_only: false }
    }

    /// Returns the dialect that compiles, where `rules_only`, without warnings and without what a policy needs in a cluster.
    #[must_use]
    pub fn with_rules_only(mut self, rules_only: bool) -> Self {
        self.rules_only = rules_only;
        self
    }

    /// Returns the dialect with ValidatingAdmissionPolicies that `write` writes.
    #[must_use]
    pub fn with_admission_policies(mut self, write: AdmissionPolicyWriter) -> Self {
        self.write_admission_policy = write;
        self
    }
}

impl Dialect for Kyverno {
    fn name(&self) -> &'static str {
        NAME
    }

    fn claims(&self, document: &Document) -> bool {
        is_policy(document) || is_cleanup_policy(document)
    }

    fn looks_like(&self, document: &Document) -> bool {
        field(document, "kind") == "ClusterPolicy" && document.value.at(&["spec", "rules"]).is_some()
    }

    fn compile(&self, document: &Document, _auxiliaries: &[Document]) -> CompiledPolicy {
        match is_cleanup_policy(document) {
            true => cleanup::compile_cleanup_policy(self, document),
            false => compile::compile_policy(self, document),
        }
    }

    fn cluster_support(&self) -> Option<&dyn ClusterSupport> {
        Some(self)
    }

    fn codes(&self) -> &'static [&'static Code] {
        diagnostics::CODES
    }
}

/// Returns whether `document` is a PolicyException.
#[must_use]
pub fn is_exception(document: &Document) -> bool {
    field(document, "apiVersion").starts_with(GROUP) && field(document, "kind") == "PolicyException"
}

/// Reads the policy in `document` and those of `exceptions` that are from it; nothing when it holds something else.
///
/// A rule with an error is among the broken ones.
#[must_use]
pub fn read_policy(
    document: &Document,
    exceptions: &[Document],
) -> Option<(source::PolicySource, Vec<source::ExceptionSource>)> {
    if !is_policy(document) {
        return None;
    }
    let mut policy = source::read_policy_document(document).0?;
    check::check_policy(document, &mut policy, false);
    // There may be as many exceptions as policies, and only a few are for one of them.
    let key = policy.key();
    let is_named = |entry: &Value| entry.get("policyName").and_then(Value::as_str) == Some(key.as_str());
    let is_meant = |document: &&Document| {
        let entries = document.value.at(&["spec", "exceptions"]).and_then(Value::as_array);
        entries.is_some_and(|entries| entries.iter().any(is_named))
    };
    let meant = exceptions.iter().filter(is_meant);
    let exceptions = meant.filter_map(|document| exception(document).0).collect();
    Some((policy, exceptions))
}

/// Reads the cleanup policy in `document`, or returns what is wrong with it; nothing when it holds something else.
#[must_use]
pub fn read_cleanup_policy(document: &Document) -> Option<Result<source::CleanupSource, Diagnostic>> {
    if !is_cleanup_policy(document) {
        return None;
    }
    let (policy, mut problems) = source::read_cleanup_policy(document);
    problems.extend(policy.iter().flat_map(|policy| check::check_cleanup_policy(document, policy)));
    match (policy, problems.into_iter().find(Diagnostic::is_error)) {
        (_, Some(problem)) => Some(Err(problem)),
        (policy, None) => policy.map(Ok),
    }
}

fn is_policy(document: &Document) -> bool {
    field(document, "apiVersion").starts_with(GROUP) && KINDS.contains(&field(document, "kind"))
}

fn is_cleanup_policy(document: &Document) -> bool {
    field(document, "apiVersion").starts_with(GROUP) && cleanup::KINDS.contains(&field(document, "kind"))
}

/// Reads an exception. One with an error excuses nothing.
fn exception(document: &Document) -> (Option<source::ExceptionSource>, Vec<Diagnostic>) {
    let (exception, mut diagnostics) = source::read_exception(document);
    let exception = exception.filter(|exception| {
        let (wrong, is_usable) = check::check_exception(document, exception);
        diagnostics.extend(wrong);
        is_usable
    });
    (exception, diagnostics)
}

/// Returns the diagnostics of exception documents for `rules`.
pub fn check_exceptions<'r>(
    exceptions: &[Document],
    rules: impl Iterator<Item = &'r RuleId>,
) -> Vec<Diagnostic> {
    let mut known: Vec<(Text, Vec<Text>)> = Vec::new();
    for rule in rules.filter(|rule| rule.dialect == NAME) {
        match known.iter_mut().find(|(policy, _)| *policy == rule.policy) {
            Some((_, rules)) => rules.push(rule.rule.clone()),
            None => known.push((rule.policy.clone(), vec![rule.rule.clone()])),
        }
    }
    let mut diagnostics = Vec::new();
    for document in exceptions.iter().filter(|document| is_exception(document)) {
        let (exception, wrong) = exception(document);
        diagnostics.extend(wrong);
        if let Some(exception) = exception {
            diagnostics.extend(check::unfitting(document, &exception, &known));
        }
    }
    diagnostics
}

fn field<'d>(document: &'d Document, key: &str) -> &'d str {
    document.value.str_at(&[key])
}

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
