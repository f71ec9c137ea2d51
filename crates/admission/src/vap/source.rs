//! ValidatingAdmissionPolicy and ValidatingAdmissionPolicyBinding as they are written, field by field.

use kubewright_engine::Diagnostic;
use kubewright_value::Document;

use crate::bindings::PolicyBindingSource;
use crate::diagnostics as code;
use crate::source::{
    CelPolicySource, FIELD_CODES, ValidationActions, constraints, read_common_fields, read_validation_actions,
};
use kubewright_cel_rules::source::{read_param_kind, read_param_ref};
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader};

/// Reads a policy; unreadable fields are reported.
pub(super) fn read_admission_policy(document: &Document) -> (Option<CelPolicySource>, Vec<Diagnostic>) {
    DocumentReader::read(document, FIELD_CODES, read_admission_policy_fields)
}

fn read_admission_policy_fields(reader: &mut DocumentReader<'_>) -> Option<CelPolicySource> {
    let (metadata, spec) = reader.metadata_and_spec()?;
    reader.only(
        &spec,
        &[
            "paramKind",
            "matchConstraints",
            "validations",
            "failurePolicy",
            "auditAnnotations",
            "matchConditions",
            "variables",
        ],
    );
    let param_kind = read_param_kind(reader, &spec);
    Some(CelPolicySource { param_kind, ..read_common_fields(reader, &metadata, &spec)? })
}

/// Reads a binding; unreadable fields are reported.
pub(super) fn read_policy_binding(document: &Document) -> (Option<PolicyBindingSource>, Vec<Diagnostic>) {
    DocumentReader::read(document, FIELD_CODES, read_binding_fields)
}

fn read_binding_fields(reader: &mut DocumentReader<'_>) -> Option<PolicyBindingSource> {
    let (metadata, spec) = reader.metadata_and_spec()?;
    reader.only(&spec, &["policyName", "paramRef", "matchResources", "validationActions"]);
    let params = read_param_ref(reader, &spec);
    let constraints = constraints::read_constraints(reader, &spec, "matchResources");
    let actions = read_validation_actions(reader, &spec);
    match actions {
        Some(ValidationActions { denies: true, warns: true }) => {
            let message = "`Deny` and `Warn` both report the violation".to_owned();
            let help = "keep one of them; the API server refuses both";
            let location = reader.document.locate_key(&["spec".into(), "validationActions".into()]);
            reader.report(Diagnostic::new(&code::BAD_ACTIONS, message, location).help(help));
        }
        Some(_) => {}
        None => report_no_actions(reader, &spec),
    }
    let name = reader.filled(&metadata, "name")?.value;
    let policy = reader.filled(&spec, "policyName")?;
    Some(PolicyBindingSource { name, policy, constraints, params, actions: actions.unwrap_or_default() })
}

/// Kyverno's command line takes such bindings, and so do the tests that people have for it.
fn report_no_actions<'d>(reader: &mut DocumentReader<'d>, spec: &DocumentFields<'d>) {
    let location = match reader.any(spec, "validationActions") {
        Some(empty) => reader.document.locate_key(&empty.path),
        None => reader.document.locate_key(&spec.path),
    };
    let message = "the binding has no `validationActions`, so the API server refuses it";
    let help = "add `validationActions: [Deny]`; without it a violation is reported and refuses nothing";
    reader.report(Diagnostic::new(&code::NO_ACTIONS, message, location).help(help));
}
