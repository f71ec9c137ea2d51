//! `kubewright.yaml`: what a repository says once instead of in every command.
//!
//! The file is found from the working directory upwards, and not beyond the repository. Paths in it are relative to it.
//! What a command is given by flags replaces what the file says.

mod defaults;

use std::path::{Path, PathBuf};

use kubewright_engine::Diagnostic;
use kubewright_files::{self as files, Input, PROJECT_FILES};
use kubewright_report::Severity;
use kubewright_value::{Document, Map, Source, Step};

use crate::arguments::{CliCommand, CommandLine, Threshold, parse_severity, parse_threshold};
use crate::codes::{PROJECT_FIELD, PROJECT_VALUE};
use crate::failure::CommandFailure;
use crate::fields::{InputFieldCodes, InputFieldReader};
use crate::output::Paint;
use crate::rule_inputs::print_diagnostics;

const CODES: InputFieldCodes =
    InputFieldCodes { unknown: &PROJECT_FIELD, missing: &PROJECT_VALUE, value: &PROJECT_VALUE };

/// The fields of a project file.
pub(crate) const FIELDS: &[&str] = &[
    "rules",
    "resources",
    "world",
    "exceptions",
    "references",
    "tests",
    "ignore",
    "severities",
    "outputs",
    "failOn",
    "baseline",
    "skipRules",
];

/// What a project file says. Paths are as they are from the working directory.
#[derive(Debug, Default)]
pub(crate) struct ProjectFile {
    /// The file.
    pub(crate) path: PathBuf,
    pub(crate) rules: Vec<String>,
    pub(crate) resources: Vec<String>,
    pub(crate) world: Vec<String>,
    pub(crate) exceptions: Vec<String>,
    pub(crate) references: Vec<String>,
    pub(crate) tests: Vec<String>,
    /// Severities by the name of a rule, with wildcards.
    pub(crate) severities: Vec<(String, Severity)>,
    /// As `-o` takes them.
    pub(crate) outputs: Vec<String>,
    pub(crate) fail_on: Option<Threshold>,
    pub(crate) baseline: Option<String>,
    pub(crate) skipped_rules: Vec<String>,
}

impl ProjectFile {
    /// Returns where tests are looked for: what the project names, or else below its rules and beside files with rules.
    pub(crate) fn test_paths(&self) -> Vec<String> {
        if !self.tests.is_empty() {
            return self.tests.clone();
        }
        let mut paths: Vec<String> = Vec::new();
        for rules in &self.rules {
            let path = folder_of(rules);
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        paths
    }

    /// Returns the project that `arguments` name, or the one around the working directory.
    ///
    /// # Errors
    /// When the file is named and cannot be read, or has a mistake.
    pub(crate) fn of(arguments: &CommandLine) -> Result<Option<Self>, CommandFailure> {
        let own = arguments.command.as_ref().and_then(CliCommand::project);
        let mut said = std::iter::once(&arguments.project).chain(own);
        if said.clone().any(|said| said.no_project) {
            return Ok(None);
        }
        let named = said.find_map(|said| said.project_file.clone());
        let path = named.or_else(find_project_file);
        path.map(|path| read_project(&path, arguments.color.paint_errors())).transpose()
    }
}

#[cfg(any(feature = "serve", feature = "lsp"))]
impl ProjectFile {
    /// Returns the nearest project file from the working directory upwards, within the repository.
    #[cfg(feature = "lsp")]
    pub(crate) fn find_file() -> Option<PathBuf> {
        find_project_file()
    }

    /// Returns the project file in `folder`, if there is one.
    ///
    /// # Errors
    /// When it cannot be read, or has a mistake.
    pub(crate) fn in_folder(folder: &Path) -> Result<Option<Self>, CommandFailure> {
        let [name, _] = PROJECT_FILES;
        let path = folder.join(name);
        path.is_file().then(|| read_project(&path, Paint::OFF)).transpose()
    }
}

/// Returns the nearest project file from the working directory upwards, within the repository.
fn find_project_file() -> Option<PathBuf> {
    let [name, _] = PROJECT_FILES;
    let working = std::env::current_dir().ok()?;
    let mut from_here = PathBuf::new();
    for folder in working.ancestors() {
        if folder.join(name).is_file() {
            return Some(from_here.join(name));
        }
        if folder.join(".git").exists() {
            return None;
        }
        from_here.push("..");
    }
    None
}

fn read_project(path: &Path, paint: Paint) -> Result<ProjectFile, CommandFailure> {
    let mut problems = Vec::new();
    let name = path.to_string_lossy().into_owned();
    let mut documents = files::read_documents(&[Input::File(path.to_owned())], &mut problems);
    let is_unread = documents.is_empty() && !problems.is_empty();
    if let Some(second) = documents.get(1) {
        problems.push(Diagnostic::new(&PROJECT_VALUE, "a project file has one document", second.locate(&[])));
    }
    let empty = || Document::made(Map::new().into(), Source::new(&name, ""));
    let document = if documents.is_empty() { empty() } else { documents.swap_remove(0) };
    let project = match read_fields(&document, path, &mut problems) {
        Ok(project) => project,
        Err(wrong) => {
            problems.extend(wrong);
            ProjectFile::default()
        }
    };
    if print_diagnostics(&problems, paint) || is_unread {
        let failure = CommandFailure::usage(format!("the project file `{name}` cannot be used"));
        return Err(failure.help("correct it, or use `--no-project`"));
    }
    Ok(project)
}

fn read_fields(
    document: &Document,
    path: &Path,
    problems: &mut Vec<Diagnostic>,
) -> Result<ProjectFile, Vec<Diagnostic>> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut reader = InputFieldReader::of(CODES, document);
    reader.check_fields(FIELDS);
    let mut paths = |reader: &mut InputFieldReader<'_>, field| {
        files::resolve_paths(folder, &reader.texts(field), problems)
    };
    let mut project = ProjectFile {
        path: path.to_owned(),
        rules: paths(&mut reader, "rules"),
        resources: paths(&mut reader, "resources"),
        world: paths(&mut reader, "world"),
        exceptions: paths(&mut reader, "exceptions"),
        references: paths(&mut reader, "references"),
        tests: paths(&mut reader, "tests"),
        skipped_rules: reader.texts("skipRules"),
        ..ProjectFile::default()
    };
    let ignored = reader.texts("ignore");
    let mut told = |result: Result<String, Box<Diagnostic>>| match result {
        Ok(path) => Some(path),
        Err(problem) => {
            problems.push(*problem);
            None
        }
    };
    project.baseline = reader.text("baseline").and_then(|file| told(files::resolve_path(folder, &file)));
    let outputs = reader.texts("outputs");
    project.outputs = outputs.iter().filter_map(|output| told(output_from_here(folder, output))).collect();
    if let Some(text) = reader.text("failOn") {
        match parse_threshold(&text) {
            Ok(threshold) => project.fail_on = Some(threshold),
            Err(why) => reader.wrong("failOn", format!("`{text}`: {why}")),
        }
    }
    project.severities = read_severities(&mut reader);
    let project = reader.finish(project)?;
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    files::ignore_files(folder, &ignored);
    Ok(project)
}

/// Returns what is wrong with the fields of a project file.
#[cfg(feature = "lsp")]
pub(crate) fn check_project_document(document: &Document) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    let path = PathBuf::from(&document.source.name);
    if let Err(wrong) = read_fields(document, &path, &mut problems) {
        problems.extend(wrong);
    }
    problems
}

fn read_severities(reader: &mut InputFieldReader<'_>) -> Vec<(String, Severity)> {
    let entries = reader.entries("severities");
    let mut severities = Vec::new();
    for (rule, value) in entries {
        match parse_severity(value.as_str().unwrap_or_default()) {
            Ok(severity) => severities.push((rule.to_string(), severity)),
            Err(why) => {
                let step = [Step::from("severities"), Step::Key(rule)];
                reader.within(&step, |reader| reader.wrong_here(why));
            }
        }
    }
    severities
}

/// Returns the folder of what `path` names: that of a file or of a glob, or the path itself.
fn folder_of(path: &str) -> String {
    let certain = path.find(['*', '?']).and_then(|wild| path.get(..wild));
    if certain.is_none() && !Path::new(path).is_file() {
        return path.to_owned();
    }
    match certain.unwrap_or(path).rsplit_once('/') {
        Some((folder, _)) => folder.to_owned(),
        None => ".".to_owned(),
    }
}

/// Returns `FORMAT=FILE` with the file as it is from the working directory.
///
/// # Errors
/// When the file is outside of the project.
fn output_from_here(folder: &Path, output: &str) -> Result<String, Box<Diagnostic>> {
    match output.split_once('=') {
        Some((format, file)) if !file.is_empty() => {
            Ok(format!("{format}={}", files::resolve_output(folder, file)?))
        }
        _ => Ok(output.to_owned()),
    }
}

#[cfg(test)]
mod tests;
