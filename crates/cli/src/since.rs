//! The files that differ from a commit of git.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use kubewright_files::Input;

use crate::failure::CommandFailure;

/// Keeps the inputs in files that differ from `reference`, or that git does not know. Standard input, rendered charts and
/// objects of a cluster are kept: git does not say whether they changed.
///
/// # Errors
/// When there is no git, no repository, or no such commit.
pub(crate) fn keep_changed(inputs: &mut Vec<Input>, reference: &str) -> Result<(), CommandFailure> {
    let changed = ChangedFiles::since(reference)?;
    inputs.retain(|input| match input {
        Input::File(path) => changed.contains(path),
        Input::Standard | Input::Text(_) | Input::Objects(_) => true,
    });
    Ok(())
}

/// The files that differ from a commit, without links.
pub(crate) struct ChangedFiles(HashSet<PathBuf>);

impl ChangedFiles {
    /// Asks git which files differ from `reference`, or are not known to it.
    ///
    /// # Errors
    /// When there is no git, no repository, or no such commit.
    pub(crate) fn since(reference: &str) -> Result<Self, CommandFailure> {
        changed_files(reference).map(Self)
    }

    /// Returns whether the file at `path` is one of them.
    pub(crate) fn contains(&self, path: &Path) -> bool {
        fs::canonicalize(path).is_ok_and(|real| self.0.contains(&real))
    }
}

/// Returns the files that differ from `reference`, without links.
fn changed_files(reference: &str) -> Result<HashSet<PathBuf>, CommandFailure> {
    if reference.is_empty() || reference.starts_with('-') {
        return Err(CommandFailure::usage(format!("`{reference}` is not a commit, branch or tag")));
    }
    let root = git(Path::new("."), &["rev-parse", "--show-toplevel"]).map_err(|failure| {
        failure.help("`--since` needs a repository of git around the working directory")
    })?;
    let root = PathBuf::from(String::from_utf8_lossy(&root).trim_end_matches(['\n', '\r']));
    let mut names =
        git(&root, &["diff", "--name-only", "--no-ext-diff", "-z", reference, "--"]).map_err(|failure| {
            failure.help("name a commit, branch or tag that this repository has, such as `main`")
        })?;
    names.extend(git(&root, &["ls-files", "--others", "--exclude-standard", "-z"])?);
    let paths = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    // A file that was deleted has no real path, and no objects.
    Ok(paths.filter_map(|name| fs::canonicalize(root.join(path_of(name))).ok()).collect())
}

#[cfg(unix)]
fn path_of(name: &[u8]) -> &Path {
    use std::os::unix::ffi::OsStrExt as _;
    Path::new(std::ffi::OsStr::from_bytes(name))
}

#[cfg(not(unix))]
fn path_of(name: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(name).into_owned())
}

/// Runs git in `folder` and returns what it prints.
fn git(folder: &Path, arguments: &[&str]) -> Result<Vec<u8>, CommandFailure> {
    let output = Command::new("git").arg("-C").arg(folder).args(arguments).output();
    let output = output.map_err(|error| {
        let reason = kubewright_files::io_error_text(&error);
        CommandFailure::usage(format!("cannot run git: {reason}")).help("`--since` needs git")
    })?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("it failed");
    let line = line.trim_start_matches("fatal: ").trim_end_matches('.');
    Err(CommandFailure::usage(format!("git: {line}")))
}
