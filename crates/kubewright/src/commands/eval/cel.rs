//! `eval cel`: an expression with all libraries, those of Kubernetes first; the file is `object`.
//! There is no world here: functions that ask it something fail.

use std::io::Write as _;

use kubewright_cel::{CelBindings, CelCost, CelEnvironment, CelProgram, library};
use kubewright_files as files;
use kubewright_value::{Value, bounded};

use super::failure;
use crate::arguments::Eval;
use crate::failure::{Exit, Failure};
use crate::output::{standard_output, tell};

/// How much is shown of a value that JSON has no word for.
const MAX_SHOWN_CHARACTERS: usize = 1 << 16;

/// Returns the result as JSON; a value that JSON has no word for as CEL writes it.
pub(super) fn found(arguments: &Eval, object: &Value) -> Result<String, Failure> {
    let text = arguments.expression.as_str();
    let variables = variables(&arguments.variables)?;
    let environment = variables
        .iter()
        .fold(environment(arguments).variable("object"), |all, (name, _)| all.variable(*name));
    let program = CelProgram::compile(text, &environment).map_err(|errors| {
        let mut errors = errors.into_iter();
        match errors.next() {
            Some(error) => failure(text, error.message, error.position, error.length),
            None => Failure::usage("the expression cannot be read"),
        }
    })?;
    let mut bindings = CelBindings::new().with("object", object).with_inputs(super::inputs(&[]));
    for (name, value) in &variables {
        bindings = bindings.with(name, value);
    }
    let mut cost = CelCost::default();
    let result = program.evaluate(&bindings, &mut cost);
    if arguments.cost {
        tell(format_args!("cost: {} of {}", cost.used(), cost.limit()));
    }
    let value = result.map_err(|error| failure(text, error.message, error.position, 1))?;
    match value.to_value() {
        Ok(value) => super::printed(&value),
        Err(_) => Ok(bounded::shortened_debug(&value, MAX_SHOWN_CHARACTERS)),
    }
}

/// Writes each function, how it is called and what it does.
pub(super) fn list_functions(arguments: &Eval) -> Result<Exit, Failure> {
    let mut out = standard_output();
    let environment = environment(arguments);
    for overload in environment.functions().iter() {
        writeln!(out, "{:<60} {}", overload.signature(), overload.help_line())?;
    }
    out.flush()?;
    Ok(Exit::Clean)
}

/// Returns what admission policies can use, and what other users of the language have besides.
fn environment(arguments: &Eval) -> CelEnvironment {
    if arguments.policy {
        return CelEnvironment::policy();
    }
    let more = [&library::BINDINGS, &library::ENCODERS, &library::MATH, &library::REGEX];
    more.iter().fold(CelEnvironment::kubernetes(), |environment, library| environment.with(library))
}

/// Reads `name=FILE` each.
fn variables(given: &[String]) -> Result<Vec<(&str, Value)>, Failure> {
    let mut variables = Vec::with_capacity(given.len());
    for text in given {
        let (name, file) = text
            .split_once('=')
            .ok_or_else(|| Failure::usage(format!("`--var {text}` is not of the form NAME=FILE")))?;
        let mut problems = Vec::new();
        let inputs = files::find(&[file.to_owned()]);
        problems.extend(inputs.problems);
        let documents = files::read_documents(&inputs.inputs, &mut problems);
        let Some(document) = documents.into_iter().next() else {
            return Err(Failure::usage(format!("no document found in `{file}`, the value of `{name}`")));
        };
        variables.push((name, document.value));
    }
    Ok(variables)
}
