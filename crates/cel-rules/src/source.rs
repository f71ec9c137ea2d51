//! Expressions and parameters as policies write them: `validations`, `variables`, `paramKind`, `paramRef` and so on.

use kubewright_engine::Diagnostic;
use kubewright_k8s::GroupVersionKind;
use kubewright_value::{Location, Text};

use super::diagnostics as code;
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader, Located};
use kubewright_dialect_kit::selector::{self, SelectorSource};

/// A validation as it is written.
#[derive(Debug, Clone)]
pub struct ValidationSource {
    /// `expression`
    pub expression: Located<Text>,
    /// `message`
    pub message: Option<Located<Text>>,
    /// `messageExpression`
    pub message_expression: Option<Located<Text>>,
}

/// An expression with a name.
#[derive(Debug, Clone)]
pub struct NamedExpression {
    /// `name`
    pub name: Located<Text>,
    /// `expression`
    pub expression: Located<Text>,
}

/// The reference to the parameter objects of a policy: `paramRef`.
#[derive(Debug, Clone)]
pub struct ParamRef {
    /// May be empty, which is the namespace of the object that is judged.
    pub namespace: Text,
    /// Which objects they are.
    pub from: ParamSource,
    /// `parameterNotFoundAction` is `Allow`.
    pub is_optional: bool,
    /// Where it is written.
    pub location: Option<Location>,
}

/// How they are found.
#[derive(Debug, Clone)]
pub enum ParamSource {
    /// The object of this name.
    Name(Text),
    /// The objects with these labels.
    Selector(SelectorSource),
}

/// Reads validations; an expression that cannot be read is reported and left out.
pub fn read_validations<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
    key: &str,
) -> Vec<ValidationSource> {
    let items = reader.objects(fields, key).unwrap_or_default();
    items.iter().filter_map(|item| read_validation(reader, item)).collect()
}

fn read_validation<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
) -> Option<ValidationSource> {
    reader.only(item, &["expression", "message", "messageExpression", "reason"]);
    let message = reader.string(item, "message").filter(|text| !text.value.is_empty());
    let message_expression = reader.string(item, "messageExpression").filter(|text| !text.value.is_empty());
    reader.string(item, "reason");
    let expression = reader.filled(item, "expression")?;
    Some(ValidationSource { expression, message, message_expression })
}

/// Reads expressions with names: `variables`, `matchConditions`, `celPreconditions`.
pub fn read_named_expressions<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
    key: &str,
) -> Vec<NamedExpression> {
    read_expression_pairs(reader, fields, key, ("name", "expression"))
}

/// Reads `auditAnnotations`.
pub fn read_audit_annotations<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
) -> Vec<NamedExpression> {
    read_expression_pairs(reader, fields, "auditAnnotations", ("key", "valueExpression"))
}

fn read_expression_pairs<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
    key: &str,
    (name, expression): (&'static str, &'static str),
) -> Vec<NamedExpression> {
    let items = reader.objects(fields, key).unwrap_or_default();
    let mut found = Vec::with_capacity(items.len());
    for item in &items {
        reader.only(item, &[name, expression]);
        let (name, expression) = (reader.filled(item, name), reader.filled(item, expression));
        if let (Some(name), Some(expression)) = (name, expression) {
            found.push(NamedExpression { name, expression });
        }
    }
    found
}

/// Reads `paramKind`.
pub fn read_param_kind<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
) -> Option<GroupVersionKind> {
    let kind = reader.object(fields, "paramKind")?;
    reader.only(&kind, &["apiVersion", "kind"]);
    let (api_version, kind) = (reader.filled(&kind, "apiVersion"), reader.filled(&kind, "kind"));
    let api_version = api_version?.value;
    let (group, version) = match api_version.split_once('/') {
        Some((group, version)) => (Text::new(group), Text::new(version)),
        None => (Text::default(), api_version),
    };
    Some(GroupVersionKind { group, version, kind: kind?.value })
}

/// Reads `paramRef`.
pub fn read_param_ref<'d>(reader: &mut DocumentReader<'d>, fields: &DocumentFields<'d>) -> Option<ParamRef> {
    let (reference, is_optional) = read_param_ref_parts(reader, fields)?;
    let Some(is_optional) = is_optional else {
        let fields = reader.object(fields, "paramRef")?;
        report_bad_params(reader, &fields, "`paramRef` has no `parameterNotFoundAction`".to_owned());
        return None;
    };
    Some(ParamRef { is_optional, ..reference })
}

/// Reads `paramRef`, and whether missing parameters are allowed, where it says so. Otherwise they are not.
pub fn read_param_ref_parts<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
) -> Option<(ParamRef, Option<bool>)> {
    let reference = reader.object(fields, "paramRef")?;
    reader.only(&reference, &["name", "namespace", "selector", "parameterNotFoundAction"]);
    let name = reader.string(&reference, "name").filter(|name| !name.value.is_empty());
    let selector = selector::read_selector(reader, &reference, "selector");
    let namespace = reader.string(&reference, "namespace").map(|text| text.value).unwrap_or_default();
    let action = reader.string(&reference, "parameterNotFoundAction");
    let from = match (name, selector) {
        (Some(name), None) => Some(ParamSource::Name(name.value)),
        (None, Some(selector)) => Some(ParamSource::Selector(selector)),
        (Some(_), Some(_)) => {
            report_bad_params(reader, &reference, "`paramRef` has both `name` and `selector`".to_owned());
            None
        }
        (None, None) => {
            report_bad_params(reader, &reference, "`paramRef` has neither `name` nor `selector`".to_owned());
            None
        }
    };
    let words = [("Allow", true), ("Deny", false)];
    let is_optional = match action {
        Some(action) => Some(reader.one_of(&action, "parameterNotFoundAction", &words)?),
        None => None,
    };
    let location = Some(reader.document.locate_key(&reference.path));
    Some((ParamRef { namespace, from: from?, is_optional: false, location }, is_optional))
}

/// Reports parameters that are not fully named.
pub fn report_bad_params(reader: &mut DocumentReader<'_>, fields: &DocumentFields<'_>, message: String) {
    let location = reader.document.locate_key(&fields.path);
    let help =
        "give `paramKind`, and in `paramRef` either `name` or `selector`, and `parameterNotFoundAction`";
    reader.report(Diagnostic::new(&code::BAD_PARAMS, message, location).help(help));
}
