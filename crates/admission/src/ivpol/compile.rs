//! An ImageValidatingPolicy as it is written to rules that can run.

use std::sync::Arc;

use kubewright_cel::{CelKind, Inputs};
use kubewright_cel_rules::{AvailableVariables, CelChecks, Environments, ExpressionCompiler, Wording};
use kubewright_engine::{CompiledPolicy, EvaluationModes, Recompile};
use kubewright_k8s::PodTemplatePath;
use kubewright_value::{Document, Map, Text, Value};

use super::NAME;
use super::evaluate::{ImagePolicyProgram, ImageSelection};
use super::source::{self, ImagePolicySettings};
use crate::draft::{PolicyDraft, PolicyRuleParts};
use crate::matching::ConstraintsMatcher;
use crate::text_field;
use crate::vpol::EvaluationTarget;
use crate::vpol::autogen;
use crate::vpol::exceptions::CompiledPolicyException;

/// Compiles an ImageValidatingPolicy and the rules for controllers generated from it.
pub(super) fn compile_image_policy(
    inputs: Inputs,
    exceptions: &[CompiledPolicyException],
    document: &Document,
) -> CompiledPolicy {
    let (read, diagnostics) = source::read_image_policy(document);
    let Some((policy, settings)) = read else { return CompiledPolicy::of_diagnostics(diagnostics) };
    let mut draft = PolicyDraft::new(NAME, document, policy, diagnostics);
    if settings.common.mode == EvaluationTarget::Kubernetes {
        draft.check();
    }
    let environments = Environments::image_policies(inputs, draft.policy.namespace.as_ref());
    let given = AvailableVariables { namespace: true, ..AvailableVariables::default() };
    let checks = draft.checks(&environments, given, Wording::Policy);
    let selection = compile_selection(&mut draft, &environments, &settings);
    let checks = Arc::new(checks.rebased(PodTemplatePath::Pod));
    let kind = text_field(document, "kind");
    let excused: Vec<CompiledPolicyException> =
        exceptions.iter().filter(|one| one.is_about(&draft.policy.name.value, kind)).cloned().collect();
    let parts = || PolicyRuleParts {
        actions: settings.common.actions,
        exceptions: excused.clone(),
        mode: Some(settings.common.mode),
        inputs,
        evaluation_modes: EvaluationModes {
            admission: settings.common.is_admission,
            background: settings.common.is_background,
        },
        ..PolicyRuleParts::default()
    };
    let program = |selection: ImageSelection| |base| ImagePolicyProgram::boxed(base, selection);
    let mut rules = vec![draft.rule_running(Text::default(), &checks, parts(), program(selection.clone()))];
    if settings.common.mode == EvaluationTarget::Kubernetes {
        for generated in
            autogen::generate_controller_policies(&draft.policy, settings.common.controllers.as_deref())
        {
            // Where the images of other controllers are is not known, and no image would be verified.
            let Some(workload) = generated.workload else { continue };
            let matcher = Some(ConstraintsMatcher::compile(&generated.constraints));
            let parts = PolicyRuleParts { matcher, workload: Some(workload), ..parts() };
            let selection = selection.rebased(workload);
            rules.push(draft.rule_running(generated.name.into(), &checks, parts, program(selection)));
        }
    }
    let mut compiled = draft.compiled(rules);
    // Certificates are valid for some time.
    compiled.recompile = Recompile::Periodically;
    compiled
}

fn compile_selection(
    draft: &mut PolicyDraft,
    environments: &Environments,
    settings: &ImagePolicySettings,
) -> ImageSelection {
    let given = AvailableVariables { namespace: true, ..AvailableVariables::default() };
    let mut compiler = ExpressionCompiler::new(&[]);
    let mut environment = environments.environment(given);
    // They may read variables; problems of those are reported elsewhere.
    let _: Vec<_> = ExpressionCompiler::new(&[]).variables(&draft.policy.variables, &mut [&mut environment]);
    let extractors = compiler.values(&settings.extractors, &environment, &[CelKind::List]);
    let with_reference = environments.environment_with(given, "ref");
    let references = compiler.values(&settings.references, &with_reference, &[CelKind::Bool]);
    let document = Arc::clone(&draft.document);
    let problems = compiler.problems.into_iter();
    draft.diagnostics.extend(problems.map(|problem| problem.diagnostic(&document)));
    let fixed = Map::from([
        ("attestors", Value::from(settings.attestors.clone())),
        ("attestations", settings.attestations.clone().into()),
        ("credentials", settings.credentials.clone()),
    ]);
    ImageSelection {
        verifies_digest: settings.verifies_digest,
        is_required: settings.is_required,
        globs: settings.globs.clone(),
        references,
        extractors,
        fixed: fixed.into(),
        gate: CelChecks::default(),
    }
}
