//! What a component type gives to the traits that it has built in: templates that see what the component sees.

use kubewright_engine::Diagnostic;
use kubewright_lang::cel::{Bindings, Cost};
use kubewright_lang::interpolate::{Rendered, Template};
use kubewright_value::{Document, Map, Step, Value};

use super::super::diagnostics as code;
use super::super::functions;
use crate::fields::{Placed, within};

/// Parameters, or what may differ between environments, of a built-in trait.
#[derive(Debug, Clone)]
pub(crate) struct Bound {
    template: Template,
    path: Vec<Step>,
}

impl Bound {
    /// Compiles what is `given`, which may name `variables`.
    pub(crate) fn compile<'n>(
        given: &Placed<Value>,
        document: &Document,
        variables: impl IntoIterator<Item = &'n str>,
    ) -> (Self, Vec<Diagnostic>) {
        let environment = variables
            .into_iter()
            .fold(functions::environment(), |environment, name| environment.variable(name));
        let (template, problems) = Template::compile(&given.value, &environment);
        let diagnostic = |problem: kubewright_lang::interpolate::Problem| {
            let path: Vec<Step> = given.path.iter().cloned().chain(problem.path).collect();
            let location = match problem.is_key {
                true => document.locate_key(&path),
                false => within(document, &path, problem.position, problem.length),
            };
            Diagnostic::new(&code::BAD_EXPRESSION, problem.message, location)
        };
        let diagnostics = problems.into_iter().map(diagnostic).collect();
        (Self { template, path: given.path.clone() }, diagnostics)
    }

    /// Returns what the trait is given where `variables` have these values.
    pub(crate) fn resolve(
        &self,
        document: &Document,
        variables: &[(&str, &Value)],
    ) -> Result<Value, Box<Diagnostic>> {
        let bindings =
            variables.iter().fold(Bindings::new(), |bindings, (name, value)| bindings.with(name, value));
        match self.template.render(&bindings, &mut Cost::default()) {
            Ok(Rendered::Value(value)) => Ok(value),
            Ok(Rendered::Omitted) => Ok(Value::object(Map::new())),
            Err(error) => {
                let path: Vec<Step> = self.path.iter().cloned().chain(error.path).collect();
                let location = within(document, &path, error.position, 1);
                let help = "read what may be missing with `.?name.orValue(…)`";
                Err(Box::new(Diagnostic::new(&code::BAD_EXPRESSION, error.message, location).help(help)))
            }
        }
    }
}
