//! `schema`: the JSON schema of a kind of document.

use std::io::Write as _;

use kubewright_engine::nearest_word;
use kubewright_schemas::{schema_names, schema_of};
use kubewright_value::json;
use kubewright_value::suggest::did_you_mean;

use crate::arguments::SchemaArguments;
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::standard_output;

/// Runs the command.
///
/// # Errors
/// When there is no such kind, or the output cannot be written.
pub(crate) fn run_schema(arguments: &SchemaArguments) -> Result<ExitStatus, CommandFailure> {
    let mut out = standard_output();
    match &arguments.kind {
        None => {
            for name in schema_names() {
                writeln!(out, "{name}")?;
            }
        }
        Some(kind) => {
            let known = schema_names().find(|name| name.eq_ignore_ascii_case(kind));
            let Some(schema) = known.and_then(schema_of) else { return Err(unknown_kind(kind)) };
            writeln!(out, "{}", json::to_pretty(schema))?;
        }
    }
    out.flush()?;
    Ok(ExitStatus::Clean)
}

fn unknown_kind(kind: &str) -> CommandFailure {
    let failure = CommandFailure::usage(format!("there is no schema of `{kind}`"));
    failure.help(match nearest_word(kind, schema_names()) {
        Some(near) => did_you_mean(near),
        None => "`kubewright schema` lists the kinds".to_owned(),
    })
}
