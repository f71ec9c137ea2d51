//! A MutatingPolicy as it is written to rules that can run, with those for the controllers that make Pods.

use std::sync::Arc;

use kubewright_cel_rules::{AvailableVariables, CelChecks, CelExpression, Environments, NamedCondition};
use kubewright_engine::{
    BackgroundProgram, CompiledPolicy, Diagnostic, EvaluationModes, MutateProgram, Rule, WebhookPlan,
};
use kubewright_k8s::Operation;
use kubewright_value::{Document, Text, Value};

use super::NAME;
use super::native::NativeCandidate;
use super::source::{self, MutatingPolicySettings, TargetSource};
use crate::draft::PolicyDraft;
use crate::gpol::compile::mentions_requester;
use crate::matching::ConstraintsMatcher;
use crate::mutate::rule::MutationRuleParts;
use crate::mutate::{MutationEngine, MutationSubject, MutationTargets, StoredTargetJudge, TargetOrigin};
use crate::source::ConstraintsSource;
use crate::vpol::cluster::{WebhookShare, admission_webhooks, dedicate_webhook, status_fields};
use crate::vpol::compile::report_unknown_controllers;
use crate::vpol::exceptions::CompiledPolicyException;
use crate::vpol::{EvaluationTarget, autogen};
use crate::{diagnostics as code, text_field};

/// The name of the rule that changes other objects.
const EXISTING_RULE_NAME: &str = "mutate-existing";

/// The webhook that policies share which are evaluated again after a later change.
const REINVOKED_WEBHOOK_NAME: &str = "mpol-reinvoked.mutate.kyverno.svc";

/// Compiles a MutatingPolicy and the rules generated from it.
pub(super) fn compile_mutating_policy(
    environments: &Environments,
    exceptions: &[CompiledPolicyException],
    document: &Document,
) -> CompiledPolicy {
    let (read, diagnostics) = source::read_mutating_policy(document);
    let Some((policy, settings)) = read else { return CompiledPolicy::of_diagnostics(diagnostics) };
    let mut draft = PolicyDraft::new(NAME, document, policy, diagnostics);
    if settings.mode == EvaluationTarget::Kubernetes {
        draft.check();
    }
    let environments = match &draft.policy.namespace {
        Some(namespace) => environments.within(namespace),
        None => environments.clone(),
    }
    .with_patches();
    let given = AvailableVariables { namespace: true, ..AvailableVariables::default() };
    let (checks, target) =
        draft.mutations(&environments, given, &settings.mutations, |compiler, environment| {
            let expression = match &settings.targets {
                Some(TargetSource::Expression(text)) => compiler.any_expression(text, environment),
                _ => None,
            };
            let conditions = compiler.conditions(&settings.target_conditions, environment);
            CompiledTarget { expression, conditions }
        });
    report_unknown_controllers(&mut draft, settings.controllers.as_deref());
    report_unused_targets(&mut draft, &settings);
    report_never_evaluated(&mut draft, &settings);
    let parts = RuleFactory { draft: &draft, settings: &settings, checks: &checks, exceptions, environments };
    if parts.environments.rules_only {
        let rules = parts.rules(target);
        return draft.compiled(rules);
    }
    let scan_rules: Vec<Rule> = parts.stored_target_rule(&target).into_iter().collect();
    // Where the trigger is the target, the first rule judges it.
    let is_judged_by_targets = settings.targets.is_none() || !scan_rules.is_empty();
    let rules = parts.rules(target);
    let controllers = parts.controllers();
    let constraints: Vec<_> = controllers.iter().map(|generated| &generated.constraints).collect();
    let mut webhooks = match settings.mode == EvaluationTarget::Kubernetes && settings.is_admission {
        true => admission_webhooks(document, &draft.policy, &constraints, WebhookShare::Mutate),
        false => Vec::new(),
    };
    webhooks.iter_mut().for_each(|plan| complete_webhook(plan, &draft, &settings));
    let status = status_fields(document, &draft.policy, &controllers);
    let background = parts.background(is_judged_by_targets);
    let background = background.filter(|program| rules.iter().any(|rule| rule.id == *program.rule()));
    let background = background.into_iter().collect();
    let own_exceptions: Vec<_> = parts.own_exceptions().collect();
    let native = NativeCandidate {
        document,
        policy: &draft.policy,
        settings: &settings,
        exceptions: &own_exceptions,
        has_controllers: !controllers.is_empty(),
    }
    .rule();
    CompiledPolicy { scan_rules, webhooks, status, background, native, ..draft.compiled(rules) }
}

/// Adds to the webhook what only policies that change objects have. Conditions in `webhookConfiguration` are evaluated by
/// the API server alone.
fn complete_webhook(plan: &mut WebhookPlan, draft: &PolicyDraft, settings: &MutatingPolicySettings) {
    plan.is_reinvoked = settings.is_reinvoked;
    if settings.is_reinvoked {
        plan.shared_name = Some(REINVOKED_WEBHOOK_NAME.into());
    }
    if settings.webhook_conditions.is_empty() {
        return;
    }
    let written = settings.webhook_conditions.iter();
    let written = written.map(|one| (one.name.value.clone(), one.expression.value.clone()));
    let conditions = written.chain(plan.match_conditions.drain(..)).collect();
    plan.repeats_conditions = false;
    dedicate_webhook(plan, &draft.document, &draft.policy, conditions);
}

/// The compiled target expression and conditions.
struct CompiledTarget {
    expression: Option<CelExpression>,
    conditions: Vec<NamedCondition>,
}

/// Makes the rules of one policy.
struct RuleFactory<'a> {
    draft: &'a PolicyDraft,
    settings: &'a MutatingPolicySettings,
    checks: &'a Arc<CelChecks>,
    exceptions: &'a [CompiledPolicyException],
    environments: Environments,
}

impl RuleFactory<'_> {
    fn rules(&self, target: CompiledTarget) -> Vec<Rule> {
        let subject = match self.settings.mode {
            EvaluationTarget::Kubernetes => MutationSubject::Object,
            _ => MutationSubject::Payload,
        };
        let mut rules = vec![self.rule(Text::default(), MutationRuleParts { subject, ..self.parts() })];
        if self.settings.mode != EvaluationTarget::Kubernetes {
            return rules;
        }
        rules.extend(self.controller_rules());
        if self.settings.changes_existing
            && let Some(origin) = self.target_origin(target.expression)
        {
            let targets = MutationTargets {
                origin,
                checks: self.checks.unconditional(),
                conditions: target.conditions,
            };
            let subject = MutationSubject::Targets(Box::new(targets));
            rules.push(self.rule(EXISTING_RULE_NAME.into(), MutationRuleParts { subject, ..self.parts() }));
        }
        rules
    }

    /// Returns the rule that judges stored targets: none where targets are not named by constraints, or what becomes of
    /// them depends on the request because of which they are changed.
    fn stored_target_rule(&self, target: &CompiledTarget) -> Option<Rule> {
        let is_about_objects = self.settings.mode == EvaluationTarget::Kubernetes;
        let Some(TargetSource::Constraints(constraints)) = &self.settings.targets else { return None };
        let spec = self.draft.document.value.get("spec")?;
        let depends = |key: &&str| spec.get(key).is_some_and(mentions_trigger);
        if !is_about_objects
            || !self.settings.changes_existing
            || ["variables", "mutations", "targetMatchConditions"].iter().any(depends)
        {
            return None;
        }
        let origin = TargetOrigin::of_constraints(constraints, self.draft.policy.namespace.as_ref());
        let matcher = origin.matcher().cloned();
        let checks = self.checks.unconditional();
        let targets = MutationTargets { origin, checks, conditions: target.conditions.clone() };
        let own = self.draft.policy.constraints.as_ref().map(ConstraintsMatcher::compile);
        let subject = MutationSubject::StoredTarget(Box::new(StoredTargetJudge { targets, own }));
        // Exceptions are about the object that is the cause.
        let parts = MutationRuleParts { matcher, subject, exceptions: Vec::new(), ..self.parts() };
        Some(self.rule(EXISTING_RULE_NAME.into(), parts))
    }

    /// Returns what a controller has to know about the rule that changes other objects.
    fn background(&self, is_judged_by_targets: bool) -> Option<BackgroundProgram> {
        let resources =
            |constraints: &ConstraintsSource| ConstraintsMatcher::compile(constraints).resources();
        let own = self.draft.policy.constraints.as_ref();
        let triggers = own.map(resources).unwrap_or_default();
        let targets = match &self.settings.targets {
            Some(TargetSource::Constraints(constraints)) => resources(constraints),
            Some(TargetSource::Expression(_)) => Vec::new(),
            None => triggers.clone(),
        };
        // An object that is there counts as created.
        let is_for_existing = triggers.iter().any(|rule| rule.operations.contains(Operation::Create));
        let skips = self.draft.document.value.at(&["spec", "evaluation", "skipBackgroundRequests"]);
        Some(BackgroundProgram::Mutate(MutateProgram {
            rule: self.draft.id(EXISTING_RULE_NAME.into()),
            triggers,
            targets,
            mutates_existing: self.settings.is_background && is_for_existing,
            skips_background_requests: skips.and_then(Value::as_bool).unwrap_or(true),
            reads_requester: mentions_requester(&self.draft.document.value),
            is_judged_by_targets,
        }))
    }

    fn target_origin(&self, expression: Option<CelExpression>) -> Option<TargetOrigin> {
        match (&self.settings.targets, expression) {
            (Some(TargetSource::Expression(_)), expression) => expression.map(TargetOrigin::Expression),
            (Some(TargetSource::Constraints(constraints)), _) => {
                Some(TargetOrigin::of_constraints(constraints, self.draft.policy.namespace.as_ref()))
            }
            (None, _) => Some(TargetOrigin::Trigger),
        }
    }

    /// Returns the controllers that a policy about Pods also changes.
    fn controllers(&self) -> Vec<autogen::ControllerPolicy> {
        let policy = &self.draft.policy;
        match self.settings.changes_existing || policy.constraints.as_ref().is_none_or(selects_namespaces) {
            true => Vec::new(),
            false => autogen::generate_controller_policies(policy, self.settings.controllers.as_deref()),
        }
    }

    fn controller_rules(&self) -> Vec<Rule> {
        let rule = |one: autogen::ControllerPolicy| {
            let subject = one.workload.map_or(MutationSubject::Unknown, MutationSubject::Template);
            let matcher = Some(ConstraintsMatcher::compile(&one.constraints));
            self.rule(one.name.into(), MutationRuleParts { matcher, subject, ..self.parts() })
        };
        self.controllers().into_iter().map(rule).collect()
    }

    fn rule(&self, name: Text, parts: MutationRuleParts) -> Rule {
        self.draft.mutation_rule(name, self.checks, parts)
    }

    fn own_exceptions(&self) -> impl Iterator<Item = &CompiledPolicyException> {
        let kind = text_field(&self.draft.document, "kind");
        self.exceptions.iter().filter(move |one| one.is_about(&self.draft.policy.name.value, kind))
    }

    fn parts(&self) -> MutationRuleParts {
        MutationRuleParts {
            exceptions: self.own_exceptions().cloned().collect(),
            replaces_atomics: self.settings.replaces_atomics,
            inputs: self.environments.inputs,
            evaluation_modes: EvaluationModes {
                admission: self.settings.is_admission,
                background: self.settings.is_background,
            },
            ..MutationRuleParts::new(MutationEngine::Policy)
        }
    }
}

/// Returns whether a text in a part of a policy may read what is known of the cause of a change alone.
fn mentions_trigger(value: &Value) -> bool {
    match value {
        Value::String(text) => {
            ["request.", "oldObject", "namespaceObject"].iter().any(|word| text.contains(word))
        }
        Value::Array(items) => items.iter().any(mentions_trigger),
        Value::Object(map) => map.values().any(mentions_trigger),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn selects_namespaces(constraints: &ConstraintsSource) -> bool {
    constraints.namespace_selector.as_ref().is_some_and(|selector| !selector.is_empty())
}

fn report_unused_targets(draft: &mut PolicyDraft, settings: &MutatingPolicySettings) {
    let has_targets = settings.targets.is_some() || !settings.target_conditions.is_empty();
    if has_targets && !settings.changes_existing {
        let message = "the policy has targets, but changes only the object of the request".to_owned();
        let key = if settings.targets.is_some() { "targetMatchConstraints" } else { "targetMatchConditions" };
        let location = draft.document.locate_key(&["spec".into(), key.into()]);
        let diagnostic = Diagnostic::new(&code::UNUSED_TARGETS, message, location);
        draft.diagnostics.push(diagnostic.help("set `evaluation.mutateExisting.enabled: true`"));
    }
}

fn report_never_evaluated(draft: &mut PolicyDraft, settings: &MutatingPolicySettings) {
    let is_about_objects = settings.mode == EvaluationTarget::Kubernetes;
    if is_about_objects && !settings.is_admission && !settings.changes_existing {
        let message = "both `admission` and `mutateExisting` are off".to_owned();
        let location = draft.document.locate_key(&["spec".into(), "evaluation".into()]);
        let diagnostic = Diagnostic::new(&code::NEVER_EVALUATED, message, location);
        draft.diagnostics.push(diagnostic.help("enable one of them"));
    }
}
