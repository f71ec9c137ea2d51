//! Rewrites rules for Pods for the controllers that make Pods.
//!
//! It is decided for the whole policy at once: one rule that names or selects its objects turns it off for all of
//! them. Only who is rewritten, for which kinds, is decided here; patterns and expressions are rewritten elsewhere.

use kubewright_engine::{Diagnostic, nearest_word};
use kubewright_golib::glob;
use kubewright_k8s::WorkloadKind;
use kubewright_value::suggest::did_you_mean;
use kubewright_value::{Document, Step, Text};

use super::diagnostics as code;
use super::matching::kind::kind_parts;
use super::source::{Match, Method, PolicySource, ResourceFilter, RuleSource};
use kubewright_dialect_kit::fields::{Located, child_path};
use kubewright_k8s::PodTemplatePath;

/// A rule that is rewritten.
#[derive(Debug, Clone)]
pub struct AutogenRule {
    /// The index in [`PolicySource::rules`].
    pub rule: usize,
    /// The name of the rewritten rule.
    pub name: Text,
    /// Where the controllers describe their Pods.
    pub workload: PodTemplatePath,
    /// The `match` with the controllers in place of Pods.
    pub matching: Match,
    /// The `exclude` with the controllers in place of Pods.
    pub exclude: Option<Match>,
}

/// Why rules are not rewritten, with the location of the reason.
#[derive(Debug, Clone)]
struct Off {
    reason: String,
    path: Vec<Step>,
}

/// The controllers, in the order in which they are listed.
const CONTROLLERS: [WorkloadKind; 7] = [
    WorkloadKind::DaemonSet,
    WorkloadKind::Deployment,
    WorkloadKind::Job,
    WorkloadKind::ReplicaSet,
    WorkloadKind::ReplicationController,
    WorkloadKind::StatefulSet,
    WorkloadKind::CronJob,
];

const NAME_LIMIT: usize = 63;

/// Returns the rules that are rewritten, in the order of the rules they come from.
#[must_use]
pub fn autogen_rules(policy: &PolicySource) -> Vec<AutogenRule> {
    if off_for_all(policy).is_some() {
        return Vec::new();
    }
    let wanted = wanted_controllers(policy);
    let (cron_jobs, templates): (Vec<_>, Vec<_>) = CONTROLLERS
        .into_iter()
        .filter(|kind| wanted.contains(&kind.name()))
        .partition(|kind| *kind == WorkloadKind::CronJob);
    let mut generated = Vec::new();
    for (index, rule) in policy.rules.iter().enumerate().filter(|(_, rule)| is_rewritten(rule)) {
        for (workload, prefix, controllers) in [
            (PodTemplatePath::Template, "autogen", &templates),
            (PodTemplatePath::JobTemplate, "autogen-cronjob", &cron_jobs),
        ] {
            if !controllers.is_empty() {
                let kinds: Vec<Text> = controllers.iter().map(|kind| kind.full_name().into()).collect();
                generated.push(AutogenRule {
                    rule: index,
                    name: autogen_rule_name(prefix, &rule.name.value),
                    workload,
                    matching: match_for_controllers(&rule.matching, &kinds),
                    exclude: rule.exclude.as_ref().map(|exclude| excluded(exclude, &kinds)),
                });
            }
        }
    }
    generated
}

/// Returns the annotation that limits the controllers that rules about Pods are rewritten for.
pub(super) fn autogen_limit(policy: &PolicySource) -> Option<&Located<Text>> {
    policy.annotations.autogen_controllers.as_ref().filter(|_| off_for_all(policy).is_none())
}

/// Returns hints for the author: rules that see Pods but not their controllers, and the annotation.
pub(super) fn autogen_warnings(document: &Document, policy: &PolicySource) -> Vec<Diagnostic> {
    let mut warnings = check_autogen_annotation(document, policy);
    if !wanted_controllers(policy).iter().any(|name| is_controller(name)) {
        return warnings;
    }
    let off = off_for_all(policy);
    for rule in policy.rules.iter().filter(|rule| sees_only_pods(rule)) {
        let Some(off) = off.clone().or_else(|| off_for(rule)) else { continue };
        let message = format!(
            "rule `{}` sees Pods, and not the Deployments and others that make them",
            rule.name.value
        );
        warnings.push(
            Diagnostic::new(&code::AUTOGEN_OFF, message, document.locate(&off.path)).label(off.reason).help(
                "match the controllers by name, or move the filter into `preconditions`; if this is intended, set `pod-policies.kyverno.io/autogen-controllers: none`",
            ),
        );
    }
    warnings
}

/// Returns the reason that turns it off for the whole policy.
fn off_for_all(policy: &PolicySource) -> Option<Off> {
    let mut is_needed = false;
    for rule in &policy.rules {
        if let Some(field) = rule.stops_autogen {
            let reason = format!("`{field}` turns the rewriting off for all rules of the policy");
            return Some(Off { reason, path: rule.path.clone() });
        }
        for filter in rule_filters(rule) {
            if let Some(off) = stopped_by(filter) {
                return Some(off);
            }
            is_needed |= filter.kinds.iter().any(|kind| kind.value == "Pod" || is_controller(&kind.value));
        }
    }
    if is_needed {
        return None;
    }
    let kinds = policy.rules.iter().flat_map(rule_filters).flat_map(|filter| &filter.kinds);
    let first = kinds.into_iter().find(|kind| is_pod(&kind.value));
    Some(Off {
        reason: "only the plain kind `Pod` is rewritten".to_owned(),
        path: first.map(|kind| kind.path.clone()).unwrap_or_default(),
    })
}

/// Returns the part of a `match` or `exclude` entry that turns it off.
fn stopped_by(filter: &ResourceFilter) -> Option<Off> {
    let resources = child_path(&filter.path, "resources");
    let off = |key: &str| {
        let reason = format!("`{key}` turns the rewriting off for all rules of the policy");
        Some(Off { reason, path: child_path(&resources, key) })
    };
    if filter.name.is_some() {
        return off("name");
    }
    if !filter.names.is_empty() {
        return off("names");
    }
    if filter.selector.is_some() {
        return off("selector");
    }
    if !filter.annotations.is_empty() {
        return off("annotations");
    }
    if filter.kinds.len() > 1 && filter.kinds.iter().any(|kind| is_pod(&kind.value)) {
        let reason =
            "`Pod` beside other kinds turns the rewriting off for all rules of the policy".to_owned();
        return Some(Off { reason, path: child_path(&resources, "kinds") });
    }
    None
}

/// Returns why one rule is not rewritten in a policy that is.
fn off_for(rule: &RuleSource) -> Option<Off> {
    let exclude = rule.exclude.as_ref()?;
    let excluded: Vec<&Located<Text>> = all_match_entries(exclude).flat_map(|filter| &filter.kinds).collect();
    let is_off = !excluded.is_empty() && !excluded.iter().any(|kind| is_pod(&kind.value));
    is_off.then(|| Off {
        reason: "a rule whose `exclude` names kinds without `Pod` is not rewritten".to_owned(),
        path: excluded.first().map(|kind| kind.path.clone()).unwrap_or_default(),
    })
}

fn is_rewritten(rule: &RuleSource) -> bool {
    let has_way = match &rule.validate.method {
        // A signature covers the whole object.
        Method::Manifests(_) => false,
        // A controller of the Pod would lead to the same targets.
        Method::Mutate(mutate) => mutate.targets.is_empty(),
        _ => true,
    };
    let is_about_pods =
        all_match_entries(&rule.matching).flat_map(|filter| &filter.kinds).any(|kind| is_pod(&kind.value));
    has_way && is_about_pods && !rule.name.value.starts_with("autogen-") && off_for(rule).is_none()
}

/// Returns the controllers that are wanted: those of the annotation, or all.
fn wanted_controllers(policy: &PolicySource) -> Vec<&str> {
    match &policy.annotations.autogen_controllers {
        // Kyverno does not trim, and so loses `B` of `A, B`.
        Some(text) => text.value.split(',').map(str::trim).collect(),
        None => CONTROLLERS.iter().map(|kind| kind.name()).collect(),
    }
}

fn check_autogen_annotation(document: &Document, policy: &PolicySource) -> Vec<Diagnostic> {
    let Some(text) = &policy.annotations.autogen_controllers else { return Vec::new() };
    let mut warnings = Vec::new();
    for word in text.value.split(',') {
        let name = word.trim();
        let location = document.locate(&text.path);
        if name != word && is_controller(name) {
            let message = format!("Kyverno does not rewrite for `{name}`, because of the space beside it");
            let help =
                format!("write `{}`", text.value.split(',').map(str::trim).collect::<Vec<_>>().join(","));
            warnings.push(Diagnostic::new(&code::AUTOGEN_SPACES, message, location).help(help));
        } else if !is_controller(name) && !["none", "all", ""].contains(&name) {
            let known = CONTROLLERS.map(WorkloadKind::name);
            let help = match nearest_word(name, known) {
                Some(near) => did_you_mean(near),
                None => {
                    format!("use some of {}, or `none`", known.map(|kind| format!("`{kind}`")).join(", "))
                }
            };
            let message = format!("`{name}` is not a controller that rules are rewritten for");
            warnings.push(Diagnostic::new(&code::UNKNOWN_CONTROLLER, message, location).help(help));
        }
    }
    warnings
}

/// Returns whether a rule checks Pods as such, and no controller.
fn sees_only_pods(rule: &RuleSource) -> bool {
    if matches!(rule.validate.method, Method::Mutate(_) | Method::Generate(_) | Method::Images(_)) {
        return false;
    }
    let kinds = || {
        let kinds = all_match_entries(&rule.matching).flat_map(|filter| &filter.kinds);
        kinds.map(|kind| kind_parts(&kind.value)).filter(|[_, _, _, subresource]| subresource.is_empty())
    };
    kinds().any(|[_, _, kind, _]| kind == "Pod") && !kinds().any(|[_, _, kind, _]| is_controller(kind))
}

/// Replaces Pods by the controllers. Other entries are kept as far as they match these controllers.
fn match_for_controllers(matching: &Match, kinds: &[Text]) -> Match {
    let mut about = matching.clone();
    about.any.retain_mut(|filter| {
        let is_wild = |kind: &Located<Text>| glob::has_wildcard(kind_parts(&kind.value)[2]);
        if has_pod(filter) || filter.kinds.iter().any(is_wild) {
            replace_pod_kinds(filter, kinds);
            return true;
        }
        filter.kinds.retain(|kind| is_controller_kind(&kind.value, kinds));
        !filter.kinds.is_empty()
    });
    about.all.iter_mut().filter(|filter| has_pod(filter)).for_each(|filter| replace_pod_kinds(filter, kinds));
    if about.any.is_empty() && about.all.is_empty() {
        about.flat.iter_mut().for_each(|filter| replace_pod_kinds(filter, kinds));
    }
    about
}

fn excluded(exclude: &Match, kinds: &[Text]) -> Match {
    let mut excluded = exclude.clone();
    let entries = excluded.any.iter_mut().chain(&mut excluded.all).chain(&mut excluded.flat);
    entries.filter(|filter| has_pod(filter)).for_each(|filter| replace_pod_kinds(filter, kinds));
    excluded
}

fn replace_pod_kinds(filter: &mut ResourceFilter, kinds: &[Text]) {
    let path = filter.kinds.first().map_or_else(|| filter.path.clone(), |kind| kind.path.clone());
    filter.kinds = kinds.iter().map(|kind| Located { value: kind.clone(), path: path.clone() }).collect();
}

fn rule_filters(rule: &RuleSource) -> impl Iterator<Item = &ResourceFilter> {
    all_match_entries(&rule.matching).chain(rule.exclude.iter().flat_map(all_match_entries))
}

fn all_match_entries(matching: &Match) -> impl Iterator<Item = &ResourceFilter> {
    matching.flat.iter().chain(&matching.any).chain(&matching.all)
}

fn has_pod(filter: &ResourceFilter) -> bool {
    filter.kinds.iter().any(|kind| is_pod(&kind.value))
}

/// Returns whether a kind is Pod, with or without group, version and subresource.
fn is_pod(kind: &str) -> bool {
    matches!(kind_parts(kind), [_, _, "Pod", _])
}

fn is_controller_kind(kind: &str, controllers: &[Text]) -> bool {
    let [_, _, name, _] = kind_parts(kind);
    controllers.iter().any(|full| matches!(kind_parts(full), [_, _, controller, _] if controller == name))
}

fn is_controller(kind: &str) -> bool {
    WorkloadKind::named(kind).is_some()
}

/// Returns the name of a rewritten rule, which is cut where Kubernetes ends labels.
fn autogen_rule_name(prefix: &str, rule: &str) -> Text {
    let mut name = format!("{prefix}-{rule}");
    while name.len() > NAME_LIMIT {
        name.pop();
    }
    Text::new(name)
}

#[cfg(test)]
mod tests;
