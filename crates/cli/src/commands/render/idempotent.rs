//! Whether rendering the result once more changes it: an append that is not guarded grows with every run.
//!
//! Created manifests are removed before the second run, which creates them again; all others are the result of the first
//! run.

use std::collections::{HashMap, HashSet, VecDeque};

use kubewright_engine::Diagnostic;
use kubewright_k8s::ObjectName;
use kubewright_patch::path::PathWriters;
use kubewright_patch::{self as patch, JsonPatchOperation};
use kubewright_traits::{Manifest, ManifestWriter, Rendering};
use kubewright_value::text::{self, PathStyle};
use kubewright_value::{Step, Text, Value};

use super::write::base_number;
use crate::codes::{self, NOT_IDEMPOTENT};

/// The maximum number of reported fields.
const MAX_REPORTED_FIELDS: usize = 1000;

/// Returns the base manifests of the second run.
pub(in crate::commands) fn render_again(first: &Rendering) -> Vec<Manifest> {
    let manifests = first.manifests.iter().enumerate();
    let given = manifests.filter(|(_, manifest)| base_number(manifest).is_some());
    given
        .map(|(place, manifest)| Manifest::given(place, manifest.object.clone()).on(manifest.plane))
        .collect()
}

/// Returns every field of the result of `first` that `second` changed again.
pub(in crate::commands) fn second_run_differences(first: &Rendering, second: &Rendering) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    for problem in second.diagnostics.iter().filter(|problem| problem.is_error()) {
        let message = format!("rendering again fails: {}", problem.message);
        found.push(Diagnostic::new(&NOT_IDEMPOTENT, message, problem.location.clone()));
    }
    if !found.is_empty() {
        return found;
    }
    // If a manifest is created twice, the copies are compared in order.
    let mut made: HashMap<ObjectName, VecDeque<&Manifest>> = HashMap::new();
    for manifest in first.manifests.iter().filter(|manifest| base_number(manifest).is_none()) {
        made.entry(ObjectName::of(&manifest.object)).or_default().push_back(manifest);
    }
    for manifest in &second.manifests {
        let before = match base_number(manifest) {
            Some(number) => first.manifests.get(number),
            None => made.get_mut(&ObjectName::of(&manifest.object)).and_then(VecDeque::pop_front),
        };
        let Some(before) = before.filter(|before| before.object != manifest.object) else { continue };
        let writers = manifest.writers();
        for operation in patch::diff_values(&before.object, &manifest.object) {
            if found.len() == MAX_REPORTED_FIELDS {
                let message = format!(
                    "more changes when the result is rendered again than these {MAX_REPORTED_FIELDS} fields"
                );
                found.push(codes::about_path(&NOT_IDEMPOTENT, "(the result)", message));
                return found;
            }
            found.push(second_run_difference(&operation, manifest, &writers, second));
        }
    }
    let still_there: HashSet<usize> = second.manifests.iter().filter_map(base_number).collect();
    for (place, manifest) in first.manifests.iter().enumerate() {
        if base_number(manifest).is_some() && !still_there.contains(&place) {
            let message = format!("{} is removed when it is rendered again", manifest.label());
            found.push(codes::about_path(&NOT_IDEMPOTENT, "(the result)", message));
        }
    }
    found
}

fn second_run_difference(
    operation: &JsonPatchOperation,
    manifest: &Manifest,
    writers: &PathWriters<ManifestWriter>,
    second: &Rendering,
) -> Diagnostic {
    let path = pointer_steps(operation.path().tokens(), &manifest.object);
    let (path, writer) = written_at(path, operation, manifest, writers);
    let is_item = matches!(path.last(), Some(Step::Index(_)));
    let what = match operation {
        JsonPatchOperation::Add { .. } if is_item => "is added again",
        JsonPatchOperation::Add { .. } => "is added",
        JsonPatchOperation::Remove { .. } => "is removed",
        _ => "changes",
    };
    let message =
        format!("`{}` of {} {what} when the result is rendered again", steps_text(&path), manifest.label());
    let applied = writer.and_then(|writer| Some((writer, second.writer(writer)?)));
    let problem = match applied {
        Some((writer, applied)) => {
            let location = applied.location(writer.part).clone();
            Diagnostic::new(&NOT_IDEMPOTENT, message, location)
        }
        None => codes::about_path(&NOT_IDEMPOTENT, "(the result)", message),
    };
    problem.help(if is_item { "add a `where` that checks whether the item exists" } else { "" })
}

/// Returns the writer of `path` in the second run, and the path it wrote: among equal items, the difference may name
/// another one than the writer added.
fn written_at(
    path: Vec<Step>,
    operation: &JsonPatchOperation,
    manifest: &Manifest,
    writers: &PathWriters<ManifestWriter>,
) -> (Vec<Step>, Option<ManifestWriter>) {
    if let Some(writer) = writers.last(&path) {
        return (path, Some(*writer));
    }
    let places = writers.places();
    let list = path.split_last().map_or(&[][..], |(_, list)| list);
    let mut beside = places.iter().filter(|(place, _)| place.starts_with(list) && place.len() == path.len());
    if let JsonPatchOperation::Add { value, .. } = operation
        && let Some((place, writer)) =
            beside.clone().find(|(place, _)| manifest.object.follow(place) == Some(value))
    {
        return (place.clone(), Some(**writer));
    }
    let below = || places.iter().find(|(place, _)| place.starts_with(&path));
    let writer = beside.next().or_else(below).map(|(_, writer)| **writer);
    (path, writer)
}

/// Returns the steps of a JSON pointer in `object`.
fn pointer_steps(tokens: &[Text], object: &Value) -> Vec<Step> {
    let mut here = Some(object);
    let mut steps = Vec::new();
    for token in tokens {
        let index =
            token.parse::<usize>().ok().filter(|_| here.is_some_and(|here| here.as_array().is_some()));
        let step = index.map_or_else(|| Step::Key(token.clone()), Step::Index);
        here = here.and_then(|here| here.follow(std::slice::from_ref(&step)));
        steps.push(step);
    }
    steps
}

fn steps_text(path: &[Step]) -> String {
    text::path_text(path, PathStyle::Dotted)
}
