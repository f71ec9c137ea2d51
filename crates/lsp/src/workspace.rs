//! Everything that the server knows: the project, its files, and what follows from them.
//!
//! Files of the project are compiled together, any other file on its own. A change marks what depends on it, and the next
//! question brings it up to date: only documents whose text changed are compiled, unless a binding or an exception did.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kubewright_dialects::{all_dialects, run_in_given_order};
use kubewright_engine::{Diagnostic, Dialect, Engine, Rule};
use kubewright_report::CoveredRule;
use kubewright_report::ignores::fits_rule;
use kubewright_value::{Document, Location, Position, Source};

use crate::chunk::FileChunk;
use crate::encoding::ColumnUnit;
use crate::file::EditedFile;
use crate::host::EditorHost;
use crate::project::{ProjectFiles, is_project_name, is_test_name};
use crate::refresh::RuleResults;

/// The state of the server.
pub(crate) struct EditorWorkspace {
    /// The program around the server.
    pub(crate) host: Box<dyn EditorHost>,
    /// The unit of columns.
    pub(crate) unit: ColumnUnit,
    /// The root folder; relative names start there.
    pub(crate) root: PathBuf,
    /// The project.
    pub(crate) project: ProjectFiles,
    /// All files by name: those of the project with rules and tests, and those that are open.
    pub(crate) files: BTreeMap<String, EditedFile>,
    /// What tests reach, as of their last run.
    pub(crate) tested: Vec<CoveredRule>,
    pub(crate) dialects: Vec<Box<dyn Dialect>>,
    /// The exceptions that the dialects know.
    pub(crate) exceptions: Vec<Document>,
    /// What follows from the rules, and which files changed since.
    pub(crate) results: RuleResults,
    /// The engine of the project's rules; nothing after a change of them.
    engine: Option<Engine>,
}

impl EditorWorkspace {
    /// Returns a workspace without files.
    pub(crate) fn new(host: Box<dyn EditorHost>) -> Self {
        let dialects = all_dialects(&host.dialect_options());
        Self {
            host,
            unit: ColumnUnit::default(),
            root: PathBuf::new(),
            project: ProjectFiles::default(),
            files: BTreeMap::new(),
            tested: Vec::new(),
            dialects,
            exceptions: Vec::new(),
            results: RuleResults::default(),
            engine: None,
        }
    }

    /// Reads the project around `root`. Open files keep their texts.
    pub(crate) fn open_project(&mut self, root: &Path) {
        let outline = self.host.open_project(root);
        self.root.clone_from(&outline.root);
        self.project = ProjectFiles::find(outline);
        let read = self.project.read();
        self.files.retain(|name, file| file.version.is_some() || read.contains_key(name));
        for (name, source) in read {
            if self.files.get(&name).is_none_or(|file| file.version.is_none()) {
                self.put(source, None);
            }
        }
        // A file may belong to the project now, or no more.
        self.results.edited = self.files.keys().cloned().collect();
        self.results.forget_project();
        self.forget_engine();
    }

    /// Replaces the text of a file.
    pub(crate) fn put(&mut self, source: Arc<Source>, version: Option<i32>) {
        self.results.edited.insert(source.name.clone());
        match self.files.get_mut(&source.name) {
            Some(file) => {
                file.version = version;
                if file.source.text != source.text {
                    file.replace(source, &self.dialects);
                }
            }
            None => {
                let name = source.name.clone();
                self.files.insert(name, EditedFile::new(source, version, &self.dialects));
            }
        }
    }

    /// Forgets the text that the editor had; a file of the project goes on with what is stored.
    pub(crate) fn close(&mut self, name: &str) {
        let stored = kubewright_files::read_source(&kubewright_files::Input::File(name.into())).ok();
        let is_used = self.project.rules.contains(name) || self.project.tests.contains(name);
        match stored.filter(|_| is_used) {
            Some(source) => self.put(source, None),
            None => {
                self.files.remove(name);
                self.results.edited.insert(name.to_owned());
            }
        }
    }

    /// Forgets the engine and everything that it judged.
    pub(crate) fn forget_engine(&mut self) {
        self.engine = None;
        self.results.engine_number += 1;
    }

    /// Returns whether the server answers about a file.
    pub(crate) fn is_answered(&self, name: &str) -> bool {
        let Some(file) = self.files.get(name) else { return false };
        let is_broken_rule = || !file.other_problems.is_empty() && self.project.has_rules(name);
        file.is_claimed()
            || self.project.has_manifests(name)
            || is_test_name(name)
            || is_project_name(name)
            || is_broken_rule()
    }

    /// Returns the diagnostics of a file, with the positions of the file, in the order of its lines.
    pub(crate) fn lint(&mut self, name: &str) -> Vec<Diagnostic> {
        self.refresh();
        let Some(file) = self.files.get(name) else { return Vec::new() };
        let mut found = file.problems.clone();
        if self.project.has_rules(name) {
            found.extend(file.other_problems.iter().cloned());
        }
        for chunk in &file.chunks {
            let compiled = chunk.parts.iter().filter_map(|part| part.compiled.as_ref());
            let own = compiled.flat_map(|compiled| &compiled.diagnostics).cloned();
            found.extend(own.map(|diagnostic| in_chunk(file, chunk, diagnostic)));
            if is_test_name(name) || is_project_name(name) {
                let checked = chunk.parts.iter().filter_map(|part| self.host.check_own(&part.document));
                found.extend(checked.flatten().map(|diagnostic| in_chunk(file, chunk, diagnostic)));
            }
        }
        found.extend(self.results.together_in(name).cloned());
        found.sort_by_key(|diagnostic| diagnostic.location.position);
        found
    }

    /// Makes the engine of the project's rules, unless it is up to date.
    pub(crate) fn refresh_engine(&mut self) {
        self.refresh();
        if self.engine.is_none() {
            let project = &self.project;
            let mut rules: Vec<&mut Arc<Rule>> = self
                .files
                .values_mut()
                .filter(|file| project.has_rules(file.name()))
                .flat_map(|file| &mut file.chunks)
                .flat_map(|chunk| &mut chunk.parts)
                .filter_map(|part| part.compiled.as_mut())
                .flat_map(|compiled| &mut compiled.rules)
                .collect();
            // No engine shares them now.
            run_in_given_order(rules.iter_mut().filter_map(|rule| Arc::get_mut(rule)));
            let is_skipped =
                |rule: &Rule| project.outline.skipped_rules.iter().any(|name| fits_rule(&rule.id, name));
            let kept = rules.into_iter().filter(|rule| !is_skipped(rule)).map(|rule| Arc::clone(rule));
            self.engine = Some(Engine::sharing(kept.collect()));
        }
    }

    /// Returns the engine as of the last [`refresh_engine`](Self::refresh_engine).
    pub(crate) fn engine(&self) -> Option<&Engine> {
        self.engine.as_ref()
    }

    /// Returns where a location of a compiled document is: the file, and the position in it.
    pub(crate) fn resolve(&self, location: &Location) -> (String, Position) {
        let name = location.source.name.clone();
        let chunk = self.files.get(&name).and_then(|file| chunk_of(file, location));
        let position = chunk.map_or(location.position, |chunk| chunk.in_file(location.position));
        (name, position)
    }

    /// Returns the names of the open files.
    pub(crate) fn open_files(&self) -> BTreeSet<String> {
        let open = self.files.iter().filter(|(_, file)| file.version.is_some());
        open.map(|(name, _)| name.clone()).collect()
    }
}

/// Returns the chunk of `file` that a location is in.
fn chunk_of<'f>(file: &'f EditedFile, location: &Location) -> Option<&'f FileChunk> {
    file.chunks.iter().find(|chunk| Arc::ptr_eq(&chunk.source, &location.source))
}

pub(crate) fn file_location(file: &EditedFile, chunk: &FileChunk, location: &Location) -> Location {
    let position = chunk.in_file(location.position);
    Location { source: Arc::clone(&file.source), position, length: location.length }
}

fn in_chunk(file: &EditedFile, chunk: &FileChunk, diagnostic: Diagnostic) -> Diagnostic {
    if !Arc::ptr_eq(&diagnostic.location.source, &chunk.source) {
        return diagnostic;
    }
    Diagnostic { location: file_location(file, chunk, &diagnostic.location), ..diagnostic }
}

/// Returns a diagnostic about one of `files` with the position in the file.
pub(crate) fn in_file(files: &[&EditedFile], diagnostic: Diagnostic) -> Diagnostic {
    let mut own = files.iter().filter(|file| file.name() == diagnostic.location.source.name);
    let found = own.find_map(|file| Some((file, chunk_of(file, &diagnostic.location)?)));
    match found {
        Some((file, chunk)) => in_chunk(file, chunk, diagnostic),
        None => diagnostic,
    }
}
