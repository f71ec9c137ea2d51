//! Facts about Kubernetes, without input or output.
//!
//! Everything that is true of Kubernetes whatever rule language asks has its one place here: the names of kinds
//! and objects, the paths of the API server, the scopes and plurals of built-in kinds, the fields that they have,
//! and the AdmissionRequest. This crate knows no rule, no rule language and no cluster connection.

mod admission_request;
mod api_path;
pub mod fields;
mod kinds;
mod names;
mod operation;

pub use admission_request::AdmissionRequest;
pub use api_path::ApiPath;
pub use kinds::{is_cluster_scoped, kind_of_resource, resource_name};
pub use names::{GroupVersionKind, ObjectName};
pub use operation::{Operation, Operations};

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
