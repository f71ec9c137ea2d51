//! Whether rendering the result once more changes it: an append that is not guarded grows with every run.
//!
//! What traits create is left out of the second run, which creates it again; everything else is what the first run made
//! of it.

use std::collections::{HashMap, HashSet, VecDeque};

use kubewright_engine::Diagnostic;
use kubewright_k8s::ObjectName;
use kubewright_patch::path::PathWriters;
use kubewright_patch::{self as patch, JsonPatchOperation};
use kubewright_traits::{Manifest, ManifestWriter, Rendering};
use kubewright_value::{Step, Text, Value};

use super::write::number;
use crate::codes::{self, NOT_IDEMPOTENT};

/// How many fields are told of.
const TOLD: usize = 1000;

/// Returns what the second run starts with.
pub(in crate::commands) fn again(first: &Rendering) -> Vec<Manifest> {
    let manifests = first.manifests.iter().enumerate();
    let given = manifests.filter(|(_, manifest)| number(manifest).is_some());
    given
        .map(|(place, manifest)| Manifest::given(place, manifest.object.clone()).on(manifest.plane))
        .collect()
}

/// Returns every field that `second`, which started with what `first` made, has changed again.
pub(in crate::commands) fn differences(first: &Rendering, second: &Rendering) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    for problem in second.diagnostics.iter().filter(|problem| problem.is_error()) {
        let message = format!("rendering again fails: {}", problem.message);
        found.push(Diagnostic::new(&NOT_IDEMPOTENT, message, problem.location.clone()));
    }
    if !found.is_empty() {
        return found;
    }
    // A manifest that is made twice is compared with the first, then with the second.
    let mut made: HashMap<ObjectName, VecDeque<&Manifest>> = HashMap::new();
    for manifest in first.manifests.iter().filter(|manifest| number(manifest).is_none()) {
        made.entry(ObjectName::of(&manifest.object)).or_default().push_back(manifest);
    }
    for manifest in &second.manifests {
        let before = match number(manifest) {
            Some(number) => first.manifests.get(number),
            None => made.get_mut(&ObjectName::of(&manifest.object)).and_then(VecDeque::pop_front),
        };
        let Some(before) = before.filter(|before| before.object != manifest.object) else { continue };
        let writers = manifest.writers();
        for operation in patch::diff_values(&before.object, &manifest.object) {
            if found.len() == TOLD {
                let message =
                    format!("more changes when the result is rendered again than these {TOLD} fields");
                found.push(codes::about_path(&NOT_IDEMPOTENT, "(the result)", message));
                return found;
            }
            found.push(difference(&operation, manifest, &writers, second));
        }
    }
    let still_there: HashSet<usize> = second.manifests.iter().filter_map(number).collect();
    for (place, manifest) in first.manifests.iter().enumerate() {
        if number(manifest).is_some() && !still_there.contains(&place) {
            let message = format!("{} is removed when it is rendered again", manifest.label());
            found.push(codes::about_path(&NOT_IDEMPOTENT, "(the result)", message));
        }
    }
    found
}

fn difference(
    operation: &JsonPatchOperation,
    manifest: &Manifest,
    writers: &PathWriters<ManifestWriter>,
    second: &Rendering,
) -> Diagnostic {
    let path = steps(operation.path().tokens(), &manifest.object);
    let (path, writer) = written_at(path, operation, manifest, writers);
    let is_item = matches!(path.last(), Some(Step::Index(_)));
    let what = match operation {
        JsonPatchOperation::Add { .. } if is_item => "is added again",
        JsonPatchOperation::Add { .. } => "is added",
        JsonPatchOperation::Remove { .. } => "is removed",
        _ => "changes",
    };
    let message =
        format!("`{}` of {} {what} when the result is rendered again", written(&path), manifest.label());
    let applied = writer.and_then(|writer| Some((writer, second.writer(writer)?)));
    let problem = match applied {
        Some((writer, applied)) => {
            let location = applied.location(writer.part).clone();
            Diagnostic::new(&NOT_IDEMPOTENT, message, location)
        }
        None => codes::about_path(&NOT_IDEMPOTENT, "(the result)", message),
    };
    problem.help(if is_item { "let a `where` ask whether the item is there already" } else { "" })
}

/// Returns who wrote at `path` in the second run, and where that really was: of several items that are the same, a
/// difference may name another one than the writer added.
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

/// Returns the way that `tokens` go in `object`.
fn steps(tokens: &[Text], object: &Value) -> Vec<Step> {
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

fn written(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Key(key) if text.is_empty() => text.push_str(key),
            Step::Key(key) => text.push_str(&format!(".{key}")),
            Step::Index(index) => text.push_str(&format!("[{index}]")),
        }
    }
    text
}
