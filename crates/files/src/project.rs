//! The project boundary: test files, stacks, worlds and project files may only refer to files in their project.
//!
//! The project is the folder of the file that names another one, the folders that `test` was given, the working directory,
//! and the repository that one of them is in. A folder whose name starts with a dot, such as `.tests`, is a part of the
//! folder that it is in. Links are followed before a path is compared. `--allow-outside` lifts all of this.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use kubewright_engine::Diagnostic;

use super::find::{is_address, relative_path, shown_path};
use super::glob;
use super::memory;
use crate::codes::{self, OUTSIDE_PROJECT};

/// What was said on the command line.
static PROJECT: Project = Project {
    allows_outside: OnceLock::new(),
    given: Mutex::new(Vec::new()),
    named: Mutex::new(BTreeSet::new()),
};

struct Project {
    allows_outside: OnceLock<bool>,
    /// Folders that were given, without links.
    given: Mutex<Vec<PathBuf>>,
    /// Paths that files name, whose links stay in the project too.
    named: Mutex<BTreeSet<String>>,
}

/// Sets whether files may name others outside of the project. Before it is called, they may not.
pub fn allow_outside(allows: bool) {
    let _ = PROJECT.allows_outside.set(allows);
}

/// Makes `path`, a folder or a file that was given on the command line, a part of the project.
pub fn set_project(path: &str) {
    let Ok(real) = fs::canonicalize(path) else { return };
    let folder = if real.is_dir() { Some(real) } else { real.parent().map(Path::to_owned) };
    PROJECT.given.lock().unwrap_or_else(PoisonError::into_inner).extend(folder);
}

/// Folders by their paths without links, each looked up once. For the time of one command.
#[derive(Debug, Default)]
pub struct RealFolders {
    known: Mutex<HashMap<OsString, RealFolder>>,
}

/// A folder without links.
#[derive(Debug, Clone)]
struct RealFolder {
    path: PathBuf,
    /// Whether it is in a folder that was given.
    is_given: bool,
}

impl RealFolders {
    /// Returns `path` without links, as far as it is there; nothing if it is in a folder that was given.
    fn resolve(&self, path: &Path) -> Option<PathBuf> {
        let is_link = fs::symlink_metadata(path).map_or(true, |data| data.is_symlink());
        match (path.parent(), path.file_name()) {
            (Some(folder), Some(name)) if !is_link => {
                self.folder(folder, |real| (!real.is_given).then(|| real.path.join(name)))
            }
            _ => Some(resolve_existing(path)),
        }
    }

    /// Returns what `read` takes from `folder`.
    fn folder<T>(&self, folder: &Path, read: impl FnOnce(&RealFolder) -> T) -> T {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(real) = known.get(folder.as_os_str()) {
            return read(real);
        }
        drop(known);
        let real = self.look_up(folder);
        let found = read(&real);
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.into(), real);
        found
    }

    fn look_up(&self, folder: &Path) -> RealFolder {
        let is_folder = fs::symlink_metadata(folder).is_ok_and(|data| data.is_dir());
        let above = folder.parent().filter(|above| !above.as_os_str().is_empty());
        if let (Some(above), Some(name)) = (above.filter(|_| is_folder), folder.file_name())
            && let Some(path) = self.folder(above, |real| real.is_given.then(|| real.path.join(name)))
        {
            return RealFolder { path, is_given: true };
        }
        let path = resolve_existing(if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
        let is_given = given_roots().iter().any(|root| is_below(&path, root));
        RealFolder { path, is_given }
    }
}

/// Returns the folders that were given, which a file may name others in.
fn given_roots() -> Vec<PathBuf> {
    let given = PROJECT.given.lock().unwrap_or_else(PoisonError::into_inner);
    given.iter().map(|folder| visible_parent(folder)).collect()
}

/// Returns whether `target` is in the project `root`. The root of the file system is never a project.
fn is_below(target: &Path, root: &Path) -> bool {
    root.parent().is_some() && target.starts_with(root)
}

/// Returns `paths`, which a file in `folder` names, as they are from here. Those outside of the project are left out and told.
#[must_use]
pub fn resolve_paths(folder: &Path, paths: &[String], problems: &mut Vec<Diagnostic>) -> Vec<String> {
    resolve_paths_among(&RealFolders::default(), folder, paths, problems)
}

/// Does what [`resolve_paths`] does, with folders that were looked up before.
#[must_use]
pub fn resolve_paths_among(
    known: &RealFolders,
    folder: &Path,
    paths: &[String],
    problems: &mut Vec<Diagnostic>,
) -> Vec<String> {
    let mut found = Vec::with_capacity(paths.len());
    for path in paths {
        match resolve_among(known, folder, path) {
            Ok(path) => found.push(path),
            Err(problem) => problems.push(*problem),
        }
    }
    found
}

/// Returns `path`, which a file in `folder` names, as it is from here.
///
/// # Errors
/// When it is outside of the project.
pub fn resolve_path(folder: &Path, path: &str) -> Result<String, Box<Diagnostic>> {
    resolve_among(&RealFolders::default(), folder, path)
}

fn resolve_among(known: &RealFolders, folder: &Path, path: &str) -> Result<String, Box<Diagnostic>> {
    let resolved = relative_path(folder, path);
    let may_read = || may_read_among(known, folder, Path::new(&resolved));
    if is_address(path) || memory::current_memory().is_some() || may_read() {
        PROJECT.named.lock().unwrap_or_else(PoisonError::into_inner).insert(resolved.clone());
        return Ok(resolved);
    }
    let message = format!("`{path}` is outside of the project, so it is not read");
    let help = "a file may name others in its folder, its repository and the working directory; `--allow-outside` lifts this";
    Err(Box::new(codes::about_path(&OUTSIDE_PROJECT, &resolved, message).help(help)))
}

/// Returns `path`, which a project file in `folder` wants to have written, as it is from here.
///
/// # Errors
/// When it is outside of the project, or where Git keeps its settings and programs.
pub fn resolve_output(folder: &Path, path: &str) -> Result<String, Box<Diagnostic>> {
    let resolved = relative_path(folder, path);
    let target = Path::new(&resolved);
    // What a link without a target would lead to is not known, but would be made there.
    let is_lost_link = fs::symlink_metadata(target).is_ok_and(|data| data.is_symlink()) && !target.exists();
    let is_of_git = resolve_existing(target).components().any(|part| part.as_os_str() == ".git");
    if may_read(folder, target) && !is_lost_link && !is_of_git {
        return Ok(resolved);
    }
    let message = format!("`{path}` is outside of the project, so it is not written");
    let help = "a project file may have files written in its folder, its repository and the working directory, but not in `.git`; \
                `-o` may name any file";
    Err(Box::new(codes::about_path(&OUTSIDE_PROJECT, &resolved, message).help(help)))
}

/// Returns whether a file, and not the user, named `path`.
pub(super) fn is_named_by_file(path: &str) -> bool {
    PROJECT.named.lock().unwrap_or_else(PoisonError::into_inner).contains(path)
}

/// Returns whether something in `folder` may refer to `target`.
pub(super) fn may_read(folder: &Path, target: &Path) -> bool {
    may_read_among(&RealFolders::default(), folder, target)
}

fn may_read_among(known: &RealFolders, folder: &Path, target: &Path) -> bool {
    let is_allowed = PROJECT.allows_outside.get().copied().unwrap_or(false);
    is_allowed || is_inside_project(known, folder, &shown_path(target))
}

fn is_inside_project(known: &RealFolders, folder: &Path, resolved: &str) -> bool {
    let target = known.resolve(Path::new(if glob::is_pattern(resolved) {
        glob::split_glob(resolved).0
    } else {
        resolved
    }));
    let Some(target) = target else { return true };
    let has_target = |root: &PathBuf| is_below(&target, root);
    let mut roots = given_roots();
    if roots.iter().any(has_target) {
        return true;
    }
    roots.push(known.folder(folder, |real| visible_parent(&real.path)));
    roots.extend(fs::canonicalize(".").ok());
    roots.iter().any(has_target)
        || roots.iter().filter_map(|root| enclosing_repository(root)).any(|root| has_target(&root))
}

/// Returns `path` without links, as far as it is there.
fn resolve_existing(path: &Path) -> PathBuf {
    if let Ok(real) = fs::canonicalize(path) {
        return real;
    }
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    match (absolute.parent(), absolute.components().next_back()) {
        (Some(parent), Some(Component::Normal(name))) => resolve_existing(parent).join(name),
        (Some(parent), Some(Component::ParentDir)) => {
            resolve_existing(parent).parent().map_or(absolute.clone(), Path::to_owned)
        }
        _ => absolute,
    }
}

/// Returns the first folder from `folder` upwards whose name does not start with a dot.
fn visible_parent(folder: &Path) -> PathBuf {
    let is_hidden = |folder: &Path| {
        folder.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with('.'))
    };
    folder.ancestors().find(|folder| !is_hidden(folder)).unwrap_or(folder).to_owned()
}

/// Returns the repository that `folder` is in.
fn enclosing_repository(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().find(|folder| folder.join(".git").exists()).map(Path::to_owned)
}
