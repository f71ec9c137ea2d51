//! A rule object that was checked as far as that needs no cluster, and what the API server says about rights.

use kubewright_engine::{BackgroundProgram, FieldError, MissingAccess, ResourceAccess};
use kubewright_value::{Document, Value};

use super::{invalid_response, rule_warning, shortened_warning};
use crate::Snapshot;
use crate::access::AccessAnswers;
use crate::review::AdmissionResponse;

/// A rule object that was checked.
#[derive(Debug)]
pub(crate) struct CheckedRuleObject {
    /// The response, as far as it does not depend on rights.
    pub(crate) response: AdmissionResponse,
    pub(super) object: Value,
    /// What its rules do in the background, and what they do it with; nothing where that has not changed.
    pub(crate) background: Vec<(BackgroundProgram, Vec<ResourceAccess>)>,
}

impl CheckedRuleObject {
    pub(super) fn allowed() -> Self {
        Self { response: AdmissionResponse::allowed(), object: Value::Null, background: Vec::new() }
    }

    /// Returns the response with what the `answers` say about the rights of `account`.
    pub(crate) fn with_answers(
        self,
        snapshot: &Snapshot,
        account: &str,
        answers: &AccessAnswers,
    ) -> AdmissionResponse {
        let document = Document::written(self.object, "the object");
        let dialect = snapshot.dialects().find(|dialect| dialect.claims(&document));
        let language = dialect.and_then(|dialect| dialect.cluster_support());
        let (mut errors, mut warnings) = (Vec::new(), self.response.warnings);
        for ((program, _), missing) in self.background.iter().zip(&answers.missing) {
            let lacks = MissingAccess { account, program, missing };
            let problem = language
                .filter(|_| !missing.is_empty())
                .and_then(|one| one.access_problem(&document, &lacks));
            let Some(problem) = problem else { continue };
            let fault = FieldError::of(&document, &problem);
            match problem.is_error() {
                true => errors.push(fault),
                false => warnings.push(rule_warning(&fault)),
            }
        }
        if answers.unanswered > 0 {
            warnings.push(shortened_warning(&format!(
                "not all rights of {account} could be checked; the status of the policy names what is missing"
            )));
        }
        let response = match errors.as_slice() {
            [] => AdmissionResponse::allowed(),
            errors => invalid_response(&document.value, errors),
        };
        AdmissionResponse { warnings, ..response }
    }
}
