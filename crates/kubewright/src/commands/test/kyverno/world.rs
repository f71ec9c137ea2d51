//! What the policies of a test may look up, and who asks.

use kubewright_engine::Diagnostic;
use kubewright_k8s::UserInfo;
use kubewright_value::{Document, Value};

use super::CaseSetup;
use super::file::TestFile;
use super::objects::Objects;
use crate::codes::TEST_VALUE;
use crate::fixtures::{self, Answers, FileWorld, Values};

/// Takes what `file` gives in place of a cluster out of it.
pub(super) fn build(
    file: &mut TestFile,
    setup: &CaseSetup<'_>,
    objects: &Objects<'_>,
    problems: &mut Vec<Diagnostic>,
) -> (FileWorld, Option<UserInfo>) {
    let mut read = Read { setup, problems };
    let values = match (file.values.take(), &file.variables) {
        (Some(values), _) => values,
        (None, Some(path)) => read.one(path, Values::read).unwrap_or_default(),
        (None, None) => Values::default(),
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
    // Without a cluster, an empty list of what the test does not name would be taken for an answer.
    let has_cluster = !file.cluster_resources.is_empty();
    if has_cluster {
        return (world, user);
    }
    (world.offline(described, &objects.others), user)
}

/// Reads files that the test names.
struct Read<'a> {
    setup: &'a CaseSetup<'a>,
    problems: &'a mut Vec<Diagnostic>,
}

impl Read<'_> {
    fn documents(&mut self, paths: &[String]) -> Vec<Document> {
        let books = self.setup.library.borrow(self.setup.folder, paths, self.problems);
        let books = books.iter().filter_map(|loan| loan.get());
        books
            .flat_map(|book| book.documents.iter().cloned())
            .filter(|document| !document.value.is_null())
            .collect()
    }

    /// Reads files that describe a part of a cluster.
    fn objects(&mut self, paths: &[String], answers: &mut Answers) -> Vec<Value> {
        fixtures::objects(self.documents(paths), answers, self.problems)
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
