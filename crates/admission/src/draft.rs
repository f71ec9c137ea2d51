//! A policy during compilation, as far as both dialects have it in common.

use std::collections::HashSet;
use std::sync::Arc;

use kubewright_cel::Inputs;
use kubewright_engine::{
    AdmissionPhase, CompiledPolicy, Diagnostic, EvaluationModes, Rule, RuleAction, RuleId, RuleMetadata,
    RuleProgram, RuleScope, ScopePlaces,
};
use kubewright_value::{Document, Location, Step, Text, Value};

use super::evaluate::{PolicyEngine, PolicyProgram};
use super::matching::ConstraintsMatcher;
use super::source::{CelPolicySource, ValidationActions};
use super::vpol::{CompiledPolicyException, EvaluationTarget};
use super::{check, diagnostics as code};
use kubewright_cel_rules::source::NamedExpression;
use kubewright_cel_rules::{
    AvailableVariables, CelChecks, Environments, ExpressionCompiler, Leniency, Params, Wording,
    WorkloadChecks,
};
use kubewright_dialect_kit::description::policy_text;
use kubewright_dialect_kit::fields::{Located, child_path};
use kubewright_dialect_kit::secrets::names_secrets;
use kubewright_k8s::PodTemplatePath;
use kubewright_value::CompactSort as _;

/// A policy that is being compiled.
pub(crate) struct PolicyDraft {
    pub(crate) dialect: &'static str,
    pub(crate) document: Arc<Document>,
    pub(crate) policy: CelPolicySource,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) reads_secrets: bool,
}

impl PolicyDraft {
    pub(crate) fn new(
        dialect: &'static str,
        document: &Document,
        policy: CelPolicySource,
        diagnostics: Vec<Diagnostic>,
    ) -> Self {
        let reads_secrets = names_secrets(&document.value);
        Self { dialect, document: Arc::new(document.clone()), policy, diagnostics, reads_secrets }
    }
}

/// The parts of a rule that differ between the rules of one policy.
#[derive(Default)]
pub(crate) struct PolicyRuleParts {
    /// In place of the one of the policy.
    pub(crate) matcher: Option<ConstraintsMatcher>,
    /// The further constraints of the binding.
    pub(crate) binding: Option<ConstraintsMatcher>,
    pub(crate) params: Option<Params>,
    pub(crate) actions: ValidationActions,
    /// Whether a binding makes it count.
    pub(crate) is_bound: bool,
    pub(crate) exceptions: Vec<CompiledPolicyException>,
    /// Nothing for a policy of the API server.
    pub(crate) mode: Option<EvaluationTarget>,
    pub(crate) workload: Option<PodTemplatePath>,
    pub(crate) looks_for_pods: bool,
    pub(crate) inputs: Inputs,
    pub(crate) evaluation_modes: EvaluationModes,
}

impl PolicyDraft {
    /// Reports missing required parts.
    pub(crate) fn check(&mut self) {
        let constraints = self.policy.constraints.as_ref();
        if constraints.is_none_or(|constraints| constraints.rules.is_empty()) {
            let message = "the policy does not name the resources it matches".to_owned();
            let help = "give `matchConstraints.resourceRules`";
            self.report(&code::NO_CONSTRAINTS, message, help);
        }
        if let Some(constraints) = &self.policy.constraints {
            let home = self.policy.namespace.as_ref();
            self.diagnostics.extend(check::check_constraints(constraints, home, &self.document));
            self.diagnostics.extend(check::check_deletions(&self.policy, &self.document));
        }
    }

    /// Returns the compiled expressions of the policy.
    pub(crate) fn checks(
        &mut self,
        environments: &Environments,
        given: AvailableVariables,
        wording: Wording,
    ) -> CelChecks {
        let policy = &self.policy;
        let kinds = if environments.rules_only { Vec::new() } else { constrained_kinds(policy) };
        let kinds: Vec<&str> = kinds.iter().map(Text::as_str).collect();
        let mut compiler = ExpressionCompiler::new(&kinds);
        let mut environment = environments.environment(given);
        let mut for_messages = environments.environment(AvailableVariables { authorizer: false, ..given });
        let conditions = compiler.conditions(&policy.conditions, &environment);
        let variables = compiler.variables(&policy.variables, &mut [&mut environment, &mut for_messages]);
        let checks = CelChecks {
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
            ..CelChecks::default()
        };
        self.finish(compiler);
        checks
    }

    /// Reports the problems of the expressions of a policy that validates.
    pub(crate) fn finish(&mut self, compiler: ExpressionCompiler<'_>) {
        self.finish_expressions(compiler);
        let document = Arc::clone(&self.document);
        // Those that cannot be read are reported already.
        let written = document.value.at(&["spec", "validations"]).and_then(Value::as_array);
        let has_some = written.is_some_and(|list| !list.is_empty());
        if !has_some && self.policy.annotations.is_empty() {
            let message = "there is no validation, so every object passes".to_owned();
            self.report(&code::NO_VALIDATIONS, message, "give `validations`");
        }
    }

    /// Reports the problems of expressions, whatever they are for.
    pub(crate) fn finish_expressions(&mut self, mut compiler: ExpressionCompiler<'_>) {
        compiler.unused(&self.policy.variables);
        let problems = compiler.problems;
        let document = Arc::clone(&self.document);
        self.diagnostics.extend(problems.into_iter().map(|problem| problem.diagnostic(&document)));
        let lists = [&self.policy.conditions, &self.policy.variables];
        let twice: Vec<Located<Text>> = lists.into_iter().filter_map(|list| duplicate_name(list)).collect();
        for name in twice {
            let message = format!("there are two entries named `{}`", name.value);
            let location = document.locate(&name.path);
            self.diagnostics.push(Diagnostic::new(&code::DUPLICATE_NAME, message, location));
        }
    }

    pub(crate) fn report(&mut self, code: &'static kubewright_engine::Code, message: String, help: &str) {
        let location = self.document.locate_key(&self.policy.path);
        self.diagnostics.push(Diagnostic::new(code, message, location).help(help));
    }

    /// Returns the rule called `name`, built of `parts`.
    pub(crate) fn rule(&self, name: Text, checks: &Arc<CelChecks>, parts: PolicyRuleParts) -> Rule {
        self.rule_running(name, checks, parts, |program| Box::new(program))
    }

    /// Returns the rule called `name`, built of `parts`, with the program that `wrap` makes of the usual one.
    pub(crate) fn rule_running(
        &self,
        name: Text,
        checks: &Arc<CelChecks>,
        parts: PolicyRuleParts,
        wrap: impl FnOnce(PolicyProgram) -> Box<dyn RuleProgram>,
    ) -> Rule {
        let policy = &self.policy;
        let id = Arc::new(RuleId { dialect: self.dialect, policy: policy.key(), rule: name });
        let matcher = parts.matcher.or_else(|| policy.constraints.as_ref().map(ConstraintsMatcher::compile));
        let broken = self.diagnostics.iter().find(|diagnostic| diagnostic.is_error());
        let scope = match (&matcher, parts.mode) {
            (Some(matcher), None | Some(EvaluationTarget::Kubernetes)) => {
                matcher.scope(policy.namespace.as_ref())
            }
            (_, None | Some(EvaluationTarget::Kubernetes)) => RuleScope::default(),
            _ => RuleScope { payloads: true, ..RuleScope::default() },
        };
        let judge = PolicyProgram {
            document: Arc::clone(&self.document),
            matcher,
            binding: parts.binding,
            checks: WorkloadChecks::new(checks, parts.workload.unwrap_or(PodTemplatePath::Pod)),
            params: parts.params,
            exceptions: parts.exceptions,
            actions: parts.actions,
            refuses_unfit: parts.is_bound && policy.is_fail_closed,
            inputs: parts.inputs,
            is_scored: policy.is_scored,
            surroundings: match parts.mode {
                None => PolicyEngine::ApiServer,
                Some(mode) => PolicyEngine::Policy(mode),
            },
            looks_for_pods: parts.looks_for_pods,
            broken: broken
                .map(|diagnostic| format!("the policy is not valid: {}", diagnostic.message).into()),
        };
        Rule {
            scope: self.located_scope(scope),
            id,
            action: RuleAction::Validate,
            phase: AdmissionPhase::Validating,
            tier: 0,
            precedence: 0,
            position: 0,
            matches_current: false,
            metadata: Arc::new(RuleMetadata {
                severity: policy.severity.clone(),
                category: policy.category.clone(),
                title: policy_text(&self.document, "title"),
                description: policy_text(&self.document, "description"),
                emits_warning: parts.actions.warns,
                ..RuleMetadata::default()
            }),
            refuses_on_error: policy.is_fail_closed && parts.actions.denies,
            is_exclusive: false,
            reads_secrets: self.reads_secrets,
            home: policy.namespace.clone(),
            evaluation_modes: parts.evaluation_modes,
            location: self.document.locate(&policy.name.path),
            program: wrap(judge),
        }
    }

    /// Returns `scope` with the places of the policy that say it.
    pub(crate) fn located_scope(&self, scope: RuleScope) -> RuleScope {
        let document = &self.document;
        let rules = self.policy.constraints.iter().flat_map(|constraints| &constraints.rules);
        let first = rules.into_iter().next().map(|rule| &rule.path);
        let of_rule = |key: &str| first.map(|path| document.locate(&child_path(path, key)));
        let home = ["metadata", "namespace"].map(Step::from);
        let places = ScopePlaces {
            kinds: of_rule("resources"),
            operations: of_rule("operations"),
            namespaces: self
                .policy
                .namespace
                .as_ref()
                .map(|_| (Text::new_static("that of its policy"), document.locate(&home))),
            pod_controllers: self.pod_controllers(),
        };
        RuleScope { places, ..scope }
    }

    /// Returns the controllers that the policy limits autogen to.
    fn pod_controllers(&self) -> Option<(Text, Location)> {
        let keys = ["spec", "autogen", "podControllers", "controllers"];
        let list = self.document.value.at(&keys)?.as_array()?;
        let names: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
        Some((names.join(",").into(), self.document.locate(&keys.map(Step::from))))
    }

    /// Returns the rule of `program`, which asks for writes and judges nothing.
    pub(crate) fn background_rule(
        &self,
        action: RuleAction,
        scope: RuleScope,
        program: Box<dyn RuleProgram>,
    ) -> Rule {
        let policy = &self.policy;
        Rule {
            scope: self.located_scope(scope),
            id: self.id(Text::default()),
            action,
            phase: AdmissionPhase::Validating,
            tier: 0,
            precedence: 0,
            position: 0,
            matches_current: false,
            metadata: Arc::new(RuleMetadata {
                severity: policy.severity.clone(),
                category: policy.category.clone(),
                title: policy_text(&self.document, "title"),
                description: policy_text(&self.document, "description"),
                reported_rule: Some(policy.name.value.clone()),
                ..RuleMetadata::default()
            }),
            refuses_on_error: false,
            is_exclusive: false,
            reads_secrets: self.reads_secrets,
            home: policy.namespace.clone(),
            evaluation_modes: EvaluationModes { admission: true, background: false },
            location: self.document.locate(&policy.name.path),
            program,
        }
    }

    /// Returns why the policy cannot run; nothing where it can.
    pub(crate) fn broken(&self) -> Option<Text> {
        let broken = self.diagnostics.iter().find(|diagnostic| diagnostic.is_error());
        broken.map(|diagnostic| format!("the policy is not valid: {}", diagnostic.message).into())
    }

    /// Returns the name of a rule of the policy.
    pub(crate) fn id(&self, rule: Text) -> Arc<RuleId> {
        Arc::new(RuleId { dialect: self.dialect, policy: self.policy.key(), rule })
    }

    /// Returns `rules` with everything that is wrong with the policy.
    pub(crate) fn compiled(self, rules: Vec<Rule>) -> CompiledPolicy {
        let mut diagnostics = self.diagnostics;
        diagnostics.compact_sort_by_key(|diagnostic| diagnostic.location.position);
        CompiledPolicy { rules, diagnostics, ..CompiledPolicy::default() }
    }
}

impl CelPolicySource {
    /// Returns `name`, or `namespace/name` of a policy in a namespace.
    pub(crate) fn key(&self) -> Text {
        match &self.namespace {
            None => self.name.value.clone(),
            Some(namespace) => format!("{namespace}/{}", self.name.value).into(),
        }
    }
}

fn duplicate_name(list: &[NamedExpression]) -> Option<Located<Text>> {
    let mut known = HashSet::new();
    list.iter().find(|one| !known.insert(&one.name.value)).map(|one| one.name.clone())
}

/// Returns the kinds of the matched resources; empty where one of them is not known.
pub(crate) fn constrained_kinds(policy: &CelPolicySource) -> Vec<Text> {
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
