//! What a person gives to rules in place of a cluster: values of variables, who asks, and what is looked up.
//!
//! The files are those that Kyverno's users have: `Values`, `UserInfo`, `Context` and `ClusterResource` of
//! `cli.kyverno.io/v1alpha1`.

mod answers;
mod cluster;
mod set;
mod user;
mod values;
mod world;

pub(crate) use answers::{Answers, Shared, read_shared};
pub(crate) use cluster::Cluster;
pub(crate) use set::Setting;
pub(crate) use user::UserInfo;
pub(crate) use values::{FIELDS as VALUE_FIELDS, Values, is_rule};
pub(crate) use world::GivenWorld;
