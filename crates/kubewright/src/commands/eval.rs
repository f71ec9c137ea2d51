//! `eval`: tries an expression on an object.

use std::io::Write as _;

use kubewright_files as files;
use kubewright_gotemplate::{FunctionSet, GoTemplate, Inputs, TemplateContext};
use kubewright_jsonpath::{CapturedKey, JsonPathExpression, JsonPathResult, JsonPathSelector};
use kubewright_value::display::escape_json;
use kubewright_value::{Budget, Limits, Position, Value, bounded};

mod cel;
mod jmespath;

use crate::arguments::{Eval, Language, RuleOptions};
use crate::codes::{self, NOTHING_FOUND};
use crate::failure::{Exit, Failure};
use crate::output::{ColorChoice, standard_output, tell};
use crate::rule_inputs::complain;
use crate::rules;

/// Runs the command.
///
/// # Errors
/// When the expression cannot be read or has no result.
pub(crate) fn run(arguments: &Eval, color: ColorChoice) -> Result<Exit, Failure> {
    if arguments.list_functions {
        return match arguments.language {
            Language::Jmespath => jmespath::list_functions(),
            Language::Cel => cel::list_functions(arguments),
            _ => Err(Failure::usage("only the functions of `jmespath` and `cel` can be listed")),
        };
    }
    let mut problems = Vec::new();
    let paths = std::slice::from_ref(&arguments.file);
    let found = files::find(paths);
    problems.extend(found.problems);
    let documents = files::read_documents(&found.inputs, &mut problems);
    let Some(document) = documents.first() else {
        if problems.is_empty() {
            let message = format!("no document found in `{}`", arguments.file);
            problems.push(codes::about_path(&NOTHING_FOUND, &arguments.file, message));
        }
        complain(&problems, color.paint_errors());
        return Ok(Exit::BadInput);
    };
    let lines = match (arguments.language, arguments.keys) {
        (Language::Jsonpath, false) => values(&arguments.expression, &document.value)?,
        (Language::Jsonpath, true) => captured(&arguments.expression, &document.value)?,
        (Language::Gotemplate, _) => vec![rendered(arguments, &document.value)?],
        (Language::Jmespath, _) => vec![jmespath::found(&arguments.expression, &document.value)?],
        (Language::Cel, _) => vec![cel::found(arguments, &document.value)?],
    };
    let mut out = standard_output();
    for line in lines {
        writeln!(out, "{}", escape_json(&line))?;
    }
    out.flush()?;
    if documents.len() > 1 {
        tell(format_args!(
            "note: `{}` holds {} documents; this is about the first",
            arguments.file,
            documents.len()
        ));
    }
    let is_incomplete = complain(&problems, color.paint_errors());
    Ok(if is_incomplete { Exit::BadInput } else { Exit::Clean })
}

fn values(text: &str, root: &Value) -> Result<Vec<String>, Failure> {
    let expression = JsonPathExpression::parse(text)
        .map_err(|error| failure(text, error.message, error.position, error.length))?;
    let found = expression
        .evaluate(root, &mut Budget::default())
        .map_err(|error| failure(text, error.message, error.position, 1))?;
    let line = |value: Option<Value>| match value {
        Some(value) => printed(&value),
        None => Ok("undefined".to_owned()),
    };
    match found {
        JsonPathResult::Undefined => Ok(vec![line(None)?]),
        JsonPathResult::One(value) => Ok(vec![line(Some(value))?]),
        JsonPathResult::Many(values) => values.into_iter().map(line).collect(),
    }
}

/// What a result may be as text: parts of values are shared, so that a small one can be larger than memory.
const OUTPUT_LIMITS: Limits = Limits { steps: 50_000_000, bytes: 64 << 20, depth: 512 };

/// Returns `value` as JSON.
fn printed(value: &Value) -> Result<String, Failure> {
    bounded::to_json(value, &mut Budget::new(OUTPUT_LIMITS))
        .map_err(|exhausted| Failure::usage(format!("the result cannot be printed: {exhausted}")))
}

/// Returns each value with what the wildcards before it captured.
fn captured(text: &str, root: &Value) -> Result<Vec<String>, Failure> {
    let select = JsonPathSelector::parse(text)
        .map_err(|error| failure(text, error.message, error.position, error.length))?;
    let selected = select
        .evaluate(root, &mut Budget::default())
        .map_err(|error| failure(text, error.message, error.position, 1))?;
    let line = |keys: &[CapturedKey], value: &Value| {
        let keys = keys.iter().enumerate().map(|(number, key)| match key {
            CapturedKey::Index(index) => format!("#{number}={index} "),
            CapturedKey::Name(name) => format!("#{number}={} ", Value::from(name.clone())),
        });
        Ok(format!("{} {}", keys.collect::<String>(), printed(value)?).trim_start().to_owned())
    };
    selected.iter().map(|selected| line(&selected.keys, &selected.value)).collect()
}

fn rendered(arguments: &Eval, target: &Value) -> Result<String, Failure> {
    let text = &arguments.expression;
    let allowed = &arguments.allowed_functions;
    let functions = allowed.iter().fold(FunctionSet::rules(), |functions, name| functions.allow(name));
    let template = GoTemplate::parse("expression", text, &functions)
        .map_err(|error| failure(text, error.message, error.position, 1))?;
    let namespace = target.str_at(&["metadata", "namespace"]);
    let context = TemplateContext::new().json("Target", target.clone()).json("Namespace", namespace);
    let inputs = inputs(allowed);
    template
        .render(&context, &inputs, &mut Budget::default())
        .map_err(|error| failure(text, error.message, error.position, 1))
}

/// Returns the present moment and a seed.
fn inputs(allowed: &[String]) -> Inputs {
    let options = RuleOptions { allowed_functions: allowed.to_vec(), ..RuleOptions::default() };
    rules::dialect_options(&options, None).inputs
}

fn failure(expression: &str, message: String, position: Position, length: u32) -> Failure {
    Failure::Expression { message, expression: expression.to_owned(), position, length }
}
