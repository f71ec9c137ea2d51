//! A policy as it is written to rules that can run, with everything that is wrong with it.

use std::collections::HashSet;
use std::sync::Arc;

use kubewright_engine::{About, Compiled, Diagnostic, Occasions, Phase, Rule, RuleId, Scope, nearest};
use kubewright_lang::cel::library::policy::{ENVOY_RESPONSE_TYPE, HTTP_RESPONSE_TYPE};
use kubewright_lang::cel::{Inputs, Kind};
use kubewright_value::{Document, Text, Value};

use super::evaluate::{Judge, Surroundings};
use super::exceptions::Exception;
use super::matching::Matcher;
use super::source::{self, Actions, Binding, Mode, Policy, Settings};
use super::{Native, Policies, autogen, check, diagnostics as code};
use crate::cel::source::NamedExpression;
use crate::cel::{Checks, Compiler, Environments, Given, Leniency, ParamWords, Params, Wording};
use crate::fields::Placed;
use crate::secrets::names_secrets;
use crate::workload::Workload;

/// How the API server speaks about parameters.
const PARAM_WORDS: ParamWords = ParamWords {
    problem: "failed to configure binding",
    missing: "no params found for policy binding with `Deny` parameterNotFoundAction",
};

/// Compiles a ValidatingAdmissionPolicy: a rule for each of its bindings, or one that only reports.
pub(super) fn native(environments: &Environments, document: &Document, beside: &[Document]) -> Compiled {
    let (policy, diagnostics) = source::read_vap(document);
    let Some(policy) = policy else { return Compiled { diagnostics, ..Compiled::default() } };
    let mut draft = Draft::new(Native::NAME, document, policy, diagnostics);
    draft.check();
    let wrong = check::wording(&draft.policy, document);
    draft.diagnostics.extend(wrong);
    let given = Given { namespace: true, params: draft.policy.param_kind.is_some(), authorizer: true };
    let checks = Arc::new(draft.checks(environments, given, Wording::ApiServer).rebased(Workload::Pod));
    let bindings = draft.bindings(beside);
    if bindings.is_empty() {
        draft.unbound();
        let rule = draft.rule(Text::default(), &checks, Parts::default());
        return draft.compiled(vec![rule]);
    }
    let rule = |binding: &Binding| {
        let params = draft.policy.param_kind.as_ref().zip(binding.params.as_ref());
        let parts = Parts {
            binding: binding.constraints.as_ref().map(Matcher::compile),
            params: params.map(|(kind, reference)| Params::compile(kind, reference, PARAM_WORDS)),
            actions: binding.actions,
            is_bound: true,
            ..Parts::default()
        };
        draft.rule(binding.name.clone(), &checks, parts)
    };
    let rules = bindings.iter().map(rule).collect();
    draft.compiled(rules)
}

/// Compiles a ValidatingPolicy, with the rules for controllers that are made of it.
pub(super) fn policy(environments: &Environments, exceptions: &[Exception], document: &Document) -> Compiled {
    let (read, diagnostics) = source::read_vpol(document);
    let Some((policy, settings)) = read else { return Compiled { diagnostics, ..Compiled::default() } };
    let mut draft = Draft::new(Policies::NAME, document, policy, diagnostics);
    if settings.mode == Mode::Kubernetes {
        draft.check();
    }
    let environments = match (settings.mode, &draft.policy.namespace) {
        (Mode::Http, _) => &environments.http(),
        (Mode::Envoy, _) => &environments.envoy(),
        (_, Some(namespace)) => &environments.within(namespace),
        (_, None) => environments,
    };
    let checks = match settings.mode {
        Mode::Kubernetes | Mode::Json => {
            draft.checks(environments, Given { namespace: true, ..Given::default() }, Wording::Policy)
        }
        Mode::Http => draft.responses(environments, HTTP_RESPONSE_TYPE),
        Mode::Envoy => draft.responses(environments, ENVOY_RESPONSE_TYPE),
    };
    let checks = Arc::new(checks.rebased(Workload::Pod));
    let kind = super::field(document, "kind");
    let excused: Vec<Exception> = exceptions
        .iter()
        .filter(|exception| exception.is_about(&draft.policy.name.value, kind))
        .cloned()
        .collect();
    let parts = || Parts {
        actions: settings.actions,
        exceptions: excused.clone(),
        mode: Some(settings.mode),
        inputs: environments.inputs,
        occasions: Occasions { admission: settings.is_admission, background: settings.is_background },
        ..Parts::default()
    };
    let mut rules = vec![draft.rule(Text::default(), &checks, parts())];
    if settings.mode == Mode::Kubernetes {
        draft.controllers(&settings);
        for generated in autogen::generate(&draft.policy, &settings) {
            let matcher = Some(Matcher::compile(&generated.constraints));
            let parts = Parts {
                matcher,
                workload: generated.workload,
                looks_for_pods: generated.workload.is_none(),
                ..parts()
            };
            rules.push(draft.rule(generated.name.into(), &checks, parts));
        }
    }
    draft.compiled(rules)
}

/// Returns what is wrong with bindings beside `rules`.
pub(super) fn check_bindings(bindings: &[Document], rules: &[Rule]) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    for document in bindings {
        let (binding, wrong) = source::read_binding(document);
        diagnostics.extend(wrong);
        let Some(binding) = binding else { continue };
        let constraints = binding.constraints.iter();
        diagnostics.extend(constraints.flat_map(|one| check::constraints(one, None, document)));
        let is_it = |rule: &Rule| rule.id.dialect == Native::NAME && rule.id.policy == binding.policy.value;
        if !rules.iter().any(is_it) {
            let message = format!("there is no policy `{}` for the binding", binding.policy.value);
            let location = document.locate(&binding.policy.path);
            let policies = rules.iter().filter(|rule| rule.id.dialect == Native::NAME);
            let help = match nearest(&binding.policy.value, policies.map(|rule| rule.id.policy.as_str())) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "load the ValidatingAdmissionPolicy beside it".to_owned(),
            };
            diagnostics.push(Diagnostic::new(&code::BINDS_NOTHING, message, location).help(help));
        }
    }
    diagnostics
}

/// A policy that is being compiled.
struct Draft {
    dialect: &'static str,
    document: Arc<Document>,
    policy: Policy,
    diagnostics: Vec<Diagnostic>,
    reads_secrets: bool,
}

impl Draft {
    fn new(dialect: &'static str, document: &Document, policy: Policy, diagnostics: Vec<Diagnostic>) -> Self {
        let reads_secrets = names_secrets(&document.value);
        Self { dialect, document: Arc::new(document.clone()), policy, diagnostics, reads_secrets }
    }
}

/// What one rule of a policy has besides.
#[derive(Default)]
struct Parts {
    /// In place of the one of the policy.
    matcher: Option<Matcher>,
    /// What the binding asks for besides.
    binding: Option<Matcher>,
    params: Option<Params>,
    actions: Actions,
    /// Whether a binding makes it count.
    is_bound: bool,
    exceptions: Vec<Exception>,
    /// Nothing for a policy of the API server.
    mode: Option<Mode>,
    workload: Option<Workload>,
    looks_for_pods: bool,
    inputs: Inputs,
    occasions: Occasions,
}

impl Draft {
    /// Reports what a policy cannot be without.
    fn check(&mut self) {
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

    fn checks(&mut self, environments: &Environments, given: Given, wording: Wording) -> Checks {
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

    /// Returns what answers requests with answers of `kind`.
    fn responses(&mut self, environments: &Environments, kind: Kind) -> Checks {
        let policy = &self.policy;
        let mut compiler = Compiler::new(&[]);
        let mut environment = environments.environment(Given::default());
        let conditions = compiler.conditions(&policy.conditions, &environment);
        let variables = compiler.variables(&policy.variables, &mut [&mut environment]);
        let leniency = if policy.is_fail_closed { Leniency::None } else { Leniency::Everything };
        let assertions = compiler.responses(&policy.validations, &environment, kind);
        self.finish(compiler);
        Checks { conditions, variables, assertions, leniency, ..Checks::default() }
    }

    /// Reports what is wrong with the expressions of a policy.
    fn finish(&mut self, mut compiler: Compiler<'_>) {
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

    fn bindings(&mut self, beside: &[Document]) -> Vec<Binding> {
        let mut bindings = Vec::new();
        let name = &self.policy.name.value;
        let is_own = |document: &&Document| {
            document.value.at(&["spec", "policyName"]).and_then(Value::as_str) == Some(name.as_str())
        };
        let own: Vec<&Document> = beside.iter().filter(is_own).collect();
        for document in own {
            let (Some(binding), _) = source::read_binding(document) else { continue };
            if binding.policy.value != self.policy.name.value {
                continue;
            }
            if binding.params.is_some() && self.policy.param_kind.is_none() {
                let message = "`paramRef` in a binding of a policy without `paramKind`".to_owned();
                let location = document.locate_key(&["spec".into(), "paramRef".into()]);
                self.diagnostics.push(Diagnostic::new(&code::PARAMS_WITHOUT_KIND, message, location));
            }
            bindings.push(binding);
        }
        bindings
    }

    fn unbound(&mut self) {
        let message =
            format!("policy `{}` has no binding: in a cluster it would do nothing", self.policy.name.value);
        let help =
            "load a ValidatingAdmissionPolicyBinding beside it; without one violations are only reported";
        let location = self.document.locate(&self.policy.name.path);
        self.diagnostics.push(Diagnostic::new(&code::UNBOUND, message, location).help(help));
    }

    fn controllers(&mut self, settings: &Settings) {
        for unknown in autogen::unknown(settings) {
            let location = self.document.locate(&unknown.path);
            let diagnostic = Diagnostic::new(&code::UNKNOWN_CONTROLLER, unknown.message, location);
            self.diagnostics.push(diagnostic.help(unknown.help));
        }
    }

    fn report(&mut self, code: &'static kubewright_engine::Code, message: String, help: &str) {
        let location = self.document.locate_key(&self.policy.path);
        self.diagnostics.push(Diagnostic::new(code, message, location).help(help));
    }

    fn rule(&self, name: Text, checks: &Arc<Checks>, parts: Parts) -> Rule {
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
            phase: Phase::Judge,
            tier: 0,
            precedence: 0,
            position: 0,
            about: Arc::new(About {
                severity: policy.severity.clone(),
                category: policy.category.clone(),
                properties: Vec::new(),
                emits_warning: parts.actions.warns,
            }),
            refuses_on_error: policy.is_fail_closed && parts.actions.denies,
            is_exclusive: false,
            reads_secrets: self.reads_secrets,
            home: policy.namespace.clone(),
            occasions: parts.occasions,
            location: self.document.locate(&policy.name.path),
            program: Box::new(judge),
        }
    }

    fn compiled(self, rules: Vec<Rule>) -> Compiled {
        let mut diagnostics = self.diagnostics;
        diagnostics.sort_by_key(|diagnostic| diagnostic.location.position);
        Compiled { rules, diagnostics, ..Compiled::default() }
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
