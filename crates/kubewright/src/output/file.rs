//! Files that are written: never one that this run reads.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use kubewright_files as files;

use crate::failure::CommandFailure;

/// Refuses a file that is read, whatever it is called: through links and hard links too.
///
/// # Errors
/// When it is.
pub(crate) fn refuse_input(path: &Path) -> Result<(), CommandFailure> {
    if files::is_input(path) {
        let message = format!("`{}` is read, and would be written over", path.display());
        return Err(CommandFailure::usage(message)
            .help("name another file for the output; nothing was written to it"));
    }
    Ok(())
}

/// Opens a file to be written from its start.
///
/// # Errors
/// When it is read by this run, or cannot be written.
pub(crate) fn create_file(path: &Path) -> Result<File, CommandFailure> {
    refuse_input(path)?;
    // A file that became a link to an input meanwhile is found out before anything is lost.
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path);
    let file = file.map_err(CommandFailure::writing(path))?;
    refuse_input(path)?;
    let is_file = file.metadata().is_ok_and(|data| data.is_file());
    if is_file {
        file.set_len(0).map_err(CommandFailure::writing(path))?;
    }
    Ok(file)
}

/// Writes a whole file.
///
/// # Errors
/// When it is read by this run, or cannot be written.
pub(crate) fn write_file(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), CommandFailure> {
    create_file(path)?.write_all(bytes.as_ref()).map_err(CommandFailure::writing(path))
}

/// Writes a file whose name was made from that of an object, which must not choose what a link in the folder leads to.
///
/// # Errors
/// When it is read by this run, is a link, or cannot be written.
pub(crate) fn write_named_by_object(path: &Path, text: &str) -> Result<(), CommandFailure> {
    refuse_link(path)?;
    write_file(path, text)
}

/// Refuses a link.
///
/// # Errors
/// When it is one.
pub(crate) fn refuse_link(path: &Path) -> Result<(), CommandFailure> {
    if fs::symlink_metadata(path).is_ok_and(|data| data.is_symlink()) {
        let message = format!("`{}` is a link, and what it leads to would be written over", path.display());
        return Err(CommandFailure::usage(message).help("remove the link, or name another folder"));
    }
    Ok(())
}
