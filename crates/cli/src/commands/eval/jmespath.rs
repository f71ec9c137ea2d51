//! `eval jmespath`: expressions with the functions of policies.

use std::io::Write as _;

use kubewright_jmespath::{
    JmesPathExpression, JmesPathFunctions, JmesPathLanguage, JmesPathLookup, unknown_key_message,
};
use kubewright_value::{Budget, Value};

use super::{eval_failure, inputs};
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::standard_output;

/// Returns what `text` finds in `root`, as JSON.
///
/// # Errors
/// When it cannot be read or has no result.
pub(super) fn eval_jmespath(text: &str, root: &Value) -> Result<String, CommandFailure> {
    let functions = JmesPathFunctions::kubernetes().with_inputs(inputs(&[]));
    let expression = JmesPathExpression::parse_as(text, &functions, JmesPathLanguage::Forgiving)
        .map_err(|error| eval_failure(text, error.message, error.position, error.length))?;
    let found = expression
        .find(root, &mut Budget::default())
        .map_err(|error| eval_failure(text, error.message, error.position, 1))?;
    match found {
        JmesPathLookup::Value(value) => super::value_as_json(&value),
        JmesPathLookup::Missing(key) => Err(CommandFailure::usage(unknown_key_message(&key))
            .help("a rule ends in an error then; `||` gives another value, as in `a.b || 'none'`")),
    }
}

/// Prints each function with what it takes and returns, and what it does.
///
/// # Errors
/// When the output cannot be written.
pub(super) fn list_jmespath_functions() -> Result<ExitStatus, CommandFailure> {
    let functions = JmesPathFunctions::kubernetes();
    let lines: Vec<(String, &str)> = functions
        .names()
        .filter_map(|name| {
            let signature = functions.signature(name)?;
            Some((format!("{name}{signature}"), signature.help()))
        })
        .collect();
    let width = lines.iter().map(|(call, _)| call.len()).max().unwrap_or(0);
    let mut out = standard_output();
    for (call, help) in lines {
        writeln!(out, "{call:width$}  {help}")?;
    }
    out.flush()?;
    Ok(ExitStatus::Clean)
}
