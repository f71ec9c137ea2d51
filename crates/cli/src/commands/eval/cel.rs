//! `eval cel`: an expression with all libraries, those of Kubernetes first; the file is `object`.
//! There is no world here: functions that look something up fail.

use std::io::Write as _;

use kubewright_cel::{CelBindings, CelCost, CelEnvironment, CelProgram, library};
use kubewright_files as files;
use kubewright_value::{Value, bounded};

use super::eval_failure;
use crate::arguments::EvalArguments;
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::{print_stderr, standard_output};

/// The maximum length of a printed value that JSON cannot represent.
const MAX_SHOWN_CHARACTERS: usize = 1 << 16;

/// Returns the result as JSON, or as CEL writes it if JSON cannot represent it.
pub(super) fn eval_cel(arguments: &EvalArguments, object: &Value) -> Result<String, CommandFailure> {
    let text = arguments.expression.as_str();
    let variables = read_cel_variables(&arguments.variables)?;
    let environment = variables
        .iter()
        .fold(eval_environment(arguments).variable("object"), |all, (name, _)| all.variable(*name));
    let program = CelProgram::compile(text, &environment).map_err(|errors| {
        let mut errors = errors.into_iter();
        match errors.next() {
            Some(error) => eval_failure(text, error.message, error.position, error.length),
            None => CommandFailure::usage("the expression cannot be read"),
        }
    })?;
    let mut bindings = CelBindings::new().with("object", object).with_inputs(super::inputs(&[]));
    for (name, value) in &variables {
        bindings = bindings.with(name, value);
    }
    let mut cost = CelCost::default();
    let result = program.evaluate(&bindings, &mut cost);
    if arguments.cost {
        print_stderr(format_args!("cost: {} of {}", cost.used(), cost.limit()));
    }
    let value = result.map_err(|error| eval_failure(text, error.message, error.position, 1))?;
    match value.to_value() {
        Ok(value) => super::value_as_json(&value),
        Err(_) => Ok(bounded::shortened_debug(&value, MAX_SHOWN_CHARACTERS)),
    }
}

/// Writes each function, how it is called and what it does.
pub(super) fn list_cel_functions(arguments: &EvalArguments) -> Result<ExitStatus, CommandFailure> {
    let mut out = standard_output();
    let environment = eval_environment(arguments);
    for overload in environment.functions().iter() {
        writeln!(out, "{:<60} {}", overload.signature(), overload.help_line())?;
    }
    out.flush()?;
    Ok(ExitStatus::Clean)
}

/// Returns the environment of admission policies, with the functions of policies in CEL if requested.
fn eval_environment(arguments: &EvalArguments) -> CelEnvironment {
    if arguments.policy {
        return CelEnvironment::policy();
    }
    let more = [&library::BINDINGS, &library::ENCODERS, &library::MATH, &library::REGEX];
    more.iter().fold(CelEnvironment::kubernetes(), |environment, library| environment.with(library))
}

/// Reads `name=FILE` each.
fn read_cel_variables(given: &[String]) -> Result<Vec<(&str, Value)>, CommandFailure> {
    let mut variables = Vec::with_capacity(given.len());
    for text in given {
        let (name, file) = text
            .split_once('=')
            .ok_or_else(|| CommandFailure::usage(format!("`--var {text}` is not of the form NAME=FILE")))?;
        let mut problems = Vec::new();
        let inputs = files::find_files(&[file.to_owned()]);
        problems.extend(inputs.problems);
        let documents = files::read_documents(&inputs.inputs, &mut problems);
        let Some(document) = documents.into_iter().next() else {
            return Err(CommandFailure::usage(format!(
                "no document found in `{file}`, the value of `{name}`"
            )));
        };
        variables.push((name, document.value));
    }
    Ok(variables)
}
