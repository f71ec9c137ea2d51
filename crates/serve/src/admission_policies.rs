//! Rules that the API server enforces itself, as ValidatingAdmissionPolicies: written for rule objects that ask for it,
//! kept as they should be, and left to the API server once it enforces them.
//!
//! A policy alone enforces nothing; its binding is written only after the API server has checked the types of the
//! policy. While both are there as they should be, the rule is in no webhook; otherwise the webhook enforces it. Whatever we
//! do ourselves, there may be moments with both and none without either.

mod compare;
mod reconcile;
mod step;
mod write;

use std::collections::BTreeMap;
use std::sync::Arc;

use kubewright_cluster::GroupVersionResource;
use kubewright_engine::{AdmissionPolicy, AdmissionPolicyState};
use kubewright_k8s::ObjectName;

use crate::events::truncated;

pub(crate) use reconcile::ADMISSION_POLICIES_CONDITION;
pub use reconcile::reconcile_admission_policies;

/// What status a policy that asks has while nothing is generated at all.
const GENERATION_OFF_MESSAGE: &str =
    "skip generating ValidatingAdmissionPolicy: it is off, and `serve --generate-vap` turns it on.";

/// What status it has before it was looked at.
const NOT_WRITTEN_YET_MESSAGE: &str = "the ValidatingAdmissionPolicy is not written yet";

/// How long a message in a status may be: the API server's reasons can be of any length.
const MAX_POLICY_STATUS_BYTES: usize = 1024;

/// How far the API server is with enforcing rules itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GenerationProgress {
    /// Whether the operator wants that at all.
    pub is_on: bool,
    /// What it enforces, by rule object.
    pub in_force: BTreeMap<ObjectName, Arc<AdmissionPolicy>>,
    /// Why it does not enforce what it should, by rule object.
    pub problems: BTreeMap<ObjectName, String>,
}

impl GenerationProgress {
    /// Returns whether the API server enforces `wanted` for the rule object called `name`.
    #[must_use]
    pub fn enforces(&self, name: &ObjectName, wanted: &AdmissionPolicy) -> bool {
        self.is_on && self.in_force.get(name).is_some_and(|found| **found == *wanted)
    }

    /// Returns what the status of the rule object called `name` says.
    pub(crate) fn state(
        &self,
        name: &ObjectName,
        wanted: &Result<Arc<AdmissionPolicy>, String>,
    ) -> AdmissionPolicyState {
        let message = match wanted {
            Err(why) if self.is_on => why.as_str(),
            Err(_) => "",
            Ok(_) if !self.is_on => GENERATION_OFF_MESSAGE,
            Ok(wanted) if self.enforces(name, wanted) => {
                return AdmissionPolicyState { is_generated: true, message: String::new() };
            }
            Ok(_) => self.problems.get(name).map_or(NOT_WRITTEN_YET_MESSAGE, String::as_str),
        };
        AdmissionPolicyState {
            is_generated: false,
            message: truncated(message.to_owned(), MAX_POLICY_STATUS_BYTES),
        }
    }
}

/// Returns the resources of policies and of bindings.
fn admission_policy_resources() -> [GroupVersionResource; 2] {
    ["validatingadmissionpolicies", "validatingadmissionpolicybindings"]
        .map(|plural| GroupVersionResource::new("admissionregistration.k8s.io", "v1", plural))
}
