//! `parameters` and `environmentConfigs`: what is given, with the defaults of the schema, checked against it.
//!
//! Without a schema nothing is declared, and what is given is left out with a warning; the original leaves it out silently.

use kubewright_engine::{Diagnostic, Severity};
use kubewright_value::{Budget, Document, Location, Map, Step, Value};

use super::super::diagnostics as code;
use super::super::schema::Schema;
use crate::fields::article;

/// What is given, and where it stands.
#[derive(Clone, Copy)]
pub(crate) struct Given<'a> {
    pub(crate) value: &'a Value,
    pub(crate) document: &'a Document,
    pub(crate) path: &'a [Step],
}

/// Returns the section `name` as expressions see it. `otherwise` is the place of what is missing where nothing is given.
pub(crate) fn section(
    name: &str,
    schema: Option<&Schema>,
    given: Option<Given<'_>>,
    otherwise: &Location,
) -> (Value, Vec<Diagnostic>) {
    let empty = Value::object(Map::new());
    let given = given.filter(|given| !given.value.is_null());
    let place = |path: &[Step]| given.map_or(otherwise.clone(), |given| given.place(path));
    let value = given.map_or(&empty, |given| given.value);
    if value.as_object().is_none() {
        let message = format!("`{name}` is {}, expected an object", article(value.kind()));
        return (empty, vec![Diagnostic::new(&code::UNFIT_PARAMETERS, message, place(&[]))]);
    }
    let Some(schema) = schema else {
        if value == &empty {
            return (empty, Vec::new());
        }
        let message = format!("`{name}` is given, and nothing is declared for it");
        let help = format!("declare a schema for `{name}`; without one the values are left out");
        return (empty, vec![Diagnostic::new(&code::NOTHING_DECLARED, message, place(&[])).help(help)]);
    };
    let mut budget = Budget::default();
    let checked = schema.with_defaults(value, &mut budget).and_then(|full| {
        let wrongs = schema.check(&full, &mut budget)?;
        Ok((full, wrongs))
    });
    match checked {
        Ok((full, wrongs)) => {
            let diagnostic = |wrong: super::super::schema::Wrong| {
                let code = match wrong.severity {
                    Severity::Error => &code::UNFIT_PARAMETERS,
                    Severity::Warning => &code::UNKNOWN_PARAMETER,
                };
                Diagnostic::new(code, wrong.message, place(&wrong.path)).help(wrong.help)
            };
            (full, wrongs.into_iter().map(diagnostic).collect())
        }
        Err(error) => {
            let message = format!("`{name}` cannot be checked: {error}");
            (empty, vec![Diagnostic::new(&code::UNFIT_PARAMETERS, message, place(&[]))])
        }
    }
}

impl Given<'_> {
    fn place(&self, inside: &[Step]) -> Location {
        let path: Vec<Step> = self.path.iter().chain(inside).cloned().collect();
        self.document.locate(&path)
    }
}
