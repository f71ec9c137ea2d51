//! `convert`: policies in the form that follows theirs.

use kubewright_convert::ConversionTarget;

use super::conversion;
use crate::arguments::{Convert, ConvertTarget};
use crate::failure::{Exit, Failure};
use crate::output::ColorChoice;

/// Runs the command.
///
/// # Errors
/// When output cannot be written.
pub(crate) fn run(arguments: &Convert, color: ColorChoice) -> Result<Exit, Failure> {
    let target = match arguments.to {
        ConvertTarget::Validatingpolicy => ConversionTarget::ValidatingPolicy,
    };
    conversion::run(&arguments.conversions, &[], target, color)
}
