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
mod render;
#[cfg(feature = "serve")]
mod rescue;
#[cfg(feature = "serve")]
mod serve;
mod sign;
mod test;
mod trace;

use crate::arguments::{Arguments, Command};
use crate::failure::{Exit, Failure};
pub(crate) use graph::Drawing;
pub(crate) use render::RenderSetting;

/// Does what was asked for.
///
/// # Errors
/// When it cannot be done at all.
pub(crate) fn run(arguments: Arguments) -> Result<Exit, Failure> {
    let color = arguments.color;
    match arguments.command {
        Command::Apply(arguments) => apply::run(&arguments, color),
        Command::Lint(arguments) => lint::run(&arguments, color),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Trace(arguments) => trace::run(&arguments, color),
        #[cfg(feature = "serve")]
        Command::Serve(arguments) => serve::run(&arguments, color),
        Command::Sign(arguments) => sign::run(&arguments, color),
        Command::Test(arguments) => test::run(&arguments, color),
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Man(arguments) => man::run(&arguments),
        Command::Eval(arguments) => eval::run(&arguments, color),
        Command::Generate(arguments) => generate::run(&arguments, color),
        Command::Convert(arguments) => convert::run(&arguments, color),
        Command::Render(arguments) => render::run(&arguments, color),
        Command::Fn(arguments) => function::run(&arguments, color),
        Command::Detect(arguments) => detect::run(&arguments, color),
        Command::Graph(arguments) => graph::run(&arguments, color),
        Command::Install(arguments) => install::run(&arguments),
        #[cfg(feature = "serve")]
        Command::Doctor(arguments) => doctor::run(&arguments, color),
        #[cfg(feature = "serve")]
        Command::Rescue(arguments) => rescue::run(&arguments),
        Command::Demo(arguments) => demo::run(&arguments, color),
    }
}
