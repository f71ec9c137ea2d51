//! The manifests that traits change, with the history of writes to each.

use std::fmt;

use kubewright_patch::path::{OverwrittenPlace, PathChange, PathOp, PathWriters};
use kubewright_value::{Step, Text, Value};

pub use super::source::Plane;

/// A manifest during a rendering.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// The object.
    pub object: Value,
    /// The plane it is deployed to.
    pub plane: Plane,
    /// Where it comes from.
    pub origin: ManifestOrigin,
    /// The operations applied to it, in order.
    history: Vec<AppliedOperation>,
}

/// An operation that was applied to a manifest.
#[derive(Debug, Clone)]
struct AppliedOperation {
    op: PathOp,
    applied: PathChange,
    writer: ManifestWriter,
    /// Whether it shifted the indices of list items.
    has_moved: bool,
}

/// A value that one instance wrote and another overwrote or removed.
#[derive(Debug, Clone)]
pub(crate) struct Overlap {
    /// The overwritten place.
    pub(crate) lost: OverwrittenPlace<ManifestWriter>,
    pub(crate) op: PathOp,
    /// The writer that overwrote it.
    pub(crate) writer: ManifestWriter,
}

/// Where a manifest comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManifestOrigin {
    /// An input manifest, by its index.
    Given(usize),
    /// Created by a template.
    Made(ManifestWriter),
}

/// The author of a write: an instance, and the `creates` item or operation in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct ManifestWriter {
    /// The number of the instance.
    pub instance: u32,
    /// The number of its `creates` or operation.
    pub part: u32,
}

impl Manifest {
    /// Returns the input manifest with index `number`.
    #[must_use]
    pub fn given(number: usize, object: Value) -> Self {
        Self { object, plane: Plane::Data, origin: ManifestOrigin::Given(number), history: Vec::new() }
    }

    /// Returns this manifest on another plane.
    #[must_use]
    pub fn on(self, plane: Plane) -> Self {
        Self { plane, ..self }
    }

    /// Returns a manifest that `writer` created.
    pub(crate) fn made(object: Value, plane: Plane, writer: ManifestWriter) -> Self {
        Self { object, plane, origin: ManifestOrigin::Made(writer), history: Vec::new() }
    }

    /// Records that `writer` applied `op`.
    pub(crate) fn record_operation(
        &mut self,
        op: PathOp,
        applied: PathChange,
        is_append: bool,
        writer: ManifestWriter,
    ) {
        let is_item = || applied.places.iter().any(|place| matches!(place.last(), Some(Step::Index(_))));
        let has_moved = !is_append && (applied.is_insertion || op == PathOp::Remove && is_item());
        self.history.push(AppliedOperation { op, applied, writer, has_moved });
    }

    /// Returns the last writer of each part of it.
    #[must_use]
    pub fn writers(&self) -> PathWriters<ManifestWriter> {
        self.replay(|_, _| {})
    }

    /// Returns the last writer of the value at `path` or of a parent of it.
    pub(crate) fn last_at(&self, path: &[Step]) -> Option<ManifestWriter> {
        let holds =
            |done: &&AppliedOperation| done.applied.places.iter().any(|place| path.starts_with(place));
        self.history.iter().rev().find(holds).map(|done| done.writer)
    }

    /// Returns the values that one instance wrote and another overwrote or removed.
    pub(crate) fn overlaps(&self) -> Vec<Overlap> {
        let mut found = Vec::new();
        if !self.may_overlap() {
            return found;
        }
        self.replay(|done, lost| {
            // A trait may overwrite its own values.
            let lost = lost.into_iter().filter(|lost| lost.writer.instance != done.writer.instance);
            found.extend(lost.map(|lost| Overlap { lost, op: done.op, writer: done.writer }));
        });
        found
    }

    /// Returns whether one instance may have overwritten a value of another: a cheap test that settles most manifests.
    fn may_overlap(&self) -> bool {
        let maker = match self.origin {
            ManifestOrigin::Made(writer) => Some(writer.instance),
            ManifestOrigin::Given(_) => None,
        };
        let have_moved = self.history.iter().any(|done| done.has_moved);
        self.history.iter().enumerate().any(|(number, done)| {
            let instance = done.writer.instance;
            // A write to a new place overwrites nothing.
            let places = done.applied.places.iter().zip(&done.applied.was);
            let mut places = places.filter(|(_, was)| was.is_some()).map(|(place, _)| place);
            let earlier =
                || self.history.iter().take(number).filter(|earlier| earlier.writer.instance != instance);
            let is_touched = |place: &Vec<Step>| {
                earlier().any(|earlier| {
                    earlier.applied.places.iter().any(|other| may_be_same_place(place, other, have_moved))
                })
            };
            match maker {
                Some(maker) if maker != instance => places.next().is_some(),
                _ => places.any(is_touched),
            }
        })
    }

    /// Replays the history; `each` receives every operation with the values it overwrote.
    fn replay(
        &self,
        mut each: impl FnMut(&AppliedOperation, Vec<OverwrittenPlace<ManifestWriter>>),
    ) -> PathWriters<ManifestWriter> {
        let mut writers = PathWriters::default();
        if let ManifestOrigin::Made(writer) = self.origin {
            let whole = PathChange { places: vec![Vec::new()], was: vec![None], is_insertion: false };
            writers.note(PathOp::Add, &Value::Null, &whole, &writer);
        }
        for done in &self.history {
            let lost = writers.note(done.op, &Value::Null, &done.applied, &done.writer);
            each(done, lost);
        }
        writers
    }

    /// Returns its name in messages: ``Deployment `web` ``.
    #[must_use]
    pub fn label(&self) -> String {
        manifest_label(&self.object)
    }
}

/// Returns whether one place may be the other or contain it. If indices have shifted, any index may equal any other.
fn may_be_same_place(one: &[Step], other: &[Step], have_moved: bool) -> bool {
    one.iter().zip(other).all(|steps| match steps {
        (Step::Index(_), Step::Index(_)) if have_moved => true,
        (one, other) => one == other,
    })
}

impl fmt::Display for Plane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Data => "dataplane",
            Self::Observability => "observabilityplane",
        })
    }
}

/// Returns the name of `object` in messages: ``Deployment `web` ``.
#[must_use]
pub fn manifest_label(object: &Value) -> String {
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or("(no kind)");
    let name = object.get("metadata").and_then(|metadata| metadata.get("name")).and_then(Value::as_str);
    format!("{kind} `{}`", name.unwrap_or("(no name)"))
}

/// Returns the API group and version of `object`.
pub(crate) fn group_and_version(object: &Value) -> (&str, &str) {
    let version = object.str_at(&["apiVersion"]);
    version.split_once('/').unwrap_or(("", version))
}

/// Returns the sort key of a manifest: kind, `apiVersion`, namespace and name.
#[must_use]
pub fn manifest_sort_key(object: &Value) -> [Text; 4] {
    let [version, kind, namespace, name] = manifest_identity(object);
    [kind, version, namespace, name]
}

/// Returns the identity of `object`: `apiVersion`, `kind`, namespace and name.
pub(crate) fn manifest_identity(object: &Value) -> [Text; 4] {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(Text::new).unwrap_or_default();
    let metadata = object.get("metadata");
    let inside = |key: &str| text(metadata.and_then(|metadata| metadata.get(key)));
    [text(object.get("apiVersion")), text(object.get("kind")), inside("namespace"), inside("name")]
}
