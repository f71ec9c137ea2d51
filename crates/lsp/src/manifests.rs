//! What the rules of the project say about the objects of manifests.

use kubewright_engine::RuleStatus;
use kubewright_files::{self as files, ObjectFilter};
use kubewright_report::{ObjectRow, OutcomeRow};
use kubewright_value::Document;

use crate::workspace::EditorWorkspace;

/// The maximum number of manifests in which an example is looked for.
const MAX_SEARCHED_FILES: usize = 100;

impl EditorWorkspace {
    /// Returns the failures of the objects of a file; none for a file that the project does not list.
    pub(crate) fn manifest_diagnostics(&mut self, name: &str) -> Vec<lsp_types::Diagnostic> {
        let rows = self.judge_file(name);
        let Some(file) = self.files.get(name) else { return Vec::new() };
        let outcomes = rows.iter().flat_map(|(_, row)| row.outcomes.iter().map(move |one| (row, one)));
        outcomes.filter_map(|(row, outcome)| self.outcome_diagnostic(file, row, outcome)).collect()
    }

    /// Judges the objects of a manifest.
    pub(crate) fn judge_file(&mut self, name: &str) -> Vec<(Document, ObjectRow)> {
        if !self.project.has_manifests(name) {
            return Vec::new();
        }
        let documents = self.documents_of(name);
        let objects = files::wanted_objects(documents, ObjectFilter::Objects, &mut Vec::new());
        self.refresh_engine();
        let Some(engine) = self.engine() else { return Vec::new() };
        let is_judged = |object: &Document| !kubewright_dialects::is_exception_document(object);
        let judged = objects.into_iter().filter(is_judged).map(|object| {
            let row = self.host.judge(engine, &object);
            (object, row)
        });
        judged.collect()
    }

    /// Returns the object of a manifest at a line, counted from 1, and what the rules say about it.
    pub(crate) fn judged_at(&mut self, name: &str, line: u32) -> Option<(Document, ObjectRow)> {
        let begins = |document: &Document| document.positions.first().is_some_and(|first| first.line <= line);
        self.judge_file(name).into_iter().rfind(|(document, _)| begins(document))
    }

    /// Returns the documents of an open or stored file, with the positions of the file.
    fn documents_of(&self, name: &str) -> Vec<Document> {
        match self.files.get(name) {
            Some(file) => file.documents(),
            None => files::read_documents(&[files::Input::File(name.into())], &mut Vec::new()),
        }
    }

    /// Returns an object of the project's manifests that a rule with one of `kinds` is about.
    pub(crate) fn example_object(&self, kinds: &[String]) -> Option<Document> {
        let mut first = None;
        for name in self.project.manifests.iter().take(MAX_SEARCHED_FILES) {
            for object in files::objects_of(self.documents_of(name), &mut Vec::new()) {
                let kind = object.value.str_at(&["kind"]);
                if kind == "Secret" {
                    continue;
                }
                if kinds.iter().any(|wanted| wanted == kind) {
                    return Some(object);
                }
                first.get_or_insert(object);
            }
        }
        first.filter(|_| kinds.is_empty())
    }
}

/// Returns whether an outcome is a problem of its object.
pub(crate) fn is_problem(outcome: &OutcomeRow) -> bool {
    matches!(outcome.status, RuleStatus::Fail | RuleStatus::Warn | RuleStatus::Error)
}
