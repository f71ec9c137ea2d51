//! The commands of kubewright, and their arguments.

mod arguments;
mod codes;
mod commands;
mod failure;
mod fields;
mod fixtures;
#[cfg(feature = "serve")]
mod live;
#[cfg(feature = "serve")]
mod live_objects;
mod manifest_inputs;
mod output;
mod pattern_inputs;
mod progress;
mod project;
mod registry_access;
mod request;
mod review;
mod rule_inputs;
mod rules;
mod since;
mod suppressions;
mod watch;
mod why_words;

use std::process::ExitCode;

/// Runs the command that the arguments of this process name.
#[must_use]
pub fn run() -> ExitCode {
    let arguments = arguments::parse_command_line();
    kubewright_files::allow_outside(arguments.allow_outside);
    let paint = arguments.color.paint_errors();
    match commands::dispatch_command(arguments) {
        Ok(exit) => exit.into(),
        Err(failure) => failure.report(paint),
    }
}
