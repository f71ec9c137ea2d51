//! The variables `parameters` and `environmentConfigs`: the given values with defaults, checked against the schema.
//!
//! Without a schema the given values are left out with a warning; the original leaves them out silently.

use kubewright_engine::Diagnostic;
use kubewright_value::{Document, Location, Map, Step, Value};

use super::super::diagnostics as code;
use super::super::render::bind_section_at;
use super::super::schema::Schema;

/// Given values, with their place.
#[derive(Clone, Copy)]
pub(crate) struct GivenParameters<'a> {
    pub(crate) value: &'a Value,
    pub(crate) document: &'a Document,
    pub(crate) path: &'a [Step],
}

/// Returns the values of a section. `otherwise` is the place of diagnostics if nothing is given; `words` are the names
/// of the section and of its owner in messages.
pub(crate) fn bind_declared(
    schema: Option<&Schema>,
    given: Option<GivenParameters<'_>>,
    otherwise: &Location,
    words: (&str, &str),
) -> (Value, Vec<Diagnostic>) {
    let empty = Value::object(Map::new());
    let given = given.filter(|given| !given.value.is_null());
    let place = |path: &[Step], is_key| given.map_or(otherwise.clone(), |given| given.place(path, is_key));
    let value = given.map_or(&empty, |given| given.value);
    if schema.is_none() && *value != empty {
        let (what, about) = words;
        let message = format!("{what} of {about}: nothing is declared");
        let help = format!("declare a schema for `{what}`; without one the values are left out");
        return (
            empty,
            vec![Diagnostic::new(&code::NOTHING_DECLARED, message, place(&[], false)).help(help)],
        );
    }
    bind_section_at(schema, value, &place, (words.0, &words.1))
}

impl GivenParameters<'_> {
    fn place(&self, inside: &[Step], is_key: bool) -> Location {
        let path: Vec<Step> = self.path.iter().chain(inside).cloned().collect();
        if is_key { self.document.locate_key(&path) } else { self.document.locate(&path) }
    }
}
