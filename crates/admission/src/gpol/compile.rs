//! A GeneratingPolicy as it is written to a rule that can run, and to what a controller must know about it.

use std::sync::Arc;

use kubewright_cel_rules::{
    AvailableVariables, CelChecks, DownstreamOrigin, Environments, ExpressionCompiler, GenerateStep,
    Leniency, Wording,
};
use kubewright_engine::{
    BackgroundProgram, CompiledPolicy, DownstreamTemplate, GenerateProgram, RuleAction, RuleScope,
};
use kubewright_k8s::Operation;
use kubewright_value::{Document, Text, Value};

use super::NAME;
use super::evaluate::GeneratingProgram;
use super::source::{GenerateEntry, GeneratingPolicySettings, read_generating_policy};
use crate::draft::{PolicyDraft, constrained_kinds};
use crate::matching::ConstraintsMatcher;
use crate::vpol::CompiledPolicyException;
use crate::{diagnostics as code, text_field};

/// Compiles a GeneratingPolicy.
pub(super) fn compile_generating_policy(
    environments: &Environments,
    exceptions: &[CompiledPolicyException],
    document: &Document,
) -> CompiledPolicy {
    let (read, diagnostics) = read_generating_policy(document);
    let Some((policy, settings)) = read else { return CompiledPolicy::of_diagnostics(diagnostics) };
    let mut draft = PolicyDraft::new(NAME, document, policy, diagnostics);
    draft.check();
    if settings.generate.is_empty() && !draft.diagnostics.iter().any(|found| found.is_error()) {
        let message = "the policy makes nothing".to_owned();
        draft.report(&code::NOTHING_GENERATED, message, "give `generate`");
    }
    let environments = environments.generating(draft.policy.namespace.as_ref());
    let (checks, steps) = compile_steps(&mut draft, &environments, &settings);
    let kind = text_field(document, "kind");
    let excused = exceptions.iter().filter(|one| one.is_about(&draft.policy.name.value, kind)).cloned();
    let constraints = draft.policy.constraints.as_ref();
    let matcher = constraints.map(ConstraintsMatcher::compile);
    let home = draft.policy.namespace.clone();
    let scope = matcher.as_ref().map_or_else(RuleScope::default, |matcher| matcher.scope(home.as_ref()));
    let downstreams = downstream_templates(&checks, &steps);
    let background = background_program(&draft, &settings, matcher.as_ref(), downstreams);
    let program = GeneratingProgram {
        document: Arc::clone(&draft.document),
        matcher,
        checks,
        steps,
        exceptions: excused.collect(),
        inputs: environments.inputs,
        synchronizes: settings.synchronizes,
        skips_background_requests: settings.skips_background_requests,
        origin: DownstreamOrigin {
            prefix: "generate.kyverno.io/",
            manager: "kyverno",
            policy: draft.policy.name.value.clone(),
            namespace: home.unwrap_or_default(),
            rule: Text::default(),
        },
        broken: draft.broken(),
    };
    let is_broken = program.broken.is_some();
    let rule = draft.background_rule(RuleAction::Generate, scope, Box::new(program));
    let mut compiled = draft.compiled(vec![rule]);
    compiled.background.extend((!is_broken).then_some(background));
    compiled
}

fn compile_steps(
    draft: &mut PolicyDraft,
    environments: &Environments,
    settings: &GeneratingPolicySettings,
) -> (CelChecks, Vec<GenerateStep>) {
    let policy = &draft.policy;
    let kinds = constrained_kinds(policy);
    let kinds: Vec<&str> = kinds.iter().map(Text::as_str).collect();
    let mut compiler = ExpressionCompiler::new(&kinds);
    let given = AvailableVariables { namespace: true, ..AvailableVariables::default() };
    let mut environment = environments.environment(given);
    // Conditions are evaluated first, and see no variables.
    let conditions = compiler.conditions(&policy.conditions, &environment);
    let variables = compiler.variables(&policy.variables, &mut [&mut environment]);
    let mut steps = Vec::with_capacity(settings.generate.len());
    for entry in &settings.generate {
        steps.extend(match entry {
            GenerateEntry::Expression(text) => {
                compiler.generation(text, &environment).map(GenerateStep::Expression)
            }
            GenerateEntry::Template { text, interpolates } => {
                compiler.template(text, *interpolates, &environment).map(GenerateStep::Template)
            }
        });
    }
    let annotations = compiler.annotations(&policy.annotations, &environment);
    let leniency = if policy.is_fail_closed { Leniency::None } else { Leniency::Conditions };
    let mut checks = CelChecks {
        conditions,
        variables,
        annotations,
        leniency,
        wording: Wording::Policy,
        ..CelChecks::default()
    };
    checks = checks.finished();
    checks.needs_namespace |= steps.iter().any(GenerateStep::reads_namespace);
    draft.finish_expressions(compiler);
    (checks, steps)
}

/// Returns the kinds that are made, as far as expressions write them out.
fn downstream_templates(checks: &CelChecks, steps: &[GenerateStep]) -> Vec<DownstreamTemplate> {
    let mut templates: Vec<DownstreamTemplate> = Vec::new();
    for (api_version, kind) in steps.iter().flat_map(|step| step.written_kinds(&checks.variables)) {
        let template = DownstreamTemplate {
            api_version: Some(api_version),
            kind: Some(kind),
            ..DownstreamTemplate::default()
        };
        if !templates.contains(&template) {
            templates.push(template);
        }
    }
    templates
}

fn background_program(
    draft: &PolicyDraft,
    settings: &GeneratingPolicySettings,
    matcher: Option<&ConstraintsMatcher>,
    downstreams: Vec<DownstreamTemplate>,
) -> BackgroundProgram {
    let triggers = matcher.map(ConstraintsMatcher::resources).unwrap_or_default();
    BackgroundProgram::Generate(GenerateProgram {
        rule: draft.id(Text::default()),
        generates_on_delete: triggers.iter().any(|rule| rule.operations.contains(Operation::Delete)),
        triggers,
        downstreams,
        synchronizes: settings.synchronizes,
        orphans_downstream: settings.orphans_downstream,
        generates_existing: settings.generates_existing,
        uses_server_side_apply: settings.uses_server_side_apply,
        deletes_stale_downstream: true,
        skips_background_requests: settings.skips_background_requests,
        reapplies: settings.uses_server_side_apply,
        reads_requester: mentions_requester(&draft.document.value),
    })
}

/// Returns whether a text in a policy reads who made a request.
pub(crate) fn mentions_requester(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("request.userInfo"),
        Value::Array(items) => items.iter().any(mentions_requester),
        Value::Object(map) => map.values().any(mentions_requester),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
