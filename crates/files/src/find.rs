//! Finds input files: a file, a folder, a glob or standard input.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Component, MAIN_SEPARATOR, Path, PathBuf};
use std::sync::Arc;

use kubewright_engine::Diagnostic;
use kubewright_value::suggest::did_you_mean;
use kubewright_value::{Document, Source};

use crate::codes::{self, BROKEN_LINK, LEFT_OUT, NOTHING_FOUND, UNREADABLE};
use crate::{glob, ignored, manifest, memory, project, registry};
use kubewright_value::CompactSort as _;

/// The names of test files, which are neither rules nor manifests.
pub const TEST_FILES: [&str; 2] = ["kubewright-test.yaml", "kyverno-test.yaml"];

/// Files about a project, which are neither rules nor manifests.
pub const PROJECT_FILES: [&str; 2] = ["kubewright.yaml", "kubewright-baseline.yaml"];

/// Descriptions of packages for Artifact Hub, which are neither rules nor manifests. Kyverno's public policies have one each.
const PACKAGE_FILES: [&str; 2] = ["artifacthub-pkg.yml", "artifacthub-pkg.yaml"];

/// The maximum depth of folders.
const MAX_FOLDERS: usize = 64;

/// The maximum number of folders that links may lead to from one folder.
const MAX_LINKED_FOLDERS: usize = 10_000;

/// Something to read.
#[derive(Debug, Clone)]
pub enum Input {
    /// A file.
    File(PathBuf),
    /// Standard input.
    Standard,
    /// A text that was read or rendered before.
    Text(Arc<Source>),
    /// Objects that were read before, from somewhere else than a text.
    Objects(Arc<Vec<Document>>),
}

impl Input {
    /// Returns the name the user knows it by.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => {
                let text = shown_path(path);
                text.strip_prefix("./").unwrap_or(&text).to_owned()
            }
            Self::Standard => "-".to_owned(),
            Self::Text(source) => source.name.clone(),
            Self::Objects(objects) => format!("{} objects", objects.len()),
        }
    }
}

/// The files of a search, and its diagnostics.
#[derive(Debug, Default)]
pub struct FoundFiles {
    /// In the order of the arguments, sorted by name within a folder; no file twice.
    pub inputs: Vec<Input>,
    /// What could not be found.
    pub problems: Vec<Diagnostic>,
    /// Files that kubectl would take from a folder and that are not among the inputs.
    left_out: Vec<PathBuf>,
}

/// Finds what `paths` name: `*.yaml`, `*.yml` and `*.json` in folders, except files about tests, projects and packages.
#[must_use]
pub fn find_files(paths: &[String]) -> FoundFiles {
    search_paths(paths, "*.yaml, *.yml and *.json files", HiddenFolders::LeftOut, &|path: &Path| {
        let others = [TEST_FILES, PROJECT_FILES, PACKAGE_FILES];
        is_document_name(path) && !others.iter().any(|names| is_file_called(path, names))
    })
}

/// Finds the manifests that `paths` name, and reports which files are left out that kubectl would create objects from: hidden
/// ones, links that lead out of the project of a test, and manifests that are called like test files.
#[must_use]
pub fn find_manifests(paths: &[String]) -> FoundFiles {
    let mut found = find_files(paths);
    let mut left_out = found.left_out.iter().filter(|path| manifest::is_manifest(path));
    if let Some(first) = left_out.next() {
        let name = first.to_string_lossy().into_owned();
        let message = match left_out.count() {
            0 => format!("`{name}` is left out, though kubectl would take it"),
            1 => format!("`{name}` and 1 other file are left out, though kubectl would take them"),
            others => {
                format!("`{name}` and {others} other files are left out, though kubectl would take them")
            }
        };
        let help = "hidden files, files of tests and packages, and links that a test may not follow are read if they are named themselves";
        found.problems.push(codes::about_path(&LEFT_OUT, &name, message).help(help));
    }
    found
}

/// Finds the test files that `paths` name, in hidden folders too: those called `name`, or by one of the usual names.
#[must_use]
pub fn find_tests(paths: &[String], name: Option<&str>) -> FoundFiles {
    paths.iter().for_each(|path| project::set_project(path));
    let names = name.map_or_else(|| TEST_FILES.to_vec(), |name| vec![name]);
    let looked_for = format!("files named {}", names.join(" or "));
    search_paths(paths, &looked_for, HiddenFolders::Searched, &|path: &Path| is_file_called(path, &names))
}

/// Returns whether `text` is an address rather than a path.
pub(crate) fn is_address(text: &str) -> bool {
    ["http://", "https://", "git@", "ssh://"].iter().any(|start| text.starts_with(start))
}

/// Returns `path`, which is relative to `folder`, as it is from here.
#[must_use]
pub fn relative_path(folder: &Path, path: &str) -> String {
    if is_address(path) {
        return path.to_owned();
    }
    if let Some(joined) = joined_plainly(folder, path) {
        return joined;
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
    if plain.as_os_str().is_empty() { ".".to_owned() } else { shown_path(&plain).into_owned() }
}

/// Returns `path` in `folder` if nothing has to be left out of it but `../` at its start, which is most paths.
fn joined_plainly(folder: &Path, path: &str) -> Option<String> {
    let (mut folder, mut path) = (folder, path);
    while let Some(rest) = path.strip_prefix("../") {
        // What has no name, such as `..`, cannot be left out.
        folder.file_name()?;
        (folder, path) = (folder.parent()?, rest);
    }
    let joined = folder.join(path).into_os_string().into_string().ok()?;
    let names = joined.strip_prefix('/').unwrap_or_else(|| joined.trim_start_matches("../"));
    let is_plain = MAIN_SEPARATOR == '/' && names.split('/').all(|name| !matches!(name, "" | "." | ".."));
    is_plain.then_some(joined)
}

/// Returns `path` as text. What is no UTF-8 in it is replaced.
pub(crate) fn shown_path(path: &Path) -> Cow<'_, str> {
    // Far quicker than looking for what must be replaced.
    path.to_str().map_or_else(|| path.to_string_lossy(), Cow::Borrowed)
}

/// Returns whether a file is called as YAML or JSON is.
fn is_document_name(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    ["yaml", "yml", "json"].contains(&extension)
}

fn is_file_called(path: &Path, names: &[&str]) -> bool {
    // Quicker than taking the path apart.
    let text = path.as_os_str().as_encoded_bytes();
    names.iter().any(|name| text.ends_with(name.as_bytes()))
        && path.file_name().and_then(|name| name.to_str()).is_some_and(|name| names.contains(&name))
}

/// Whether folders whose names start with a dot are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HiddenFolders {
    Searched,
    LeftOut,
}

pub(crate) type PathFilter<'a> = &'a dyn Fn(&Path) -> bool;

fn search_paths(
    paths: &[String],
    looked_for: &str,
    hidden: HiddenFolders,
    wanted: PathFilter<'_>,
) -> FoundFiles {
    let mut found = FoundFiles::default();
    let mut seen = HashSet::new();
    let memory = memory::current_memory();
    for path in paths {
        let inputs = match path.as_str() {
            text if memory.is_some() => search_memory(memory.as_deref(), text, wanted),
            "-" => Ok(ArgumentFiles { inputs: vec![Input::Standard], ..ArgumentFiles::default() }),
            text => search_argument(text, looked_for, hidden, wanted),
        };
        match inputs {
            Ok(part) => {
                // What one argument names has no file twice.
                let is_new = |input: &Input| paths.len() == 1 || seen.insert(input.name());
                found.inputs.extend(part.inputs.into_iter().filter(is_new));
                found.problems.extend(part.problems);
                found.left_out.extend(part.left_out);
            }
            Err(problem) => found.problems.push(*problem),
        }
    }
    registry::register_all(&found.inputs);
    found
}

/// What was found for one argument, which folders below it could not be read, and what was left out.
#[derive(Default)]
struct ArgumentFiles {
    inputs: Vec<Input>,
    problems: Vec<Diagnostic>,
    left_out: Vec<PathBuf>,
}

impl From<WalkedFolder> for ArgumentFiles {
    fn from(walked: WalkedFolder) -> Self {
        let inputs = walked.files.into_iter().map(Input::File).collect();
        Self { inputs, problems: walked.problems, left_out: walked.left_out }
    }
}

/// Finds files among those in memory.
fn search_memory(
    memory: Option<&memory::MemoryFiles>,
    text: &str,
    wanted: PathFilter<'_>,
) -> Result<ArgumentFiles, Box<Diagnostic>> {
    let inputs = memory.map(|memory| memory.find(text, wanted)).unwrap_or_default();
    if inputs.is_empty() {
        let message = format!("cannot read `{text}`: there is no such file");
        return Err(Box::new(codes::about_path(&UNREADABLE, text, message)));
    }
    Ok(ArgumentFiles { inputs, ..ArgumentFiles::default() })
}

/// Returns whether `name` is a file below the folder `path`; both are relative.
pub(crate) fn is_relative_below(name: &str, path: &str) -> bool {
    let folder = relative_path(Path::new(""), path);
    folder == "." || Path::new(name).starts_with(folder)
}

fn search_argument(
    text: &str,
    looked_for: &str,
    hidden: HiddenFolders,
    wanted: PathFilter<'_>,
) -> Result<ArgumentFiles, Box<Diagnostic>> {
    if is_address(text) {
        let message = format!("cannot read `{text}`: it is an address, and nothing is fetched");
        let problem = codes::about_path(&UNREADABLE, text, message);
        return Err(Box::new(problem.help("fetch it yourself, for example with `curl -O`")));
    }
    let path = Path::new(text);
    let missing = |message: String| Box::new(codes::about_path(&NOTHING_FOUND, text, message));
    match fs::metadata(path) {
        Ok(data) if data.is_dir() => {
            let walked = FolderWalk::below(path, text, hidden).files(wanted);
            if walked.files.is_empty() && walked.problems.is_empty() {
                return Err(missing(format!(
                    "no files found: looked for {looked_for} in `{text}` and below"
                )));
            }
            Ok(walked.into())
        }
        Ok(_) => Ok(ArgumentFiles { inputs: vec![Input::File(path.to_owned())], ..ArgumentFiles::default() }),
        Err(_) if glob::is_pattern(text) => {
            let (folder, segments) = glob::split_glob(text);
            let walked = FolderWalk::below(Path::new(folder), text, hidden).files(&|file: &Path| {
                let names = file.strip_prefix(folder).unwrap_or(file);
                let names: Vec<_> =
                    names.iter().filter_map(|name| name.to_str()).filter(|name| *name != ".").collect();
                glob::glob_matches(&segments, &names)
            });
            if walked.files.is_empty() && walked.problems.is_empty() {
                return Err(missing(format!("no file fits the pattern `{text}`")));
            }
            // What a pattern does not fit, a shell would not have given to kubectl either.
            Ok(ArgumentFiles { left_out: Vec::new(), ..walked.into() })
        }
        Err(error) => {
            let why = match fs::read_link(path) {
                Ok(target) => {
                    format!("it is a link to `{}`: {}", target.to_string_lossy(), io_error_text(&error))
                }
                Err(_) => io_error_text(&error),
            };
            let problem = codes::about_path(&UNREADABLE, text, format!("cannot read `{text}`: {why}"));
            // A link that leads nowhere is there, and was meant.
            let is_misspelt = path.symlink_metadata().is_err();
            Err(Box::new(match similar_sibling(path).filter(|_| is_misspelt) {
                Some(near) => problem.help(did_you_mean(near)),
                None => problem,
            }))
        }
    }
}

/// Returns what went wrong in words, without the number of the system.
#[must_use]
pub fn io_error_text(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

/// Returns the entry of the same folder whose name is nearest. The extension says nothing about what was meant.
fn similar_sibling(path: &Path) -> Option<String> {
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
    let near = nearest_file_name(name, names.iter().map(String::as_str))?;
    Some(path.with_file_name(near).to_string_lossy().into_owned())
}

/// Returns the nearest of `names`, which is not `name` itself. Only what stands before the extension is compared.
fn nearest_file_name<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    fn stem(name: &str) -> &str {
        name.rsplit_once('.').map_or(name, |(stem, _)| stem)
    }
    let (own, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let others: Vec<&str> = names.filter(|other| *other != name).collect();
    let near = kubewright_engine::nearest_word(own, others.iter().copied().map(stem))
        .or_else(|| others.iter().copied().map(stem).find(|other| *other == own))?;
    let is_it = |other: &&&str| stem(other) == near;
    let same = others.iter().filter(is_it).find(|other| other.ends_with(extension));
    same.or_else(|| others.iter().find(is_it)).copied()
}

/// A walk through a folder. Each file and folder is read once, by whichever link it is reached first.
struct FolderWalk {
    root: PathBuf,
    hidden: HiddenFolders,
    real_root: Option<PathBuf>,
    /// Whether links may only lead to files of the project, because a file named this folder.
    is_confined: bool,
    // Folders and files by their real path, so that links make neither circles nor doubles.
    seen: HashSet<OsString>,
    /// How many folders outside of the root were entered.
    linked_folders: usize,
    /// Links that lead nowhere.
    broken: Vec<PathBuf>,
    /// Whether the folders of Helm charts are left out, because their templates are no documents.
    skips_charts: bool,
    found: WalkedFolder,
}

/// What a walk met.
#[derive(Default)]
struct WalkedFolder {
    files: Vec<PathBuf>,
    /// Folders that could not be read.
    problems: Vec<Diagnostic>,
    /// Files called as YAML or JSON that are hidden, test files, or links that may not be followed; not where hidden folders
    /// are searched.
    left_out: Vec<PathBuf>,
    /// Folders of Helm charts.
    charts: Vec<PathBuf>,
}

impl FolderWalk {
    /// Returns a walk through `root`, which the argument `given` names.
    fn below(root: &Path, given: &str, hidden: HiddenFolders) -> Self {
        Self {
            root: root.to_owned(),
            hidden,
            real_root: fs::canonicalize(root).ok(),
            is_confined: project::is_named_by_file(given),
            seen: HashSet::new(),
            linked_folders: 0,
            broken: Vec::new(),
            skips_charts: hidden == HiddenFolders::LeftOut,
            found: WalkedFolder::default(),
        }
    }

    fn files(mut self, wanted: PathFilter<'_>) -> WalkedFolder {
        let root = self.root.clone();
        if let Some(path) = self.real_root.clone() {
            self.folder(&root, &RealEntry { path, is_inside: true }, wanted, MAX_FOLDERS);
        }
        self.found.problems.extend(broken_links(&self.broken));
        self.found.problems.extend(skipped_charts(&self.found.charts));
        self.found
    }

    /// Goes through `folder`, whose path without links is `real`.
    fn folder(&mut self, folder: &Path, real: &RealEntry, wanted: PathFilter<'_>, deeper: usize) {
        if !self.may_follow(real) || !self.seen.insert(real.path.clone().into_os_string()) {
            return;
        }
        registry::watch_path(folder);
        if deeper == 0 {
            self.unread(folder, &format!("folders are searched {MAX_FOLDERS} deep"));
            return;
        }
        self.linked_folders += usize::from(!real.is_inside);
        if self.linked_folders > MAX_LINKED_FOLDERS {
            if self.linked_folders == MAX_LINKED_FOLDERS + 1 {
                self.unread(folder, &format!("links lead to more than {MAX_LINKED_FOLDERS} other folders"));
            }
            return;
        }
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => return self.unread(folder, &io_error_text(&error)),
        };
        let mut entries: Vec<_> = entries.flatten().map(|entry| (entry.file_name(), entry)).collect();
        entries.compact_sort_by(|(one, _), (other, _)| one.cmp(other));
        if self.skips_charts && is_chart(folder) {
            self.found.charts.push(folder.to_owned());
            return;
        }
        for (name, entry) in entries {
            let path = folder.join(&name);
            let is_left_out = match self.hidden {
                HiddenFolders::LeftOut => name.as_encoded_bytes().starts_with(b"."),
                HiddenFolders::Searched => name == ".git",
            };
            if ignored::is_ignored(&path) {
                continue;
            }
            match WalkedEntry::of(&entry, &path) {
                WalkedEntry::Folder { is_link } if !is_left_out => {
                    if let Some(real) = self.real_entry(&path, is_link, real, &name) {
                        self.folder(&path, &real, wanted, deeper - 1);
                    }
                }
                // A pipe in a folder would be waited for without end.
                WalkedEntry::File { is_link } => {
                    let is_wanted = !is_left_out && wanted(&path);
                    let real = is_wanted.then(|| self.real_entry(&path, is_link, real, &name)).flatten();
                    self.file(path, real);
                }
                // It may have been the link to a folder.
                WalkedEntry::Broken if !is_left_out && (wanted(&path) || path.extension().is_none()) => {
                    self.broken.push(path);
                }
                _ => {}
            }
        }
    }

    /// Takes a file that is wanted, which has a path without links, or keeps that it was left out.
    fn file(&mut self, path: PathBuf, real: Option<RealEntry>) {
        if let Some(real) = real.filter(|real| self.may_follow(real)) {
            if self.seen.insert(real.path.into_os_string()) {
                self.found.files.push(path);
            }
        } else if self.hidden == HiddenFolders::LeftOut && is_document_name(&path) {
            self.found.left_out.push(path);
        }
    }

    /// Records that a folder was left out, so that its files do not pass for clean.
    fn unread(&mut self, folder: &Path, why: &str) {
        let name = folder.to_string_lossy();
        let problem = codes::about_path(&UNREADABLE, &name, format!("cannot read `{name}`: {why}"));
        self.found.problems.push(problem);
    }

    /// Returns whether `real` is inside the root, or something else that a link leads to. What contains the root is a circle.
    fn may_follow(&self, real: &RealEntry) -> bool {
        let RealEntry { path, is_inside } = real;
        let is_circle = || self.real_root.as_ref().is_none_or(|root| root.starts_with(path));
        *is_inside || (!is_circle() && (!self.is_confined || project::may_read(&self.root, path)))
    }

    /// Returns the path without links of `path`, which is called `name` in `folder`.
    fn real_entry(&self, path: &Path, is_link: bool, folder: &RealEntry, name: &OsStr) -> Option<RealEntry> {
        if !is_link {
            return Some(RealEntry { path: folder.path.join(name), is_inside: folder.is_inside });
        }
        let path = fs::canonicalize(path).ok()?;
        let is_inside = self.real_root.as_ref().is_some_and(|root| path.starts_with(root));
        Some(RealEntry { path, is_inside })
    }
}

/// A path without links.
struct RealEntry {
    path: PathBuf,
    /// Whether it is inside the root of the walk.
    is_inside: bool,
}

/// What an entry of a folder is, or leads to.
#[derive(Debug, Clone, Copy)]
enum WalkedEntry {
    Folder {
        is_link: bool,
    },
    File {
        is_link: bool,
    },
    /// A pipe or a device.
    Other,
    /// A link that leads nowhere.
    Broken,
}

impl WalkedEntry {
    fn of(entry: &fs::DirEntry, path: &Path) -> Self {
        // Most systems say it with the name, so that the file need not be asked.
        let kind = entry.file_type().ok().filter(|kind| !kind.is_symlink());
        let is_link = kind.is_none();
        match kind.map_or_else(|| fs::metadata(path).map(|data| data.file_type()), Ok) {
            Ok(kind) if kind.is_dir() => Self::Folder { is_link },
            Ok(kind) if kind.is_file() => Self::File { is_link },
            Ok(_) => Self::Other,
            Err(_) => Self::Broken,
        }
    }
}

/// Returns whether `folder` is the folder of a Helm chart.
pub(crate) fn is_chart(folder: &Path) -> bool {
    folder.join("Chart.yaml").is_file() && folder.join("templates").is_dir()
}

/// Returns the warning about Helm charts, whose templates are no manifests.
fn skipped_charts(charts: &[PathBuf]) -> Option<Diagnostic> {
    let first = charts.first()?.to_string_lossy().into_owned();
    let message = match charts.len() - 1 {
        0 => format!("`{first}` is a Helm chart and is left out"),
        1 => format!("`{first}` and 1 other folder are Helm charts and are left out"),
        others => format!("`{first}` and {others} other folders are Helm charts and are left out"),
    };
    let help = format!("name the chart itself to render it: `-r {first}`");
    Some(codes::about_path(&LEFT_OUT, &first, message).help(help))
}

/// Returns the warning about links that lead nowhere.
fn broken_links(links: &[PathBuf]) -> Option<Diagnostic> {
    let first = links.first()?.to_string_lossy().into_owned();
    let target =
        fs::read_link(&first).map(|target| target.to_string_lossy().into_owned()).unwrap_or_default();
    let message = match links.len() - 1 {
        0 => format!("`{first}` is a link to `{target}`, which cannot be read, so it is left out"),
        1 => format!("`{first}` and 1 other link lead to nothing that can be read and are left out"),
        others => {
            format!("`{first}` and {others} other links lead to nothing that can be read and are left out")
        }
    };
    Some(codes::about_path(&BROKEN_LINK, &first, message).help("mend the link, or remove it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(folder: &str, path: &str, joined: &str) {
        assert_eq!(relative_path(Path::new(folder), path), joined, "{path} in {folder}");
    }

    #[test]
    fn relative_path_leaves_out_what_leads_nowhere() {
        check("a/b", "c.yaml", "a/b/c.yaml");
        check("a/b", "../c.yaml", "a/c.yaml");
        check("a/b", "../../c.yaml", "c.yaml");
        check("a/b", "../../../c.yaml", "../c.yaml");
        check("a/b", "./c.yaml", "a/b/c.yaml");
        check("a/b/", "c//d/./e.yaml", "a/b/c/d/e.yaml");
        check("a/./b", "../c.yaml", "a/c.yaml");
        check("a/../b", "../c.yaml", "c.yaml");
        check("..", "../c.yaml", "../../c.yaml");
        check("", "c.yaml", "c.yaml");
        check("", "../c.yaml", "../c.yaml");
        check("a", "..", ".");
        check("a", "../", ".");
        check("/a", "../c.yaml", "/c.yaml");
        check("/a", "/b/c.yaml", "/b/c.yaml");
        check("a", "https://example.com/c.yaml", "https://example.com/c.yaml");
    }
}
