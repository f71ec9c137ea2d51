//! Which files a user means: a file, a folder, a pattern or standard input.

use std::collections::HashSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use kubewright_engine::Diagnostic;

use super::glob;
use crate::codes::{self, NOTHING_FOUND, UNREADABLE};

/// The names of test files, which are neither rules nor manifests.
pub(crate) const TEST_FILES: [&str; 2] = ["kubewright-test.yaml", "kyverno-test.yaml"];

/// How deep folders are searched.
const MAX_FOLDERS: usize = 64;

/// Something to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Input {
    /// A file.
    File(PathBuf),
    /// Standard input.
    Standard,
}

impl Input {
    /// Returns the name the user knows it by.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::File(path) => {
                let text = path.to_string_lossy();
                text.strip_prefix("./").unwrap_or(&text).to_owned()
            }
            Self::Standard => "-".to_owned(),
        }
    }
}

/// What was found, and what was not.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// In the order of the arguments, sorted by name within a folder; no file twice.
    pub(crate) inputs: Vec<Input>,
    /// What could not be found.
    pub(crate) problems: Vec<Diagnostic>,
}

/// Finds what `paths` name: `*.yaml`, `*.yml` and `*.json` in folders, except test files.
pub(crate) fn find(paths: &[String]) -> Found {
    search(paths, "*.yaml, *.yml and *.json files", Hidden::LeftOut, &|path: &Path| {
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        ["yaml", "yml", "json"].contains(&extension) && !is_called(path, &TEST_FILES)
    })
}

/// Finds the test files that `paths` name, in hidden folders too: those called `name`, or by one of the usual names.
pub(crate) fn find_tests(paths: &[String], name: Option<&str>) -> Found {
    let names = name.map_or_else(|| TEST_FILES.to_vec(), |name| vec![name]);
    let looked_for = format!("files named {}", names.join(" or "));
    search(paths, &looked_for, Hidden::Searched, &|path: &Path| is_called(path, &names))
}

/// Returns whether `text` is an address rather than a path.
pub(crate) fn is_address(text: &str) -> bool {
    ["http://", "https://", "git@", "ssh://"].iter().any(|start| text.starts_with(start))
}

/// Returns `path`, which is relative to `folder`, as it is from here.
pub(crate) fn relative(folder: &Path, path: &str) -> String {
    if is_address(path) {
        return path.to_owned();
    }
    let mut plain = PathBuf::new();
    for part in folder.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(plain.components().next_back(), Some(Component::Normal(_))) => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    if plain.as_os_str().is_empty() { ".".to_owned() } else { plain.to_string_lossy().into_owned() }
}

fn is_called(path: &Path, names: &[&str]) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| names.contains(&name))
}

/// Whether folders whose names start with a dot are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hidden {
    Searched,
    LeftOut,
}

type Wanted<'a> = &'a dyn Fn(&Path) -> bool;

fn search(paths: &[String], looked_for: &str, hidden: Hidden, wanted: Wanted<'_>) -> Found {
    let mut found = Found::default();
    let mut seen = HashSet::new();
    for path in paths {
        let inputs = match path.as_str() {
            "-" => Ok((vec![Input::Standard], Vec::new())),
            text => one(text, looked_for, hidden, wanted),
        };
        match inputs {
            Ok((inputs, problems)) => {
                found.inputs.extend(inputs.into_iter().filter(|input| seen.insert(input.name())));
                found.problems.extend(problems);
            }
            Err(problem) => found.problems.push(*problem),
        }
    }
    found
}

/// What was found for one argument, and which folders below it could not be read.
type Part = (Vec<Input>, Vec<Diagnostic>);

fn one(text: &str, looked_for: &str, hidden: Hidden, wanted: Wanted<'_>) -> Result<Part, Box<Diagnostic>> {
    if is_address(text) {
        let message = format!("cannot read `{text}`: it is an address, and nothing is fetched");
        let problem = codes::about_path(&UNREADABLE, text, message);
        return Err(Box::new(problem.help("fetch it yourself, for example with `curl -O`")));
    }
    let path = Path::new(text);
    let missing = |message: String| Box::new(codes::about_path(&NOTHING_FOUND, text, message));
    match fs::metadata(path) {
        Ok(data) if data.is_dir() => {
            let (files, problems) = Walk::below(path, hidden).files(wanted);
            if files.is_empty() && problems.is_empty() {
                return Err(missing(format!(
                    "no files found: looked for {looked_for} in `{text}` and below"
                )));
            }
            Ok((files.into_iter().map(Input::File).collect(), problems))
        }
        Ok(_) => Ok((vec![Input::File(path.to_owned())], Vec::new())),
        Err(_) if glob::is_pattern(text) => {
            let (folder, segments) = glob::split(text);
            let (files, problems) = Walk::below(Path::new(folder), hidden).files(&|file: &Path| {
                let names = file.strip_prefix(folder).unwrap_or(file);
                let names: Vec<_> =
                    names.iter().filter_map(|name| name.to_str()).filter(|name| *name != ".").collect();
                glob::matches(&segments, &names)
            });
            if files.is_empty() && problems.is_empty() {
                return Err(missing(format!("no file fits the pattern `{text}`")));
            }
            Ok((files.into_iter().map(Input::File).collect(), problems))
        }
        Err(error) => {
            let problem =
                codes::about_path(&UNREADABLE, text, format!("cannot read `{text}`: {}", plain(&error)));
            Err(Box::new(match neighbour(path) {
                Some(near) => problem.help(format!("did you mean `{near}`?")),
                None => problem,
            }))
        }
    }
}

/// Returns what went wrong in words, without the number of the system.
pub(crate) fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

/// Returns the entry of the same folder whose name is nearest.
fn neighbour(path: &Path) -> Option<String> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let name = path.file_name()?.to_str()?;
    let names: Vec<String> = fs::read_dir(folder)
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    let near = kubewright_engine::nearest(name, names.iter().map(String::as_str))?;
    Some(path.with_file_name(near).to_string_lossy().into_owned())
}

/// A walk through a folder. Links that lead out of it are not followed.
struct Walk {
    root: PathBuf,
    hidden: Hidden,
    real_root: Option<PathBuf>,
    // Folders and files by their real path, so that links make neither circles nor doubles.
    seen: HashSet<PathBuf>,
    // Folders that could not be read.
    problems: Vec<Diagnostic>,
}

impl Walk {
    fn below(root: &Path, hidden: Hidden) -> Self {
        let real_root = fs::canonicalize(root).ok();
        Self { root: root.to_owned(), hidden, real_root, seen: HashSet::new(), problems: Vec::new() }
    }

    fn files(mut self, wanted: Wanted<'_>) -> (Vec<PathBuf>, Vec<Diagnostic>) {
        let mut files = Vec::new();
        let root = self.root.clone();
        self.folder(&root, wanted, MAX_FOLDERS, &mut files);
        (files, self.problems)
    }

    fn folder(&mut self, folder: &Path, wanted: Wanted<'_>, deeper: usize, files: &mut Vec<PathBuf>) {
        if !self.enters(folder) {
            return;
        }
        if deeper == 0 {
            self.unread(folder, &format!("folders are searched {MAX_FOLDERS} deep"));
            return;
        }
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => return self.unread(folder, &plain(&error)),
        };
        let mut entries: Vec<_> = entries.flatten().collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            let is_left_out = match self.hidden {
                Hidden::LeftOut => entry.file_name().to_string_lossy().starts_with('.'),
                Hidden::Searched => entry.file_name() == ".git",
            };
            if is_left_out {
                continue;
            }
            match fs::metadata(&path) {
                Ok(data) if data.is_dir() => self.folder(&path, wanted, deeper - 1, files),
                // A pipe in a folder would be waited for without end.
                Ok(data) if data.is_file() && wanted(&path) && self.enters(&path) => files.push(path),
                _ => {}
            }
        }
    }

    /// Keeps that a folder was left out, so that nobody takes its files for clean.
    fn unread(&mut self, folder: &Path, why: &str) {
        let name = folder.to_string_lossy();
        self.problems.push(codes::about_path(&UNREADABLE, &name, format!("cannot read `{name}`: {why}")));
    }

    /// Returns whether `path` is inside the root and is seen for the first time.
    fn enters(&mut self, path: &Path) -> bool {
        let Ok(real) = fs::canonicalize(path) else { return false };
        self.real_root.as_ref().is_some_and(|root| real.starts_with(root)) && self.seen.insert(real)
    }
}
