//! A ValidatingAdmissionPolicy as it is written to rules that can run, one for each binding.

use std::sync::Arc;

use kubewright_cel_rules::{AvailableVariables, Environments, Params, Wording};
use kubewright_engine::CompiledPolicy;
use kubewright_value::{Document, Text};

use super::{BOUND_KIND, source};
use crate::bindings::{PARAM_WORDS, PolicyBindingSource};
use crate::check;
use crate::draft::{PolicyDraft, PolicyRuleParts};
use crate::matching::ConstraintsMatcher;

/// Compiles a ValidatingAdmissionPolicy: a rule for each of its bindings, or one that only reports.
pub(super) fn compile_admission_policy(
    environments: &Environments,
    document: &Document,
    auxiliaries: &[Document],
) -> CompiledPolicy {
    let (policy, diagnostics) = source::read_admission_policy(document);
    let Some(policy) = policy else { return CompiledPolicy::of_diagnostics(diagnostics) };
    let mut draft = PolicyDraft::new(BOUND_KIND.dialect, document, policy, diagnostics);
    draft.check();
    let wrong = check::check_wording(&draft.policy, document);
    draft.diagnostics.extend(wrong);
    let given =
        AvailableVariables { namespace: true, params: draft.policy.param_kind.is_some(), authorizer: true };
    let checks = Arc::new(draft.checks(environments, given, Wording::ApiServer).finished());
    let bindings = BOUND_KIND.of_policy(&mut draft, auxiliaries);
    if bindings.is_empty() {
        BOUND_KIND.report_unbound(&mut draft);
        let rule = draft.rule(Text::default(), &checks, PolicyRuleParts::default());
        return draft.compiled(vec![rule]);
    }
    let rule = |binding: &PolicyBindingSource| {
        let params = draft.policy.param_kind.as_ref().zip(binding.params.as_ref());
        let parts = PolicyRuleParts {
            binding: binding.constraints.as_ref().map(ConstraintsMatcher::compile),
            params: params.map(|(kind, reference)| Params::compile(kind, reference, PARAM_WORDS)),
            actions: binding.actions,
            is_bound: true,
            ..PolicyRuleParts::default()
        };
        draft.rule(binding.name.clone(), &checks, parts)
    };
    let rules = bindings.iter().map(rule).collect();
    draft.compiled(rules)
}
