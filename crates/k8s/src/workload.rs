//! The kinds that make Pods, and where they describe them.

use kubewright_value::Value;

/// A built-in kind that makes Pods from a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WorkloadKind {
    /// `apps/v1/DaemonSet`
    DaemonSet,
    /// `apps/v1/Deployment`
    Deployment,
    /// `apps/v1/ReplicaSet`
    ReplicaSet,
    /// `apps/v1/StatefulSet`
    StatefulSet,
    /// `batch/v1/Job`
    Job,
    /// `batch/v1/CronJob`
    CronJob,
    /// `v1/ReplicationController`
    ReplicationController,
}

impl WorkloadKind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::DaemonSet,
        Self::Deployment,
        Self::ReplicaSet,
        Self::StatefulSet,
        Self::Job,
        Self::CronJob,
        Self::ReplicationController,
    ];

    /// Returns the workload kind called `kind`.
    #[must_use]
    pub fn named(kind: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|workload| workload.name() == kind)
    }

    /// Returns the kind: `Deployment`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::DaemonSet => "DaemonSet",
            Self::Deployment => "Deployment",
            Self::ReplicaSet => "ReplicaSet",
            Self::StatefulSet => "StatefulSet",
            Self::Job => "Job",
            Self::CronJob => "CronJob",
            Self::ReplicationController => "ReplicationController",
        }
    }

    /// Returns the plural in the paths of the API server: `deployments`.
    #[must_use]
    pub fn resource(self) -> &'static str {
        match self {
            Self::DaemonSet => "daemonsets",
            Self::Deployment => "deployments",
            Self::ReplicaSet => "replicasets",
            Self::StatefulSet => "statefulsets",
            Self::Job => "jobs",
            Self::CronJob => "cronjobs",
            Self::ReplicationController => "replicationcontrollers",
        }
    }

    /// Returns the API group; empty for the core group. All of them have the version `v1`.
    #[must_use]
    pub fn group(self) -> &'static str {
        match self {
            Self::DaemonSet | Self::Deployment | Self::ReplicaSet | Self::StatefulSet => "apps",
            Self::Job | Self::CronJob => "batch",
            Self::ReplicationController => "",
        }
    }

    /// Returns group, version and kind as rules write them: `apps/v1/Deployment`, `v1/ReplicationController`.
    #[must_use]
    pub fn full_name(self) -> String {
        match self.group() {
            "" => format!("v1/{}", self.name()),
            group => format!("{group}/v1/{}", self.name()),
        }
    }

    /// Returns where objects of the kind have their Pod template.
    #[must_use]
    pub fn template_path(self) -> PodTemplatePath {
        match self {
            Self::CronJob => PodTemplatePath::JobTemplate,
            _ => PodTemplatePath::Template,
        }
    }

    /// Returns the kinds of the objects that one of this kind makes, itself or through others. Their names begin with
    /// its own and `-`.
    #[must_use]
    pub fn made_kinds(self) -> &'static [&'static str] {
        match self {
            Self::Deployment => &["ReplicaSet", "Pod"],
            Self::CronJob => &["Job", "Pod"],
            _ => &["Pod"],
        }
    }

    /// Returns whether people write objects of the kind themselves, instead of a controller that makes them.
    #[must_use]
    pub fn is_top_level(self) -> bool {
        !matches!(self, Self::ReplicaSet | Self::ReplicationController)
    }
}

/// Where an object describes Pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PodTemplatePath {
    /// The object is a Pod.
    Pod,
    /// In `spec.template`.
    Template,
    /// In `spec.jobTemplate.spec.template`.
    JobTemplate,
    /// In `template`, as a PodTemplate has it.
    Bare,
}

impl PodTemplatePath {
    /// Returns where objects of the built-in kind `kind` describe Pods.
    #[must_use]
    pub fn of_kind(kind: &str) -> Option<Self> {
        match kind {
            "Pod" => Some(Self::Pod),
            "PodTemplate" => Some(Self::Bare),
            kind => WorkloadKind::named(kind).map(WorkloadKind::template_path),
        }
    }

    /// Returns the keys that lead to the Pod template, which has `metadata` and `spec` of a Pod.
    #[must_use]
    pub fn keys(self) -> &'static [&'static str] {
        self.spec_keys().split_last().map_or(&[], |(_, keys)| keys)
    }

    /// Returns the keys that lead to the `spec` of the Pod.
    #[must_use]
    pub fn spec_keys(self) -> &'static [&'static str] {
        match self {
            Self::Pod => &["spec"],
            Self::Template => &["spec", "template", "spec"],
            Self::JobTemplate => &["spec", "jobTemplate", "spec", "template", "spec"],
            Self::Bare => &["template", "spec"],
        }
    }

    /// Returns the path of the `spec` of the Pod as text.
    #[must_use]
    pub fn spec_path(self) -> &'static str {
        match self {
            Self::Pod => "spec",
            Self::Template => "spec.template.spec",
            Self::JobTemplate => "spec.jobTemplate.spec.template.spec",
            Self::Bare => "template.spec",
        }
    }

    /// Returns the path of the tolerations of the Pod as text.
    #[must_use]
    pub fn tolerations_path(self) -> &'static str {
        match self {
            Self::Pod => "spec.tolerations",
            Self::Template => "spec.template.spec.tolerations",
            Self::JobTemplate => "spec.jobTemplate.spec.template.spec.tolerations",
            Self::Bare => "template.spec.tolerations",
        }
    }

    /// Returns the Pod template of `object`; the object itself, if it is a Pod.
    #[must_use]
    pub fn template(self, object: &Value) -> Option<&Value> {
        if self == Self::Pod { Some(object) } else { object.at(self.keys()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GroupVersionKind, fields, is_cluster_scoped, resource_name};

    #[test]
    fn workload_kinds_agree_with_the_plurals_and_fields_of_built_in_kinds() {
        for workload in WorkloadKind::ALL {
            assert_eq!(WorkloadKind::named(workload.name()), Some(workload));
            assert_eq!(workload.resource(), resource_name(workload.name()));
            let path: Vec<&str> = [workload.template_path().spec_keys(), &["containers"]].concat();
            assert_eq!(fields::unknown_field_of_kind(workload.name(), &path), None, "{workload:?}");
            let kind = GroupVersionKind {
                group: workload.group().into(),
                version: "v1".into(),
                kind: workload.name().into(),
            };
            assert!(!is_cluster_scoped(&kind));
        }
    }

    #[test]
    fn pod_template_paths_say_the_same_as_keys_and_as_text() {
        use PodTemplatePath::{Bare, JobTemplate, Pod, Template};
        for path in [Pod, Template, JobTemplate, Bare] {
            assert_eq!(path.spec_keys().join("."), path.spec_path());
            assert_eq!(format!("{}.tolerations", path.spec_path()), path.tolerations_path());
        }
        assert_eq!(Template.keys(), ["spec", "template"]);
        assert!(Pod.keys().is_empty());
    }
}
