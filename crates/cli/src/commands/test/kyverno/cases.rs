//! The requests of a test, so that converted policies can be evaluated on them too.

use kubewright_engine::Diagnostic;
use kubewright_k8s::{AdmissionRequest, Operation, UserInfo};
use kubewright_value::{Document, Text};

use super::file::{self, KyvernoTestDocument};
use super::objects::TestObjects;
use super::{CaseSetup, world};
use crate::fixtures::FileWorld;

/// The requests of a test.
pub(in crate::commands) struct RowCases<'c> {
    /// The policies that it names.
    pub(in crate::commands) policies: Vec<&'c Document>,
    pub(in crate::commands) world: &'c FileWorld,
    file: &'c KyvernoTestDocument,
    objects: &'c TestObjects<'c>,
    user: Option<&'c UserInfo>,
}

/// Calls `work` with the requests of the test in `document`; `None` if no policy in it `is_wanted` or it is invalid.
/// Diagnostics of the test are left to the `test` command.
pub(in crate::commands) fn with_cases<T>(
    document: &Document,
    setup: &CaseSetup<'_>,
    is_wanted: impl Fn(&Document) -> bool,
    work: impl FnOnce(&RowCases<'_>) -> T,
) -> Option<T> {
    let mut problems: Vec<Diagnostic> = Vec::new();
    let mut file = file::read_kyverno_test(document).ok()?;
    let (folder, library) = (setup.folder, setup.library);
    let books = library.read_files(folder, &file.policies, &mut problems);
    let policies = books.iter().filter_map(|loan| loan.get()).flat_map(|book| &book.documents);
    let policies: Vec<&Document> = policies.filter(|policy| is_wanted(policy)).collect();
    if policies.is_empty() {
        return None;
    }
    let resources = library.read_files(folder, &file.resources, &mut problems);
    let others = library.read_files(folder, &file.others, &mut problems);
    let objects = TestObjects::new(&resources, &[], &others, &mut problems);
    let (world, user) = world::build_test_world(&mut file, setup, &objects, &mut problems);
    let cases = RowCases { policies, world: &world, file: &file, objects: &objects, user: user.as_ref() };
    Some(work(&cases))
}

impl RowCases<'_> {
    /// Returns the requests for the policy called `name`: every object, with each operation that the test
    /// names for it.
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
