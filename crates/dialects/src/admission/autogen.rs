//! Which policies about Pods are also asked about the controllers that make Pods, and which controllers.

use kubewright_engine::{Operations, nearest};
use kubewright_value::{Step, Text};

use super::source::{Constraints, Policy, ResourceRule, Settings};
use crate::fields::Placed;
use crate::workload::Workload;

/// The controllers by the names that policies have for them: resource, group, and where the Pod is described.
const CONTROLLERS: [(&str, &str, Workload); 6] = [
    ("daemonsets", "apps", Workload::Template),
    ("deployments", "apps", Workload::Template),
    ("replicasets", "apps", Workload::Template),
    ("statefulsets", "apps", Workload::Template),
    ("jobs", "batch", Workload::Template),
    ("cronjobs", "batch", Workload::CronJob),
];

/// A policy for controllers.
pub(super) struct Generated {
    pub(super) name: &'static str,
    pub(super) workload: Workload,
    pub(super) constraints: Constraints,
}

/// A name in `autogen` that means nothing.
pub(super) struct Unknown {
    pub(super) message: String,
    pub(super) help: String,
    pub(super) path: Vec<Step>,
}

/// Returns the policies for controllers that are made of `policy`.
pub(super) fn generate(policy: &Policy, settings: &Settings) -> Vec<Generated> {
    let Some((constraints, operations)) = policy.constraints.as_ref().and_then(about_pods) else {
        return Vec::new();
    };
    let wanted = |name: &str| match &settings.controllers {
        None => true,
        Some(names) => names.iter().any(|one| one.value == name),
    };
    let mut generated = Vec::new();
    for (name, workload) in
        [("autogen-defaults", Workload::Template), ("autogen-cronjobs", Workload::CronJob)]
    {
        let mut rules: Vec<ResourceRule> = Vec::new();
        let controllers = CONTROLLERS.iter().filter(|(name, _, of)| *of == workload && wanted(name));
        for (resource, group, _) in controllers {
            let resource = Placed { value: Text::new(resource), path: constraints.path.clone() };
            match rules.iter_mut().find(|rule| rule.groups.iter().any(|known| known == group)) {
                Some(rule) => rule.resources.push(resource),
                None => rules.push(ResourceRule {
                    groups: vec![Text::new(group)],
                    versions: vec!["v1".into()],
                    resources: vec![resource],
                    operations,
                    ..ResourceRule::default()
                }),
            }
        }
        if !rules.is_empty() {
            let constraints = Constraints { rules, ..constraints.clone() };
            generated.push(Generated { name, workload, constraints });
        }
    }
    generated
}

/// Returns the names of controllers that mean nothing.
pub(super) fn unknown(settings: &Settings) -> Vec<Unknown> {
    let names = settings.controllers.iter().flatten();
    names.filter_map(|name| unknown_name(name)).collect()
}

fn unknown_name(name: &Placed<Text>) -> Option<Unknown> {
    let known = || CONTROLLERS.iter().map(|(name, ..)| *name);
    if known().any(|known| known == name.value) {
        return None;
    }
    let help = match nearest(&name.value, known()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known: {}", known().collect::<Vec<_>>().join(", ")),
    };
    Some(Unknown { message: format!("`{}` is no controller", name.value), help, path: name.path.clone() })
}

/// Returns the constraints, and the operations, of a policy about Pods and nothing but Pods, however they are called.
fn about_pods(constraints: &Constraints) -> Option<(&Constraints, Operations)> {
    let selects = constraints.object_selector.as_ref().is_some_and(|selector| !selector.is_empty());
    let [rule] = constraints.rules.as_slice() else { return None };
    let is_only = |list: &[Text], value: &str| matches!(list, [one] if one == value);
    let is_pods = matches!(rule.resources.as_slice(), [one] if one.value == "pods")
        && is_only(&rule.groups, "")
        && is_only(&rule.versions, "v1");
    let is_plain = !selects && constraints.exclude.is_empty() && rule.names.is_empty();
    (is_pods && is_plain).then_some((constraints, rule.operations))
}
