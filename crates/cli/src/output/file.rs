//! Files that are written: never one that this run reads, and never half of one.
//!
//! What a file is to contain is written beside it and takes its place when it is whole. If the disk is full, or the process is
//! killed, the file is as it was before.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use kubewright_files as files;
use thiserror::Error;

use crate::failure::CommandFailure;
use crate::watch::is_watching;

/// How much of the name of a file is part of the name under which it is written.
const MAX_NAME_CHARACTERS: usize = 40;

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

/// An error of a file that many hands write, which know nothing of the file.
#[derive(Debug, Error)]
#[error("{error}")]
pub(crate) struct FileError {
    path: PathBuf,
    error: io::Error,
}

impl FileError {
    fn at(path: &Path) -> impl FnOnce(io::Error) -> io::Error {
        move |error| io::Error::new(error.kind(), Self { path: path.to_owned(), error })
    }

    /// Returns the file that `error` is about.
    pub(crate) fn path_of(error: &io::Error) -> Option<PathBuf> {
        error.get_ref()?.downcast_ref::<Self>().map(|error| error.path.clone())
    }
}

/// A file that is written. It takes the place of the file of its name when it is flushed, and is removed again if it never
/// is.
#[derive(Debug)]
pub(crate) struct OutputFile {
    /// As the user knows it.
    name: PathBuf,
    file: File,
    /// Where it is written and where it goes to, until it is there.
    move_to: Option<(PathBuf, PathBuf)>,
}

impl OutputFile {
    /// Begins a file, and changes nothing yet. What cannot be replaced, such as a device or a file in a folder that may not be
    /// changed, is written in place.
    fn begin(path: &Path) -> io::Result<Self> {
        // What a link leads to is written, and not the link.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let old = match OpenOptions::new().write(true).open(&target) {
            Ok(old) => Some(old),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let data = old.as_ref().map(File::metadata).transpose()?;
        // The name may be that of something open, such as standard output. And a new file is a change of its folder, which
        // another process may watch that writes there, too.
        let is_kept = path.starts_with("/dev") || path.starts_with("/proc") || is_watching();
        let (old, data) = match (old, data) {
            (Some(file), Some(data)) if is_kept || !is_replaceable(&data) => {
                return Ok(Self { name: path.to_owned(), file, move_to: None });
            }
            other => other,
        };
        let beside = path_beside(&target);
        let file = OpenOptions::new().write(true).create_new(true).open(&beside);
        match (file, old, data) {
            (Ok(file), _, data) => {
                let output = Self { name: path.to_owned(), file, move_to: Some((beside, target)) };
                data.map_or(Ok(()), |data| output.take_rights(&data))?;
                Ok(output)
            }
            (Err(error), Some(file), _) if is_folder_closed(&error) => {
                Ok(Self { name: path.to_owned(), file, move_to: None })
            }
            (Err(error), ..) => Err(error),
        }
    }

    /// Removes what is there, if it is written in place.
    fn clear(&self) -> io::Result<()> {
        let is_file = self.file.metadata().is_ok_and(|data| data.is_file());
        if is_file { self.file.set_len(0) } else { Ok(()) }
    }

    /// Lets the same users read and write it as the file with `data`.
    fn take_rights(&self, data: &fs::Metadata) -> io::Result<()> {
        // Only root may give a file away; for all others it is their own already.
        #[cfg(unix)]
        {
            use std::os::unix::fs::{MetadataExt as _, fchown};
            let _ = fchown(&self.file, Some(data.uid()), Some(data.gid()));
        }
        self.file.set_permissions(data.permissions())
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).map_err(FileError::at(&self.name))
    }

    /// Puts the file in its place.
    fn flush(&mut self) -> io::Result<()> {
        if let Some((beside, target)) = &self.move_to {
            fs::rename(beside, target).map_err(FileError::at(&self.name))?;
            self.move_to = None;
        }
        Ok(())
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some((beside, _)) = &self.move_to {
            let _ = fs::remove_file(beside);
        }
    }
}

/// Returns whether a file can take the place of the one with `data`, and it has no other name, under which it would stay the old one.
fn is_replaceable(data: &fs::Metadata) -> bool {
    #[cfg(unix)]
    let has_other_names = std::os::unix::fs::MetadataExt::nlink(data) > 1;
    #[cfg(not(unix))]
    let has_other_names = false;
    data.is_file() && !has_other_names
}

/// Returns whether no file can be made in a folder, while those that it has may be writable.
fn is_folder_closed(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

/// Returns a name in the folder of `target` that no input has, because it is hidden and ends in `.tmp`.
fn path_beside(target: &Path) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let (process, number) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    // A name may have 255 bytes.
    let name: String = name.chars().take(MAX_NAME_CHARACTERS).collect();
    target.with_file_name(format!(".{name}.{process}-{number}.tmp"))
}

/// Opens a file to be written from its start.
///
/// # Errors
/// When it is read by this run, or cannot be written.
pub(crate) fn create_file(path: &Path) -> Result<OutputFile, CommandFailure> {
    refuse_input(path)?;
    let file = OutputFile::begin(path).map_err(CommandFailure::writing(path))?;
    // A file that became a link to an input meanwhile is found out before anything is lost.
    refuse_input(path)?;
    file.clear().map_err(CommandFailure::writing(path))?;
    Ok(file)
}

/// Writes a whole file.
///
/// # Errors
/// When it is read by this run, or cannot be written.
pub(crate) fn write_file(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), CommandFailure> {
    let mut file = create_file(path)?;
    file.write_all(bytes.as_ref()).and_then(|()| file.flush()).map_err(CommandFailure::writing(path))
}

/// Writes whole files, which may be read by this run.
///
/// # Errors
/// When one cannot be written; where there is no room for it, none is changed.
pub(crate) fn replace_files<'p, B: AsRef<[u8]>>(
    files: impl IntoIterator<Item = (&'p Path, B)>,
) -> Result<(), CommandFailure> {
    let mut written = Vec::new();
    for (path, bytes) in files {
        let mut file = OutputFile::begin(path).map_err(CommandFailure::writing(path))?;
        file.clear().and_then(|()| file.write_all(bytes.as_ref())).map_err(CommandFailure::writing(path))?;
        written.push((path, file));
    }
    written.iter_mut().try_for_each(|(path, file)| file.flush().map_err(CommandFailure::writing(path)))
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
