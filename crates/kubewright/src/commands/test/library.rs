//! Files that several tests name are read once, unless the tests stand far apart.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use kubewright_engine::Diagnostic;
use kubewright_files::{self as files, Input};
use kubewright_value::Document;

/// How many files are kept that nobody uses at the moment. Tests that share files stand near each other.
const KEPT: usize = 128;

/// The files that were read lately.
#[derive(Default)]
pub(in crate::commands) struct Library {
    shelf: Mutex<Shelf>,
}

#[derive(Default)]
struct Shelf {
    books: HashMap<String, Weak<OnceLock<Book>>>,
    kept: VecDeque<Loan>,
}

/// A file that was read, shared by everybody who needs it.
pub(super) type Loan = Arc<OnceLock<Book>>;

/// A file that was read.
#[derive(Default)]
pub(super) struct Book {
    /// What is in it; a list of objects stands for its items.
    pub(super) documents: Vec<Document>,
    problems: Vec<Diagnostic>,
    objects: OnceLock<(Vec<Document>, Vec<Diagnostic>)>,
}

impl Library {
    /// Returns the files that `paths` name, which are relative to `folder`.
    pub(super) fn borrow(
        &self,
        folder: &Path,
        paths: &[String],
        problems: &mut Vec<Diagnostic>,
    ) -> Vec<Loan> {
        let found = files::find(&files::resolve_paths(folder, paths, problems));
        problems.extend(found.problems);
        let loans: Vec<Loan> = found.inputs.iter().map(|input| self.loan(input)).collect();
        loans
            .iter()
            .for_each(|loan| problems.extend(loan.get().into_iter().flat_map(|book| book.problems.clone())));
        loans
    }

    fn loan(&self, input: &Input) -> Loan {
        let loan = self.shelf.lock().unwrap_or_else(PoisonError::into_inner).take(&input.name());
        loan.get_or_init(|| {
            let mut problems = Vec::new();
            let read = files::read_documents(std::slice::from_ref(input), &mut problems);
            Book {
                documents: read.into_iter().flat_map(files::list_items).collect(),
                problems,
                objects: OnceLock::new(),
            }
        });
        loan
    }
}

impl Shelf {
    /// Returns the file called `name`, which may not have been read yet.
    fn take(&mut self, name: &str) -> Loan {
        if let Some(loan) = self.books.get(name).and_then(Weak::upgrade) {
            return loan;
        }
        let loan = Loan::default();
        self.books.insert(name.to_owned(), Arc::downgrade(&loan));
        self.kept.push_back(Arc::clone(&loan));
        if self.kept.len() > KEPT {
            self.kept.pop_front();
        }
        loan
    }
}

impl Book {
    /// Returns the Kubernetes objects of the file.
    pub(super) fn objects(&self, problems: &mut Vec<Diagnostic>) -> &[Document] {
        let (objects, wrong) = self.objects.get_or_init(|| {
            let mut wrong = Vec::new();
            (files::objects_of(self.documents.clone(), &mut wrong), wrong)
        });
        problems.extend(wrong.iter().cloned());
        objects
    }
}
