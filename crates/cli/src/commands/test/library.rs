//! A cache of what several tests have in common: files, and the regular expressions of rules.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use kubewright_dialects::SharedRegexes;
use kubewright_engine::Diagnostic;
use kubewright_files::{self as files, Input, RealFolders};
use kubewright_value::Document;

/// The maximum number of cached files. Tests that share files are near each other, so older ones can be dropped.
const MAX_UNUSED_FILES: usize = 128;

/// The recently read files, and the expressions of their rules.
#[derive(Default)]
pub(in crate::commands) struct FileCache {
    shelf: Mutex<CachedFiles>,
    folders: RealFolders,
    pub(super) regexes: SharedRegexes,
}

#[derive(Default)]
struct CachedFiles {
    books: HashMap<String, Weak<OnceLock<CachedFile>>>,
    kept: VecDeque<SharedFile>,
}

/// A file that is read once and shared between tests.
pub(super) type SharedFile = Arc<OnceLock<CachedFile>>;

/// A file that was read.
#[derive(Default)]
pub(super) struct CachedFile {
    /// Its documents; lists are replaced by their items.
    pub(super) documents: Vec<Document>,
    problems: Vec<Diagnostic>,
    /// Its objects and what is wrong with the other documents; nothing where all documents are objects.
    objects: OnceLock<Option<(Vec<Document>, Vec<Diagnostic>)>>,
}

impl FileCache {
    /// Returns the files that `paths` name, which are relative to `folder`.
    pub(super) fn read_files(
        &self,
        folder: &Path,
        paths: &[String],
        problems: &mut Vec<Diagnostic>,
    ) -> Vec<SharedFile> {
        if paths.is_empty() {
            return Vec::new();
        }
        let found = files::find_files(&files::resolve_paths_among(&self.folders, folder, paths, problems));
        problems.extend(found.problems);
        let loans: Vec<SharedFile> = found.inputs.iter().map(|input| self.loan(input)).collect();
        loans
            .iter()
            .for_each(|loan| problems.extend(loan.get().into_iter().flat_map(|book| book.problems.clone())));
        loans
    }

    fn loan(&self, input: &Input) -> SharedFile {
        let loan = self.shelf.lock().unwrap_or_else(PoisonError::into_inner).take(&input.name());
        loan.get_or_init(|| {
            let mut problems = Vec::new();
            let read = files::read_documents(std::slice::from_ref(input), &mut problems);
            CachedFile {
                documents: read.into_iter().flat_map(files::list_items).collect(),
                problems,
                objects: OnceLock::new(),
            }
        });
        loan
    }
}

impl CachedFiles {
    /// Returns the file called `name`, which may not have been read yet.
    fn take(&mut self, name: &str) -> SharedFile {
        if let Some(loan) = self.books.get(name).and_then(Weak::upgrade) {
            return loan;
        }
        let loan = SharedFile::default();
        self.books.insert(name.to_owned(), Arc::downgrade(&loan));
        self.kept.push_back(Arc::clone(&loan));
        if self.kept.len() > MAX_UNUSED_FILES {
            self.kept.pop_front();
        }
        loan
    }
}

impl CachedFile {
    /// Returns the Kubernetes objects of the file.
    pub(super) fn objects(&self, problems: &mut Vec<Diagnostic>) -> &[Document] {
        let taken = self.objects.get_or_init(|| {
            let mut wrong = Vec::new();
            let has_others = !self.documents.iter().all(files::is_object);
            has_others.then(|| (files::objects_of(self.documents.clone(), &mut wrong), wrong))
        });
        let Some((objects, wrong)) = taken else { return &self.documents };
        problems.extend(wrong.iter().cloned());
        objects
    }
}
