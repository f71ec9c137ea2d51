//! Rules that change objects, built from the parts of a policy.

use std::sync::Arc;

use kubewright_cel::{CelEnvironment, Inputs};
use kubewright_cel_rules::{
    AvailableVariables, CelChecks, Environments, ExpressionCompiler, NamedCondition, Wording,
};
use kubewright_dialect_kit::description::policy_text;
use kubewright_engine::{
    AdmissionPhase, Diagnostic, EvaluationModes, Rule, RuleAction, RuleId, RuleMetadata, RuleScope,
};
use kubewright_patch::structured::StructuredMergeOptions;
use kubewright_value::{Text, Value};

use super::source::MutationSource;
use super::{MutationEngine, MutationParams, MutationProgram, MutationSubject, check_structures};
use crate::diagnostics as code;
use crate::draft::{PolicyDraft, constrained_kinds};
use crate::matching::ConstraintsMatcher;
use crate::vpol::CompiledPolicyException;

/// The parts of a rule that differ between the rules of one policy.
pub(crate) struct MutationRuleParts {
    /// In place of the one of the policy.
    pub(crate) matcher: Option<ConstraintsMatcher>,
    /// The further constraints of the binding.
    pub(crate) binding: Option<ConstraintsMatcher>,
    pub(crate) params: Option<MutationParams>,
    pub(crate) exceptions: Vec<CompiledPolicyException>,
    pub(crate) engine: MutationEngine,
    pub(crate) subject: MutationSubject,
    pub(crate) replaces_atomics: bool,
    pub(crate) inputs: Inputs,
    pub(crate) evaluation_modes: EvaluationModes,
    /// Properties in reports.
    pub(crate) properties: Vec<(Text, Text)>,
}

impl MutationRuleParts {
    pub(crate) fn new(engine: MutationEngine) -> Self {
        Self {
            matcher: None,
            binding: None,
            params: None,
            exceptions: Vec::new(),
            engine,
            subject: MutationSubject::Object,
            replaces_atomics: false,
            inputs: Inputs::default(),
            evaluation_modes: EvaluationModes::default(),
            properties: Vec::new(),
        }
    }
}

impl PolicyDraft {
    /// Compiles conditions, variables and mutations; `more` compiles what else there is.
    pub(crate) fn mutations<T>(
        &mut self,
        environments: &Environments,
        given: AvailableVariables,
        mutations: &[MutationSource],
        more: impl FnOnce(&mut ExpressionCompiler<'_>, &CelEnvironment) -> T,
    ) -> (Arc<CelChecks>, T) {
        let policy = &self.policy;
        let is_native = given.authorizer;
        let kinds = if environments.rules_only { Vec::new() } else { constrained_kinds(policy) };
        let kinds: Vec<&str> = kinds.iter().map(Text::as_str).collect();
        let mut compiler = ExpressionCompiler::new(&kinds);
        compiler.has_dynamic_conditions = !is_native;
        let mut environment = environments.environment(given);
        // Only the API server's conditions cannot read variables.
        let early = is_native.then(|| compiler.conditions(&policy.conditions, &environment));
        let variables = match is_native {
            true => compiler.variables(&policy.variables, &mut [&mut environment]),
            false => compiler.untyped_variables(&policy.variables, &mut environment),
        };
        let conditions: Vec<NamedCondition> =
            early.unwrap_or_else(|| compiler.conditions(&policy.conditions, &environment));
        let mut compiled = Vec::with_capacity(mutations.len());
        for one in mutations {
            compiled.extend(compiler.mutation(&one.expression, one.language, &environment));
        }
        if !environments.rules_only {
            compiler.problems.extend(check_structures(policy, &compiled));
        }
        let annotations = compiler.annotations(&policy.annotations, &environment);
        let other = more(&mut compiler, &environment);
        let wording = if is_native { Wording::ApiServer } else { Wording::Policy };
        let checks = CelChecks {
            conditions,
            variables,
            mutations: Arc::new(compiled),
            annotations,
            wording,
            is_namespace_late: is_native,
            ..CelChecks::default()
        };
        self.finish_expressions(compiler);
        self.report_no_mutations();
        (Arc::new(checks.finished()), other)
    }

    /// Those that cannot be read are reported already.
    fn report_no_mutations(&mut self) {
        let written = self.document.value.at(&["spec", "mutations"]).and_then(Value::as_array);
        if written.is_none_or(<[Value]>::is_empty) {
            let message = "there is no mutation, so nothing is changed".to_owned();
            self.report(&code::NO_MUTATIONS, message, "give `mutations`");
        }
    }

    /// Returns the rule called `name` that changes objects.
    pub(crate) fn mutation_rule(
        &self,
        name: Text,
        checks: &Arc<CelChecks>,
        parts: MutationRuleParts,
    ) -> Rule {
        let policy = &self.policy;
        let matcher = parts.matcher.or_else(|| policy.constraints.as_ref().map(ConstraintsMatcher::compile));
        let scope = match (&parts.subject, &matcher) {
            (MutationSubject::Payload, _) => RuleScope { payloads: true, ..RuleScope::default() },
            (_, Some(matcher)) => matcher.scope(policy.namespace.as_ref()),
            (_, None) => RuleScope::default(),
        };
        let action = match parts.subject {
            MutationSubject::Targets(_) => RuleAction::Generate,
            MutationSubject::StoredTarget(_) => RuleAction::Validate,
            _ => RuleAction::Mutate,
        };
        let broken = self.diagnostics.iter().find(|diagnostic| diagnostic.is_error());
        let program = MutationProgram {
            document: Arc::clone(&self.document),
            matcher,
            binding: parts.binding,
            checks: Arc::clone(checks),
            params: parts.params,
            exceptions: parts.exceptions,
            inputs: parts.inputs,
            engine: parts.engine,
            options: StructuredMergeOptions {
                replaces_atomics: parts.replaces_atomics,
                refuses_nulls: true,
                ..StructuredMergeOptions::default()
            },
            subject: parts.subject,
            broken: broken.map(|one: &Diagnostic| format!("the policy is not valid: {}", one.message).into()),
        };
        let is_native = parts.engine == MutationEngine::ApiServer;
        Rule {
            scope: self.located_scope(scope),
            id: Arc::new(RuleId { dialect: self.dialect, policy: policy.key(), rule: name }),
            action,
            phase: AdmissionPhase::Mutating,
            // The API server's own policies run before any webhook.
            tier: if is_native { i32::MIN } else { 0 },
            precedence: 0,
            position: 0,
            matches_current: true,
            metadata: Arc::new(RuleMetadata {
                severity: policy.severity.clone(),
                category: policy.category.clone(),
                title: policy_text(&self.document, "title"),
                description: policy_text(&self.document, "description"),
                properties: parts.properties,
                reported_rule: is_native.then(|| policy.name.value.clone()),
                unapplied_message: Some(Text::new_static("mutation is not applied")),
                ..RuleMetadata::default()
            }),
            refuses_on_error: policy.is_fail_closed,
            is_exclusive: false,
            reads_secrets: self.reads_secrets,
            home: policy.namespace.clone(),
            evaluation_modes: parts.evaluation_modes,
            location: self.document.locate(&policy.name.path),
            program: Box::new(program),
        }
    }
}
