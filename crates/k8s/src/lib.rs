//! Facts about Kubernetes, without input or output.
//!
//! Facts about Kubernetes that do not depend on a rule language are here: the names of kinds
//! and objects, the paths of the API server, the scopes, plurals and fields of built-in kinds, the kinds that make
//! Pods, label selectors, and the AdmissionRequest with the form in which the API server would store its objects.
//! This crate knows no rule, no rule language and no cluster connection.

mod admission_request;
mod api_path;
mod cron;
pub mod fields;
mod kinds;
mod merge_keys;
mod names;
pub mod normalise;
mod operation;
pub mod selector;
pub mod structured;
mod user_info;
mod workload;

pub use admission_request::AdmissionRequest;
pub use api_path::ApiPath;
pub use cron::CronSchedule;
pub use kinds::{
    BUILT_IN_KINDS, group_of_resource, is_built_in_group, is_cluster_scoped, is_cluster_scoped_name,
    kind_of_resource, resource_name,
};
pub use merge_keys::{FieldMerge, MergeKey, MergeType};
pub use names::{GroupVersionKind, ObjectName, is_api_version, namespaced_name, object_title};
pub use operation::{Operation, Operations};
pub use selector::{LabelOperator, LabelRequirement, LabelSelector};
pub use user_info::UserInfo;
pub use workload::{PodTemplatePath, WorkloadKind};

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
