//! `convert`: rewrites policies as their successor kind.

use kubewright_convert::{ConversionTarget, SuccessorKind};

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
    let kind = match arguments.to {
        ConvertTarget::Auto => None,
        ConvertTarget::Validatingpolicy => Some(SuccessorKind::ValidatingPolicy),
        ConvertTarget::Mutatingpolicy => Some(SuccessorKind::MutatingPolicy),
        ConvertTarget::Generatingpolicy => Some(SuccessorKind::GeneratingPolicy),
        ConvertTarget::Deletingpolicy => Some(SuccessorKind::DeletingPolicy),
        ConvertTarget::Imagevalidatingpolicy => Some(SuccessorKind::ImageValidatingPolicy),
    };
    let target = ConversionTarget::Successor(kind);
    conversion::run_conversion(&arguments.conversions, &[], target, color)
}
