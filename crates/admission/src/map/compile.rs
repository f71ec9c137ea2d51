//! A MutatingAdmissionPolicy as it is written to rules that can run, one for each binding.

use kubewright_cel_rules::{AvailableVariables, CelChecks, Environments, Params};
use kubewright_engine::CompiledPolicy;
use kubewright_value::{Document, Text};

use super::{BOUND_KIND, source};
use crate::bindings::{PARAM_WORDS, PolicyBindingSource};
use crate::check;
use crate::draft::PolicyDraft;
use crate::matching::ConstraintsMatcher;
use crate::mutate::rule::MutationRuleParts;
use crate::mutate::{MutationEngine, MutationParams};
use kubewright_cel_rules::source::ParamSource;

/// Compiles a MutatingAdmissionPolicy: a rule for each of its bindings, or one that matches as the policy does.
pub(super) fn compile_mutating_admission_policy(
    environments: &Environments,
    document: &Document,
    auxiliaries: &[Document],
) -> CompiledPolicy {
    let (read, diagnostics) = source::read_policy(document);
    let Some((policy, mutations)) = read else { return CompiledPolicy::of_diagnostics(diagnostics) };
    let mut draft = PolicyDraft::new(BOUND_KIND.dialect, document, policy, diagnostics);
    draft.check();
    let wrong = check::check_wording(&draft.policy, document);
    draft.diagnostics.extend(wrong);
    let has_params = draft.policy.param_kind.is_some();
    let given = AvailableVariables { namespace: true, params: has_params, authorizer: true };
    let (checks, ()) = draft.mutations(environments, given, &mutations, |_, _| ());
    let bindings = BOUND_KIND.of_policy(&mut draft, auxiliaries);
    if bindings.is_empty() {
        BOUND_KIND.report_unbound(&mut draft);
        let parts = MutationRuleParts::new(MutationEngine::ApiServer);
        let rule = draft.mutation_rule(Text::default(), &checks, parts);
        return draft.compiled(vec![rule]);
    }
    let rule = |binding: &PolicyBindingSource| {
        let params = draft.policy.param_kind.as_ref().zip(binding.params.as_ref());
        let parts = MutationRuleParts {
            binding: binding.constraints.as_ref().map(ConstraintsMatcher::compile),
            params: params.map(|(kind, reference)| MutationParams {
                params: Params::compile(kind, reference, PARAM_WORDS),
                is_list: matches!(reference.from, ParamSource::Selector(_)) && reads_param_list(&checks),
            }),
            properties: vec![("mapBinding".into(), binding.name.clone())],
            ..MutationRuleParts::new(MutationEngine::ApiServer)
        };
        draft.mutation_rule(binding.name.clone(), &checks, parts)
    };
    let rules = bindings.iter().map(rule).collect();
    draft.compiled(rules)
}

/// Policies that were written for the command line of Kyverno read all parameters as one list.
fn reads_param_list(checks: &CelChecks) -> bool {
    checks.mutations.iter().any(|mutation| mutation.reads("params", &["items"]))
}
