//! A MutatingAdmissionPolicy as it is written to rules that can run, one for each binding.

use kubewright_cel_rules::{AvailableVariables, CelChecks, Environments, ParamWords, Params};
use kubewright_engine::{CompiledPolicy, Diagnostic, Rule, nearest_word};
use kubewright_value::suggest::did_you_mean;
use kubewright_value::{Document, Text, Value};

use super::MUTATING_ADMISSION_DIALECT;
use super::source::{self, MutationBindingSource};
use crate::draft::PolicyDraft;
use crate::matching::ConstraintsMatcher;
use crate::mutate::rule::MutationRuleParts;
use crate::mutate::{MutationEngine, MutationParams};
use crate::{check, diagnostics as code};
use kubewright_cel_rules::source::ParamSource;

/// The API server's wording of errors about parameters.
const PARAM_WORDS: ParamWords = ParamWords {
    problem: "failed to configure binding",
    missing: "no params found for policy binding with `Deny` parameterNotFoundAction",
};

/// Compiles a MutatingAdmissionPolicy: a rule for each of its bindings, or one that matches as the policy does.
pub(super) fn compile_mutating_admission_policy(
    environments: &Environments,
    document: &Document,
    auxiliaries: &[Document],
) -> CompiledPolicy {
    let (read, diagnostics) = source::read_policy(document);
    let Some((policy, mutations)) = read else { return CompiledPolicy::of_diagnostics(diagnostics) };
    let mut draft = PolicyDraft::new(MUTATING_ADMISSION_DIALECT, document, policy, diagnostics);
    draft.check();
    let wrong = check::check_wording(&draft.policy, document);
    draft.diagnostics.extend(wrong);
    let has_params = draft.policy.param_kind.is_some();
    let given = AvailableVariables { namespace: true, params: has_params, authorizer: true };
    let (checks, ()) = draft.mutations(environments, given, &mutations, |_, _| ());
    let bindings = bindings_of_policy(&mut draft, auxiliaries);
    if bindings.is_empty() {
        report_unbound(&mut draft);
        let parts = MutationRuleParts::new(MutationEngine::ApiServer);
        let rule = draft.mutation_rule(Text::default(), &checks, parts);
        return draft.compiled(vec![rule]);
    }
    let rule = |binding: &MutationBindingSource| {
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

/// Returns the diagnostics of bindings for `rules`.
pub(super) fn check_mutation_bindings(bindings: &[Document], rules: &[Rule]) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    for document in bindings {
        let (binding, wrong) = source::read_binding(document);
        diagnostics.extend(wrong);
        let Some(binding) = binding else { continue };
        let constraints = binding.constraints.iter();
        diagnostics.extend(constraints.flat_map(|one| check::check_constraints(one, None, document)));
        let own = || rules.iter().filter(|rule| rule.id.dialect == MUTATING_ADMISSION_DIALECT);
        if own().any(|rule| rule.id.policy == binding.policy.value) {
            continue;
        }
        let message = format!("there is no policy `{}` for the binding", binding.policy.value);
        let location = document.locate(&binding.policy.path);
        let near = nearest_word(&binding.policy.value, own().map(|rule| rule.id.policy.as_str()));
        let help = match near {
            Some(near) => did_you_mean(near),
            None => "load the MutatingAdmissionPolicy beside it".to_owned(),
        };
        diagnostics.push(Diagnostic::new(&code::BINDS_NOTHING, message, location).help(help));
    }
    diagnostics
}

/// Returns the bindings of the policy among `auxiliaries`.
fn bindings_of_policy(draft: &mut PolicyDraft, auxiliaries: &[Document]) -> Vec<MutationBindingSource> {
    let name = draft.policy.name.value.clone();
    let is_own = |document: &&Document| {
        crate::text_field(document, "kind") == super::BINDING_KIND
            && document.value.at(&["spec", "policyName"]).and_then(Value::as_str) == Some(name.as_str())
    };
    let mut bindings = Vec::new();
    for document in auxiliaries.iter().filter(is_own) {
        let (Some(binding), _) = source::read_binding(document) else { continue };
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
    let help = "load a MutatingAdmissionPolicyBinding beside it";
    let location = draft.document.locate(&draft.policy.name.path);
    draft.diagnostics.push(Diagnostic::new(&code::UNBOUND, message, location).help(help));
}
