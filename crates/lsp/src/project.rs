//! The files of a project: which there are, and what each is used for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use kubewright_files as files;

use crate::host::ProjectOutline;

/// What the project uses its files for.
#[derive(Debug, Default)]
pub(crate) struct ProjectFiles {
    /// What the project says.
    pub(crate) outline: ProjectOutline,
    /// The files with rules and exceptions.
    pub(crate) rules: BTreeSet<String>,
    /// The files with exceptions.
    exceptions: BTreeSet<String>,
    /// The files with manifests.
    pub(crate) manifests: BTreeSet<String>,
    /// The test files.
    pub(crate) tests: BTreeSet<String>,
}

impl ProjectFiles {
    /// Finds the files that `outline` names.
    pub(crate) fn find(outline: ProjectOutline) -> Self {
        let rules = [outline.rules.clone(), outline.exceptions.clone()].concat();
        let tests = if outline.tests.is_empty() { &outline.rules } else { &outline.tests };
        let found_tests = if tests.is_empty() { Vec::new() } else { files::find_tests(tests, None).inputs };
        Self {
            rules: names(files::find_files(&rules).inputs),
            exceptions: names(files::find_files(&outline.exceptions).inputs),
            manifests: names(files::find_files(&outline.resources).inputs),
            tests: names(found_tests),
            outline,
        }
    }

    /// Returns the texts of all rule files and test files.
    pub(crate) fn read(&self) -> BTreeMap<String, std::sync::Arc<kubewright_value::Source>> {
        let wanted = self.rules.iter().chain(&self.tests);
        let read = |name: &String| {
            let source = files::read_source(&files::Input::File(name.into())).ok()?;
            Some((name.clone(), source))
        };
        wanted.filter_map(read).collect()
    }

    /// Returns whether a file holds rules of the project.
    pub(crate) fn has_rules(&self, name: &str) -> bool {
        let paths = self.outline.rules.iter().chain(&self.outline.exceptions);
        self.rules.contains(name) || (is_document(name) && is_below(name, paths))
    }

    /// Returns whether exceptions in a file count. A project names its files with exceptions; without one, all do.
    pub(crate) fn has_exceptions(&self, name: &str) -> bool {
        let is_named = || is_document(name) && is_below(name, self.outline.exceptions.iter());
        self.outline.file.is_empty() || self.exceptions.contains(name) || is_named()
    }

    /// Returns whether a file holds manifests of the project.
    pub(crate) fn has_manifests(&self, name: &str) -> bool {
        self.manifests.contains(name) || (is_document(name) && is_below(name, self.outline.resources.iter()))
    }
}

/// Returns whether a file is called like a test.
pub(crate) fn is_test_name(name: &str) -> bool {
    files::TEST_FILES.contains(&file_name(name))
}

/// Returns whether a file is called like a project file.
pub(crate) fn is_project_name(name: &str) -> bool {
    files::PROJECT_FILES.contains(&file_name(name))
}

fn file_name(name: &str) -> &str {
    Path::new(name).file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn is_document(name: &str) -> bool {
    !is_test_name(name) && !is_project_name(name)
}

/// Returns whether a file that is not stored yet would be found in one of `folders`.
fn is_below<'p>(name: &str, mut folders: impl Iterator<Item = &'p String>) -> bool {
    let is_stored = Path::new(name).exists();
    !is_stored && folders.any(|folder| folder == "." || Path::new(name).starts_with(folder))
}

fn names(inputs: Vec<files::Input>) -> BTreeSet<String> {
    inputs.into_iter().map(|input| input.name()).collect()
}
