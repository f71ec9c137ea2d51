//! Everything that the server knows: the project, its files, and what follows from them.
//!
//! Files of the project are compiled together, any other file on its own. A change marks what depends on it, and the next
//! question brings it up to date: only documents whose text changed are compiled, unless a binding or an exception did.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kubewright_dialects::{
    DialectOptions, DocumentRole, all_dialects, check_all_exceptions, compile_document, duplicate_rules,
    run_in_given_order,
};
use kubewright_engine::{Diagnostic, Dialect, Engine, Rule, RuleId};
use kubewright_report::CoveredRule;
use kubewright_report::ignores::fits_rule;
use kubewright_value::{Document, Location, Position, Source};

use crate::chunk::{CompiledPart, FileChunk};
use crate::encoding::ColumnUnit;
use crate::file::EditedFile;
use crate::host::EditorHost;
use crate::project::{ProjectFiles, is_project_name, is_test_name};

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
    dialects: Vec<Box<dyn Dialect>>,
    /// The exceptions that the dialects know.
    exceptions: Vec<Document>,
    /// The engine of the project's rules; nothing after a change.
    engine: Option<Engine>,
    /// Diagnostics about several documents of the project together, by file; nothing after a change.
    together: Option<BTreeMap<String, Vec<Diagnostic>>>,
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
            engine: None,
            together: None,
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
        self.forget_results();
    }

    /// Replaces the text of a file.
    pub(crate) fn put(&mut self, source: Arc<Source>, version: Option<i32>) {
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
        self.forget_results();
    }

    /// Forgets the text that the editor had; a file of the project goes on with what is stored.
    pub(crate) fn close(&mut self, name: &str) {
        let stored = kubewright_files::read_source(&kubewright_files::Input::File(name.into())).ok();
        let is_used = self.project.rules.contains(name) || self.project.tests.contains(name);
        match stored.filter(|_| is_used) {
            Some(source) => self.put(source, None),
            None => {
                self.files.remove(name);
                self.forget_results();
            }
        }
    }

    fn forget_results(&mut self) {
        self.engine = None;
        self.together = None;
    }

    /// Returns whether the server answers about a file.
    pub(crate) fn is_answered(&self, name: &str) -> bool {
        let Some(file) = self.files.get(name) else { return false };
        file.is_claimed() || self.project.has_manifests(name) || is_test_name(name) || is_project_name(name)
    }

    /// Brings everything up to date: dialects with the exceptions there are, and the rules of every document.
    pub(crate) fn refresh(&mut self) {
        if self.together.is_some() {
            return;
        }
        self.refresh_exceptions();
        let group: Vec<String> =
            self.files.keys().filter(|name| self.project.has_rules(name)).cloned().collect();
        let others: Vec<String> =
            self.files.keys().filter(|name| !self.project.has_rules(name)).cloned().collect();
        let mut together = BTreeMap::new();
        self.refresh_group(&group, &mut together);
        for name in others {
            self.refresh_group(&[name], &mut together);
        }
        self.together = Some(together);
    }

    fn refresh_exceptions(&mut self) {
        let files = self
            .files
            .values()
            .filter(|file| self.project.has_rules(file.name()) || self.project.outline.exceptions.is_empty());
        let exceptions: Vec<Document> = files
            .flat_map(EditedFile::parts)
            .filter(|part| part.is_exception)
            .map(|part| part.document.clone())
            .collect();
        let is_same = exceptions.len() == self.exceptions.len()
            && exceptions.iter().zip(&self.exceptions).all(|(one, other)| one.value == other.value);
        if is_same {
            return;
        }
        let options = DialectOptions { exceptions: exceptions.clone(), ..self.host.dialect_options() };
        self.dialects = all_dialects(&options);
        self.exceptions = exceptions;
        for part in
            self.files.values_mut().flat_map(|file| &mut file.chunks).flat_map(|chunk| &mut chunk.parts)
        {
            part.compiled = None;
        }
    }

    /// Compiles the files that belong together, and finds what can only be said of them together.
    fn refresh_group(&mut self, names: &[String], together: &mut BTreeMap<String, Vec<Diagnostic>>) {
        let auxiliaries = self.auxiliaries(names);
        self.compile_group(names, &auxiliaries);
        let files: Vec<&EditedFile> = names.iter().filter_map(|name| self.files.get(name)).collect();
        let ids: Vec<Arc<RuleId>> =
            files.iter().flat_map(|file| file.rules()).map(|rule| Arc::clone(&rule.id)).collect();
        let mut found = Vec::new();
        for (position, documents) in &auxiliaries {
            if let Some(dialect) = self.dialects.get(*position) {
                found.extend(dialect.check_auxiliaries(documents, &ids));
            }
        }
        let exceptions: Vec<Document> = files
            .iter()
            .flat_map(|file| file.parts())
            .filter(|part| part.is_exception)
            .map(|part| part.document.clone())
            .collect();
        // Without rules it is not known what an exception is about.
        if !ids.is_empty() {
            found.extend(check_all_exceptions(&exceptions, ids.iter().map(|id| &**id)));
        }
        found = found.into_iter().map(|diagnostic| in_file(&files, diagnostic)).collect();
        let located = located_rules(&files);
        let rules = located.iter().map(|(rule, location)| (&*rule.id, rule.action, location));
        found.extend(duplicate_rules(rules));
        for diagnostic in found {
            together.entry(diagnostic.location.source.name.clone()).or_default().push(diagnostic);
        }
    }

    /// Returns the auxiliary documents of the files, by dialect.
    fn auxiliaries(&self, names: &[String]) -> BTreeMap<usize, Vec<Document>> {
        let mut found: BTreeMap<usize, Vec<Document>> = BTreeMap::new();
        for part in names.iter().filter_map(|name| self.files.get(name)).flat_map(EditedFile::parts) {
            if let DocumentRole::Auxiliary(dialect) = part.role {
                found.entry(dialect).or_default().push(part.document.clone());
            }
        }
        found
    }

    fn compile_group(&mut self, names: &[String], auxiliaries: &BTreeMap<usize, Vec<Document>>) {
        for name in names {
            let Some(file) = self.files.get_mut(name) else { continue };
            for part in file.chunks.iter_mut().flat_map(|chunk| &mut chunk.parts) {
                let own = match part.role {
                    DocumentRole::Rule(dialect) => auxiliaries.get(&dialect),
                    DocumentRole::Attempt => None,
                    _ => continue,
                };
                let own = own.map(Vec::as_slice).unwrap_or_default();
                if part.compiled.as_ref().is_some_and(|compiled| compiled.is_beside(own)) {
                    continue;
                }
                let loaded = compile_document(&self.dialects, &part.document, own);
                part.compiled = Some(CompiledPart {
                    rules: loaded.rules.into_iter().map(Arc::new).collect(),
                    diagnostics: loaded.diagnostics,
                    auxiliaries: own.iter().map(|document| document.value.clone()).collect(),
                });
            }
        }
    }

    /// Returns the diagnostics of a file, with the positions of the file, in the order of its lines.
    pub(crate) fn lint(&mut self, name: &str) -> Vec<Diagnostic> {
        self.refresh();
        let Some(file) = self.files.get(name) else { return Vec::new() };
        let mut found = file.problems.clone();
        for chunk in &file.chunks {
            let compiled = chunk.parts.iter().filter_map(|part| part.compiled.as_ref());
            let own = compiled.flat_map(|compiled| &compiled.diagnostics).cloned();
            found.extend(own.map(|diagnostic| in_chunk(file, chunk, diagnostic)));
            if is_test_name(name) || is_project_name(name) {
                let checked = chunk.parts.iter().filter_map(|part| self.host.check_own(&part.document));
                found.extend(checked.flatten().map(|diagnostic| in_chunk(file, chunk, diagnostic)));
            }
        }
        let together = self.together.as_ref().and_then(|together| together.get(name));
        found.extend(together.into_iter().flatten().cloned());
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

impl CompiledPart {
    /// Returns whether it was compiled beside these auxiliary documents.
    fn is_beside(&self, auxiliaries: &[Document]) -> bool {
        self.auxiliaries.len() == auxiliaries.len()
            && self.auxiliaries.iter().zip(auxiliaries).all(|(known, document)| *known == document.value)
    }
}

fn located_rules<'f>(files: &[&'f EditedFile]) -> Vec<(&'f Arc<Rule>, Location)> {
    let mut located = Vec::new();
    for file in files {
        for chunk in &file.chunks {
            located.extend(chunk.rules().map(|rule| (rule, file_location(file, chunk, &rule.location))));
        }
    }
    located
}

/// Returns the chunk of `file` that a location is in.
fn chunk_of<'f>(file: &'f EditedFile, location: &Location) -> Option<&'f FileChunk> {
    file.chunks.iter().find(|chunk| Arc::ptr_eq(&chunk.source, &location.source))
}

fn file_location(file: &EditedFile, chunk: &FileChunk, location: &Location) -> Location {
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
fn in_file(files: &[&EditedFile], diagnostic: Diagnostic) -> Diagnostic {
    let mut own = files.iter().filter(|file| file.name() == diagnostic.location.source.name);
    let found = own.find_map(|file| Some((file, chunk_of(file, &diagnostic.location)?)));
    match found {
        Some((file, chunk)) => in_chunk(file, chunk, diagnostic),
        None => diagnostic,
    }
}
