//! MutatingAdmissionPolicy and MutatingAdmissionPolicyBinding as they are written, field by field.

use kubewright_cel_rules::source::{ParamRef, read_param_kind, read_param_ref};
use kubewright_dialect_kit::fields::{DocumentReader, Located};
use kubewright_engine::Diagnostic;
use kubewright_value::{Document, Text};

use crate::mutate::source::{MutationSource, read_mutations, read_reinvocation};
use crate::source::{CelPolicySource, ConstraintsSource, FIELD_CODES, constraints, read_common_fields};

/// Where a policy holds.
#[derive(Debug, Clone)]
pub(super) struct MutationBindingSource {
    pub(super) name: Text,
    pub(super) policy: Located<Text>,
    pub(super) constraints: Option<ConstraintsSource>,
    pub(super) params: Option<ParamRef>,
}

/// Reads a policy and its mutations; unreadable fields are reported.
pub(super) fn read_policy(
    document: &Document,
) -> (Option<(CelPolicySource, Vec<MutationSource>)>, Vec<Diagnostic>) {
    let mut reader = DocumentReader::new(document, FIELD_CODES);
    let policy = read_policy_fields(&mut reader);
    (policy, reader.diagnostics)
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
pub(super) fn read_binding(document: &Document) -> (Option<MutationBindingSource>, Vec<Diagnostic>) {
    let mut reader = DocumentReader::new(document, FIELD_CODES);
    let binding = read_binding_fields(&mut reader);
    (binding, reader.diagnostics)
}

fn read_binding_fields(reader: &mut DocumentReader<'_>) -> Option<MutationBindingSource> {
    let (metadata, spec) = reader.metadata_and_spec()?;
    reader.only(&spec, &["policyName", "paramRef", "matchResources"]);
    let params = match reader.object(&spec, "paramRef") {
        Some(_) => read_param_ref(reader, &spec),
        None => None,
    };
    let constraints = constraints::read_constraints(reader, &spec, "matchResources");
    let name = reader.filled(&metadata, "name")?.value;
    Some(MutationBindingSource { name, policy: reader.filled(&spec, "policyName")?, constraints, params })
}
