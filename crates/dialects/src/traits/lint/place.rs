//! Where in a manifest the cluster takes nothing but text.

use kubewright_lang::pathpatch::{Path, Segment};
use kubewright_value::{Step, Value};

use crate::traits::compile::program::Target;
use crate::traits::manifest::group_and_version;

/// Which manifest is meant, as far as that is written.
#[derive(Clone, Copy, Default)]
pub(super) struct Subject<'s> {
    kind: Option<&'s str>,
    group: Option<&'s str>,
}

/// One step into a manifest.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum At {
    Key(String),
    /// Of a list.
    Item,
}

/// A map in which every value is text.
pub(super) struct Texts {
    /// How many steps lead to it.
    pub(super) depth: usize,
    /// What its entries are called.
    pub(super) entry: &'static str,
}

impl<'s> Subject<'s> {
    pub(super) fn of_target(target: &'s Target) -> Self {
        Self { kind: target.kind.as_deref(), group: target.group.as_deref() }
    }

    pub(super) fn of_manifest(object: &'s Value) -> Self {
        let kind = object.get("kind").and_then(Value::as_str);
        Self { kind, group: object.get("apiVersion").map(|_| group_and_version(object).0) }
    }

    /// Returns the map of texts that is at the start of `path`, if there is one on it.
    pub(super) fn texts(self, path: &[At]) -> Option<Texts> {
        (1..=path.len()).find_map(|depth| {
            let entry = self.entry(path.get(..depth)?)?;
            Some(Texts { depth, entry })
        })
    }

    /// Returns what an entry is called, if `path` leads to a map of texts.
    fn entry(self, path: &[At]) -> Option<&'static str> {
        let (last, before) = path.split_last()?;
        let name = last.key()?;
        let parent = before.last().and_then(At::key);
        match (name, parent) {
            ("labels", Some("metadata")) if is_metadata(before) => Some("label"),
            ("annotations", Some("metadata")) if is_metadata(before) => Some("annotation"),
            ("matchLabels", Some(_)) => Some("label"),
            ("selector", Some("spec")) if before.len() == 1 && self.is_core("Service") => Some("label"),
            ("nodeSelector", Some("spec")) if before.iter().rev().nth(1).is_some_and(At::is_template) => {
                Some("label")
            }
            ("data" | "binaryData", None) if before.is_empty() && self.is_core("ConfigMap") => Some("entry"),
            ("data" | "stringData", None) if before.is_empty() && self.is_core("Secret") => Some("entry"),
            _ => None,
        }
    }

    fn is_core(self, kind: &str) -> bool {
        self.kind == Some(kind) && self.group == Some("")
    }
}

/// Returns what stands at `path` if that is a text by itself: the name of a manifest, or a part of a container.
pub(super) fn lone_text(path: &[At]) -> Option<&'static str> {
    let is_of_container = |before: &[At]| {
        let [.., At::Key(spec), At::Key(list), At::Item] = before else { return false };
        spec == "spec" && ["containers", "initContainers", "ephemeralContainers"].contains(&list.as_str())
    };
    match path {
        [At::Key(metadata), At::Key(name)] if metadata == "metadata" => match name.as_str() {
            "name" => Some("the name of the manifest"),
            "namespace" => Some("the namespace of the manifest"),
            _ => None,
        },
        [before @ .., At::Key(env), At::Item, At::Key(value)] if env == "env" && value == "value" => {
            is_of_container(before).then_some("the value of an environment variable")
        }
        [before @ .., At::Key(list), At::Item] if ["args", "command"].contains(&list.as_str()) => {
            is_of_container(before).then_some("an argument of a container")
        }
        _ => None,
    }
}

/// Returns the steps that `path` takes.
pub(super) fn steps(path: &Path) -> Vec<At> {
    let step = |segment: &Segment| match segment {
        Segment::Key(key) => At::Key(key.to_string()),
        Segment::Number(..)
        | Segment::Index(_)
        | Segment::Append
        | Segment::Every
        | Segment::Filter { .. } => At::Item,
    };
    path.segments().map(step).collect()
}

impl At {
    pub(super) fn key(&self) -> Option<&str> {
        match self {
            Self::Key(key) => Some(key),
            Self::Item => None,
        }
    }

    /// Returns whether this is called `template`, `jobTemplate` or the like.
    fn is_template(&self) -> bool {
        self.key().is_some_and(|key| key.ends_with("emplate") || key.ends_with("emplates"))
    }
}

impl From<&Step> for At {
    fn from(step: &Step) -> Self {
        match step {
            Step::Key(key) => Self::Key(key.to_string()),
            Step::Index(_) => Self::Item,
        }
    }
}

/// Returns whether `path`, which ends with `metadata`, leads to the metadata of an object or of a template of objects.
fn is_metadata(path: &[At]) -> bool {
    match path {
        [_] => true,
        [.., template, _] if template.is_template() => true,
        [.., templates, At::Item, _] => templates.is_template(),
        _ => false,
    }
}
