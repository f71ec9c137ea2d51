//! The ValidatingAdmissionPolicy that Kyverno has the API server enforce in place of a rule.

use kubewright_jmespath::JmesPathFunctions;
use kubewright_kyverno::source::{ExceptionSource, PolicySource};
use kubewright_value::{Document, Text, Value};

use crate::{ConversionTarget, policy, resources};

/// Returns the ValidatingAdmissionPolicy, and its binding, that Kyverno would write for `policy`, which was read from
/// `document`, or why there is none.
///
/// # Errors
///
/// The reason why the policy has no exact equivalent.
pub fn write_admission_policy(
    document: &Document,
    policy: PolicySource,
    exceptions: &[ExceptionSource],
    functions: &JmesPathFunctions,
) -> Result<[Value; 2], String> {
    if let Some(kind) = guessed_kind(&policy) {
        return Err(format!("the resource of kind `{kind}` is not known"));
    }
    let target = ConversionTarget::ValidatingAdmissionPolicy { has_autogen: false };
    let conversion = policy::convert_source(document, policy, exceptions, target, functions.clone());
    let documents = conversion.written.into_iter().next().map(|written| written.documents);
    documents.and_then(|documents| <[Value; 2]>::try_from(documents).ok()).ok_or_else(|| {
        let refused = conversion.refused.into_iter().next();
        refused.map_or_else(|| "it cannot be written as one".to_owned(), |refused| refused.why)
    })
}

/// Returns a kind whose resource name is only a guess: a policy for a wrong resource would enforce nothing.
fn guessed_kind(policy: &PolicySource) -> Option<&Text> {
    let parts = policy.rules.iter().flat_map(|rule| std::iter::once(&rule.matching).chain(&rule.exclude));
    let filters = parts.flat_map(|part| part.flat.iter().chain(&part.any).chain(&part.all));
    let mut kinds = filters.flat_map(|filter| &filter.kinds).map(|kind| &kind.value);
    kinds.find(|kind| matches!(resources::find_resources(kind), resources::KindLookup::Guessed(_)))
}

#[cfg(test)]
mod tests;
