//! Rules that the API server enforces itself, as ValidatingAdmissionPolicies and MutatingAdmissionPolicies: written for rule
//! objects that ask for it, kept as they should be, and left to the API server once it enforces them.
//!
//! A policy alone enforces nothing; its binding is written only after the API server has checked the types of the
//! policy, which it does for those that validate. While both are there as they should be, the rule is in no webhook; otherwise the webhook enforces it. Whatever we
//! do ourselves, there may be moments with both and none without either.

mod compare;
mod reconcile;
mod step;
mod write;

use std::collections::BTreeMap;
use std::sync::Arc;

use kubewright_cluster::GroupVersionResource;
use kubewright_engine::{AdmissionPhase, AdmissionPolicy, AdmissionPolicyState};
use kubewright_k8s::ObjectName;

use crate::events::truncated;

pub(crate) use reconcile::admission_policies_condition;
pub use reconcile::{PolicyGeneration, reconcile_admission_policies};

/// The group of policies and bindings.
const POLICY_GROUP: &str = "admissionregistration.k8s.io";

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

    /// Returns this with `news` in place of what it says about the rule objects in `own`.
    fn with_news(&self, own: &[ObjectName], news: &Self) -> Self {
        let mut progress = self.clone();
        progress.is_on = news.is_on;
        progress.in_force.retain(|name, _| !own.contains(name));
        progress.problems.retain(|name, _| !own.contains(name));
        progress.in_force.extend(news.in_force.clone());
        progress.problems.extend(news.problems.clone());
        progress
    }

    /// Returns what the status of the rule object called `name` says.
    pub(crate) fn state(
        &self,
        name: &ObjectName,
        wanted: &Result<Arc<AdmissionPolicy>, String>,
    ) -> AdmissionPolicyState {
        let message = match wanted {
            Err(why) if self.is_on => why.clone(),
            Err(_) => String::new(),
            Ok(wanted) if !self.is_on => generation_off_message(native_kind(wanted.phase())),
            Ok(wanted) if self.enforces(name, wanted) => {
                return AdmissionPolicyState { is_generated: true, message: String::new() };
            }
            Ok(wanted) => {
                let problem = self.problems.get(name).cloned();
                problem.unwrap_or_else(|| not_written_yet_message(native_kind(wanted.phase())))
            }
        };
        AdmissionPolicyState { is_generated: false, message: truncated(message, MAX_POLICY_STATUS_BYTES) }
    }
}

/// Returns the kind of policies that the API server evaluates in `phase`.
fn native_kind(phase: AdmissionPhase) -> &'static str {
    match phase {
        AdmissionPhase::Mutating => "MutatingAdmissionPolicy",
        AdmissionPhase::Validating => "ValidatingAdmissionPolicy",
    }
}

/// Returns the resources of policies and of bindings, in `version`.
fn admission_policy_resources(phase: AdmissionPhase, version: &str) -> [GroupVersionResource; 2] {
    let [policies, bindings] = match phase {
        AdmissionPhase::Mutating => ["mutatingadmissionpolicies", "mutatingadmissionpolicybindings"],
        AdmissionPhase::Validating => ["validatingadmissionpolicies", "validatingadmissionpolicybindings"],
    };
    [policies, bindings].map(|plural| GroupVersionResource::new(POLICY_GROUP, version, plural))
}

/// What status a policy that asks has while nothing is generated at all.
fn generation_off_message(kind: &str) -> String {
    format!("skip generating {kind}: it is off, and `serve --generate-vap` turns it on.")
}

/// What status it has before it was looked at.
fn not_written_yet_message(kind: &str) -> String {
    format!("the {kind} is not written yet")
}
