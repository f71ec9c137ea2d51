//! `man`: the manual page, or those of all commands.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use clap::{Command, CommandFactory as _};
use clap_mangen::Man;

use crate::arguments::{self, Arguments};
use crate::failure::{Exit, Failure};
use crate::output::{standard_output, write_file};

/// Runs the command.
///
/// # Errors
/// When a page cannot be written.
pub(crate) fn run(arguments: &arguments::Man) -> Result<Exit, Failure> {
    let command = Arguments::command();
    let Some(folder) = &arguments.folder else {
        let mut page = Vec::new();
        Man::new(command).render(&mut page)?;
        let mut out = standard_output();
        out.write_all(&page)?;
        out.flush()?;
        return Ok(Exit::Clean);
    };
    fs::create_dir_all(folder).map_err(Failure::writing(folder))?;
    write(command, "kubewright", folder)?;
    Ok(Exit::Clean)
}

/// Writes the page of `command`, which is called `name`, and those of its commands.
fn write(command: Command, name: &str, folder: &Path) -> Result<(), Failure> {
    for part in command.get_subcommands() {
        write(part.clone(), &format!("{name}-{}", part.get_name()), folder)?;
    }
    let mut page = Vec::new();
    Man::new(command.name(name.to_owned()).display_name(name)).render(&mut page)?;
    let path = folder.join(format!("{name}.1"));
    write_file(&path, page)
}
