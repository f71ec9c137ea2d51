//! `completions`: a completion script for a shell.

use crate::arguments::{CompletionsArguments, described_program};
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::standard_output;

/// Runs the command.
///
/// # Errors
/// When output cannot be written.
pub(crate) fn run_completions(arguments: &CompletionsArguments) -> Result<ExitStatus, CommandFailure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut described_program(), "kubewright", &mut script);
    let mut out = standard_output();
    out.write_all(&script)?;
    out.flush()?;
    Ok(ExitStatus::Clean)
}
