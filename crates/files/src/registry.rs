//! The registry of input files, so that none of them is overwritten.
//!
//! Every file that is found or opened is registered, by what it is and not by how it is called: links and hard links lead to the
//! same file.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use kubewright_value::CompactSort as _;

use super::Input;

static REGISTERED: LazyLock<Mutex<RegisteredPaths>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct RegisteredPaths {
    /// The files that are read. What they are is looked up when an output is compared with them.
    inputs: PathList,
    /// The folders that were searched and what else is watched besides inputs, by the paths that led to them.
    watched: PathList,
}

/// Paths, of which few are there twice. Most runs never ask for them, so they are only compared once there are many.
#[derive(Default)]
struct PathList {
    paths: Vec<OsString>,
    /// How many there were when they were compared last.
    compared: usize,
}

/// How many paths are not compared before anyone asks.
const UNCOMPARED_PATHS: usize = 4096;

impl PathList {
    fn add(&mut self, path: &Path) {
        self.paths.push(path.into());
        if self.paths.len() > 2 * self.compared + UNCOMPARED_PATHS {
            self.compare();
        }
    }

    /// Leaves out paths that are there already.
    fn compare(&mut self) {
        self.paths.compact_sort_by(Ord::cmp);
        self.paths.dedup();
        self.compared = self.paths.len();
    }
}

/// What a file is, whatever it is called.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum FileIdentity {
    /// The device and the number of the file on it.
    #[cfg_attr(not(unix), expect(dead_code, reason = "other systems have no such numbers"))]
    Inode(u64, u64),
    /// The path without links.
    Path(PathBuf),
}

/// Registers a file that is read.
pub fn register(path: &Path) {
    REGISTERED.lock().unwrap_or_else(PoisonError::into_inner).inputs.add(path);
}

/// Registers a file or folder that is only watched.
pub fn watch_path(path: &Path) {
    REGISTERED.lock().unwrap_or_else(PoisonError::into_inner).watched.add(path);
}

/// Returns the files that were read and the folders that were searched, sorted.
#[must_use]
pub fn watched_paths() -> Vec<PathBuf> {
    let registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    let paths: BTreeSet<PathBuf> =
        registered.inputs.paths.iter().chain(&registered.watched.paths).map(PathBuf::from).collect();
    paths.into_iter().collect()
}

/// Forgets all files and folders, before a command runs again.
pub fn forget_inputs() {
    *REGISTERED.lock().unwrap_or_else(PoisonError::into_inner) = RegisteredPaths::default();
}

/// Registers the files among `inputs`.
pub(super) fn register_all(inputs: &[Input]) {
    for input in inputs {
        if let Input::File(path) = input {
            register(path);
        }
    }
}

/// Returns whether the file at `path`, or the one that it leads to, is read by this run.
#[must_use]
pub fn is_input(path: &Path) -> bool {
    let own = identities(path);
    let is_it = |input: &OsString| identities(Path::new(input)).iter().any(|one| own.contains(one));
    let mut registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    registered.inputs.compare();
    !own.is_empty() && registered.inputs.paths.iter().any(is_it)
}

/// Returns what the file at `path` is; nothing for one that is not there, and for devices and pipes, which may be both.
fn identities(path: &Path) -> Vec<FileIdentity> {
    let Ok(data) = fs::metadata(path) else { return Vec::new() };
    if !data.is_file() {
        return Vec::new();
    }
    file_identity(&data).into_iter().chain(fs::canonicalize(path).map(FileIdentity::Path)).collect()
}

#[cfg(unix)]
fn file_identity(data: &Metadata) -> Option<FileIdentity> {
    use std::os::unix::fs::MetadataExt as _;
    Some(FileIdentity::Inode(data.dev(), data.ino()))
}

#[cfg(not(unix))]
fn file_identity(_data: &Metadata) -> Option<FileIdentity> {
    None
}
