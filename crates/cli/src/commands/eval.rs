//! `eval`: evaluates an expression on an object.

use std::io::Write as _;

use kubewright_files as files;
use kubewright_gotemplate::{FunctionSet, GoTemplate, Inputs, TemplateContext};
use kubewright_jsonpath::{CapturedKey, JsonPathExpression, JsonPathResult, JsonPathSelector};
use kubewright_value::display::escape_json;
use kubewright_value::{Budget, Limits, Position, Value, bounded};

mod cel;
mod jmespath;

use crate::arguments::{EvalArguments, ExpressionLanguage, RuleOptions};
use crate::codes::{self, NOTHING_FOUND};
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::{ColorChoice, print_stderr, standard_output};
use crate::rule_inputs::print_diagnostics;
use crate::rules;

/// Runs the command.
///
/// # Errors
/// When the expression cannot be read or has no result.
pub(crate) fn run_eval(arguments: &EvalArguments, color: ColorChoice) -> Result<ExitStatus, CommandFailure> {
    if arguments.list_functions {
        return match arguments.language {
            ExpressionLanguage::Jmespath => jmespath::list_jmespath_functions(),
            ExpressionLanguage::Cel => cel::list_cel_functions(arguments),
            _ => Err(CommandFailure::usage("only the functions of `jmespath` and `cel` can be listed")),
        };
    }
    let mut problems = Vec::new();
    let paths = std::slice::from_ref(&arguments.file);
    let found = files::find_files(paths);
    problems.extend(found.problems);
    let documents = files::read_documents(&found.inputs, &mut problems);
    let Some(document) = documents.first() else {
        if problems.is_empty() {
            let message = format!("no document found in `{}`", arguments.file);
            problems.push(codes::about_path(&NOTHING_FOUND, &arguments.file, message));
        }
        print_diagnostics(&problems, color.paint_errors());
        return Ok(ExitStatus::BadInput);
    };
    let lines = match (arguments.language, arguments.keys) {
        (ExpressionLanguage::Jsonpath, false) => eval_jsonpath(&arguments.expression, &document.value)?,
        (ExpressionLanguage::Jsonpath, true) => eval_select(&arguments.expression, &document.value)?,
        (ExpressionLanguage::Gotemplate, _) => vec![eval_template(arguments, &document.value)?],
        (ExpressionLanguage::Jmespath, _) => {
            vec![jmespath::eval_jmespath(&arguments.expression, &document.value)?]
        }
        (ExpressionLanguage::Cel, _) => vec![cel::eval_cel(arguments, &document.value)?],
    };
    let mut out = standard_output();
    for progress_line in lines {
        writeln!(out, "{}", escape_json(&progress_line))?;
    }
    out.flush()?;
    if documents.len() > 1 {
        print_stderr(format_args!(
            "note: `{}` contains {} documents; only the first is used",
            arguments.file,
            documents.len()
        ));
    }
    let is_incomplete = print_diagnostics(&problems, color.paint_errors());
    Ok(if is_incomplete { ExitStatus::BadInput } else { ExitStatus::Clean })
}

fn eval_jsonpath(text: &str, root: &Value) -> Result<Vec<String>, CommandFailure> {
    let expression = JsonPathExpression::parse(text)
        .map_err(|error| eval_failure(text, error.message, error.position, error.length))?;
    let found = expression
        .evaluate(root, &mut Budget::default())
        .map_err(|error| eval_failure(text, error.message, error.position, 1))?;
    let line = |value: Option<Value>| match value {
        Some(value) => value_as_json(&value),
        None => Ok("undefined".to_owned()),
    };
    match found {
        JsonPathResult::Undefined => Ok(vec![line(None)?]),
        JsonPathResult::One(value) => Ok(vec![line(Some(value))?]),
        JsonPathResult::Many(values) => values.into_iter().map(line).collect(),
    }
}

/// Limits of a printed result: values share parts, so a small one can print as more than fits in memory.
const OUTPUT_LIMITS: Limits = Limits { steps: 50_000_000, bytes: 64 << 20, depth: 512 };

/// Returns `value` as JSON.
fn value_as_json(value: &Value) -> Result<String, CommandFailure> {
    bounded::to_json(value, &mut Budget::new(OUTPUT_LIMITS))
        .map_err(|exhausted| CommandFailure::usage(format!("the result cannot be printed: {exhausted}")))
}

/// Returns each value with what the wildcards before it captured.
fn eval_select(text: &str, root: &Value) -> Result<Vec<String>, CommandFailure> {
    let select = JsonPathSelector::parse(text)
        .map_err(|error| eval_failure(text, error.message, error.position, error.length))?;
    let selected = select
        .evaluate(root, &mut Budget::default())
        .map_err(|error| eval_failure(text, error.message, error.position, 1))?;
    let line = |keys: &[CapturedKey], value: &Value| {
        let keys = keys.iter().enumerate().map(|(number, key)| match key {
            CapturedKey::Index(index) => format!("#{number}={index} "),
            CapturedKey::Name(name) => format!("#{number}={} ", Value::from(name.clone())),
        });
        Ok(format!("{} {}", keys.collect::<String>(), value_as_json(value)?).trim_start().to_owned())
    };
    selected.iter().map(|selected| line(&selected.keys, &selected.value)).collect()
}

fn eval_template(arguments: &EvalArguments, target: &Value) -> Result<String, CommandFailure> {
    let text = &arguments.expression;
    let allowed = &arguments.allowed_functions;
    let functions = allowed.iter().fold(FunctionSet::rules(), |functions, name| functions.allow(name));
    let template = GoTemplate::parse("expression", text, &functions)
        .map_err(|error| eval_failure(text, error.message, error.position, 1))?;
    let namespace = target.str_at(&["metadata", "namespace"]);
    let context = TemplateContext::new().json("Target", target.clone()).json("Namespace", namespace);
    let inputs = inputs(allowed);
    template
        .render(&context, &inputs, &mut Budget::default())
        .map_err(|error| eval_failure(text, error.message, error.position, 1))
}

/// Returns the present moment and a seed.
fn inputs(allowed: &[String]) -> Inputs {
    let options = RuleOptions { allowed_functions: allowed.to_vec(), ..RuleOptions::default() };
    rules::dialect_options(&options, None).inputs
}

fn eval_failure(expression: &str, message: String, position: Position, length: u32) -> CommandFailure {
    CommandFailure::Expression { message, expression: expression.to_owned(), position, length }
}
