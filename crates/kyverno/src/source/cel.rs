//! What a rule checks in CEL.

use kubewright_k8s::GroupVersionKind;

use super::Cel;
use kubewright_cel_rules::source::{
    ParamRef, annotations, bad_params, named, param_kind, param_ref, validations,
};
use kubewright_dialect_kit::fields::{Fields, Reader};

/// Reads `cel`; an expression that cannot be read is reported and left out.
pub(super) fn read_cel<'d>(reader: &mut Reader<'d>, fields: &Fields<'d>) -> Cel {
    let known = ["expressions", "variables", "auditAnnotations", "paramKind", "paramRef", "generate"];
    reader.only(fields, &known);
    Cel {
        generates: reader.boolean(fields, "generate").unwrap_or(false),
        path: fields.path.clone(),
        expressions: validations(reader, fields, "expressions"),
        variables: named(reader, fields, "variables"),
        audit_annotations: annotations(reader, fields),
        params: params(reader, fields),
    }
}

fn params<'d>(reader: &mut Reader<'d>, fields: &Fields<'d>) -> Option<(GroupVersionKind, ParamRef)> {
    let (has_kind, has_reference) =
        (reader.any(fields, "paramKind").is_some(), reader.any(fields, "paramRef").is_some());
    match (has_kind, has_reference) {
        (true, false) => bad_params(reader, fields, "`paramKind` without `paramRef`".to_owned()),
        (false, true) => bad_params(reader, fields, "`paramRef` without `paramKind`".to_owned()),
        _ => {}
    }
    let (kind, reference) = (param_kind(reader, fields), param_ref(reader, fields));
    Some((kind?, reference?))
}
