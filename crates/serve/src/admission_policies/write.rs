//! Writing and deleting the objects of rules, and removing what no rule asks for any more.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use kubewright_cluster::{Error, WatchEvent};
use kubewright_engine::AdmissionPolicy;
use kubewright_k8s::ObjectName;
use kubewright_value::{Text, Value};
use tokio::time::Instant;

use super::compare::is_generated_for;
use super::not_written_yet_message;
use super::reconcile::{
    AdmissionPolicyReconciler, POLICY_RESYNC_INTERVAL, POLICY_RETRY_INTERVAL, POLICY_SETTLE_TIME,
    PolicyOutcome,
};
use super::step::PolicyPart;
use crate::Snapshot;
use crate::log::LogLevel;
use crate::reread::refresh_object;
use kubewright_value::CompactSort as _;

impl AdmissionPolicyReconciler {
    /// Writes one of the objects of the rule object called `name`.
    pub(super) async fn write(
        &mut self,
        name: &ObjectName,
        policy: &Arc<AdmissionPolicy>,
        wanted: &AdmissionPolicy,
        part: PolicyPart,
        object: Value,
    ) -> PolicyOutcome {
        self.settled.remove(name);
        let (resource, store) = self.of(part);
        let path = resource.named("", &object_name(&object));
        let is_there = object.at(&["metadata", "resourceVersion"]).is_some();
        let written = match is_there {
            true => self.client.replace(&path, &object).await,
            false => self.client.create(&resource.all(), &object).await,
        };
        let wanted = match part {
            PolicyPart::Policy => &wanted.policy,
            PolicyPart::Binding => &wanted.binding,
        };
        match written {
            Ok(answer) => {
                let specs = wanted.get("spec").cloned().zip(answer.get("spec").cloned());
                store.apply(WatchEvent::Set(answer));
                let message = if is_there { "admission policy changed" } else { "admission policy created" };
                let line = self.state.log.line(LogLevel::Info, message);
                line.text("resource", &path.resource).text("name", &path.name).write();
                if let Some(specs) = specs {
                    self.answered.insert((part, path.name.clone()), specs);
                }
                PolicyOutcome::Again(POLICY_RETRY_INTERVAL, not_written_yet_message(self.kind))
            }
            // A list of what the API server does not know is empty; only who writes is told.
            Err(error) if error.is_not_found() && !is_there => {
                PolicyOutcome::Again(POLICY_RESYNC_INTERVAL, watch_problem(self.kind, &error))
            }
            Err(error) if error.is_conflict() || error.is_already_there() || error.is_not_found() => {
                // Another replica or client was faster; the watch may be later than this answer.
                let _ = refresh_object(&self.client, &path, store).await;
                PolicyOutcome::Again(POLICY_RETRY_INTERVAL, not_written_yet_message(self.kind))
            }
            Err(error) if error.is_invalid() => {
                let why = format!("the API server rejected it: {error}");
                let line = self.state.log.line(LogLevel::Error, "API server rejected an admission policy");
                line.text("name", &path.name).text("error", &error.to_string()).write();
                self.refused.insert(name.clone(), (Arc::clone(policy), why.clone()));
                PolicyOutcome::Problem(why)
            }
            Err(error) => PolicyOutcome::Again(POLICY_RETRY_INTERVAL * 4, write_problem(self.kind, &error)),
        }
    }

    /// Removes what was generated for rule objects that ask for it no more. The webhook enforces them meanwhile.
    pub(super) async fn clean(
        &mut self,
        snapshot: &Snapshot,
        wanted: &BTreeMap<ObjectName, Arc<AdmissionPolicy>>,
    ) -> Duration {
        let mut pause = POLICY_RESYNC_INTERVAL;
        let now = Instant::now();
        let uids: Vec<Value> = snapshot.states.iter().filter_map(|state| self.uid(state)).collect();
        let mut stale = HashMap::new();
        for part in [PolicyPart::Binding, PolicyPart::Policy] {
            let names = wanted.values().map(|policy| match part {
                PolicyPart::Policy => object_name(&policy.policy),
                PolicyPart::Binding => object_name(&policy.binding),
            });
            let names: Vec<Text> = names.collect();
            for object in self.of(part).1.all() {
                let name = object_name(&object);
                if names.contains(&name) || !uids.iter().any(|uid| is_generated_for(&object, uid)) {
                    continue;
                }
                let since = self.stale.get(&(part, name.clone())).copied().unwrap_or(now);
                stale.insert((part, name), since);
            }
        }
        let mut due: Vec<(PolicyPart, Text)> = stale
            .iter()
            .filter(|(_, since)| now.saturating_duration_since(**since) >= POLICY_SETTLE_TIME)
            .map(|(key, _)| key.clone())
            .collect();
        // A policy without a binding enforces nothing; a binding without a policy is a mistake.
        due.compact_sort_by(|one, other| other.cmp(one));
        if !stale.is_empty() {
            pause = POLICY_RETRY_INTERVAL;
        }
        self.stale = stale;
        for (part, name) in due {
            if let Err(error) = self.delete(part, &name).await {
                let line = self.state.log.line(LogLevel::Error, "could not delete admission policy");
                line.text("name", &name).text("error", &error.to_string()).write();
            }
        }
        pause
    }

    /// Deletes one object; one that is not there is deleted.
    pub(super) async fn delete(&self, part: PolicyPart, name: &Text) -> Result<(), Error> {
        let (resource, store) = self.of(part);
        let path = resource.named("", name);
        match self.client.delete(&path).await {
            Ok(_) => {
                let line = self.state.log.line(LogLevel::Info, "admission policy deleted");
                line.text("resource", &path.resource).text("name", name).write();
            }
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
        refresh_object(&self.client, &path, store).await
    }
}

/// Returns the name of `object`.
pub(super) fn object_name(object: &Value) -> Text {
    object.at(&["metadata", "name"]).and_then(Value::as_str).map(Text::new).unwrap_or_default()
}

/// Returns why policies of `kind` cannot be watched.
pub(super) fn watch_problem(kind: &str, error: &Error) -> String {
    if error.is_not_found() {
        return format!("the API server knows no {kind}");
    }
    write_problem(kind, error)
}

/// Returns why something cannot be written, in the original's words where rights are missing.
pub(super) fn write_problem(kind: &str, error: &Error) -> String {
    match error.is_forbidden() {
        true => {
            let kinds = kind.strip_suffix('y').unwrap_or(kind);
            format!("insufficient permissions to generate {kinds}ies")
        }
        false => format!("the {kind} cannot be written: {error}"),
    }
}
