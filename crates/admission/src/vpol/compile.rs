//! A ValidatingPolicy as it is written to rules that can run, with those for the controllers that make Pods.

use std::sync::Arc;

use kubewright_cel::CelKind;
use kubewright_cel::library::policy::{ENVOY_RESPONSE_TYPE, HTTP_RESPONSE_TYPE};
use kubewright_cel_rules::{
    AvailableVariables, CelChecks, Environments, ExpressionCompiler, Leniency, Wording,
};
use kubewright_dialect_kit::fields::Located;
use kubewright_engine::{CompiledPolicy, Diagnostic, EvaluationModes, StatusFields};
use kubewright_value::{Document, Text};

use super::exceptions::CompiledPolicyException;
use super::native::{NativeInputs, native_rule};
use super::source::{self, EvaluationTarget};
use super::{NAME, autogen, cluster};
use crate::draft::{PolicyDraft, PolicyRuleParts};
use crate::matching::ConstraintsMatcher;
use crate::{diagnostics as code, text_field};

/// Compiles a ValidatingPolicy and the rules for controllers generated from it.
pub(super) fn compile_validating_policy(
    environments: &Environments,
    exceptions: &[CompiledPolicyException],
    document: &Document,
) -> CompiledPolicy {
    let (read, diagnostics) = source::read_validating_policy(document);
    let Some((policy, settings)) = read else { return CompiledPolicy::of_diagnostics(diagnostics) };
    let mut draft = PolicyDraft::new(NAME, document, policy, diagnostics);
    if settings.mode == EvaluationTarget::Kubernetes {
        draft.check();
    }
    let environments = match (settings.mode, &draft.policy.namespace) {
        (EvaluationTarget::Http, _) => &environments.http(),
        (EvaluationTarget::Envoy, _) => &environments.envoy(),
        (_, Some(namespace)) => &environments.within(namespace),
        (_, None) => environments,
    };
    let checks = match settings.mode {
        EvaluationTarget::Kubernetes | EvaluationTarget::Json => draft.checks(
            environments,
            AvailableVariables { namespace: true, ..AvailableVariables::default() },
            Wording::Policy,
        ),
        EvaluationTarget::Http => compile_responses(&mut draft, environments, HTTP_RESPONSE_TYPE),
        EvaluationTarget::Envoy => compile_responses(&mut draft, environments, ENVOY_RESPONSE_TYPE),
    };
    let checks = Arc::new(checks.finished());
    let kind = text_field(document, "kind");
    let excused: Vec<CompiledPolicyException> = exceptions
        .iter()
        .filter(|exception| exception.is_about(&draft.policy.name.value, kind))
        .cloned()
        .collect();
    let parts = || PolicyRuleParts {
        actions: settings.actions,
        exceptions: excused.clone(),
        mode: Some(settings.mode),
        inputs: environments.inputs,
        evaluation_modes: EvaluationModes {
            admission: settings.is_admission,
            background: settings.is_background,
        },
        ..PolicyRuleParts::default()
    };
    let mut rules = vec![draft.rule(Text::default(), &checks, parts())];
    let (mut webhooks, mut status) = (Vec::new(), StatusFields::default());
    let mut has_controllers = false;
    if settings.mode == EvaluationTarget::Kubernetes {
        report_unknown_controllers(&mut draft, settings.controllers.as_deref());
        let controllers = settings.controllers.as_deref();
        let controllers = autogen::generate_controller_policies(&draft.policy, controllers);
        if !environments.rules_only {
            status = cluster::status_fields(document, &draft.policy, &controllers);
        }
        has_controllers = !controllers.is_empty();
        if settings.is_admission && !environments.rules_only {
            let constraints: Vec<_> = controllers.iter().map(|generated| &generated.constraints).collect();
            webhooks = cluster::admission_webhooks(
                document,
                &draft.policy,
                &constraints,
                cluster::WebhookShare::Validate,
            );
        }
        for generated in controllers {
            let matcher = Some(ConstraintsMatcher::compile(&generated.constraints));
            let parts = PolicyRuleParts {
                matcher,
                workload: generated.workload,
                looks_for_pods: generated.workload.is_none(),
                ..parts()
            };
            rules.push(draft.rule(generated.name.into(), &checks, parts));
        }
    }
    let inputs = NativeInputs { document, settings: &settings, exceptions: &excused, has_controllers };
    let native = if environments.rules_only { None } else { native_rule(&inputs) };
    CompiledPolicy { webhooks, status, native, ..draft.compiled(rules) }
}

/// Compiles the expressions that answer requests with responses of `kind`.
fn compile_responses(draft: &mut PolicyDraft, environments: &Environments, kind: CelKind) -> CelChecks {
    let policy = &draft.policy;
    let mut compiler = ExpressionCompiler::new(&[]);
    let mut environment = environments.environment(AvailableVariables::default());
    let conditions = compiler.conditions(&policy.conditions, &environment);
    let variables = compiler.variables(&policy.variables, &mut [&mut environment]);
    let leniency = if policy.is_fail_closed { Leniency::None } else { Leniency::Everything };
    let assertions = compiler.responses(&policy.validations, &environment, kind);
    draft.finish(compiler);
    CelChecks { conditions, variables, assertions, leniency, ..CelChecks::default() }
}

/// Reports the names of controllers that mean nothing.
pub(crate) fn report_unknown_controllers(draft: &mut PolicyDraft, controllers: Option<&[Located<Text>]>) {
    for unknown in autogen::unknown_controllers(controllers) {
        let location = draft.document.locate(&unknown.path);
        let diagnostic = Diagnostic::new(&code::UNKNOWN_CONTROLLER, unknown.message, location);
        draft.diagnostics.push(diagnostic.help(unknown.help));
    }
}
