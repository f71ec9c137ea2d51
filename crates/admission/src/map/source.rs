//! MutatingAdmissionPolicy and MutatingAdmissionPolicyBinding as they are written, field by field.

use kubewright_cel_rules::source::{ParamRef, read_param_kind, read_param_ref_parts};
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader};
use kubewright_engine::Diagnostic;
use kubewright_value::Document;

use crate::bindings::PolicyBindingSource;
use crate::diagnostics as code;
use crate::mutate::source::{MutationSource, read_mutations, read_reinvocation};
use crate::source::{CelPolicySource, FIELD_CODES, ValidationActions, constraints, read_common_fields};

/// Reads a policy and its mutations; unreadable fields are reported.
pub(super) fn read_policy(
    document: &Document,
) -> (Option<(CelPolicySource, Vec<MutationSource>)>, Vec<Diagnostic>) {
    DocumentReader::read(document, FIELD_CODES, read_policy_fields)
}

fn read_policy_fields(reader: &mut DocumentReader<'_>) -> Option<(CelPolicySource, Vec<MutationSource>)> {
    let (metadata, spec) = reader.metadata_and_spec()?;
    reader.only(
        &spec,
        &[
            "paramKind",
            "matchConstraints",
            "mutations",
            "failurePolicy",
            "matchConditions",
            "variables",
            "reinvocationPolicy",
        ],
    );
    read_reinvocation(reader, &spec);
    let mutations = read_mutations(reader, &spec);
    let param_kind = read_param_kind(reader, &spec);
    Some((CelPolicySource { param_kind, ..read_common_fields(reader, &metadata, &spec)? }, mutations))
}

/// Reads a binding; unreadable fields are reported.
pub(super) fn read_binding(document: &Document) -> (Option<PolicyBindingSource>, Vec<Diagnostic>) {
    DocumentReader::read(document, FIELD_CODES, read_binding_fields)
}

fn read_binding_fields(reader: &mut DocumentReader<'_>) -> Option<PolicyBindingSource> {
    let (metadata, spec) = reader.metadata_and_spec()?;
    reader.only(&spec, &["policyName", "paramRef", "matchResources"]);
    let params = read_params(reader, &spec);
    let constraints = constraints::read_constraints(reader, &spec, "matchResources");
    let name = reader.filled(&metadata, "name")?.value;
    let policy = reader.filled(&spec, "policyName")?;
    Some(PolicyBindingSource { name, policy, constraints, params, actions: ValidationActions::default() })
}

/// Kyverno's command line takes a reference that does not say what missing parameters mean.
fn read_params<'d>(reader: &mut DocumentReader<'d>, spec: &DocumentFields<'d>) -> Option<ParamRef> {
    let (params, is_optional) = read_param_ref_parts(reader, spec)?;
    if is_optional.is_none() {
        let message = "`paramRef` has no `parameterNotFoundAction`, so the API server refuses the binding";
        let help = "add `parameterNotFoundAction: Deny`";
        let location = reader.document.locate_key(&["spec".into(), "paramRef".into()]);
        reader.report(Diagnostic::new(&code::NO_ACTIONS, message, location).help(help));
    }
    Some(ParamRef { is_optional: is_optional.unwrap_or(false), ..params })
}
