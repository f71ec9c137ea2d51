//! A ValidatingPolicy as it is written to rules that can run, with those for the controllers that make Pods.

use std::sync::Arc;

use kubewright_cel::CelKind;
use kubewright_cel::library::policy::{ENVOY_RESPONSE_TYPE, HTTP_RESPONSE_TYPE};
use kubewright_cel_rules::{Checks, Compiler, Environments, Given, Leniency, Wording};
use kubewright_dialect_kit::workload::Workload;
use kubewright_engine::{CompiledPolicy, Diagnostic, EvaluationModes};
use kubewright_value::{Document, Text};

use super::exceptions::Exception;
use super::source::{self, Mode, Settings};
use super::{NAME, autogen};
use crate::draft::{Draft, Parts};
use crate::matching::Matcher;
use crate::{diagnostics as code, field};

/// Compiles a ValidatingPolicy, with the rules for controllers that are made of it.
pub(super) fn compile(
    environments: &Environments,
    exceptions: &[Exception],
    document: &Document,
) -> CompiledPolicy {
    let (read, diagnostics) = source::read(document);
    let Some((policy, settings)) = read else { return CompiledPolicy::of_diagnostics(diagnostics) };
    let mut draft = Draft::new(NAME, document, policy, diagnostics);
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
        Mode::Http => responses(&mut draft, environments, HTTP_RESPONSE_TYPE),
        Mode::Envoy => responses(&mut draft, environments, ENVOY_RESPONSE_TYPE),
    };
    let checks = Arc::new(checks.rebased(Workload::Pod));
    let kind = field(document, "kind");
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
        evaluation_modes: EvaluationModes {
            admission: settings.is_admission,
            background: settings.is_background,
        },
        ..Parts::default()
    };
    let mut rules = vec![draft.rule(Text::default(), &checks, parts())];
    if settings.mode == Mode::Kubernetes {
        report_unknown_controllers(&mut draft, &settings);
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

/// Returns what answers requests with answers of `kind`.
fn responses(draft: &mut Draft, environments: &Environments, kind: CelKind) -> Checks {
    let policy = &draft.policy;
    let mut compiler = Compiler::new(&[]);
    let mut environment = environments.environment(Given::default());
    let conditions = compiler.conditions(&policy.conditions, &environment);
    let variables = compiler.variables(&policy.variables, &mut [&mut environment]);
    let leniency = if policy.is_fail_closed { Leniency::None } else { Leniency::Everything };
    let assertions = compiler.responses(&policy.validations, &environment, kind);
    draft.finish(compiler);
    Checks { conditions, variables, assertions, leniency, ..Checks::default() }
}

/// Reports the names of controllers that mean nothing.
fn report_unknown_controllers(draft: &mut Draft, settings: &Settings) {
    for unknown in autogen::unknown(settings) {
        let location = draft.document.locate(&unknown.path);
        let diagnostic = Diagnostic::new(&code::UNKNOWN_CONTROLLER, unknown.message, location);
        draft.diagnostics.push(diagnostic.help(unknown.help));
    }
}
