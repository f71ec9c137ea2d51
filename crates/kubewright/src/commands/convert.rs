//! `convert`: rewrites policies as their successor kind.

use kubewright_convert::ConversionTarget;

use super::conversion;
use crate::arguments::{ConvertArguments, ConvertTarget};
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::ColorChoice;

/// Runs the command.
///
/// # Errors
/// When output cannot be written.
pub(crate) fn run_convert(
    arguments: &ConvertArguments,
    color: ColorChoice,
) -> Result<ExitStatus, CommandFailure> {
    let target = match arguments.to {
        ConvertTarget::Validatingpolicy => ConversionTarget::ValidatingPolicy,
    };
    conversion::run_conversion(&arguments.conversions, &[], target, color)
}
