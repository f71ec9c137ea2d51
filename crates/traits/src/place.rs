//! The maps of a manifest with free keys, such as labels, and the fields for which the cluster accepts only text.
//!
//! Entries of these maps are scalars, so a path that continues after such a key lacks an escaped `/`. Lint reports it
//! from the trait alone and rendering for the patched manifest, both with [`split_key`].

use kubewright_patch::path::{PatchPath, PathSegment};
use kubewright_value::{Step, Value};

use crate::compile::program::CompiledTarget;
use crate::manifest::group_and_version;

/// The shortest path that splits a key: the map and two parts of what should be one key.
const MIN_SPLIT_SEGMENTS: usize = 3;

/// Kinds of `storage.k8s.io` whose `parameters` go to a driver as they are.
const CLASSES_WITH_PARAMETERS: [&str; 2] = ["StorageClass", "VolumeAttributesClass"];

/// The kind and group of a patched manifest, as far as they are known.
#[derive(Clone, Copy, Default)]
pub(super) struct PatchSubject<'s> {
    kind: Option<&'s str>,
    group: Option<&'s str>,
}

/// One step into a manifest.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum ManifestStep {
    Key(String),
    /// A number in a path: an item where there is a list, a key where there is an object.
    Number(String),
    /// A filter or wildcard over a list.
    Item,
}

/// A map with free keys and scalar entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FreeKeys {
    /// The number of steps to it.
    pub(super) depth: usize,
    /// The kind of its entries.
    pub(super) entry: MapEntryKind,
}

/// The kind of the entries of a map with free keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MapEntryKind {
    Label,
    Annotation,
    /// Data of a ConfigMap or Secret.
    Data,
    /// A parameter of a driver or class.
    Parameter,
    /// A quantity of a resource such as memory; may also be a number.
    Quantity,
}

/// A path that goes into an entry of a map with free keys.
pub(super) struct SplitKey {
    /// The segment that is the whole key, counted from 0.
    pub(super) segment: usize,
    /// What was found and what was expected.
    pub(super) message: String,
}

impl MapEntryKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Label => "label",
            Self::Annotation => "annotation",
            Self::Data => "entry",
            Self::Parameter => "parameter",
            Self::Quantity => "quantity",
        }
    }

    fn with_article(self) -> &'static str {
        match self {
            Self::Label => "a label",
            Self::Annotation => "an annotation",
            Self::Data => "an entry",
            Self::Parameter => "a parameter",
            Self::Quantity => "a quantity",
        }
    }

    /// Returns whether its value must be text.
    pub(super) fn is_text(self) -> bool {
        self != Self::Quantity
    }
}

impl<'s> PatchSubject<'s> {
    pub(super) fn of_target(target: &'s CompiledTarget) -> Self {
        Self { kind: target.kind.as_deref(), group: target.group.as_deref() }
    }

    pub(super) fn of_manifest(object: &'s Value) -> Self {
        let kind = object.get("kind").and_then(Value::as_str);
        Self { kind, group: object.get("apiVersion").map(|_| group_and_version(object).0) }
    }

    /// Returns the map with free keys that is at the start of `path`, if there is one on it.
    pub(super) fn free_keys(self, path: &[ManifestStep]) -> Option<FreeKeys> {
        (1..=path.len()).find_map(|depth| {
            let entry = self.entry(path.get(..depth)?, path.get(depth))?;
            Some(FreeKeys { depth, entry })
        })
    }

    /// Returns what an entry is, if `path`, behind which `next` comes, leads to a map with free keys.
    fn entry(self, path: &[ManifestStep], next: Option<&ManifestStep>) -> Option<MapEntryKind> {
        let (last, before) = path.split_last()?;
        let Some(parent) = before.last() else { return self.entry_of_root(last.key()?) };
        if self.is_core(&["LimitRange"]) && is_limit(before) {
            return Some(MapEntryKind::Quantity);
        }
        match (last.key()?, parent.key()?) {
            ("labels", parent) if is_metadata(parent) => Some(MapEntryKind::Label),
            ("annotations", parent) if is_metadata(parent) => Some(MapEntryKind::Annotation),
            ("matchLabels", _) => Some(MapEntryKind::Label),
            ("selector", "spec")
                if before.len() == 1 && self.is_core(&["Service", "ReplicationController"]) =>
            {
                Some(MapEntryKind::Label)
            }
            // Some kinds have a structure of this name.
            ("nodeSelector", "spec" | "scheduling") => {
                (next.and_then(ManifestStep::key) != Some("nodeSelectorTerms")).then_some(MapEntryKind::Label)
            }
            ("limits" | "requests", "resources") => Some(MapEntryKind::Quantity),
            ("hard", "spec") if self.is_core(&["ResourceQuota"]) => Some(MapEntryKind::Quantity),
            ("capacity", "spec") if self.is_core(&["PersistentVolume"]) => Some(MapEntryKind::Quantity),
            ("overhead", "spec") if is_pod_spec(before) || self.is_core(&["Pod"]) => {
                Some(MapEntryKind::Quantity)
            }
            ("podFixed", "overhead") => Some(MapEntryKind::Quantity),
            ("volumeAttributes", "csi") | ("options", "flexVolume" | "tls") => Some(MapEntryKind::Parameter),
            _ => None,
        }
    }

    /// Returns what an entry of the field `name` of the manifest itself is.
    fn entry_of_root(self, name: &str) -> Option<MapEntryKind> {
        match name {
            "data" | "binaryData" if self.is_core(&["ConfigMap"]) => Some(MapEntryKind::Data),
            "data" | "stringData" if self.is_core(&["Secret"]) => Some(MapEntryKind::Data),
            "parameters" if self.kind.is_some_and(|kind| CLASSES_WITH_PARAMETERS.contains(&kind)) => {
                Some(MapEntryKind::Parameter)
            }
            _ => None,
        }
    }

    /// Returns whether the kind is one of `kinds` of the core group. A target that names no group means any, and so this one.
    fn is_core(self, kinds: &[&str]) -> bool {
        self.group.is_none_or(str::is_empty) && self.kind.is_some_and(|kind| kinds.contains(&kind))
    }
}

/// Returns the description of the field at `path` if it must be text: the name of a manifest, or a field of a container.
pub(super) fn text_only_field(path: &[ManifestStep]) -> Option<&'static str> {
    let is_of_container = |before: &[ManifestStep]| {
        let [.., ManifestStep::Key(spec), ManifestStep::Key(list), item] = before else { return false };
        item.is_item()
            && spec == "spec"
            && ["containers", "initContainers", "ephemeralContainers"].contains(&list.as_str())
    };
    match path {
        [ManifestStep::Key(metadata), ManifestStep::Key(name)] if metadata == "metadata" => {
            match name.as_str() {
                "name" => Some("the name of the manifest"),
                "namespace" => Some("the namespace of the manifest"),
                _ => None,
            }
        }
        [before @ .., ManifestStep::Key(env), item, ManifestStep::Key(value)]
            if env == "env" && value == "value" && item.is_item() =>
        {
            is_of_container(before).then_some("the value of an environment variable")
        }
        [before @ .., ManifestStep::Key(list), item]
            if ["args", "command"].contains(&list.as_str()) && item.is_item() =>
        {
            is_of_container(before).then_some("an argument of a container")
        }
        _ => None,
    }
}

/// Returns the steps that `path` takes.
pub(super) fn path_steps(path: &PatchPath) -> Vec<ManifestStep> {
    let step = |segment: &PathSegment| match segment {
        PathSegment::Key(key) => ManifestStep::Key(key.to_string()),
        PathSegment::Number(text, _) => ManifestStep::Number(text.to_string()),
        PathSegment::Index(_) | PathSegment::Append | PathSegment::Every | PathSegment::Filter { .. } => {
            ManifestStep::Item
        }
    };
    path.segments().map(step).collect()
}

/// Returns the key that `path` splits in a manifest of `subject`, if it does.
pub(super) fn split_key(subject: PatchSubject<'_>, path: &PatchPath) -> Option<SplitKey> {
    if path.segments().len() < MIN_SPLIT_SEGMENTS {
        return None;
    }
    let at = path_steps(path);
    let FreeKeys { depth, entry } = subject.free_keys(&at).filter(|free| at.len() > free.depth + 1)?;
    let (ManifestStep::Key(part) | ManifestStep::Number(part)) = at.get(depth)? else { return None };
    let message = format!("`{part}` is the whole key here, and {} has no parts", entry.with_article());
    Some(SplitKey { segment: depth, message })
}

/// Returns how to write the path that is `written`, whose key is split from number `segment` on, with the `/` escaped.
pub(super) fn escape_path_segment(written: &str, path: &PatchPath, segment: usize) -> String {
    let (position, _) = path.position(segment);
    let column = (position.column as usize).saturating_sub(1);
    let key = written.char_indices().nth(column).and_then(|(at, _)| written.get(at..)).unwrap_or_default();
    let is_name = |part: &PathSegment| matches!(part, PathSegment::Key(_) | PathSegment::Number(..));
    let is_plain = position.line == 1 && !key.contains(['$', '\n', '[']);
    if !is_plain || !path.segments().skip(segment).all(is_name) {
        return "`/` in a key is written `~1`".to_owned();
    }
    let before = written.strip_suffix(key).unwrap_or_default();
    format!("`/` in a key is written `~1`: `{before}{}`", key.trim_end_matches('/').replace('/', "~1"))
}

impl ManifestStep {
    pub(super) fn key(&self) -> Option<&str> {
        match self {
            Self::Key(key) => Some(key),
            Self::Number(_) | Self::Item => None,
        }
    }

    /// Returns whether this chooses an item, where there is a list.
    fn is_item(&self) -> bool {
        self.key().is_none()
    }

    /// Returns whether this is called `template`, `jobTemplate` or the like.
    fn is_template(&self) -> bool {
        self.key().is_some_and(|key| key.ends_with("emplate") || key.ends_with("emplates"))
    }
}

impl From<&Step> for ManifestStep {
    fn from(step: &Step) -> Self {
        match step {
            Step::Key(key) => Self::Key(key.to_string()),
            Step::Index(_) => Self::Item,
        }
    }
}

/// Returns whether what is called `name` has labels and annotations as an object has: `metadata`, `podMetadata`, and the
/// `infrastructure` of a Gateway.
fn is_metadata(name: &str) -> bool {
    name.ends_with("etadata") || name == "infrastructure"
}

/// Returns whether `path` leads to one of the limits of a LimitRange, whose fields but `type` are maps.
fn is_limit(path: &[ManifestStep]) -> bool {
    matches!(path, [ManifestStep::Key(spec), ManifestStep::Key(limits), item] if spec == "spec" && limits == "limits" && item.is_item())
}

/// Returns whether `path` leads to the spec of a Pod template.
fn is_pod_spec(path: &[ManifestStep]) -> bool {
    path.iter().rev().nth(1).is_some_and(ManifestStep::is_template)
}
