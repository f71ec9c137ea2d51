//! Rules for the controllers that make Pods, generated from policies that match Pods.

use kubewright_engine::nearest_word;
use kubewright_k8s::{Operations, WorkloadKind};
use kubewright_value::suggest::did_you_mean;
use kubewright_value::{Step, Text};

use crate::source::{CelPolicySource, ConstraintsSource, ResourceRule};
use kubewright_dialect_kit::fields::Located;
use kubewright_k8s::PodTemplatePath;

/// The controllers that a policy for Pods also covers.
const CONTROLLERS: [WorkloadKind; 6] = [
    WorkloadKind::DaemonSet,
    WorkloadKind::Deployment,
    WorkloadKind::ReplicaSet,
    WorkloadKind::StatefulSet,
    WorkloadKind::Job,
    WorkloadKind::CronJob,
];

/// A policy for controllers.
#[derive(Clone)]
pub(crate) struct ControllerPolicy {
    pub(crate) name: &'static str,
    /// `None` for controllers whose Pod template path is not known.
    pub(crate) workload: Option<PodTemplatePath>,
    pub(crate) constraints: ConstraintsSource,
}

/// A name in `autogen` that means nothing.
pub(crate) struct UnknownController {
    pub(crate) message: String,
    pub(crate) help: String,
    pub(crate) path: Vec<Step>,
}

/// Returns the policies for controllers that are generated from `policy`.
pub(crate) fn generate_controller_policies(
    policy: &CelPolicySource,
    controllers: Option<&[Located<Text>]>,
) -> Vec<ControllerPolicy> {
    let Some((constraints, operations)) = policy.constraints.as_ref().and_then(pod_constraints) else {
        return Vec::new();
    };
    let names: Vec<&str> = match controllers {
        None => CONTROLLERS.iter().map(|kind| kind.resource()).collect(),
        Some(names) => names.iter().map(|name| name.value.as_str()).collect(),
    };
    let mut generated = Vec::new();
    for (name, workload) in [
        ("autogen-defaults", Some(PodTemplatePath::Template)),
        ("autogen-cronjobs", Some(PodTemplatePath::JobTemplate)),
        ("autogen-extract", None),
    ] {
        let controllers = names.iter().filter_map(|name| find_controller(name));
        let rules: Vec<ResourceRule> = controllers
            .filter(|controller| controller.workload == workload)
            .map(|controller| controller.rule(constraints, operations))
            .collect();
        if !rules.is_empty() {
            let constraints = ConstraintsSource { rules, ..constraints.clone() };
            generated.push(ControllerPolicy { name, workload, constraints });
        }
    }
    generated
}

/// Returns the names of controllers that mean nothing.
pub(crate) fn unknown_controllers(controllers: Option<&[Located<Text>]>) -> Vec<UnknownController> {
    controllers.unwrap_or_default().iter().filter_map(unknown_controller).collect()
}

fn unknown_controller(name: &Located<Text>) -> Option<UnknownController> {
    if find_controller(&name.value).is_some() {
        return None;
    }
    let known = || CONTROLLERS.iter().map(|kind| kind.resource());
    let help = match nearest_word(&name.value, known()) {
        Some(near) => did_you_mean(near),
        None => format!(
            "known: {}; write others as `resource.version.group`, such as `jobsets.v1alpha2.jobset.x-k8s.io`",
            known().collect::<Vec<_>>().join(", ")
        ),
    };
    Some(UnknownController {
        message: format!("`{}` is no controller", name.value),
        help,
        path: name.path.clone(),
    })
}

/// A kind that makes Pods.
struct AutogenController<'n> {
    group: &'n str,
    version: &'n str,
    resource: &'n str,
    workload: Option<PodTemplatePath>,
}

/// Returns the controller called `name`: a built-in one, or `resource.version.group`.
fn find_controller(name: &str) -> Option<AutogenController<'_>> {
    if let Some(kind) = CONTROLLERS.iter().find(|kind| kind.resource() == name) {
        let workload = Some(kind.template_path());
        return Some(AutogenController { group: kind.group(), version: "v1", resource: name, workload });
    }
    let (resource, rest) = name.split_once('.')?;
    let (version, group) = rest.split_once('.')?;
    let is_full = [resource, version, group].iter().all(|part| !part.is_empty());
    is_full.then_some(AutogenController { group, version, resource, workload: None })
}

impl AutogenController<'_> {
    fn rule(&self, constraints: &ConstraintsSource, operations: Operations) -> ResourceRule {
        ResourceRule {
            groups: vec![self.group.into()],
            versions: vec![self.version.into()],
            resources: vec![Located { value: self.resource.into(), path: constraints.path.clone() }],
            operations,
            ..ResourceRule::default()
        }
    }
}

/// Returns the constraints and operations of a policy that matches only Pods, in any spelling.
fn pod_constraints(constraints: &ConstraintsSource) -> Option<(&ConstraintsSource, Operations)> {
    let selects = constraints.object_selector.as_ref().is_some_and(|selector| !selector.is_empty());
    let [rule] = constraints.rules.as_slice() else { return None };
    let is_only = |list: &[Text], value: &str| matches!(list, [one] if one == value);
    let is_pods = matches!(rule.resources.as_slice(), [one] if one.value == "pods")
        && is_only(&rule.groups, "")
        && is_only(&rule.versions, "v1");
    let is_plain = !selects && constraints.exclude.is_empty() && rule.names.is_empty();
    (is_pods && is_plain).then_some((constraints, rule.operations))
}
