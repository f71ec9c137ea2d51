//! What a test asks its policies, for those who want to ask others the same.

use kubewright_engine::Diagnostic;
use kubewright_k8s::{AdmissionRequest, Operation, UserInfo};
use kubewright_value::{Document, Text};

use super::file::{self, TestFile};
use super::objects::Objects;
use super::{CaseSetup, world};
use crate::fixtures::FileWorld;

/// What a test asks.
pub(in crate::commands) struct Cases<'c> {
    /// The policies that it names.
    pub(in crate::commands) policies: Vec<&'c Document>,
    pub(in crate::commands) world: &'c FileWorld,
    file: &'c TestFile,
    objects: &'c Objects<'c>,
    user: Option<&'c UserInfo>,
}

/// Hands what the test in `document` asks to `work`, unless it names no policy that `is_wanted`; nothing when it cannot
/// be read. What is wrong with a test is for `test` to say.
pub(in crate::commands) fn with_cases<T>(
    document: &Document,
    setup: &CaseSetup<'_>,
    is_wanted: impl Fn(&Document) -> bool,
    work: impl FnOnce(&Cases<'_>) -> T,
) -> Option<T> {
    let mut problems: Vec<Diagnostic> = Vec::new();
    let mut file = file::read(document).ok()?;
    let (folder, library) = (setup.folder, setup.library);
    let books = library.borrow(folder, &file.policies, &mut problems);
    let policies = books.iter().filter_map(|loan| loan.get()).flat_map(|book| &book.documents);
    let policies: Vec<&Document> = policies.filter(|policy| is_wanted(policy)).collect();
    if policies.is_empty() {
        return None;
    }
    let resources = library.borrow(folder, &file.resources, &mut problems);
    let others = library.borrow(folder, &file.others, &mut problems);
    let objects = Objects::new(&resources, &[], &others, &mut problems);
    let (world, user) = world::build(&mut file, setup, &objects, &mut problems);
    let cases = Cases { policies, world: &world, file: &file, objects: &objects, user: user.as_ref() };
    Some(work(&cases))
}

impl Cases<'_> {
    /// Returns what the test asks the policy called `name`: about every object, and about each operation that is named
    /// for it.
    pub(in crate::commands) fn requests(&self, name: &Text) -> Vec<AdmissionRequest> {
        let rows = self.file.rows.iter().filter(|row| row.policy.rsplit('/').next() == Some(name.as_str()));
        let mut operations: Vec<Operation> = rows.filter_map(|row| row.operation).collect();
        operations.sort();
        operations.dedup();
        let choices = || std::iter::once(None).chain(operations.iter().copied().map(Some));
        let mut requests: Vec<AdmissionRequest> = Vec::new();
        for object in &self.objects.judged {
            let first = requests.len();
            for operation in choices() {
                let request = object.asked(operation, name, self.world, self.user);
                let is_known = |known: &AdmissionRequest| known.operation == request.operation;
                if !requests.iter().skip(first).any(is_known) {
                    requests.push(request);
                }
            }
        }
        requests
    }
}
