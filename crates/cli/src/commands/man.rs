//! `man`: the manual page, or those of all commands.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use clap::Command;
use clap::builder::Resettable;
use clap_mangen::Man;

use crate::arguments::{self, described_program};
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::{standard_output, write_file};

/// Runs the command.
///
/// # Errors
/// When a page cannot be written.
pub(crate) fn run_man(arguments: &arguments::ManArguments) -> Result<ExitStatus, CommandFailure> {
    let command = described_program();
    let Some(folder) = &arguments.folder else {
        let page = man_page(command)?;
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
    let page = man_page(command.name(name.to_owned()).display_name(name))?;
    let path = folder.join(format!("{name}.1"));
    write_file(&path, page)
}

/// Returns the page of `command`. What follows its options in `--help` becomes sections of their own, in which examples
/// keep their lines, so that they can be pasted.
fn man_page(command: Command) -> Result<Vec<u8>, CommandFailure> {
    let notes = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let mut page = Vec::new();
    Man::new(command.after_help(Resettable::Reset)).render(&mut page)?;
    page.extend(note_sections(&notes).into_bytes());
    Ok(page)
}

/// Returns the sections of `notes`, whose headings end with a colon.
fn note_sections(notes: &str) -> String {
    let mut page = String::new();
    let mut is_literal = false;
    for line in notes.lines() {
        let heading = match line {
            "Examples:" => Some("EXAMPLES"),
            "Exit codes:" => Some("EXIT STATUS"),
            _ if line.starts_with("Exit codes: ") => Some("EXIT STATUS"),
            _ if page.is_empty() => Some("NOTES"),
            _ => None,
        };
        if let Some(heading) = heading {
            let end = if is_literal { ".fi\n" } else { "" };
            page.push_str(&format!("{end}.SH \"{heading}\"\n"));
            is_literal = line == "Examples:" || line == "Exit codes:";
            page.push_str(if is_literal { ".nf\n" } else { "" });
        }
        match line.strip_prefix("Exit codes: ") {
            Some(rest) => page.push_str(&format!("{}\n", roff_text(rest))),
            None if line == "Examples:" || line == "Exit codes:" => {}
            None if line.is_empty() && !is_literal => page.push_str(".PP\n"),
            None => page.push_str(&format!("{}\n", roff_text(line))),
        }
    }
    page.push_str(if is_literal { ".fi\n" } else { "" });
    page
}

/// Returns a line as roff has it: nothing in it is a request, and hyphens are those of a command line.
fn roff_text(line: &str) -> String {
    let text = line.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::note_sections;

    #[test]
    fn examples_keep_their_lines_and_hyphens() {
        let page = note_sections("Examples:\n  kubewright apply a -o sarif=b-c\n\nExit codes: 0 fine");
        assert_eq!(
            page,
            ".SH \"EXAMPLES\"\n.nf\n  kubewright apply a \\-o sarif=b\\-c\n\n.fi\n.SH \"EXIT STATUS\"\n0 fine\n"
        );
    }
}
