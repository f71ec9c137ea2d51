//! ValidatingAdmissionPolicy and ValidatingAdmissionPolicyBinding as they are written, field by field.

use kubewright_engine::Diagnostic;
use kubewright_value::{Document, Text};

use crate::diagnostics as code;
use crate::source::{Actions, Constraints, FIELD_CODES, Policy, actions, common, constraints};
use kubewright_cel_rules::source::{ParamRef, param_kind, param_ref};
use kubewright_dialect_kit::fields::{Fields, Placed, Reader};

/// Where a policy of the API server holds.
#[derive(Debug, Clone)]
pub(super) struct Binding {
    pub(super) name: Text,
    pub(super) policy: Placed<Text>,
    pub(super) constraints: Option<Constraints>,
    pub(super) params: Option<ParamRef>,
    pub(super) actions: Actions,
}

/// Reads a policy; what cannot be read is reported.
pub(super) fn read(document: &Document) -> (Option<Policy>, Vec<Diagnostic>) {
    let mut reader = Reader::new(document, FIELD_CODES);
    let policy = policy(&mut reader);
    (policy, reader.diagnostics)
}

fn policy(reader: &mut Reader<'_>) -> Option<Policy> {
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
    let param_kind = param_kind(reader, &spec);
    Some(Policy { param_kind, ..common(reader, &metadata, &spec)? })
}

/// Reads a binding; what cannot be read is reported.
pub(super) fn read_binding(document: &Document) -> (Option<Binding>, Vec<Diagnostic>) {
    let mut reader = Reader::new(document, FIELD_CODES);
    let binding = binding(&mut reader);
    (binding, reader.diagnostics)
}

fn binding(reader: &mut Reader<'_>) -> Option<Binding> {
    let (metadata, spec) = reader.metadata_and_spec()?;
    reader.only(&spec, &["policyName", "paramRef", "matchResources", "validationActions"]);
    let params = param_ref(reader, &spec);
    let constraints = constraints::read(reader, &spec, "matchResources");
    let actions = actions(reader, &spec);
    match actions {
        Some(Actions { denies: true, warns: true }) => {
            let message = "`Deny` and `Warn` say the same twice".to_owned();
            let help = "keep one of them; the API server does not take both";
            let location = reader.document.locate_key(&["spec".into(), "validationActions".into()]);
            reader.report(Diagnostic::new(&code::BAD_ACTIONS, message, location).help(help));
        }
        Some(_) => {}
        None => no_actions(reader, &spec),
    }
    let name = reader.filled(&metadata, "name")?.value;
    let policy = reader.filled(&spec, "policyName")?;
    Some(Binding { name, policy, constraints, params, actions: actions.unwrap_or_default() })
}

/// Kyverno's command line takes such bindings, and so do the tests that people have for it.
fn no_actions<'d>(reader: &mut Reader<'d>, spec: &Fields<'d>) {
    let location = match reader.any(spec, "validationActions") {
        Some(empty) => reader.document.locate_key(&empty.path),
        None => reader.document.locate_key(&spec.path),
    };
    let message = "the binding has no `validationActions`, and the API server does not take it";
    let help = "add `validationActions: [Deny]`; without it a violation is reported and refuses nothing";
    reader.report(Diagnostic::new(&code::NO_ACTIONS, message, location).help(help));
}
