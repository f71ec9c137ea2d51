//! A DeletingPolicy as it is written to a rule that can run, and to what a controller must know about it.

use std::sync::Arc;

use kubewright_cel_rules::{
    AvailableVariables, CelChecks, Environments, ExpressionCompiler, Leniency, Wording,
};
use kubewright_engine::{BackgroundProgram, CompiledPolicy, DeleteProgram, RuleAction, RuleScope};
use kubewright_value::{Document, Text};

use super::NAME;
use super::evaluate::DeletingProgram;
use super::source::read_deleting_policy;
use crate::check::check_constraints;
use crate::draft::{PolicyDraft, constrained_kinds};
use crate::matching::ConstraintsMatcher;
use crate::vpol::CompiledPolicyException;
use crate::{diagnostics as code, text_field};

/// Compiles a DeletingPolicy.
pub(super) fn compile_deleting_policy(
    environments: &Environments,
    exceptions: &[CompiledPolicyException],
    document: &Document,
) -> CompiledPolicy {
    let (read, diagnostics) = read_deleting_policy(document);
    let Some((policy, settings)) = read else { return CompiledPolicy::of_diagnostics(diagnostics) };
    let mut draft = PolicyDraft::new(NAME, document, policy, diagnostics);
    if let Some(constraints) = &draft.policy.constraints {
        let found = check_constraints(constraints, draft.policy.namespace.as_ref(), &draft.document);
        draft.diagnostics.extend(found);
    }
    if draft.policy.conditions.is_empty() {
        let message = "without `conditions`, every object that the policy matches is deleted".to_owned();
        draft.report(&code::DELETES_ALL, message, "say which objects are to go, or `expression: 'true'`");
    }
    let environments = match &draft.policy.namespace {
        Some(namespace) => environments.within(namespace),
        None => environments.clone(),
    };
    let checks = compile_conditions(&mut draft, &environments);
    let kind = text_field(document, "kind");
    let excused = exceptions.iter().filter(|one| one.is_about(&draft.policy.name.value, kind)).cloned();
    let matcher = draft.policy.constraints.as_ref().map(ConstraintsMatcher::compile);
    let matcher = matcher.filter(|matcher| !matcher.is_empty());
    let home = draft.policy.namespace.clone();
    let scope = match &matcher {
        Some(matcher) => matcher.scope(home.as_ref()),
        // Without constraints it is about documents that are of no kind.
        None => RuleScope { payloads: true, ..RuleScope::default() },
    };
    let targets = matcher.as_ref().map(ConstraintsMatcher::resources).unwrap_or_default();
    let program = DeletingProgram {
        document: Arc::clone(&draft.document),
        matcher,
        checks,
        exceptions: excused.collect(),
        inputs: environments.inputs,
        broken: draft.broken(),
    };
    let is_broken = program.broken.is_some();
    let rule = draft.background_rule(RuleAction::Delete, scope, Box::new(program));
    let id = draft.id(Text::default());
    let mut compiled = draft.compiled(vec![rule]);
    if let Some(schedule) = settings.schedule.filter(|_| !is_broken) {
        compiled.background.push(BackgroundProgram::Delete(DeleteProgram {
            rule: id,
            targets,
            namespace: home,
            schedule,
            propagation: settings.propagation,
        }));
    }
    compiled
}

/// Conditions see the variables here, as validations do elsewhere.
fn compile_conditions(draft: &mut PolicyDraft, environments: &Environments) -> CelChecks {
    let policy = &draft.policy;
    let kinds = constrained_kinds(policy);
    let kinds: Vec<&str> = kinds.iter().map(Text::as_str).collect();
    let mut compiler = ExpressionCompiler::new(&kinds);
    let given = AvailableVariables { namespace: true, ..AvailableVariables::default() };
    let mut environment = environments.environment(given);
    let variables = compiler.variables(&policy.variables, &mut [&mut environment]);
    let conditions = compiler.conditions(&policy.conditions, &environment);
    draft.finish_expressions(compiler);
    let wording = Wording::Policy;
    CelChecks { conditions, variables, leniency: Leniency::None, wording, ..CelChecks::default() }.finished()
}
