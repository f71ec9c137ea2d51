//! `kubewright` alone: checks the repository that `kubewright.yaml` is about.

use std::path::Path;

use clap::{CommandFactory as _, FromArgMatches as _};
use kubewright_files as files;

use super::{apply, lint, test};
use crate::arguments::{CliCommand, CommandLine};
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::{ColorChoice, print_stderr};
use crate::project::ProjectFile;

/// Checks the rules of the project, runs them on its manifests, and runs its tests; without a project shows the help.
///
/// # Errors
/// When a command cannot run at all.
pub(crate) fn run_check(
    project: Option<&ProjectFile>,
    color: ColorChoice,
) -> Result<ExitStatus, CommandFailure> {
    let Some(project) = project else {
        print_stderr(CommandLine::command().render_help());
        return Ok(ExitStatus::BadInput);
    };
    let mut status = ExitStatus::Clean;
    let mut is_first = true;
    for name in steps(project) {
        let mut command = parse_command(name)?;
        project.complete(&mut command)?;
        let start = if std::mem::take(&mut is_first) { "" } else { "\n" };
        print_stderr(format_args!("{start}{}", color.paint_errors().bold(&format!("kubewright {name}"))));
        status = status.max(match command {
            CliCommand::Lint(mut arguments) => {
                // The files of the project are for what the rules say of its objects.
                arguments.outputs.clear();
                lint::run_lint(&arguments, color)?
            }
            CliCommand::Apply(arguments) => apply::run_apply(&arguments, color)?,
            CliCommand::Test(mut arguments) => {
                arguments.outputs.clear();
                test::run_test(&arguments, color)?
            }
            _ => ExitStatus::Clean,
        });
    }
    if is_first {
        let name = project.path.display().to_string();
        return Err(CommandFailure::usage(format!("`{name}` names neither rules nor tests"))
            .help("add `rules: [policies/]` and `resources: [manifests/]`"));
    }
    Ok(status)
}

/// Returns the commands that the project has something for.
fn steps(project: &ProjectFile) -> Vec<&'static str> {
    let mut steps = Vec::new();
    if !project.rules.is_empty() {
        steps.push("lint");
        if !project.resources.is_empty() {
            steps.push("apply");
        }
    }
    // Rules may have tests beside them without the project saying so.
    let has_tests = || {
        let paths = project.test_paths();
        let folders: Vec<String> = paths.into_iter().filter(|path| Path::new(path).is_dir()).collect();
        !files::find_tests(&folders, None).inputs.is_empty()
    };
    if !project.tests.is_empty() || has_tests() {
        steps.push("test");
    }
    steps
}

/// Returns the command called `name` without arguments.
fn parse_command(name: &str) -> Result<CliCommand, CommandFailure> {
    let matches = CommandLine::command().try_get_matches_from(["kubewright", name]);
    let line = matches.and_then(|matches| CommandLine::from_arg_matches(&matches));
    line.ok()
        .and_then(|line| line.command)
        .ok_or_else(|| CommandFailure::usage(format!("`{name}` needs arguments")))
}
