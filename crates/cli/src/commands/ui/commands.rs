//! Runs a command of the command line on the files of a request, so that both say the same.

use clap::Parser as _;
use kubewright_engine::Diagnostic;
use kubewright_ui::PageContent;
use kubewright_value::{Value, json};

use super::deadline::check_time;
use super::workspace::PageWorkspace;
use crate::arguments::{CliCommand, CommandLine};
use crate::commands::run_complete;
use crate::failure::CommandFailure;
use crate::output::{ColorChoice, capture_output};

/// What a command did.
pub(super) struct CommandRun {
    /// What it printed.
    pub(super) output: String,
    /// What it wrote to standard error besides.
    pub(super) notes: String,
    /// What is wrong with its inputs.
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Why it could not run at all.
    pub(super) failure: Option<CommandFailure>,
}

impl CommandRun {
    /// Does `work` with the files of the file system, as a command would.
    pub(super) fn outside<T>(work: impl FnOnce() -> Result<T, CommandFailure>) -> Self {
        let (done, captured) = capture_output(work);
        Self {
            output: captured.text(),
            notes: captured.errors,
            diagnostics: captured.diagnostics,
            failure: done.err(),
        }
    }

    /// Returns what it printed as JSON; null where it did not.
    pub(super) fn value(&self) -> Value {
        json::parse(&self.output).unwrap_or_default()
    }

    /// Returns why it could not run at all, as a diagnostic would be shown.
    pub(super) fn failure_text(&self) -> Option<String> {
        self.failure.as_ref().map(ToString::to_string)
    }

    /// Does `work` with the files of `space`, as a command would.
    pub(super) fn of<T>(
        space: &PageWorkspace,
        work: impl FnOnce() -> Result<T, CommandFailure>,
    ) -> (Self, Option<T>) {
        let (done, captured) = space.enter(|| capture_output(work));
        let output = captured.text();
        let (done, failure) = match done {
            Ok(done) => (Some(done), None),
            Err(failure) => (None, Some(failure)),
        };
        let run = Self { output, notes: captured.errors, diagnostics: captured.diagnostics, failure };
        (run, done)
    }
}

/// Runs the command that `words` are on the files of `space`.
///
/// # Errors
/// When they are not the words of a command, or the time of the request is over.
pub(super) fn run_words(space: &PageWorkspace, words: &[String]) -> Result<CommandRun, PageContent> {
    // An answer may be made of several commands.
    check_time()?;
    let command = parse_command(words)?;
    Ok(CommandRun::of(space, || run_complete(command, ColorChoice::Never)).0)
}

/// Returns `FLAG=PATH` for each of `paths`.
pub(super) fn flagged(flag: &str, paths: &[String]) -> Vec<String> {
    paths.iter().map(|path| format!("{flag}={path}")).collect()
}

/// Returns the command that `words` are, after the name of the program.
///
/// # Errors
/// When they are not the words of a command.
pub(super) fn parse_command(words: &[String]) -> Result<CliCommand, PageContent> {
    let words = std::iter::once("kubewright").chain(words.iter().map(String::as_str));
    let parsed = CommandLine::try_parse_from(words)
        .map_err(|error| PageContent::error(400, error.to_string().trim(), None))?;
    parsed.command.ok_or_else(|| PageContent::error(500, "no command", None))
}
