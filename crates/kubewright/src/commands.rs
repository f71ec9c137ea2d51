//! The commands, one file each.

mod apply;
mod completions;
mod conversion;
mod convert;
mod demo;
mod detect;
#[cfg(feature = "serve")]
mod doctor;
mod eval;
mod explain;
mod function;
mod generate;
mod graph;
mod install;
mod lint;
mod man;
#[cfg(feature = "serve")]
mod migrate;
mod render;
#[cfg(feature = "serve")]
mod rescue;
#[cfg(feature = "serve")]
mod scan;
#[cfg(feature = "serve")]
mod serve;
mod sign;
mod test;
mod trace;

use crate::arguments::{CliCommand, CommandLine};
use crate::failure::{CommandFailure, ExitStatus};
pub(crate) use graph::Drawing;
pub(crate) use render::RenderSetting;

/// Runs the command.
///
/// # Errors
/// When the command cannot run at all.
pub(crate) fn dispatch_command(arguments: CommandLine) -> Result<ExitStatus, CommandFailure> {
    let color = arguments.color;
    match arguments.command {
        CliCommand::Apply(arguments) => apply::run_apply(&arguments, color),
        CliCommand::Lint(arguments) => lint::run_lint(&arguments, color),
        CliCommand::Explain(arguments) => explain::run_explain(&arguments),
        CliCommand::Trace(arguments) => trace::run_trace(&arguments, color),
        #[cfg(feature = "serve")]
        CliCommand::Serve(arguments) => serve::run_serve(&arguments, color),
        CliCommand::Sign(arguments) => sign::run_sign(&arguments, color),
        CliCommand::Test(mut arguments) => {
            arguments.imply_coverage();
            test::run_test(&arguments, color)
        }
        CliCommand::Completions(arguments) => completions::run_completions(&arguments),
        CliCommand::Man(arguments) => man::run_man(&arguments),
        CliCommand::Eval(arguments) => eval::run_eval(&arguments, color),
        CliCommand::Generate(arguments) => generate::run_generate(&arguments, color),
        CliCommand::Convert(arguments) => convert::run_convert(&arguments, color),
        #[cfg(feature = "serve")]
        CliCommand::Migrate(arguments) => migrate::run_migrate(&arguments, color),
        CliCommand::Render(arguments) => render::run_render(&arguments, color),
        CliCommand::Fn(arguments) => function::run_function(&arguments, color),
        CliCommand::Detect(arguments) => detect::run_detect(&arguments, color),
        #[cfg(feature = "serve")]
        CliCommand::Scan(arguments) => scan::run_scan(&arguments, color),
        CliCommand::Graph(arguments) => graph::run_graph(&arguments, color),
        CliCommand::Install(arguments) => install::run_install(&arguments),
        #[cfg(feature = "serve")]
        CliCommand::Doctor(arguments) => doctor::run_doctor(&arguments, color),
        #[cfg(feature = "serve")]
        CliCommand::Rescue(arguments) => rescue::run_rescue(&arguments),
        CliCommand::Demo(arguments) => demo::run_demo(&arguments, color),
    }
}
