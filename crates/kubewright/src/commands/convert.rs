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
    if arguments.to == ConvertTarget::Vap {
        let target = ConversionTarget::ValidatingAdmissionPolicy { has_autogen: arguments.autogen };
        return conversion::run_conversion(&arguments.conversions, &arguments.exceptions, target, color);
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
    let target = ConversionTarget::Successor(kind);
    conversion::run_conversion(&arguments.conversions, &[], target, color)
}
