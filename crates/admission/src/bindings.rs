//! Bindings of the API server's own policies: which policy each is for, and what is wrong with them. Those of policies that
//! judge and of policies that change differ in a field or two.

use std::sync::Arc;

use kubewright_cel_rules::ParamWords;
use kubewright_cel_rules::source::ParamRef;
use kubewright_dialect_kit::fields::Located;
use kubewright_engine::{Diagnostic, RuleId, nearest_word};
use kubewright_value::suggest::did_you_mean;
use kubewright_value::{Document, Text};

use crate::draft::PolicyDraft;
use crate::source::{ConstraintsSource, ValidationActions};
use crate::{check, diagnostics as code, text_field};

/// The API server's wording of errors about parameters.
pub(crate) const PARAM_WORDS: ParamWords = ParamWords {
    problem: "failed to configure binding",
    missing: "no params found for policy binding with `Deny` parameterNotFoundAction",
};

/// Where a policy of the API server holds.
#[derive(Debug, Clone)]
pub(crate) struct PolicyBindingSource {
    pub(crate) name: Text,
    pub(crate) policy: Located<Text>,
    pub(crate) constraints: Option<ConstraintsSource>,
    pub(crate) params: Option<ParamRef>,
    /// Empty in bindings of policies that change objects.
    pub(crate) actions: ValidationActions,
}

/// One of the two kinds of policies with bindings.
pub(crate) struct BoundPolicyKind {
    /// The name that starts every rule id.
    pub(crate) dialect: &'static str,
    pub(crate) policy: &'static str,
    pub(crate) binding: &'static str,
    /// What to do about a policy without a binding.
    pub(crate) unbound_help: &'static str,
    /// Reads a binding; unreadable fields are reported.
    pub(crate) read: fn(&Document) -> (Option<PolicyBindingSource>, Vec<Diagnostic>),
}

impl BoundPolicyKind {
    /// Returns the diagnostics of the bindings among `auxiliaries` for `rules`.
    pub(crate) fn check(&self, auxiliaries: &[Document], rules: &[Arc<RuleId>]) -> Vec<Diagnostic> {
        let mut diagnostics = Vec::new();
        for document in auxiliaries.iter().filter(|document| self.is_binding(document)) {
            let (binding, wrong) = (self.read)(document);
            diagnostics.extend(wrong);
            let Some(binding) = binding else { continue };
            let constraints = binding.constraints.iter();
            diagnostics.extend(constraints.flat_map(|one| check::check_constraints(one, None, document)));
            diagnostics.extend(self.unknown_policy(&binding.policy, document, rules));
        }
        diagnostics
    }

    /// Returns the bindings of the policy among `auxiliaries`.
    pub(crate) fn of_policy(
        &self,
        draft: &mut PolicyDraft,
        auxiliaries: &[Document],
    ) -> Vec<PolicyBindingSource> {
        let name = draft.policy.name.value.clone();
        let is_own = |document: &&Document| {
            self.is_binding(document) && document.value.str_at(&["spec", "policyName"]) == name.as_str()
        };
        let mut bindings = Vec::new();
        for document in auxiliaries.iter().filter(is_own) {
            let (Some(binding), _) = (self.read)(document) else { continue };
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
    pub(crate) fn report_unbound(&self, draft: &mut PolicyDraft) {
        let message =
            format!("policy `{}` has no binding: in a cluster it would do nothing", draft.policy.name.value);
        let location = draft.document.locate(&draft.policy.name.path);
        draft.diagnostics.push(Diagnostic::new(&code::UNBOUND, message, location).help(self.unbound_help));
    }

    fn is_binding(&self, document: &Document) -> bool {
        text_field(document, "kind") == self.binding
    }

    fn unknown_policy(
        &self,
        name: &Located<Text>,
        document: &Document,
        rules: &[Arc<RuleId>],
    ) -> Option<Diagnostic> {
        let own = || rules.iter().filter(|rule| rule.dialect == self.dialect);
        if own().any(|rule| rule.policy == name.value) {
            return None;
        }
        let message = format!("there is no policy `{}` for the binding", name.value);
        let help = match nearest_word(&name.value, own().map(|rule| rule.policy.as_str())) {
            Some(near) => did_you_mean(near),
            None => format!("load the {} beside it", self.policy),
        };
        Some(Diagnostic::new(&code::BINDS_NOTHING, message, document.locate(&name.path)).help(help))
    }
}
