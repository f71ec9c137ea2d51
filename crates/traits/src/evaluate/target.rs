//! Which manifests a target means, and why it means none.

use kubewright_engine::{TraceVerdict, nearest_word};
use kubewright_value::{Document, Text, Value};

use super::story::Said;
use super::{Evaluator, Outcome};
use crate::compile::Expression;
use crate::compile::program::Target;
use crate::manifest::{Manifest, group_and_version, label};
use crate::variables::Names;

/// How many manifests are named in a message.
const TOLD: usize = 6;

/// What a target means.
#[derive(Default)]
pub(super) struct Targets {
    /// How many have the kind, group, version and name.
    pub(super) candidates: usize,
    /// How many have another kind, group, version or plane.
    pub(super) others: usize,
    /// Those for which the condition holds.
    pub(super) kept: Vec<usize>,
    /// The name that was asked for, where something has the rest.
    pub(super) name: Option<Text>,
}

impl Evaluator<'_> {
    /// Returns the manifests that `target` means. The condition sees each as it is now.
    pub(super) fn targets(
        &mut self,
        target: &Target,
        names: &Names<'_>,
        manifests: &[Manifest],
    ) -> Outcome<Targets> {
        let mut targets = Targets::default();
        self.spend(manifests.len() as u64, &target.path)?;
        let mut namesakes = 0;
        for (at, manifest) in manifests.iter().enumerate() {
            if !fits(target, manifest) {
                targets.others += 1;
                continue;
            }
            if let Some(name) = &target.name {
                let wanted = match targets.name.take() {
                    Some(wanted) => wanted,
                    None => self.text(name, "`name`", names)?,
                };
                let is_it = self.is_called(&wanted, name, manifest);
                targets.name = Some(wanted);
                if !is_it {
                    namesakes += 1;
                    continue;
                }
            }
            targets.candidates += 1;
            let is_kept = match &target.condition {
                Some(condition) => self.is_where(condition, names, manifest)?,
                None => true,
            };
            if is_kept {
                targets.kept.push(at);
            }
        }
        if namesakes > 0 {
            let verb = if namesakes == 1 { "is" } else { "are" };
            let name = targets.name.clone().unwrap_or_default();
            let what = || format!("{} {verb} not called `{name}`", counted(namesakes, &described(target)));
            self.passed_over(what);
        }
        Ok(targets)
    }

    fn is_called(&mut self, wanted: &str, name: &Expression, manifest: &Manifest) -> bool {
        let is_it = name_of(&manifest.object) == Some(wanted);
        if is_it {
            let document: &Document = self.document;
            self.run.story.say(|| Said {
                what: label(&manifest.object),
                found: "has the name".to_owned(),
                wanted: String::new(),
                verdict: TraceVerdict::Yes,
                location: Some(document.locate(&name.path)),
            });
        }
        is_it
    }

    fn is_where(&mut self, condition: &Expression, names: &Names<'_>, manifest: &Manifest) -> Outcome<bool> {
        let names = Names { resource: Some(&manifest.object), ..*names };
        let holds = self.truth(condition, "`where`", &names);
        let document: &Document = self.document;
        self.run.story.say(|| Said {
            what: label(&manifest.object),
            found: match &holds {
                Ok(holds) => format!("`where` is {holds}"),
                Err(failure) => failure.message.clone(),
            },
            wanted: String::new(),
            verdict: match holds {
                Ok(true) => TraceVerdict::Yes,
                Ok(false) => TraceVerdict::No,
                Err(_) => TraceVerdict::Error,
            },
            location: Some(document.locate(&condition.path)),
        });
        holds
    }

    /// Says how many manifests a target cannot mean.
    pub(super) fn others(&mut self, target: &Target, others: usize) {
        let verb = if others == 1 { "is" } else { "are" };
        if others > 0 {
            self.passed_over(|| format!("{} {verb} no {}", counted(others, "manifest"), described(target)));
        }
    }

    fn passed_over(&mut self, what: impl FnOnce() -> String) {
        self.run.story.say(|| Said {
            what: what(),
            found: String::new(),
            wanted: String::new(),
            verdict: TraceVerdict::NotLooked,
            location: None,
        });
    }
}

/// Returns whether `manifest` is of the plane, kind, group and version of `target`.
fn fits(target: &Target, manifest: &Manifest) -> bool {
    target.plane == manifest.plane && is_sort(target, &manifest.object)
}

/// Returns whether `object` is of the kind, group and version of `target`.
fn is_sort(target: &Target, object: &Value) -> bool {
    if !is_kind(target, object) {
        return false;
    }
    let (group, version) = group_and_version(object);
    target.group.as_deref().is_none_or(|wanted| wanted == group)
        && target.version.as_deref().is_none_or(|wanted| wanted == version)
}

fn is_kind(target: &Target, object: &Value) -> bool {
    target.kind.as_deref().is_none_or(|wanted| object.get("kind").and_then(Value::as_str) == Some(wanted))
}

fn name_of(object: &Value) -> Option<&str> {
    object.get("metadata")?.get("name")?.as_str()
}

/// Returns what `target` is about: `Deployment of apps/v1`.
pub(super) fn described(target: &Target) -> String {
    let kind = target.kind.as_deref().unwrap_or("resource");
    match (target.group.as_deref(), target.version.as_deref()) {
        (None, None) => kind.to_owned(),
        (Some(""), Some(version)) => format!("{kind} of {version}"),
        (Some(""), None) => format!("{kind} of the core group"),
        (Some(group), Some(version)) => format!("{kind} of {group}/{version}"),
        (Some(group), None) => format!("{kind} of {group}"),
        (None, Some(version)) => format!("{kind} of version {version}"),
    }
}

/// Returns how many of something there are: `1 manifest`, `2 Deployments of apps/v1`.
pub(super) fn counted(count: usize, what: &str) -> String {
    let (noun, rest) =
        what.split_once(' ').map_or((what, String::new()), |(noun, rest)| (noun, format!(" {rest}")));
    match count {
        1 => format!("1 {noun}{rest}"),
        _ => format!("{count} {noun}s{rest}"),
    }
}

/// Returns why `target`, whose name is `name`, means none of `manifests`, and what may have been meant.
pub(super) fn why_none(target: &Target, name: Option<&str>, manifests: &[Manifest]) -> (String, String) {
    let wanted = described(target);
    if manifests.is_empty() {
        return ("there are no manifests".to_owned(), String::new());
    }
    if manifests.iter().any(|manifest| fits(target, manifest)) {
        let reason = format!("no {wanted} has the name `{}`", name.unwrap_or_default());
        return (reason, others(target, manifests));
    }
    let on_other_plane =
        |manifest: &&Manifest| manifest.plane != target.plane && is_sort(target, &manifest.object);
    if let Some(other) = manifests.iter().find(on_other_plane) {
        let plane = other.plane;
        let help = format!("write `targetPlane: {plane}`");
        return (format!("{} goes to the {plane}", label(&other.object)), help);
    }
    let of_kind = |manifest: &&Manifest| target.kind.is_some() && is_kind(target, &manifest.object);
    if let Some(other) = manifests.iter().find(of_kind) {
        let version = other.object.get("apiVersion").and_then(Value::as_str).unwrap_or("(none)");
        let (group, version_alone) = group_and_version(&other.object);
        let help = format!("write `group: {group:?}` and `version: {version_alone}`");
        return (format!("{} is of `{version}`", label(&other.object)), help);
    }
    let mut kinds: Vec<&str> =
        manifests.iter().filter_map(|manifest| manifest.object.get("kind").and_then(Value::as_str)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let help = match nearest_word(target.kind.as_deref().unwrap_or_default(), kinds.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            let more = if kinds.len() > TOLD { ", …" } else { "" };
            kinds.truncate(TOLD);
            format!("the manifests are of the kinds {}{more}", kinds.join(", "))
        }
    };
    (format!("there is no {wanted}"), help)
}

/// Says which names there are.
fn others(target: &Target, manifests: &[Manifest]) -> String {
    let fitting = manifests.iter().filter(|manifest| fits(target, manifest));
    let mut names: Vec<&str> =
        fitting.filter_map(|manifest| name_of(&manifest.object)).take(TOLD + 1).collect();
    let more = if names.len() > TOLD { ", …" } else { "" };
    names.truncate(TOLD);
    format!("there is `{}`{more}", names.join("`, `"))
}
