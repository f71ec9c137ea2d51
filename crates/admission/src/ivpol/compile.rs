//! An ImageValidatingPolicy as it is written to rules that can run.

use std::sync::Arc;

use kubewright_cel::{CelKind, Inputs};
use kubewright_cel_rules::{AvailableVariables, CelChecks, Environments, ExpressionCompiler, Wording};
use kubewright_engine::{
    AdmissionPhase, CompiledPolicy, EvaluationModes, Recompile, Rule, RuleAction, RuleProgram, StatusFields,
    WebhookPlan,
};
use kubewright_value::{Document, Map, Text, Value};

use super::NAME;
use super::digests::DigestMutation;
use super::evaluate::{ImagePolicyProgram, ImageSelection};
use super::source::{self, ImagePolicySettings};
use crate::draft::{PolicyDraft, PolicyRuleParts};
use crate::matching::ConstraintsMatcher;
use crate::text_field;
use crate::vpol::EvaluationTarget;
use crate::vpol::autogen::{self, ControllerPolicy};
use crate::vpol::cluster::{WebhookShare, admission_webhooks, status_fields};
use crate::vpol::compile::report_unknown_controllers;
use crate::vpol::exceptions::CompiledPolicyException;

/// Digests are looked up after all other rules have changed the object.
const IMAGES_TIER: i32 = 1000;

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
    let checks = Arc::new(checks.finished());
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
    let factory = ImageRuleFactory { draft: &draft, checks: &checks, settings: &settings };
    let mut rules = factory.rules(&Text::default(), &selection, parts);
    let (mut webhooks, mut status) = (Vec::new(), StatusFields::default());
    if settings.common.mode == EvaluationTarget::Kubernetes {
        let controllers = settings.common.controllers.as_deref();
        let mut controllers = autogen::generate_controller_policies(&draft.policy, controllers);
        // Where the images of other controllers are is not known, and no image would be verified.
        controllers.retain(|generated| generated.workload.is_some());
        for generated in &controllers {
            let Some(workload) = generated.workload else { continue };
            let matcher = || Some(ConstraintsMatcher::compile(&generated.constraints));
            let parts = || PolicyRuleParts { matcher: matcher(), workload: Some(workload), ..parts() };
            rules.extend(factory.rules(&generated.name.into(), &selection.rebased(workload), parts));
        }
        webhooks = factory.webhooks(&controllers);
        status = status_fields(document, &draft.policy, &controllers);
        report_unknown_controllers(&mut draft, settings.common.controllers.as_deref());
    }
    let mut compiled = CompiledPolicy { webhooks, status, ..draft.compiled(rules) };
    // Certificates are valid for some time.
    compiled.recompile = Recompile::Periodically;
    compiled
}

/// Makes the rules of one policy.
struct ImageRuleFactory<'a> {
    draft: &'a PolicyDraft,
    checks: &'a Arc<CelChecks>,
    settings: &'a ImagePolicySettings,
}

impl ImageRuleFactory<'_> {
    /// Returns the rule that replaces tags by digests, where the policy asks for it, and the rule that verifies. Both have
    /// one name.
    fn rules(
        &self,
        name: &Text,
        selection: &ImageSelection,
        parts: impl Fn() -> PolicyRuleParts,
    ) -> Vec<Rule> {
        let mut rules = Vec::new();
        // A policy that is not valid says so once.
        if self.mutates_digest() && self.draft.broken().is_none() {
            let program = |base| -> Box<dyn RuleProgram> {
                Box::new(DigestMutation(ImagePolicyProgram::new(base, selection.clone())))
            };
            let rule = self.draft.rule_running(name.clone(), self.checks, parts(), program);
            rules.push(Rule {
                action: RuleAction::Mutate,
                phase: AdmissionPhase::Mutating,
                tier: IMAGES_TIER,
                matches_current: true,
                evaluation_modes: EvaluationModes { background: false, ..rule.evaluation_modes },
                ..rule
            });
        }
        let program =
            |base| -> Box<dyn RuleProgram> { Box::new(ImagePolicyProgram::new(base, selection.clone())) };
        rules.push(self.draft.rule_running(name.clone(), self.checks, parts(), program));
        rules
    }

    fn mutates_digest(&self) -> bool {
        self.settings.mutates_digest && self.settings.common.mode == EvaluationTarget::Kubernetes
    }

    fn webhooks(&self, controllers: &[ControllerPolicy]) -> Vec<WebhookPlan> {
        if !self.settings.common.is_admission {
            return Vec::new();
        }
        let constraints: Vec<_> = controllers.iter().map(|generated| &generated.constraints).collect();
        let mutating = self.mutates_digest().then_some(WebhookShare::MutateImages);
        let shares = mutating.into_iter().chain([WebhookShare::ValidateImages]);
        let PolicyDraft { document, policy, .. } = self.draft;
        shares.flat_map(|share| admission_webhooks(document, policy, &constraints, share)).collect()
    }
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
    }
}
