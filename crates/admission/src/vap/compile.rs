//! A ValidatingAdmissionPolicy as it is written to rules that can run, one for each binding.

use std::sync::Arc;

use kubewright_cel_rules::{AvailableVariables, Environments, ParamWords, Params, Wording};
use kubewright_engine::{CompiledPolicy, Diagnostic, Rule, nearest_word};
use kubewright_k8s::PodTemplatePath;
use kubewright_value::suggest::did_you_mean;
use kubewright_value::{Document, Text, Value};

use super::DIALECT_NAME;
use super::source::{self, PolicyBindingSource};
use crate::draft::{PolicyDraft, PolicyRuleParts};
use crate::matching::ConstraintsMatcher;
use crate::{check, diagnostics as code};

/// The API server's wording of errors about parameters.
const PARAM_WORDS: ParamWords = ParamWords {
    problem: "failed to configure binding",
    missing: "no params found for policy binding with `Deny` parameterNotFoundAction",
};

/// Compiles a ValidatingAdmissionPolicy: a rule for each of its bindings, or one that only reports.
pub(super) fn compile_admission_policy(
    environments: &Environments,
    document: &Document,
    auxiliaries: &[Document],
) -> CompiledPolicy {
    let (policy, diagnostics) = source::read_admission_policy(document);
    let Some(policy) = policy else { return CompiledPolicy::of_diagnostics(diagnostics) };
    let mut draft = PolicyDraft::new(DIALECT_NAME, document, policy, diagnostics);
    draft.check();
    let wrong = check::check_wording(&draft.policy, document);
    draft.diagnostics.extend(wrong);
    let given =
        AvailableVariables { namespace: true, params: draft.policy.param_kind.is_some(), authorizer: true };
    let checks =
        Arc::new(draft.checks(environments, given, Wording::ApiServer).rebased(PodTemplatePath::Pod));
    let bindings = bindings_of_policy(&mut draft, auxiliaries);
    if bindings.is_empty() {
        report_unbound(&mut draft);
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

/// Returns the diagnostics of bindings for `rules`.
pub(super) fn check_bindings(bindings: &[Document], rules: &[Rule]) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    for document in bindings {
        let (binding, wrong) = source::read_policy_binding(document);
        diagnostics.extend(wrong);
        let Some(binding) = binding else { continue };
        let constraints = binding.constraints.iter();
        diagnostics.extend(constraints.flat_map(|one| check::check_constraints(one, None, document)));
        let is_it = |rule: &Rule| rule.id.dialect == DIALECT_NAME && rule.id.policy == binding.policy.value;
        if !rules.iter().any(is_it) {
            let message = format!("there is no policy `{}` for the binding", binding.policy.value);
            let location = document.locate(&binding.policy.path);
            let policies = rules.iter().filter(|rule| rule.id.dialect == DIALECT_NAME);
            let help = match nearest_word(&binding.policy.value, policies.map(|rule| rule.id.policy.as_str()))
            {
                Some(near) => did_you_mean(near),
                None => "load the ValidatingAdmissionPolicy beside it".to_owned(),
            };
            diagnostics.push(Diagnostic::new(&code::BINDS_NOTHING, message, location).help(help));
        }
    }
    diagnostics
}

/// Returns the bindings of the policy among `beside`.
fn bindings_of_policy(draft: &mut PolicyDraft, auxiliaries: &[Document]) -> Vec<PolicyBindingSource> {
    let mut bindings = Vec::new();
    let name = &draft.policy.name.value;
    let is_own = |document: &&Document| {
        document.value.at(&["spec", "policyName"]).and_then(Value::as_str) == Some(name.as_str())
    };
    let own: Vec<&Document> = auxiliaries.iter().filter(is_own).collect();
    for document in own {
        let (Some(binding), _) = source::read_policy_binding(document) else { continue };
        if binding.policy.value != draft.policy.name.value {
            continue;
        }
        if binding.params.is_some() && draft.policy.param_kind.is_none() {
            let message = "`paramRef` in a binding of a policy without `paramKind`".to_owned();
            let location = document.locate_key(&["spec".into(), "paramRef".into()]);
            draft.diagnostics.push(Diagnostic::new(&code::PARAMS_WITHOUT_KIND, message, location));
        }
        bindings.push(binding);
    }
    bindings
}

/// Reports that the policy has no binding.
fn report_unbound(draft: &mut PolicyDraft) {
    let message =
        format!("policy `{}` has no binding: in a cluster it would do nothing", draft.policy.name.value);
    let help = "load a ValidatingAdmissionPolicyBinding beside it; without one violations are only reported";
    let location = draft.document.locate(&draft.policy.name.path);
    draft.diagnostics.push(Diagnostic::new(&code::UNBOUND, message, location).help(help));
}
