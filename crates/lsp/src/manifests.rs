//! What the rules of the project say about the objects of manifests.

use kubewright_engine::RuleStatus;
use kubewright_files::{self as files, ObjectFilter};
use kubewright_report::ignores::ignore_comments;
use kubewright_report::{ObjectRow, OutcomeRow};
use kubewright_value::{Document, Position};

use crate::chunk::{FileChunk, JudgedChunk, read_text};
use crate::file::EditedFile;
use crate::workspace::EditorWorkspace;

/// The maximum number of manifests in which an example is looked for.
pub(crate) const MAX_SEARCHED_FILES: usize = 100;

impl EditorWorkspace {
    /// Returns the failures of the objects of a file; none for a file that the project does not list.
    pub(crate) fn manifest_diagnostics(&mut self, name: &str) -> Vec<lsp_types::Diagnostic> {
        if !self.project.has_manifests(name) {
            return Vec::new();
        }
        let Some(file) = self.files.get(name) else { return Vec::new() };
        if !ignore_comments(&file.source).0.is_empty() {
            let rows = self.judge_file(name);
            let Some(file) = self.files.get(name) else { return Vec::new() };
            return rows.iter().flat_map(|(_, row)| self.row_diagnostics(file, row, 0)).collect();
        }
        self.judge_chunks(name);
        let Some(file) = self.files.get(name) else { return Vec::new() };
        let judged = file.chunks.iter().filter_map(|chunk| Some((chunk, chunk.judged.as_ref()?)));
        let rows = judged.flat_map(|(chunk, judged)| judged.rows.iter().map(move |row| (chunk, row)));
        rows.flat_map(|(chunk, row)| self.row_diagnostics(file, row, chunk.lines_before)).collect()
    }

    /// Returns the failures of an object whose positions count from after `lines_before` lines of the file.
    fn row_diagnostics(
        &self,
        file: &EditedFile,
        row: &ObjectRow,
        lines_before: u32,
    ) -> Vec<lsp_types::Diagnostic> {
        let place = |outcome: &OutcomeRow| Position {
            line: outcome.position.line.saturating_add(lines_before),
            ..outcome.position
        };
        let outcomes = row.outcomes.iter();
        outcomes.filter_map(|outcome| self.outcome_diagnostic(file, row, outcome, place(outcome))).collect()
    }

    /// Judges the objects of those chunks of a file that the engine has not judged yet.
    fn judge_chunks(&mut self, name: &str) {
        self.refresh_engine();
        let engine_number = self.results.engine_number;
        let (Some(engine), Some(file)) = (self.engine(), self.files.get(name)) else { return };
        let is_old = |chunk: &FileChunk| {
            chunk.judged.as_ref().is_none_or(|judged| judged.engine_number != engine_number)
        };
        let mut judged = Vec::new();
        for (position, chunk) in file.chunks.iter().enumerate().filter(|(_, chunk)| is_old(chunk)) {
            let (documents, _) = read_text(&chunk.source);
            let rows = judged_objects(documents).map(|object| self.host.judge(engine, &object)).collect();
            judged.push((position, JudgedChunk { engine_number, rows }));
        }
        let Some(file) = self.files.get_mut(name) else { return };
        for (position, judged) in judged {
            if let Some(chunk) = file.chunks.get_mut(position) {
                chunk.judged = Some(judged);
            }
        }
    }

    /// Judges the objects of a manifest.
    pub(crate) fn judge_file(&mut self, name: &str) -> Vec<(Document, ObjectRow)> {
        if !self.project.has_manifests(name) {
            return Vec::new();
        }
        let documents = self.documents_of(name);
        self.refresh_engine();
        let Some(engine) = self.engine() else { return Vec::new() };
        let judged = judged_objects(documents).map(|object| {
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
    pub(crate) fn documents_of(&self, name: &str) -> Vec<Document> {
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

/// Returns the objects among documents that rules judge.
pub(crate) fn judged_objects(documents: Vec<Document>) -> impl Iterator<Item = Document> {
    let objects = files::wanted_objects(documents, ObjectFilter::Objects, &mut Vec::new());
    objects.into_iter().filter(|object| !kubewright_dialects::is_exception_document(object))
}

/// Returns whether an outcome is a problem of its object.
pub(crate) fn is_problem(outcome: &OutcomeRow) -> bool {
    matches!(outcome.status, RuleStatus::Fail | RuleStatus::Warn | RuleStatus::Error)
}
