//! Files that several tests name are read once.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use kubewright_engine::Diagnostic;
use kubewright_value::{Document, Value};

use super::run::relative;
use crate::load::{self, Input};

/// Every file that was read in this run.
#[derive(Default)]
pub(super) struct Library {
    books: Mutex<HashMap<String, Arc<OnceLock<Book>>>>,
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
        let paths: Vec<String> = paths.iter().map(|path| relative(folder, path)).collect();
        let found = load::find(&paths);
        problems.extend(found.problems);
        let loans: Vec<Loan> = found.inputs.iter().map(|input| self.loan(input)).collect();
        loans
            .iter()
            .for_each(|loan| problems.extend(loan.get().into_iter().flat_map(|book| book.problems.clone())));
        loans
    }

    fn loan(&self, input: &Input) -> Loan {
        let mut books = self.books.lock().unwrap_or_else(PoisonError::into_inner);
        let loan = Arc::clone(books.entry(input.name()).or_default());
        drop(books);
        loan.get_or_init(|| {
            let mut problems = Vec::new();
            let read = load::documents(std::slice::from_ref(input), &mut problems);
            Book { documents: read.into_iter().flat_map(items).collect(), problems, objects: OnceLock::new() }
        });
        loan
    }
}

impl Book {
    /// Returns the Kubernetes objects of the file.
    pub(super) fn objects(&self, problems: &mut Vec<Diagnostic>) -> &[Document] {
        let (objects, wrong) = self.objects.get_or_init(|| {
            let mut wrong = Vec::new();
            (load::objects_of(self.documents.clone(), &mut wrong), wrong)
        });
        problems.extend(wrong.iter().cloned());
        objects
    }
}

/// Returns the items of a list of objects, or the document itself.
fn items(document: Document) -> Vec<Document> {
    let kind = document.value.get("kind").and_then(Value::as_str).unwrap_or_default();
    if kind.ends_with("List") && document.value.get("items").and_then(Value::as_array).is_some() {
        return document.items(&["items".into()]).collect();
    }
    vec![document]
}
