//! `parameters` and `environmentConfigs`: what is given, with the defaults of the schema, checked against it.
//!
//! Without a schema nothing is declared, and what is given is left out with a warning; the original leaves it out silently.

use kubewright_engine::Diagnostic;
use kubewright_value::{Document, Location, Map, Step, Value};

use super::super::diagnostics as code;
use super::super::render::bind_section_at;
use super::super::schema::Schema;

/// What is given, and where it stands.
#[derive(Clone, Copy)]
pub(crate) struct GivenParameters<'a> {
    pub(crate) value: &'a Value,
    pub(crate) document: &'a Document,
    pub(crate) path: &'a [Step],
}

/// Returns what expressions see of what is given. `otherwise` is the place of what is missing where nothing is;
/// `said` are the words for the section and for what declares it.
pub(crate) fn bind_declared(
    schema: Option<&Schema>,
    given: Option<GivenParameters<'_>>,
    otherwise: &Location,
    said: (&str, &str),
) -> (Value, Vec<Diagnostic>) {
    let empty = Value::object(Map::new());
    let given = given.filter(|given| !given.value.is_null());
    let place = |path: &[Step], is_key| given.map_or(otherwise.clone(), |given| given.place(path, is_key));
    let value = given.map_or(&empty, |given| given.value);
    if schema.is_none() && *value != empty {
        let (what, about) = said;
        let message = format!("{what} of {about}: nothing is declared");
        let help = format!("declare a schema for `{what}`; without one the values are left out");
        return (
            empty,
            vec![Diagnostic::new(&code::NOTHING_DECLARED, message, place(&[], false)).help(help)],
        );
    }
    bind_section_at(schema, value, &place, (said.0, &said.1))
}

impl GivenParameters<'_> {
    fn place(&self, inside: &[Step], is_key: bool) -> Location {
        let path: Vec<Step> = self.path.iter().chain(inside).cloned().collect();
        if is_key { self.document.locate_key(&path) } else { self.document.locate(&path) }
    }
}
