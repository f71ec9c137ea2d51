//! The commands, one file each.

mod apply;
mod bench;
mod check;
mod completions;
mod conversion;
mod convert;
mod demo;
mod detect;
mod diff;
#[cfg(feature = "serve")]
mod doctor;
mod effect;
mod eval;
mod explain;
mod fix;
mod function;
mod generate;
mod graph;
mod impact;
mod init;
mod install;
mod lint;
#[cfg(feature = "lsp")]
mod lsp;
mod man;
mod mcp;
#[cfg(feature = "serve")]
mod migrate;
mod new;
mod outcome_traces;
mod render;
#[cfg(feature = "serve")]
mod rescue;
#[cfg(feature = "serve")]
mod scan;
mod schema;
#[cfg(feature = "serve")]
mod serve;
mod sign;
mod test;
mod trace;
#[cfg(feature = "serve")]
mod ui;
mod why;

use clap::Parser as _;

use crate::arguments::{CliCommand, CommandLine};
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::{ColorChoice, print_stderr};
use crate::project::ProjectFile;
use crate::watch;
pub(crate) use graph::Drawing;
pub(crate) use render::RenderSetting;

/// Runs the command, again and again where it is watched.
///
/// # Errors
/// When the command cannot run at all.
pub(crate) fn dispatch_command(arguments: CommandLine) -> Result<ExitStatus, CommandFailure> {
    let is_watched = arguments.command.as_ref().is_some_and(CliCommand::is_watched);
    if is_watched {
        return watch::watch_command(arguments.color, || run_command(CommandLine::parse()));
    }
    run_command(arguments)
}

/// Runs the command once.
fn run_command(mut arguments: CommandLine) -> Result<ExitStatus, CommandFailure> {
    if let Some(CliCommand::Trace(trace)) = &mut arguments.command
        && trace.take_former_project()
    {
        print_stderr(
            "note: `--project` names the project file; write `--project-name` for metadata.projectName",
        );
    }
    let color = arguments.color;
    let has_project = arguments.command.as_ref().is_none_or(CliCommand::has_project);
    let project = if has_project { ProjectFile::of(&arguments)? } else { None };
    let Some(mut command) = arguments.command else {
        return check::run_check(project.as_ref(), color);
    };
    if let Some(project) = &project {
        project.complete(&mut command)?;
    }
    run_complete(command, color)
}

/// Returns an example of a function of an expression language, and its result.
#[cfg(feature = "lsp")]
fn function_example(language: &str, name: &str) -> Option<(String, String)> {
    #[cfg(feature = "serve")]
    let example = ui::function_example(language, name);
    // The examples are part of the page.
    #[cfg(not(feature = "serve"))]
    let example = (language == name).then(Default::default);
    example
}

/// Runs a command that has all its arguments.
fn run_complete(command: CliCommand, color: ColorChoice) -> Result<ExitStatus, CommandFailure> {
    match command {
        CliCommand::Apply(arguments) => apply::run_apply(&arguments, color),
        CliCommand::Fix(arguments) => fix::run_fix(&arguments, color),
        CliCommand::Diff(arguments) => diff::run_diff(&arguments, color),
        CliCommand::Impact(arguments) => impact::run_impact(&arguments, color),
        CliCommand::Bench(arguments) => bench::run_bench(&arguments, color),
        CliCommand::Lint(arguments) => lint::run_lint(&arguments, color),
        CliCommand::Explain(arguments) => explain::run_explain(&arguments),
        CliCommand::Trace(arguments) => trace::run_trace(&arguments, color),
        CliCommand::Why(arguments) => why::run_why(&arguments, color),
        #[cfg(feature = "serve")]
        CliCommand::Serve(arguments) => serve::run_serve(&arguments, color),
        #[cfg(feature = "serve")]
        CliCommand::Ui(arguments) => ui::run_ui(&arguments),
        #[cfg(feature = "lsp")]
        CliCommand::Lsp(arguments) => lsp::run_lsp(&arguments),
        CliCommand::Mcp(arguments) => mcp::run_mcp(&arguments),
        CliCommand::Schema(arguments) => schema::run_schema(&arguments),
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
        CliCommand::New(arguments) => new::run_new(&arguments),
        CliCommand::Init(arguments) => init::run_init(&arguments),
    }
}
