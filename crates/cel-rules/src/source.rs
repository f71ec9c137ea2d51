//! Expressions and parameters as policies write them: `validations`, `variables`, `paramKind`, `paramRef` and so on.

use kubewright_engine::Diagnostic;
use kubewright_k8s::GroupVersionKind;
use kubewright_value::Text;

use super::diagnostics as code;
use kubewright_dialect_kit::fields::{Fields, Placed, Reader};
use kubewright_dialect_kit::selector::{self, Selector};

/// What must hold, and what is said when it does not.
#[derive(Debug, Clone)]
pub struct Validation {
    /// `expression`
    pub expression: Placed<Text>,
    /// `message`
    pub message: Option<Placed<Text>>,
    /// `messageExpression`
    pub message_expression: Option<Placed<Text>>,
}

/// An expression with a name.
#[derive(Debug, Clone)]
pub struct NamedExpression {
    /// `name`
    pub name: Placed<Text>,
    /// `expression`
    pub expression: Placed<Text>,
}

/// Which objects a policy reads besides the one it judges: `paramRef`.
#[derive(Debug, Clone)]
pub struct ParamRef {
    /// May be empty, which is the namespace of the object that is judged.
    pub namespace: Text,
    /// Which objects they are.
    pub from: ParamSource,
    /// `parameterNotFoundAction` is `Allow`.
    pub is_optional: bool,
}

/// How they are found.
#[derive(Debug, Clone)]
pub enum ParamSource {
    /// The object of this name.
    Name(Text),
    /// The objects with these labels.
    Selector(Selector),
}

/// Reads what must hold; an expression that cannot be read is reported and left out.
pub fn validations<'d>(reader: &mut Reader<'d>, fields: &Fields<'d>, key: &str) -> Vec<Validation> {
    let items = reader.objects(fields, key).unwrap_or_default();
    items.iter().filter_map(|item| validation(reader, item)).collect()
}

fn validation<'d>(reader: &mut Reader<'d>, item: &Fields<'d>) -> Option<Validation> {
    reader.only(item, &["expression", "message", "messageExpression", "reason"]);
    let message = reader.string(item, "message").filter(|text| !text.value.is_empty());
    let message_expression = reader.string(item, "messageExpression").filter(|text| !text.value.is_empty());
    reader.string(item, "reason");
    let expression = reader.filled(item, "expression")?;
    Some(Validation { expression, message, message_expression })
}

/// Reads expressions with names: `variables`, `matchConditions`, `celPreconditions`.
pub fn named<'d>(reader: &mut Reader<'d>, fields: &Fields<'d>, key: &str) -> Vec<NamedExpression> {
    pairs(reader, fields, key, ("name", "expression"))
}

/// Reads `auditAnnotations`.
pub fn annotations<'d>(reader: &mut Reader<'d>, fields: &Fields<'d>) -> Vec<NamedExpression> {
    pairs(reader, fields, "auditAnnotations", ("key", "valueExpression"))
}

fn pairs<'d>(
    reader: &mut Reader<'d>,
    fields: &Fields<'d>,
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
pub fn param_kind<'d>(reader: &mut Reader<'d>, fields: &Fields<'d>) -> Option<GroupVersionKind> {
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
pub fn param_ref<'d>(reader: &mut Reader<'d>, fields: &Fields<'d>) -> Option<ParamRef> {
    let reference = reader.object(fields, "paramRef")?;
    reader.only(&reference, &["name", "namespace", "selector", "parameterNotFoundAction"]);
    let name = reader.string(&reference, "name").filter(|name| !name.value.is_empty());
    let selector = selector::read(reader, &reference, "selector");
    let namespace = reader.string(&reference, "namespace").map(|text| text.value).unwrap_or_default();
    let action = reader.string(&reference, "parameterNotFoundAction");
    let from = match (name, selector) {
        (Some(name), None) => Some(ParamSource::Name(name.value)),
        (None, Some(selector)) => Some(ParamSource::Selector(selector)),
        (Some(_), Some(_)) => {
            bad_params(reader, &reference, "`paramRef` has both `name` and `selector`".to_owned());
            None
        }
        (None, None) => {
            bad_params(reader, &reference, "`paramRef` has neither `name` nor `selector`".to_owned());
            None
        }
    };
    let Some(action) = action else {
        bad_params(
            reader,
            &reference,
            "`paramRef` does not say what happens when there is nothing".to_owned(),
        );
        return None;
    };
    let is_optional =
        reader.one_of(&action, "parameterNotFoundAction", &[("Allow", true), ("Deny", false)])?;
    Some(ParamRef { namespace, from: from?, is_optional })
}

/// Reports parameters that are not fully named.
pub fn bad_params(reader: &mut Reader<'_>, fields: &Fields<'_>, message: String) {
    let location = reader.document.locate_key(&fields.path);
    let help =
        "give `paramKind`, and in `paramRef` either `name` or `selector`, and `parameterNotFoundAction`";
    reader.report(Diagnostic::new(&code::BAD_PARAMS, message, location).help(help));
}
