//! The manifests that traits work on, and who wrote what in them.

use kubewright_lang::pathpatch::{Applied, Op, Writers};
use kubewright_value::{Text, Value};

pub use super::source::Plane;

/// A manifest on its way from trait to trait.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// The object.
    pub object: Value,
    /// Where it goes.
    pub plane: Plane,
    /// Where it comes from.
    pub origin: Origin,
    /// Who wrote which part of it.
    pub writers: Writers<Writer>,
}

/// Where a manifest comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// It was given, as this one of those that were.
    Given(usize),
    /// It was made.
    Made(Writer),
}

/// Who wrote a part of a manifest: one part of one of the instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Writer {
    /// The number of the instance.
    pub instance: u32,
    /// The number of its `creates` or operation.
    pub part: u32,
}

impl Manifest {
    /// Returns the manifest that was given as number `number`.
    #[must_use]
    pub fn given(number: usize, object: Value) -> Self {
        Self { object, plane: Plane::Data, origin: Origin::Given(number), writers: Writers::default() }
    }

    /// Returns a manifest that `writer` made.
    pub(crate) fn made(object: Value, plane: Plane, writer: Writer) -> Self {
        let mut writers = Writers::default();
        let whole = Applied { places: vec![Vec::new()], was: vec![None], is_insertion: false };
        writers.note(Op::Add, &object, &whole, &writer);
        Self { object, plane, origin: Origin::Made(writer), writers }
    }

    /// Returns how it is called in messages: `Deployment web`.
    #[must_use]
    pub fn label(&self) -> String {
        label(&self.object)
    }
}

/// Returns how `object` is called in messages: `Deployment web`.
pub(crate) fn label(object: &Value) -> String {
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or("(no kind)");
    let name = object.get("metadata").and_then(|metadata| metadata.get("name")).and_then(Value::as_str);
    format!("{kind} `{}`", name.unwrap_or("(no name)"))
}

/// Returns the API group and version of `object`.
pub(crate) fn group_and_version(object: &Value) -> (&str, &str) {
    let version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    version.split_once('/').unwrap_or(("", version))
}

/// Returns what makes `object` the one that it is: `apiVersion`, `kind`, namespace and name.
pub(crate) fn identity(object: &Value) -> [Text; 4] {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(Text::new).unwrap_or_default();
    let metadata = object.get("metadata");
    let inside = |key: &str| text(metadata.and_then(|metadata| metadata.get(key)));
    [text(object.get("apiVersion")), text(object.get("kind")), inside("namespace"), inside("name")]
}
