//! Which policies about Pods are also asked about the controllers that make Pods, and which controllers.

use kubewright_engine::nearest_word;
use kubewright_k8s::{Operations, WorkloadKind};
use kubewright_value::{Step, Text};

use super::source::Settings;
use crate::source::{Constraints, Policy, ResourceRule};
use kubewright_dialect_kit::fields::Placed;
use kubewright_dialect_kit::workload::Workload;

/// The controllers that a policy about Pods is also asked about.
const CONTROLLERS: [WorkloadKind; 6] = [
    WorkloadKind::DaemonSet,
    WorkloadKind::Deployment,
    WorkloadKind::ReplicaSet,
    WorkloadKind::StatefulSet,
    WorkloadKind::Job,
    WorkloadKind::CronJob,
];

/// A policy for controllers.
pub(super) struct Generated {
    pub(super) name: &'static str,
    /// Nothing for controllers of which nobody knows where they describe Pods.
    pub(super) workload: Option<Workload>,
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
    let names: Vec<&str> = match &settings.controllers {
        None => CONTROLLERS.iter().map(|kind| kind.resource()).collect(),
        Some(names) => names.iter().map(|name| name.value.as_str()).collect(),
    };
    let mut generated = Vec::new();
    for (name, workload) in [
        ("autogen-defaults", Some(Workload::Template)),
        ("autogen-cronjobs", Some(Workload::JobTemplate)),
        ("autogen-extract", None),
    ] {
        let controllers = names.iter().filter_map(|name| controller(name));
        let rules: Vec<ResourceRule> = controllers
            .filter(|controller| controller.workload == workload)
            .map(|controller| controller.rule(constraints, operations))
            .collect();
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
    names.filter_map(unknown_name).collect()
}

fn unknown_name(name: &Placed<Text>) -> Option<Unknown> {
    if controller(&name.value).is_some() {
        return None;
    }
    let known = || CONTROLLERS.iter().map(|kind| kind.resource());
    let help = match nearest_word(&name.value, known()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!(
            "known: {}; write others as `resource.version.group`, such as `jobsets.v1alpha2.jobset.x-k8s.io`",
            known().collect::<Vec<_>>().join(", ")
        ),
    };
    Some(Unknown { message: format!("`{}` is no controller", name.value), help, path: name.path.clone() })
}

/// What makes Pods.
struct Controller<'n> {
    group: &'n str,
    version: &'n str,
    resource: &'n str,
    workload: Option<Workload>,
}

/// Returns the controller called `name`: one of those that everybody knows, or `resource.version.group`.
fn controller(name: &str) -> Option<Controller<'_>> {
    if let Some(kind) = CONTROLLERS.iter().find(|kind| kind.resource() == name) {
        let workload = Some(kind.template_path());
        return Some(Controller { group: kind.group(), version: "v1", resource: name, workload });
    }
    let (resource, rest) = name.split_once('.')?;
    let (version, group) = rest.split_once('.')?;
    let is_full = [resource, version, group].iter().all(|part| !part.is_empty());
    is_full.then_some(Controller { group, version, resource, workload: None })
}

impl Controller<'_> {
    fn rule(&self, constraints: &Constraints, operations: Operations) -> ResourceRule {
        ResourceRule {
            groups: vec![self.group.into()],
            versions: vec![self.version.into()],
            resources: vec![Placed { value: self.resource.into(), path: constraints.path.clone() }],
            operations,
            ..ResourceRule::default()
        }
    }
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
