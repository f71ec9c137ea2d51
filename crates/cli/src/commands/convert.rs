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
    let target = conversion_target(arguments)?;
    conversion::run_conversion(&arguments.conversions, &arguments.exceptions, target, color)
}

/// Returns what policies are converted to.
///
/// # Errors
/// When another option does not fit.
pub(super) fn conversion_target(arguments: &ConvertArguments) -> Result<ConversionTarget, CommandFailure> {
    if arguments.to == ConvertTarget::Vap {
        return Ok(ConversionTarget::ValidatingAdmissionPolicy { has_autogen: arguments.autogen });
    }
    if arguments.autogen || !arguments.exceptions.is_empty() {
        return Err(CommandFailure::usage("`--autogen` and `--exceptions` are for `--to vap`")
            .help("other kinds have autogen and exceptions of their own"));
    }
    let kind = match arguments.to {
        ConvertTarget::Auto | ConvertTarget::Vap => None,
        ConvertTarget::Validatingpolicy => Some(SuccessorKind::ValidatingPolicy),
        ConvertTarget::Mutatingpolicy => Some(SuccessorKind::MutatingPolicy),
        ConvertTarget::Generatingpolicy => Some(SuccessorKind::GeneratingPolicy),
        ConvertTarget::Deletingpolicy => Some(SuccessorKind::DeletingPolicy),
        ConvertTarget::Imagevalidatingpolicy => Some(SuccessorKind::ImageValidatingPolicy),
    };
    Ok(ConversionTarget::Successor(kind))
}
