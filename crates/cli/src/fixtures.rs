//! Fixtures: files in place of a cluster, with values of variables, the user of requests, and objects to look up.
//!
//! Most of the files are those that people have already: `Values`, `UserInfo`, `Context` and `ClusterResource` of
//! `cli.kyverno.io/v1alpha1`.

mod answers;
mod cluster;
mod old;
mod registries;
mod set;
mod user;
mod values;
mod world;

use kubewright_engine::Diagnostic;
use kubewright_files as files;
use kubewright_value::{Document, Value};

use cluster::Cluster;

pub(crate) use answers::{FixtureAnswers, SharedEntryFixture, read_shared};
pub(crate) use old::OldObjects;
pub(crate) use set::VariableSetting;
pub(crate) use user::read_user_info;
pub(crate) use values::{FIELDS as VALUE_FIELDS, FixtureValues, is_rule};
pub(crate) use world::FileWorld;
#[cfg(feature = "serve")]
pub(crate) use world::LiveWorld;

/// Reads the first document of a file, if one is named.
pub(crate) fn read_fixture_file<T>(
    path: Option<&str>,
    read: impl FnOnce(&Document) -> Result<T, Vec<Diagnostic>>,
    problems: &mut Vec<Diagnostic>,
) -> Option<T> {
    let found = files::find_files(&[path?.to_owned()]);
    problems.extend(found.problems);
    let document = files::read_documents(&found.inputs, problems).into_iter().next()?;
    read(&document).map_err(|wrong| problems.extend(wrong)).ok()
}

/// Returns the objects that `documents` are or describe, and adds what else they say to `answers`.
pub(crate) fn fixture_objects(
    documents: Vec<Document>,
    answers: &mut FixtureAnswers,
    problems: &mut Vec<Diagnostic>,
) -> Vec<Value> {
    let (described, plain): (Vec<_>, Vec<_>) = documents.into_iter().partition(Cluster::is_meant);
    let plain = files::objects_of(plain, problems).into_iter().map(|document| document.value);
    let mut objects: Vec<Value> = plain.collect();
    for document in &described {
        match Cluster::read(document, answers, problems) {
            Ok(found) => objects.extend(found),
            Err(wrong) => problems.extend(wrong),
        }
    }
    objects
}
