//! A policy that is being compiled, in what both dialects have in common.

use std::collections::HashSet;
use std::sync::Arc;

use kubewright_cel::Inputs;
use kubewright_engine::{
    AdmissionPhase, CompiledPolicy, Diagnostic, EvaluationModes, Rule, RuleAction, RuleId, RuleMetadata,
    Scope,
};
use kubewright_value::{Document, Text, Value};

use super::evaluate::{Judge, Surroundings};
use super::matching::Matcher;
use super::source::{Actions, Policy};
use super::vpol::{Exception, Mode};
use super::{check, diagnostics as code};
use kubewright_cel_rules::source::NamedExpression;
use kubewright_cel_rules::{Checks, Compiler, Environments, Given, Leniency, Params, Wording};
use kubewright_dialect_kit::fields::Placed;
use kubewright_dialect_kit::secrets::names_secrets;
use kubewright_dialect_kit::workload::Workload;

/// A policy that is being compiled.
pub(crate) struct Draft {
    dialect: &'static str,
    pub(crate) document: Arc<Document>,
    pub(crate) policy: Policy,
    pub(crate) diagnostics: Vec<Diagnostic>,
    reads_secrets: bool,
}

impl Draft {
    pub(crate) fn new(
        dialect: &'static str,
        document: &Document,
        policy: Policy,
        diagnostics: Vec<Diagnostic>,
    ) -> Self {
        let reads_secrets = names_secrets(&document.value);
        Self { dialect, document: Arc::new(document.clone()), policy, diagnostics, reads_secrets }
    }
}

/// What one rule of a policy has besides.
#[derive(Default)]
pub(crate) struct Parts {
    /// In place of the one of the policy.
    pub(crate) matcher: Option<Matcher>,
    /// What the binding asks for besides.
    pub(crate) binding: Option<Matcher>,
    pub(crate) params: Option<Params>,
    pub(crate) actions: Actions,
    /// Whether a binding makes it count.
    pub(crate) is_bound: bool,
    pub(crate) exceptions: Vec<Exception>,
    /// Nothing for a policy of the API server.
    pub(crate) mode: Option<Mode>,
    pub(crate) workload: Option<Workload>,
    pub(crate) looks_for_pods: bool,
    pub(crate) inputs: Inputs,
    pub(crate) evaluation_modes: EvaluationModes,
}

impl Draft {
    /// Reports what a policy cannot be without.
    pub(crate) fn check(&mut self) {
        let constraints = self.policy.constraints.as_ref();
        if constraints.is_none_or(|constraints| constraints.rules.is_empty()) {
            let message = "the policy does not say which resources it is about".to_owned();
            let help = "give `matchConstraints.resourceRules`";
            self.report(&code::NO_CONSTRAINTS, message, help);
        }
        if let Some(constraints) = &self.policy.constraints {
            let home = self.policy.namespace.as_ref();
            self.diagnostics.extend(check::constraints(constraints, home, &self.document));
            self.diagnostics.extend(check::deletions(&self.policy, &self.document));
        }
    }

    /// Returns the compiled expressions of the policy.
    pub(crate) fn checks(&mut self, environments: &Environments, given: Given, wording: Wording) -> Checks {
        let policy = &self.policy;
        let kinds = kinds(policy);
        let kinds: Vec<&str> = kinds.iter().map(Text::as_str).collect();
        let mut compiler = Compiler::new(&kinds);
        let mut environment = environments.environment(given);
        let mut for_messages = environments.environment(Given { authorizer: false, ..given });
        let conditions = compiler.conditions(&policy.conditions, &environment);
        let variables = compiler.variables(&policy.variables, &mut [&mut environment, &mut for_messages]);
        let checks = Checks {
            conditions,
            variables,
            assertions: compiler.assertions(&policy.validations, &environment, &for_messages, None),
            annotations: compiler.annotations(&policy.annotations, &environment),
            leniency: match (wording, policy.is_fail_closed) {
                (_, true) => Leniency::None,
                (Wording::ApiServer, false) => Leniency::Everything,
                (Wording::Policy, false) => Leniency::Conditions,
            },
            wording,
            is_namespace_late: wording == Wording::ApiServer,
            ..Checks::default()
        };
        self.finish(compiler);
        checks
    }

    /// Reports what is wrong with the expressions of a policy.
    pub(crate) fn finish(&mut self, mut compiler: Compiler<'_>) {
        compiler.unused(&self.policy.variables);
        let problems = compiler.problems;
        let document = Arc::clone(&self.document);
        self.diagnostics.extend(problems.into_iter().map(|problem| problem.diagnostic(&document)));
        // Those that cannot be read are reported already.
        let written = document.value.at(&["spec", "validations"]).and_then(Value::as_array);
        let has_some = written.is_some_and(|list| !list.is_empty());
        if !has_some && self.policy.annotations.is_empty() {
            let message = "there is no validation, and every object passes".to_owned();
            self.report(&code::NO_VALIDATIONS, message, "give `validations`");
        }
        let lists = [&self.policy.conditions, &self.policy.variables];
        let twice: Vec<Placed<Text>> = lists.into_iter().filter_map(|list| duplicate(list)).collect();
        for name in twice {
            let message = format!("there are two entries named `{}`", name.value);
            let location = document.locate(&name.path);
            self.diagnostics.push(Diagnostic::new(&code::DUPLICATE_NAME, message, location));
        }
    }

    fn report(&mut self, code: &'static kubewright_engine::Code, message: String, help: &str) {
        let location = self.document.locate_key(&self.policy.path);
        self.diagnostics.push(Diagnostic::new(code, message, location).help(help));
    }

    /// Returns the rule called `name`, with `parts` besides.
    pub(crate) fn rule(&self, name: Text, checks: &Arc<Checks>, parts: Parts) -> Rule {
        let policy = &self.policy;
        let id = Arc::new(RuleId { dialect: self.dialect, policy: policy.key(), rule: name });
        let matcher = parts.matcher.or_else(|| policy.constraints.as_ref().map(Matcher::compile));
        let broken = self.diagnostics.iter().find(|diagnostic| diagnostic.is_error());
        let scope = match (&matcher, parts.mode) {
            (Some(matcher), None | Some(Mode::Kubernetes)) => matcher.scope(policy.namespace.as_ref()),
            (_, None | Some(Mode::Kubernetes)) => Scope::default(),
            _ => Scope { payloads: true, ..Scope::default() },
        };
        let judge = Judge {
            document: Arc::clone(&self.document),
            matcher,
            binding: parts.binding,
            checks: match parts.workload {
                None | Some(Workload::Pod) => Arc::clone(checks),
                Some(workload) => Arc::new(checks.rebased(workload)),
            },
            params: parts.params,
            exceptions: parts.exceptions,
            actions: parts.actions,
            refuses_unfit: parts.is_bound && policy.is_fail_closed,
            inputs: parts.inputs,
            is_scored: policy.is_scored,
            surroundings: match parts.mode {
                None => Surroundings::ApiServer,
                Some(mode) => Surroundings::Policy(mode),
            },
            looks_for_pods: parts.looks_for_pods,
            broken: broken
                .map(|diagnostic| format!("the policy is not valid: {}", diagnostic.message).into()),
        };
        Rule {
            scope,
            id,
            action: RuleAction::Validate,
            phase: AdmissionPhase::Validating,
            tier: 0,
            precedence: 0,
            position: 0,
            metadata: Arc::new(RuleMetadata {
                severity: policy.severity.clone(),
                category: policy.category.clone(),
                properties: Vec::new(),
                emits_warning: parts.actions.warns,
            }),
            refuses_on_error: policy.is_fail_closed && parts.actions.denies,
            is_exclusive: false,
            reads_secrets: self.reads_secrets,
            home: policy.namespace.clone(),
            evaluation_modes: parts.evaluation_modes,
            location: self.document.locate(&policy.name.path),
            program: Box::new(judge),
        }
    }

    /// Returns `rules` with everything that is wrong with the policy.
    pub(crate) fn compiled(self, rules: Vec<Rule>) -> CompiledPolicy {
        let mut diagnostics = self.diagnostics;
        diagnostics.sort_by_key(|diagnostic| diagnostic.location.position);
        CompiledPolicy { rules, diagnostics, ..CompiledPolicy::default() }
    }
}

impl Policy {
    /// Returns `name`, or `namespace/name` of a policy in a namespace.
    fn key(&self) -> Text {
        match &self.namespace {
            None => self.name.value.clone(),
            Some(namespace) => format!("{namespace}/{}", self.name.value).into(),
        }
    }
}

fn duplicate(list: &[NamedExpression]) -> Option<Placed<Text>> {
    let mut known = HashSet::new();
    list.iter().find(|one| !known.insert(&one.name.value)).map(|one| one.name.clone())
}

/// Returns the kinds of the resources that the policy is about; none where one of them is not known.
fn kinds(policy: &Policy) -> Vec<Text> {
    let rules = policy.constraints.iter().flat_map(|constraints| &constraints.rules);
    let mut kinds = Vec::new();
    for rule in rules {
        for resource in &rule.resources {
            match kubewright_k8s::kind_of_resource(&resource.value) {
                Some(kind) => kinds.push(kind.into()),
                None => return Vec::new(),
            }
        }
    }
    kinds
}
