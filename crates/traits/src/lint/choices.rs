//! The check for comparisons of parameters with values that they cannot have.

use kubewright_cel::FieldComparison;
use kubewright_engine::nearest_word;
use kubewright_value::suggest::did_you_mean;
use kubewright_value::{Text, Value};

use super::Linter;
use super::parameters::SECTIONS;
use super::programs::LintedExpression;
use crate::compile::position_in_text;
use crate::diagnostics as code;
use crate::schema::{FieldLookup, ParameterField, Sections};
use kubewright_dialect_kit::fields::locate_within;

impl Linter<'_> {
    /// Reports texts that a parameter is compared with and its schema does not allow.
    pub(super) fn choices(&mut self, sections: &Sections, programs: &[LintedExpression<'_>]) {
        for placed in programs {
            for compared in placed.program.field_comparisons() {
                self.choice(sections, placed, &compared);
            }
        }
    }

    fn choice(&mut self, sections: &Sections, placed: &LintedExpression<'_>, compared: &FieldComparison) {
        let FieldComparison { field: read, text, position } = compared;
        let Some(field) = declared_field(sections, &read.variable, &read.path) else { return };
        let choices: Option<Vec<&str>> = field.choices().iter().map(Value::as_str).collect();
        let Some(choices) = choices.filter(|choices| !choices.is_empty()) else { return };
        let is_default = field.default().and_then(Value::as_str) == Some(text.as_str());
        // A comparison with the empty text is a precaution, not a mistake.
        if text.is_empty() || is_default || choices.contains(&text.as_str()) {
            return;
        }
        let message = format!("`{}.{}` is never `{text}`", read.variable, read.path.join("."));
        let help = match nearest_word(text, choices.iter().copied()) {
            Some(near) => did_you_mean(near),
            None => format!("its schema allows {}", list_choices(&choices)),
        };
        let length = u32::try_from(text.chars().count()).unwrap_or(0).saturating_add(2);
        let location =
            locate_within(self.document, &placed.path, position_in_text(placed.start, *position), length);
        self.report(&code::NEVER_EQUAL, location, message, help);
    }
}

/// Returns the declaration at `path` of the variable `section`.
fn declared_field<'s>(sections: &'s Sections, section: &str, path: &[Text]) -> Option<ParameterField<'s>> {
    let schemas = [&sections.parameters, &sections.environment_configs];
    let (_, schema) = SECTIONS.into_iter().zip(schemas).find(|(known, _)| *known == section)?;
    path.iter().try_fold(schema.as_ref()?.root(), |field, name| match field.child(name) {
        FieldLookup::Known(inner) => Some(inner),
        FieldLookup::Any | FieldLookup::Unknown(_) => None,
    })
}

fn list_choices(choices: &[&str]) -> String {
    choices.iter().map(|choice| format!("`{choice}`")).collect::<Vec<_>>().join(", ")
}
