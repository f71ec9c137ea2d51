//! `completions`: a completion script for a shell.

use clap::CommandFactory as _;

use crate::arguments::{Arguments, Completions};
use crate::failure::{Exit, Failure};
use crate::output::standard_output;

/// Runs the command.
///
/// # Errors
/// When output cannot be written.
pub(crate) fn run(arguments: &Completions) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "kubewright", &mut script);
    let mut out = standard_output();
    out.write_all(&script)?;
    out.flush()?;
    Ok(Exit::Clean)
}
