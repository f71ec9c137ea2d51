//! What follows from the rules of all files, brought up to date after edits.
//!
//! Only the edited files are looked at again. What is said of the project's files together is kept unless an edit changed
//! the name or the place of a rule, or a document that other files depend on; the engine is kept unless a rule changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kubewright_dialects::{
    DialectOptions, DocumentRole, all_dialects, check_all_exceptions, compile_document, document_role,
    duplicate_rules, is_trait_resource, lint_traits_together,
};
use kubewright_engine::{Diagnostic, Rule, RuleAction, RuleId};
use kubewright_files as files;
use kubewright_report::ignores::fits_rule;
use kubewright_value::{Document, Location, Position};

use crate::chunk::CompiledPart;
use crate::file::EditedFile;
use crate::workspace::{EditorWorkspace, file_location, in_file};

/// Diagnostics by file.
type FileDiagnostics = BTreeMap<String, Vec<Diagnostic>>;

/// The auxiliary documents of each dialect, by its position.
type Auxiliaries = BTreeMap<usize, Arc<Vec<Document>>>;

/// What follows from the rules of all files.
#[derive(Debug, Default)]
pub(crate) struct RuleResults {
    /// The files that were edited, opened or closed since.
    pub(crate) edited: BTreeSet<String>,
    /// Counts the engines, so that what an earlier one judged is known as such.
    pub(crate) engine_number: u64,
    /// Diagnostics about several documents of the project together.
    project: FileDiagnostics,
    /// Diagnostics about several documents of a file that is not part of the project.
    own: FileDiagnostics,
    /// What other files depend on, of each file of the project.
    shapes: BTreeMap<String, FileShape>,
    /// The auxiliary documents of the project.
    auxiliaries: Auxiliaries,
    /// Counts the documents that were compiled.
    compiled: u64,
}

/// What the diagnostics and the engine of a whole project depend on, of one file.
#[derive(Debug, Default, PartialEq, Eq)]
struct FileShape {
    /// The names of its rules, and where they are.
    names: Vec<(Arc<RuleId>, RuleAction, Position)>,
    /// When each of its documents with rules was compiled.
    compiled: Vec<u64>,
    /// Whether it has documents that are checked beside those of other files: bindings, exceptions, traits.
    has_dependents: bool,
}

impl RuleResults {
    /// Returns the diagnostics of a file that are about several documents.
    pub(crate) fn together_in(&self, name: &str) -> impl Iterator<Item = &Diagnostic> {
        [&self.project, &self.own].into_iter().filter_map(move |found| found.get(name)).flatten()
    }

    /// Forgets what was known of the project.
    pub(crate) fn forget_project(&mut self) {
        (self.project, self.own) = (FileDiagnostics::new(), FileDiagnostics::new());
        self.shapes.clear();
        self.auxiliaries.clear();
    }
}

impl EditorWorkspace {
    /// Brings everything up to date: dialects with the exceptions there are, and the rules of every document.
    pub(crate) fn refresh(&mut self) {
        if self.results.edited.is_empty() {
            return;
        }
        self.refresh_exceptions();
        let edited = std::mem::take(&mut self.results.edited);
        let (group, others): (Vec<String>, Vec<String>) =
            edited.into_iter().partition(|name| self.project.has_rules(name));
        for name in others {
            self.results.own.remove(&name);
            let names = [name];
            let auxiliaries = self.auxiliaries(&names, &Auxiliaries::new());
            self.compile_files(&names, &auxiliaries);
            let found = self.check_together(&names, &auxiliaries);
            self.results.own.extend(found);
        }
        if !group.is_empty() {
            self.refresh_project(&group);
        }
    }

    /// Makes dialects with the exceptions there are. When these changed, every document is compiled again.
    fn refresh_exceptions(&mut self) {
        let mut exceptions: Vec<Document> = Vec::new();
        for file in self.files.values() {
            let mut own = file.parts().filter(|part| part.is_exception).peekable();
            if own.peek().is_some() && self.project.has_exceptions(file.name()) {
                exceptions.extend(own.map(|part| part.document.clone()));
            }
        }
        if are_same(&exceptions, &self.exceptions) {
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
        self.results.edited.extend(self.files.keys().cloned());
    }

    /// Compiles the edited files of the project, and finds what can only be said of all its files together.
    fn refresh_project(&mut self, edited: &[String]) {
        let has_dependents = edited.iter().any(|name| self.has_dependents(name));
        let names = has_dependents.then(|| self.project_names());
        if let Some(all) = &names {
            self.results.auxiliaries = self.auxiliaries(all, &self.results.auxiliaries);
        }
        // Every document is compiled beside the auxiliaries, so a change of these concerns all.
        let auxiliaries = self.results.auxiliaries.clone();
        self.compile_files(names.as_deref().unwrap_or(edited), &auxiliaries);
        let (mut is_same, mut has_same_rules) = (!has_dependents, true);
        for name in names.as_deref().unwrap_or(edited) {
            let shape = self.files.get(name).map(FileShape::of).unwrap_or_default();
            let known = self.results.shapes.insert(name.clone(), shape).unwrap_or_default();
            let shape = self.results.shapes.get(name);
            is_same &= shape.is_some_and(|shape| shape.names == known.names);
            has_same_rules &= shape.is_some_and(|shape| shape.compiled == known.compiled);
        }
        if !has_same_rules {
            self.forget_engine();
        }
        if !is_same {
            let all = names.unwrap_or_else(|| self.project_names());
            self.results.project = self.check_together(&all, &auxiliaries);
        }
    }

    /// Returns the names of the files with rules of the project.
    fn project_names(&self) -> Vec<String> {
        self.files.keys().filter(|name| self.project.has_rules(name)).cloned().collect()
    }

    /// Returns the project's rules that are called `name`, with the positions of their files.
    pub(crate) fn rules_called(&mut self, name: &str) -> Vec<Arc<Rule>> {
        self.refresh();
        let has_rule = |file: &&EditedFile| file.rules().any(|rule| fits_rule(&rule.id, name));
        let files = self.files.values().filter(|file| self.project.has_rules(file.name())).filter(has_rule);
        let mut rules = Vec::new();
        for document in files.flat_map(|file| files::objects_of(file.documents(), &mut Vec::new())) {
            let none = Arc::default();
            let auxiliaries = match document_role(&self.dialects, &document) {
                DocumentRole::Rule(dialect) => self.results.auxiliaries.get(&dialect).unwrap_or(&none),
                _ => continue,
            };
            let loaded = compile_document(&self.dialects, &document, auxiliaries);
            rules.extend(loaded.rules.into_iter().filter(|rule| fits_rule(&rule.id, name)).map(Arc::new));
        }
        rules
    }

    /// Returns whether a file has, or had, documents that are checked beside those of other files.
    fn has_dependents(&self, name: &str) -> bool {
        let had = self.results.shapes.get(name).is_some_and(|shape| shape.has_dependents);
        had || self.files.get(name).is_some_and(has_dependents)
    }

    /// Returns what can only be said of the documents of some files together.
    fn check_together(&self, names: &[String], auxiliaries: &Auxiliaries) -> FileDiagnostics {
        let files: Vec<&EditedFile> = names.iter().filter_map(|name| self.files.get(name)).collect();
        let ids: Vec<Arc<RuleId>> =
            files.iter().flat_map(|file| file.rules()).map(|rule| Arc::clone(&rule.id)).collect();
        let mut found = Vec::new();
        for (position, documents) in auxiliaries {
            if let Some(dialect) = self.dialects.get(*position) {
                found.extend(dialect.check_auxiliaries(documents, &ids));
            }
        }
        let exceptions: Vec<Document> = files
            .iter()
            .filter(|file| self.project.has_exceptions(file.name()))
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
        found.extend(lint_traits(&files));
        let mut together = FileDiagnostics::new();
        for diagnostic in found {
            together.entry(diagnostic.location.source.name.clone()).or_default().push(diagnostic);
        }
        together
    }

    /// Returns the auxiliary documents of some files, by dialect; those of `known` where they are the same.
    fn auxiliaries(&self, names: &[String], known: &Auxiliaries) -> Auxiliaries {
        let mut found: BTreeMap<usize, Vec<Document>> = BTreeMap::new();
        for part in names.iter().filter_map(|name| self.files.get(name)).flat_map(EditedFile::parts) {
            if let DocumentRole::Auxiliary(dialect) = part.role {
                found.entry(dialect).or_default().push(part.document.clone());
            }
        }
        let shared = |(dialect, documents): (usize, Vec<Document>)| {
            let same = known.get(&dialect).filter(|known| are_same(known, &documents));
            (dialect, same.map_or_else(|| Arc::new(documents), Arc::clone))
        };
        found.into_iter().map(shared).collect()
    }

    /// Compiles the documents of some files that are not compiled beside these auxiliaries.
    fn compile_files(&mut self, names: &[String], auxiliaries: &Auxiliaries) {
        let none = Arc::new(Vec::new());
        for name in names {
            let Some(file) = self.files.get_mut(name) else { continue };
            for part in file.chunks.iter_mut().flat_map(|chunk| &mut chunk.parts) {
                let own = match part.role {
                    DocumentRole::Rule(dialect) => auxiliaries.get(&dialect).unwrap_or(&none),
                    DocumentRole::Attempt => &none,
                    _ => continue,
                };
                if part.compiled.as_ref().is_some_and(|compiled| compiled.is_beside(own)) {
                    continue;
                }
                let loaded = compile_document(&self.dialects, &part.document, own);
                self.results.compiled += 1;
                part.compiled = Some(CompiledPart {
                    rules: loaded.rules.into_iter().map(Arc::new).collect(),
                    diagnostics: loaded.diagnostics,
                    auxiliaries: Arc::clone(own),
                    number: self.results.compiled,
                });
            }
        }
    }
}

impl CompiledPart {
    /// Returns whether it was compiled beside these auxiliary documents.
    fn is_beside(&self, auxiliaries: &Arc<Vec<Document>>) -> bool {
        Arc::ptr_eq(&self.auxiliaries, auxiliaries) || are_same(&self.auxiliaries, auxiliaries)
    }
}

impl FileShape {
    fn of(file: &EditedFile) -> Self {
        let mut shape = Self { has_dependents: has_dependents(file), ..Self::default() };
        for chunk in &file.chunks {
            let compiled = chunk.parts.iter().filter_map(|part| part.compiled.as_ref());
            let with_rules = compiled.filter(|compiled| !compiled.rules.is_empty());
            shape.compiled.extend(with_rules.map(|compiled| compiled.number));
            shape.names.extend(
                chunk
                    .rules()
                    .map(|rule| (Arc::clone(&rule.id), rule.action, chunk.in_file(rule.location.position))),
            );
        }
        shape
    }
}

/// Returns whether a file has documents that are checked beside those of other files.
fn has_dependents(file: &EditedFile) -> bool {
    file.parts().any(|part| {
        part.is_exception
            || matches!(part.role, DocumentRole::Auxiliary(_))
            || is_trait_resource(&part.document)
    })
}

fn are_same(some: &[Document], others: &[Document]) -> bool {
    some.len() == others.len() && some.iter().zip(others).all(|(one, other)| one.value == other.value)
}

/// Returns what can only be said of all traits and components together. Their places are in messages too, so the files
/// are read as a whole.
fn lint_traits(files: &[&EditedFile]) -> Vec<Diagnostic> {
    let has_traits = |file: &&&EditedFile| file.parts().any(|part| is_trait_resource(&part.document));
    let documents: Vec<Document> =
        files.iter().filter(has_traits).flat_map(|file| file.documents()).collect();
    if documents.is_empty() {
        return Vec::new();
    }
    lint_traits_together(&files::objects_of(documents, &mut Vec::new()))
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
