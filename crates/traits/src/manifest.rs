//! The manifests that traits work on, and who wrote what in them.

use std::fmt;

use kubewright_patch::path::{Applied, Op, Overwritten, Writers};
use kubewright_value::{Step, Text, Value};

pub use super::source::Plane;

/// A manifest on its way from trait to trait.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// The object.
    pub object: Value,
    /// Where it goes.
    pub plane: Plane,
    /// Where it comes from.
    pub origin: ManifestOrigin,
    /// Who did what to it, in order.
    history: Vec<AppliedOperation>,
}

/// An operation that was done to a manifest.
#[derive(Debug, Clone)]
struct AppliedOperation {
    op: Op,
    applied: Applied,
    writer: ManifestWriter,
    /// Whether items of lists stand elsewhere since.
    has_moved: bool,
}

/// What one instance wrote and another wrote over or removed.
#[derive(Debug, Clone)]
pub(crate) struct Overlap {
    /// Where, when it was written over.
    pub(crate) lost: Overwritten<ManifestWriter>,
    pub(crate) op: Op,
    /// Who wrote over it.
    pub(crate) writer: ManifestWriter,
}

/// Where a manifest comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManifestOrigin {
    /// It was given, as this one of those that were.
    Given(usize),
    /// It was made.
    Made(ManifestWriter),
}

/// Who wrote a part of a manifest: one part of one of the instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ManifestWriter {
    /// The number of the instance.
    pub instance: u32,
    /// The number of its `creates` or operation.
    pub part: u32,
}

impl Manifest {
    /// Returns the manifest that was given as number `number`.
    #[must_use]
    pub fn given(number: usize, object: Value) -> Self {
        Self { object, plane: Plane::Data, origin: ManifestOrigin::Given(number), history: Vec::new() }
    }

    /// Returns this manifest on another plane.
    #[must_use]
    pub fn on(self, plane: Plane) -> Self {
        Self { plane, ..self }
    }

    /// Returns a manifest that `writer` made.
    pub(crate) fn made(object: Value, plane: Plane, writer: ManifestWriter) -> Self {
        Self { object, plane, origin: ManifestOrigin::Made(writer), history: Vec::new() }
    }

    /// Keeps that `writer` did `op`.
    pub(crate) fn record_operation(
        &mut self,
        op: Op,
        applied: Applied,
        is_append: bool,
        writer: ManifestWriter,
    ) {
        let is_item = || applied.places.iter().any(|place| matches!(place.last(), Some(Step::Index(_))));
        let has_moved = !is_append && (applied.is_insertion || op == Op::Remove && is_item());
        self.history.push(AppliedOperation { op, applied, writer, has_moved });
    }

    /// Returns who wrote which part of it.
    #[must_use]
    pub fn writers(&self) -> Writers<ManifestWriter> {
        self.replay(|_, _| {})
    }

    /// Returns who wrote or removed last what stands at `path`, or something that it is a part of.
    pub(crate) fn last_at(&self, path: &[Step]) -> Option<ManifestWriter> {
        let holds =
            |done: &&AppliedOperation| done.applied.places.iter().any(|place| path.starts_with(place));
        self.history.iter().rev().find(holds).map(|done| done.writer)
    }

    /// Returns what one instance wrote and another wrote over or removed.
    pub(crate) fn overlaps(&self) -> Vec<Overlap> {
        let mut found = Vec::new();
        if !self.may_overlap() {
            return found;
        }
        self.replay(|done, lost| {
            // What a trait writes over itself is its own affair.
            let lost = lost.into_iter().filter(|lost| lost.writer.instance != done.writer.instance);
            found.extend(lost.map(|lost| Overlap { lost, op: done.op, writer: done.writer }));
        });
        found
    }

    /// Returns whether one instance may have written over what another wrote. Most manifests are done with here.
    fn may_overlap(&self) -> bool {
        let maker = match self.origin {
            ManifestOrigin::Made(writer) => Some(writer.instance),
            ManifestOrigin::Given(_) => None,
        };
        let have_moved = self.history.iter().any(|done| done.has_moved);
        self.history.iter().enumerate().any(|(number, done)| {
            let instance = done.writer.instance;
            // Only what was there can be written over.
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

    /// Goes through the history again, with what each operation wrote over.
    fn replay(
        &self,
        mut each: impl FnMut(&AppliedOperation, Vec<Overwritten<ManifestWriter>>),
    ) -> Writers<ManifestWriter> {
        let mut writers = Writers::default();
        if let ManifestOrigin::Made(writer) = self.origin {
            let whole = Applied { places: vec![Vec::new()], was: vec![None], is_insertion: false };
            writers.note(Op::Add, &Value::Null, &whole, &writer);
        }
        for done in &self.history {
            let lost = writers.note(done.op, &Value::Null, &done.applied, &done.writer);
            each(done, lost);
        }
        writers
    }

    /// Returns how it is called in messages: `Deployment web`.
    #[must_use]
    pub fn label(&self) -> String {
        manifest_label(&self.object)
    }
}

/// Returns whether one of two places may be the other or in it. Where items of lists have moved, any may be any.
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

/// Returns how `object` is called in messages: `Deployment web`.
pub(crate) fn manifest_label(object: &Value) -> String {
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or("(no kind)");
    let name = object.get("metadata").and_then(|metadata| metadata.get("name")).and_then(Value::as_str);
    format!("{kind} `{}`", name.unwrap_or("(no name)"))
}

/// Returns the API group and version of `object`.
pub(crate) fn group_and_version(object: &Value) -> (&str, &str) {
    let version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    version.split_once('/').unwrap_or(("", version))
}

/// Returns what manifests are sorted by: kind, `apiVersion`, namespace and name.
#[must_use]
pub fn manifest_sort_key(object: &Value) -> [Text; 4] {
    let [version, kind, namespace, name] = manifest_identity(object);
    [kind, version, namespace, name]
}

/// Returns what makes `object` the one that it is: `apiVersion`, `kind`, namespace and name.
pub(crate) fn manifest_identity(object: &Value) -> [Text; 4] {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(Text::new).unwrap_or_default();
    let metadata = object.get("metadata");
    let inside = |key: &str| text(metadata.and_then(|metadata| metadata.get(key)));
    [text(object.get("apiVersion")), text(object.get("kind")), inside("namespace"), inside("name")]
}
