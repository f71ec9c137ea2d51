//! `generate`: policies that other programs evaluate.

use kubewright_convert::ConversionTarget;

use super::conversion;
use crate::arguments::{GenerateArguments, GenerateTarget};
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::ColorChoice;

/// Runs the command.
///
/// # Errors
/// When output cannot be written.
pub(crate) fn run_generate(
    arguments: &GenerateArguments,
    color: ColorChoice,
) -> Result<ExitStatus, CommandFailure> {
    let GenerateTarget::Vap(arguments) = &arguments.what;
    let target = ConversionTarget::ValidatingAdmissionPolicy { has_autogen: arguments.autogen };
    conversion::run_conversion(&arguments.conversions, &arguments.exceptions, target, color)
}
