//! Comparisons of parameters with values that they cannot have.

use kubewright_cel::FieldComparison;
use kubewright_engine::nearest_word;
use kubewright_value::{Text, Value};

use super::Linter;
use super::parameters::SECTIONS;
use super::programs::Placed;
use crate::compile::moved;
use crate::diagnostics as code;
use crate::schema::{Child, Field, Sections};
use kubewright_dialect_kit::fields::locate_within;

impl Linter<'_> {
    /// Reports texts that a parameter is compared with and its schema does not allow.
    pub(super) fn choices(&mut self, sections: &Sections, programs: &[Placed<'_>]) {
        for placed in programs {
            for compared in placed.program.field_comparisons() {
                self.choice(sections, placed, &compared);
            }
        }
    }

    fn choice(&mut self, sections: &Sections, placed: &Placed<'_>, compared: &FieldComparison) {
        let FieldComparison { field: read, text, position } = compared;
        let Some(field) = declared(sections, &read.variable, &read.path) else { return };
        let choices: Option<Vec<&str>> = field.choices().iter().map(Value::as_str).collect();
        let Some(choices) = choices.filter(|choices| !choices.is_empty()) else { return };
        let is_default = field.default().and_then(Value::as_str) == Some(text.as_str());
        // Asking whether there is any text at all is a precaution.
        if text.is_empty() || is_default || choices.contains(&text.as_str()) {
            return;
        }
        let message = format!("`{}.{}` is never `{text}`", read.variable, read.path.join("."));
        let help = match nearest_word(text, choices.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("its schema allows {}", listed(&choices)),
        };
        let length = u32::try_from(text.chars().count()).unwrap_or(0).saturating_add(2);
        let location = locate_within(self.document, &placed.path, moved(placed.start, *position), length);
        self.report(&code::NEVER_EQUAL, location, message, help);
    }
}

/// Returns what is declared at `path` of the variable `section`.
fn declared<'s>(sections: &'s Sections, section: &str, path: &[Text]) -> Option<Field<'s>> {
    let schemas = [&sections.parameters, &sections.environment_configs];
    let (_, schema) = SECTIONS.into_iter().zip(schemas).find(|(known, _)| *known == section)?;
    path.iter().try_fold(schema.as_ref()?.root(), |field, name| match field.child(name) {
        Child::Known(inner) => Some(inner),
        Child::Any | Child::Unknown(_) => None,
    })
}

fn listed(choices: &[&str]) -> String {
    choices.iter().map(|choice| format!("`{choice}`")).collect::<Vec<_>>().join(", ")
}
