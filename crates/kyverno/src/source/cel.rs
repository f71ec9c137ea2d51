//! Reads the `cel` check of a rule.

use kubewright_k8s::GroupVersionKind;

use super::Cel;
use kubewright_cel_rules::source::{
    ParamRef, read_audit_annotations, read_named_expressions, read_param_kind, read_param_ref,
    read_validations, report_bad_params,
};
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader};

/// Reads `cel`; an expression that cannot be read is reported and left out.
pub(super) fn read_cel<'d>(reader: &mut DocumentReader<'d>, fields: &DocumentFields<'d>) -> Cel {
    let known = ["expressions", "variables", "auditAnnotations", "paramKind", "paramRef", "generate"];
    reader.only(fields, &known);
    Cel {
        generates: reader.boolean(fields, "generate").unwrap_or(false),
        path: fields.path.clone(),
        expressions: read_validations(reader, fields, "expressions"),
        variables: read_named_expressions(reader, fields, "variables"),
        audit_annotations: read_audit_annotations(reader, fields),
        params: params(reader, fields),
    }
}

fn params<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
) -> Option<(GroupVersionKind, ParamRef)> {
    let (has_kind, has_reference) =
        (reader.any(fields, "paramKind").is_some(), reader.any(fields, "paramRef").is_some());
    match (has_kind, has_reference) {
        (true, false) => report_bad_params(reader, fields, "`paramKind` without `paramRef`".to_owned()),
        (false, true) => report_bad_params(reader, fields, "`paramRef` without `paramKind`".to_owned()),
        _ => {}
    }
    let (kind, reference) = (read_param_kind(reader, fields), read_param_ref(reader, fields));
    Some((kind?, reference?))
}
