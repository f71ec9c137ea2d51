//! `generate`: policies that somebody else evaluates.

use kubewright_convert::ConversionTarget;

use super::conversion;
use crate::arguments::{Generate, Generated};
use crate::failure::{Exit, Failure};
use crate::output::ColorChoice;

/// Runs the command.
///
/// # Errors
/// When output cannot be written.
pub(crate) fn run(arguments: &Generate, color: ColorChoice) -> Result<Exit, Failure> {
    let Generated::Vap(arguments) = &arguments.what;
    let target = ConversionTarget::ValidatingAdmissionPolicy { has_autogen: arguments.autogen };
    conversion::run(&arguments.conversions, &arguments.exceptions, target, color)
}
