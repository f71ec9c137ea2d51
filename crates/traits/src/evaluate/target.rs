//! The manifests that a target matches, and the reason if there are none.

use kubewright_cel::{CelBindings, CelCost, CelReason, Val};
use kubewright_engine::{TraceNode, TraceVerdict, nearest_word};
use kubewright_value::suggest::did_you_mean;
use kubewright_value::{Document, Text, Value};

use super::trace::TraceEntry;
use super::{Evaluator, StepResult};
use crate::compile::PlacedExpression;
use crate::compile::program::CompiledTarget;
use crate::manifest::{Manifest, group_and_version, manifest_label};
use crate::variables::VariableScope;

/// The maximum number of names listed in a message.
const MAX_LISTED_MANIFESTS: usize = 6;

/// The manifests that a target matches.
#[derive(Default)]
pub(super) struct Targets {
    /// The number of manifests with the kind, group, version and name.
    pub(super) candidates: usize,
    /// The number of manifests with another kind, group, version or plane.
    pub(super) others: usize,
    /// The indices of those for which `where` is true.
    pub(super) kept: Vec<usize>,
    /// The name of the target, if a manifest matches the rest.
    pub(super) name: Option<Text>,
}

impl Evaluator<'_> {
    /// Returns the manifests that `target` matches. `where` sees each in its current state.
    pub(super) fn targets(
        &mut self,
        target: &CompiledTarget,
        names: &VariableScope<'_>,
        manifests: &[Manifest],
    ) -> StepResult<Targets> {
        let mut targets = Targets::default();
        self.spend(manifests.len() as u64, &target.path)?;
        let mut namesakes = 0;
        for (at, manifest) in manifests.iter().enumerate() {
            if !fits_target(target, manifest) {
                targets.others += 1;
                continue;
            }
            if let Some(name) = &target.name {
                let wanted = match targets.name.take() {
                    Some(wanted) => wanted,
                    None => self.text(name, "`name`", names)?,
                };
                let is_it = self.has_wanted_name(&wanted, name, manifest);
                targets.name = Some(wanted);
                if !is_it {
                    namesakes += 1;
                    continue;
                }
            }
            targets.candidates += 1;
            let is_kept = match &target.condition {
                Some(condition) => self.meets_where(condition, names, manifest)?,
                None => true,
            };
            if is_kept {
                targets.kept.push(at);
            }
        }
        if namesakes > 0 {
            let verb = if namesakes == 1 { "is" } else { "are" };
            let name = targets.name.clone().unwrap_or_default();
            let what =
                || format!("{} {verb} not called `{name}`", count_of(namesakes, &describe_target(target)));
            self.trace_skipped(what);
        }
        Ok(targets)
    }

    fn has_wanted_name(&mut self, wanted: &str, name: &PlacedExpression, manifest: &Manifest) -> bool {
        let is_it = manifest_name(&manifest.object) == Some(wanted);
        if is_it {
            let document: &Document = self.document;
            self.run.trace.add(|| TraceEntry {
                what: manifest_label(&manifest.object),
                found: "has the name".to_owned(),
                wanted: String::new(),
                verdict: TraceVerdict::Yes,
                location: Some(document.locate(&name.path)),
            });
        }
        is_it
    }

    fn meets_where(
        &mut self,
        condition: &PlacedExpression,
        names: &VariableScope<'_>,
        manifest: &Manifest,
    ) -> StepResult<bool> {
        let names = VariableScope { resource: Some(&manifest.object), ..*names };
        let holds = self.evaluate_condition(condition, "`where`", &names);
        let document: &Document = self.document;
        self.run.trace.add(|| TraceEntry {
            what: manifest_label(&manifest.object),
            found: match &holds {
                Ok(true) => "`where` is true".to_owned(),
                Ok(false) => format!("`where` is false{}", part_values(condition, &names)),
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

    /// Traces the number of manifests that a target cannot match.
    pub(super) fn others(&mut self, target: &CompiledTarget, others: usize) {
        let verb = if others == 1 { "is" } else { "are" };
        if others > 0 {
            self.trace_skipped(|| {
                format!("{} {verb} no {}", count_of(others, "manifest"), describe_target(target))
            });
        }
    }

    fn trace_skipped(&mut self, what: impl FnOnce() -> String) {
        self.run.trace.add(|| TraceEntry {
            what: what(),
            found: String::new(),
            wanted: String::new(),
            verdict: TraceVerdict::NotLooked,
            location: None,
        });
    }
}

/// Returns the values of the parts of a condition: `: a is 1, b is 2`.
fn part_values(condition: &PlacedExpression, names: &VariableScope<'_>) -> String {
    let bindings = CelBindings::new().with_variables(names);
    let programs = condition.value.programs();
    let reasons = programs.map(|(program, _)| program.explain(&bindings, &mut CelCost::default()));
    let mut values = Vec::new();
    reasons.for_each(|reason| collect_values(&reason, &mut values));
    values.truncate(MAX_LISTED_MANIFESTS);
    if values.is_empty() { String::new() } else { format!(": {}", values.join(", ")) }
}

fn collect_values(reason: &CelReason<'_>, values: &mut Vec<String>) {
    for part in reason.children.iter().filter(|part| !part.is_constant) {
        match &part.value {
            Ok(value) if !matches!(value, Val::Bool(_)) => {
                let shown = value.to_value().map(|value| TraceNode::show(&value));
                values.extend(shown.map(|shown| format!("{} is {shown}", part.text)));
            }
            _ => collect_values(part, values),
        }
    }
}

/// Returns whether `manifest` is of the plane, kind, group and version of `target`.
fn fits_target(target: &CompiledTarget, manifest: &Manifest) -> bool {
    target.plane == manifest.plane && is_group_version_kind(target, &manifest.object)
}

/// Returns whether `object` is of the kind, group and version of `target`.
fn is_group_version_kind(target: &CompiledTarget, object: &Value) -> bool {
    if !is_target_kind(target, object) {
        return false;
    }
    let (group, version) = group_and_version(object);
    target.group.as_deref().is_none_or(|wanted| wanted == group)
        && target.version.as_deref().is_none_or(|wanted| wanted == version)
}

fn is_target_kind(target: &CompiledTarget, object: &Value) -> bool {
    target.kind.as_deref().is_none_or(|wanted| object.get("kind").and_then(Value::as_str) == Some(wanted))
}

fn manifest_name(object: &Value) -> Option<&str> {
    object.get("metadata")?.get("name")?.as_str()
}

/// Returns the description of `target`: `Deployment of apps/v1`.
pub(super) fn describe_target(target: &CompiledTarget) -> String {
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

/// Returns a count with its noun: `1 manifest`, `2 Deployments of apps/v1`.
pub(super) fn count_of(count: usize, what: &str) -> String {
    let (noun, rest) =
        what.split_once(' ').map_or((what, String::new()), |(noun, rest)| (noun, format!(" {rest}")));
    match count {
        1 => format!("1 {noun}{rest}"),
        _ => format!("{count} {noun}s{rest}"),
    }
}

/// Returns why `target`, whose name is `name`, matches none of `manifests`, and a suggestion.
pub(super) fn explain_no_target(
    target: &CompiledTarget,
    name: Option<&str>,
    manifests: &[Manifest],
) -> (String, String) {
    let wanted = describe_target(target);
    if manifests.is_empty() {
        return ("there are no manifests".to_owned(), String::new());
    }
    if manifests.iter().any(|manifest| fits_target(target, manifest)) {
        let reason = format!("no {wanted} has the name `{}`", name.unwrap_or_default());
        return (reason, others(target, manifests));
    }
    let on_other_plane = |manifest: &&Manifest| {
        manifest.plane != target.plane && is_group_version_kind(target, &manifest.object)
    };
    if let Some(other) = manifests.iter().find(on_other_plane) {
        let plane = other.plane;
        let help = format!("write `targetPlane: {plane}`");
        return (format!("{} goes to the {plane}", manifest_label(&other.object)), help);
    }
    let of_kind = |manifest: &&Manifest| target.kind.is_some() && is_target_kind(target, &manifest.object);
    if let Some(other) = manifests.iter().find(of_kind) {
        let version = other.object.get("apiVersion").and_then(Value::as_str).unwrap_or("(none)");
        let (group, version_alone) = group_and_version(&other.object);
        let help = format!("write `group: {group:?}` and `version: {version_alone}`");
        return (format!("{} is of `{version}`", manifest_label(&other.object)), help);
    }
    let mut kinds: Vec<&str> =
        manifests.iter().filter_map(|manifest| manifest.object.get("kind").and_then(Value::as_str)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let help = match nearest_word(target.kind.as_deref().unwrap_or_default(), kinds.iter().copied()) {
        Some(near) => did_you_mean(near),
        None => {
            let more = if kinds.len() > MAX_LISTED_MANIFESTS { ", …" } else { "" };
            kinds.truncate(MAX_LISTED_MANIFESTS);
            format!("the manifests are of the kinds {}{more}", kinds.join(", "))
        }
    };
    (format!("there is no {wanted}"), help)
}

/// Returns the list of existing names.
fn others(target: &CompiledTarget, manifests: &[Manifest]) -> String {
    let fitting = manifests.iter().filter(|manifest| fits_target(target, manifest));
    let mut names: Vec<&str> = fitting
        .filter_map(|manifest| manifest_name(&manifest.object))
        .take(MAX_LISTED_MANIFESTS + 1)
        .collect();
    let more = if names.len() > MAX_LISTED_MANIFESTS { ", …" } else { "" };
    names.truncate(MAX_LISTED_MANIFESTS);
    format!("there is `{}`{more}", names.join("`, `"))
}
