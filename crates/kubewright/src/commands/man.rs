//! `man`: the manual page, or those of all commands.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use clap::{Command, CommandFactory as _};
use clap_mangen::Man;

use crate::arguments::{self, CommandLine};
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::{standard_output, write_file};

/// Runs the command.
///
/// # Errors
/// When a page cannot be written.
pub(crate) fn run_man(arguments: &arguments::ManArguments) -> Result<ExitStatus, CommandFailure> {
    let command = CommandLine::command();
    let Some(folder) = &arguments.folder else {
        let mut page = Vec::new();
        Man::new(command).render(&mut page)?;
        let mut out = standard_output();
        out.write_all(&page)?;
        out.flush()?;
        return Ok(ExitStatus::Clean);
    };
    fs::create_dir_all(folder).map_err(CommandFailure::writing(folder))?;
    write_man_pages(command, "kubewright", folder)?;
    Ok(ExitStatus::Clean)
}

/// Writes the page of `command`, which is called `name`, and those of its commands.
fn write_man_pages(command: Command, name: &str, folder: &Path) -> Result<(), CommandFailure> {
    for part in command.get_subcommands() {
        write_man_pages(part.clone(), &format!("{name}-{}", part.get_name()), folder)?;
    }
    let mut page = Vec::new();
    Man::new(command.name(name.to_owned()).display_name(name)).render(&mut page)?;
    let path = folder.join(format!("{name}.1"));
    write_file(&path, page)
}
