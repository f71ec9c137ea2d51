//! Failures and exit codes of commands.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use kubewright_files::io_error_text;
use kubewright_value::Position;
use thiserror::Error;

use crate::output::{FileError, Paint, line_window, print_stderr, visible};

/// The exit status of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ExitStatus {
    /// No problems.
    Clean,
    /// There are warnings, and the user has chosen a code for them.
    Warned(u8),
    /// A rule denies an object or ends in an error, or a test fails.
    Violations,
    /// Some input could not be read; everything else was processed.
    BadInput,
}

impl From<ExitStatus> for ExitCode {
    fn from(exit: ExitStatus) -> Self {
        match exit {
            ExitStatus::Clean => Self::SUCCESS,
            ExitStatus::Warned(code) => Self::from(code),
            ExitStatus::Violations => Self::from(1),
            ExitStatus::BadInput => Self::from(2),
        }
    }
}

/// Why a command could not run at all.
#[derive(Debug, Error)]
pub(crate) enum CommandFailure {
    /// Invalid arguments.
    #[error("{message}")]
    Usage {
        /// What is wrong.
        message: String,
        /// The remedy; may be empty.
        help: String,
    },
    /// An expression cannot be read, or has no result.
    #[error("{message}")]
    Expression {
        /// What is wrong.
        message: String,
        /// The expression.
        expression: String,
        /// The place in it.
        position: Position,
        /// How many characters it is about.
        length: u32,
    },
    /// A file could not be written.
    #[error("cannot write `{}`: {}", path.display(), io_error_text(error))]
    Write {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// Standard output could not be written.
    #[error("cannot write the output: {}", io_error_text(.0))]
    Output(io::Error),
}

impl From<io::Error> for CommandFailure {
    fn from(error: io::Error) -> Self {
        match FileError::path_of(&error) {
            Some(path) => Self::Write { path, error },
            None => Self::Output(error),
        }
    }
}

impl CommandFailure {
    /// Returns a failure of usage without a remedy.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), help: String::new() }
    }

    /// Returns this failure with the remedy `text`.
    pub(crate) fn help(self, text: impl Into<String>) -> Self {
        match self {
            Self::Usage { message, .. } => Self::Usage { message, help: text.into() },
            other => other,
        }
    }

    /// Returns a function that turns an error about `path` into a failure.
    pub(crate) fn writing(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::Write { path, error }
    }

    /// Prints the failure, unless standard output was closed, and returns the exit code.
    pub(crate) fn report(&self, paint: Paint) -> ExitCode {
        if let Self::Output(error) = self
            && error.kind() == io::ErrorKind::BrokenPipe
        {
            return ExitCode::SUCCESS;
        }
        print_stderr(format_args!("{} {}", paint.red("error:"), visible(&self.to_string())));
        match self {
            Self::Usage { help, .. } if !help.is_empty() => print_stderr(format_args!("  = help: {help}")),
            Self::Expression { expression, position, length, .. } => {
                let line =
                    expression.lines().nth(position.line.saturating_sub(1) as usize).unwrap_or_default();
                let (line, before, covered) = line_window(line, position.column as usize, *length as usize);
                print_stderr(format_args!("  {}", visible(&line)));
                print_stderr(format_args!("  {}{}", " ".repeat(before), paint.red(&"^".repeat(covered))));
            }
            _ => {}
        }
        ExitStatus::BadInput.into()
    }
}
