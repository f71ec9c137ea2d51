//! `why`: what every rule says about one object, and why.

use super::trace::{ChosenTraces, trace_rules};
use crate::arguments::WhyArguments;
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::ColorChoice;

/// Runs the command.
///
/// # Errors
/// When the arguments are invalid, the object is not there, or output cannot be written.
pub(crate) fn run_why(arguments: &WhyArguments, color: ColorChoice) -> Result<ExitStatus, CommandFailure> {
    if !arguments.object.contains('/') {
        let message = format!("`{}` is not an object", arguments.object);
        return Err(CommandFailure::usage(message)
            .help("name it as `Kind/namespace/name` or `Kind/name`, before the rules"));
    }
    let chosen = ChosenTraces::new(&arguments.choice, std::slice::from_ref(&arguments.object));
    let output = (color, arguments.output);
    let traced = trace_rules(&arguments.rules, &arguments.objects, &chosen, output)?;
    Ok(if traced.is_incomplete { ExitStatus::BadInput } else { ExitStatus::Clean })
}
