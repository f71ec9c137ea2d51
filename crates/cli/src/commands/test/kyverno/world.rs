//! The world of a Kyverno test, and its requesting user.

use kubewright_engine::Diagnostic;
use kubewright_k8s::UserInfo;
use kubewright_value::{Document, Value};

use super::CaseSetup;
use super::file::KyvernoTestDocument;
use super::objects::TestObjects;
use crate::codes::TEST_VALUE;
use crate::fixtures::{self, FileWorld, FixtureAnswers, FixtureValues};

/// Builds the world from the fixtures of `file`.
pub(super) fn build_test_world(
    file: &mut KyvernoTestDocument,
    setup: &CaseSetup<'_>,
    objects: &TestObjects<'_>,
    problems: &mut Vec<Diagnostic>,
) -> (FileWorld, Option<UserInfo>) {
    let mut read = TestWorldReader { setup, problems };
    let values = match (file.values.take(), &file.variables) {
        (Some(values), _) => values,
        (None, Some(path)) => read.one(path, FixtureValues::read).unwrap_or_default(),
        (None, None) => FixtureValues::default(),
    };
    let user = file.user.as_ref().and_then(|path| read.one(path, fixtures::read_user_info));
    let mut answers = std::mem::take(&mut file.answers);
    let judged = objects.judged.iter().filter(|object| object.payload.is_none());
    let mut found: Vec<Value> = judged.map(|object| object.request.object.clone()).collect();
    found.extend(objects.others.iter().cloned());
    let cluster = read.objects(&file.cluster_resources, &mut answers);
    found.extend(cluster);
    let described = file.context.as_ref().map(|path| read.objects(std::slice::from_ref(path), &mut answers));
    found.extend(described.iter().flatten().cloned());
    for entry in std::mem::take(&mut file.shared) {
        let resources = read.documents(&entry.files).into_iter().map(|document| document.value).collect();
        let location = entry.location.clone();
        if let Err(message) = answers.share(entry, resources) {
            read.problems.push(Diagnostic::new(&TEST_VALUE, message, location));
        }
    }
    let world = FileWorld::new(found, answers, values);
    // Without cluster resources, an empty list would be mistaken for an answer.
    let has_cluster = !file.cluster_resources.is_empty() || file.has_sources;
    if has_cluster {
        return (world, user);
    }
    (world.offline(described, &objects.others), user)
}

/// Reads files that the test names.
struct TestWorldReader<'a> {
    setup: &'a CaseSetup<'a>,
    problems: &'a mut Vec<Diagnostic>,
}

impl TestWorldReader<'_> {
    fn documents(&mut self, paths: &[String]) -> Vec<Document> {
        let books = self.setup.library.read_files(self.setup.folder, paths, self.problems);
        let books = books.iter().filter_map(|loan| loan.get());
        books
            .flat_map(|book| book.documents.iter().cloned())
            .filter(|document| !document.value.is_null())
            .collect()
    }

    /// Reads files that describe a part of a cluster.
    fn objects(&mut self, paths: &[String], answers: &mut FixtureAnswers) -> Vec<Value> {
        fixtures::fixture_objects(self.documents(paths), answers, self.problems)
    }

    /// Reads the first document of a file.
    fn one<T>(
        &mut self,
        path: &str,
        read: impl FnOnce(&Document) -> Result<T, Vec<Diagnostic>>,
    ) -> Option<T> {
        let document = self.documents(&[path.to_owned()]).into_iter().next()?;
        read(&document).map_err(|wrong| self.problems.extend(wrong)).ok()
    }
}
