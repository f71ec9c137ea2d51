//! The `value` of an operation: text, a template, then YAML.

use kubewright_engine::EvalError;
use kubewright_gotemplate::{GoTemplate, GoTemplateError, GoTemplateErrorKind, Inputs, TemplateContext};
use kubewright_jsonpath::SelectedValue;
use kubewright_value::text::{TextLimit, shorten_text};
use kubewright_value::{Budget, Location, Text, Value, bounded};

/// How much of a value an error shows.
const MAX_SHOWN_VALUE_CHARS: usize = 60;

/// A value that is known, or a template for it.
pub(super) enum PatchValue {
    Constant(Value),
    Template {
        template: Box<GoTemplate>,
        /// Where it begins in the rule file.
        location: Location,
    },
}

/// The inputs of a template besides the object.
pub(super) struct TemplateInputs<'a> {
    pub(super) target: &'a Value,
    pub(super) namespace: &'a Text,
    pub(super) inputs: &'a Inputs,
}

impl PatchValue {
    /// Returns the value for one selected item, or for the object when there is no select.
    pub(super) fn make(
        &self,
        around: &TemplateInputs<'_>,
        selected: Option<&SelectedValue>,
        budget: &mut Budget,
    ) -> Result<Value, EvalError> {
        let (template, location) = match self {
            Self::Constant(value) => return Ok(value.clone()),
            Self::Template { template, location } => (template, location),
        };
        let keys = selected.map(|item| item.keys.iter().map(Value::from).collect()).unwrap_or_default();
        let context = TemplateContext::new()
            .json(Text::new_static("Target"), around.target.clone())
            .json(Text::new_static("Namespace"), around.namespace.clone())
            .json(Text::new_static("SelectedItem"), selected.map_or(Value::Null, |item| item.value.clone()))
            .native(Text::new_static("SelectKeyParts"), Value::array(keys));
        let text = template
            .render(&context, around.inputs, budget)
            .map_err(|error| template_error(&error).at(location.clone()))?;
        // Empty YAML is not a value, and replacing existing data by null is most likely a mistake.
        if is_blank(&text) {
            return Err(EvalError::new(
                "the template gives an empty value, write '\"{{ … }}\"' for text that may be empty",
            )
            .at(location.clone()));
        }
        bounded::parse_bounded_yaml(&text, budget)?.map_err(|error| {
            let message = format!(
                "the value `{}` is not YAML: {}",
                shorten_text(&text, TextLimit::Chars(MAX_SHOWN_VALUE_CHARS)),
                error.message
            );
            EvalError::new(message).at(location.clone())
        })
    }
}

/// Returns the text of a Reject rule's message.
pub(super) fn render_reject_message(
    template: &GoTemplate,
    around: &TemplateInputs<'_>,
    budget: &mut Budget,
) -> Result<String, GoTemplateError> {
    let context = TemplateContext::new()
        .json(Text::new_static("Target"), around.target.clone())
        .json(Text::new_static("Namespace"), around.namespace.clone());
    template.render(&context, around.inputs, budget)
}

fn template_error(error: &GoTemplateError) -> EvalError {
    let message = format!("template line {}: {}", error.position, error.message);
    match error.kind {
        GoTemplateErrorKind::Limit => EvalError::limit(message),
        _ => EvalError::new(message),
    }
}

/// Returns whether the YAML contains only whitespace and comments, and so has no value.
pub(super) fn is_blank(yaml: &str) -> bool {
    let begins_with_value = yaml.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric);
    !begins_with_value && yaml.lines().map(str::trim).all(|line| line.is_empty() || line.starts_with('#'))
}
