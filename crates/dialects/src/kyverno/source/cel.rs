//! What a rule checks in CEL.

use super::super::diagnostics as code;
use super::{Cel, CelExpression, NamedExpression, ParamSource, Params, filter, one_of};
use crate::fields::{Fields, Placed, Reader};
use kubewright_engine::Diagnostic;
use kubewright_value::Text;

/// Reads `cel`; an expression that cannot be read is reported and left out.
pub(super) fn cel<'d>(reader: &mut Reader<'d>, fields: &Fields<'d>) -> Cel {
    let known = ["expressions", "variables", "auditAnnotations", "paramKind", "paramRef", "generate"];
    reader.only(fields, &known);
    reader.boolean(fields, "generate");
    let items = reader.objects(fields, "expressions").unwrap_or_default();
    Cel {
        path: fields.path.clone(),
        expressions: items.iter().filter_map(|item| expression(reader, item)).collect(),
        variables: named(reader, fields, "variables", ("name", "expression")),
        audit_annotations: named(reader, fields, "auditAnnotations", ("key", "valueExpression")),
        params: params(reader, fields),
    }
}

/// Reads conditions with names: `celPreconditions`, `matchConditions`.
pub(super) fn conditions<'d>(
    reader: &mut Reader<'d>,
    fields: &Fields<'d>,
    key: &str,
) -> Vec<NamedExpression> {
    named(reader, fields, key, ("name", "expression"))
}

fn expression<'d>(reader: &mut Reader<'d>, item: &Fields<'d>) -> Option<CelExpression> {
    reader.only(item, &["expression", "message", "messageExpression", "reason"]);
    let message = reader.string(item, "message").filter(|text| !text.value.is_empty());
    let message_expression = reader.string(item, "messageExpression").filter(|text| !text.value.is_empty());
    reader.string(item, "reason");
    let expression = filled(reader, item, "expression")?;
    Some(CelExpression { expression, message, message_expression })
}

fn named<'d>(
    reader: &mut Reader<'d>,
    fields: &Fields<'d>,
    key: &str,
    (name, expression): (&'static str, &'static str),
) -> Vec<NamedExpression> {
    let items = reader.objects(fields, key).unwrap_or_default();
    let mut found = Vec::with_capacity(items.len());
    for item in &items {
        reader.only(item, &[name, expression]);
        let (name, expression) = (filled(reader, item, name), filled(reader, item, expression));
        if let (Some(name), Some(expression)) = (name, expression) {
            found.push(NamedExpression { name, expression });
        }
    }
    found
}

/// Reads a text that must not be empty.
fn filled<'d>(reader: &mut Reader<'d>, item: &Fields<'d>, key: &str) -> Option<Placed<Text>> {
    let text = reader.required_string(item, key)?;
    if text.value.trim().is_empty() {
        reader.missing(item, key);
        return None;
    }
    Some(text)
}

fn params<'d>(reader: &mut Reader<'d>, fields: &Fields<'d>) -> Option<Params> {
    let kind = reader.object(fields, "paramKind");
    let reference = reader.object(fields, "paramRef");
    let (kind, reference) = match (kind, reference) {
        (None, None) => return None,
        (Some(kind), Some(reference)) => (kind, reference),
        (kind, _) => {
            let (given, missing) =
                if kind.is_some() { ("paramKind", "paramRef") } else { ("paramRef", "paramKind") };
            bad(reader, fields, format!("`{given}` without `{missing}`"));
            return None;
        }
    };
    reader.only(&kind, &["apiVersion", "kind"]);
    let (api_version, kind) = (filled(reader, &kind, "apiVersion"), filled(reader, &kind, "kind"));
    reader.only(&reference, &["name", "namespace", "selector", "parameterNotFoundAction"]);
    let name = reader.string(&reference, "name").filter(|name| !name.value.is_empty());
    let selector = filter::selector(reader, &reference, "selector");
    let namespace = reader.string(&reference, "namespace").map(|text| text.value).unwrap_or_default();
    let action = reader.string(&reference, "parameterNotFoundAction");
    let from = match (name, selector) {
        (Some(name), None) => Some(ParamSource::Name(name.value)),
        (None, Some(selector)) => Some(ParamSource::Selector(selector)),
        (Some(_), Some(_)) => {
            bad(reader, &reference, "`paramRef` has both `name` and `selector`".to_owned());
            None
        }
        (None, None) => {
            bad(reader, &reference, "`paramRef` has neither `name` nor `selector`".to_owned());
            None
        }
    };
    let Some(action) = action else {
        bad(reader, &reference, "`paramRef` does not say what happens when there is nothing".to_owned());
        return None;
    };
    let words = [("Allow", true), ("Deny", false)];
    let is_optional = one_of(reader, &action, "parameterNotFoundAction", &words)?;
    let (group, version) = match api_version.as_ref()?.value.split_once('/') {
        Some((group, version)) => (Text::new(group), Text::new(version)),
        None => (Text::default(), api_version?.value),
    };
    Some(Params { group, version, kind: kind?.value, namespace, from: from?, is_optional })
}

fn bad(reader: &mut Reader<'_>, fields: &Fields<'_>, message: String) {
    let location = reader.document.locate_key(&fields.path);
    let help =
        "give `paramKind`, and in `paramRef` either `name` or `selector`, and `parameterNotFoundAction`";
    reader.report(Diagnostic::new(&code::BAD_PARAMS, message, location).help(help));
}
