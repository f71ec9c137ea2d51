//! Whether our rights suffice for what policies do, asked when a policy is loaded: the missing rule is named before it is
//! missed.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use kubewright_cluster::{Client, DiscoveredResources};
use kubewright_engine::{ResourceAccess, policy_rules};
use kubewright_serve::access::{AccessScope, is_permitted};
use kubewright_value::Text;

use super::job::JobContext;
use super::policies::{BackgroundPolicies, PolicyIdentity, TriggeredProgram, TriggeredRule};
use super::problems::ProblemReason;
use super::resources::named_resources;
use super::{BackgroundParts, arranged};

/// How often is asked again: rights are granted after policies.
const PERMISSION_INTERVAL: Duration = Duration::from_secs(30);

/// How often is looked whether policies have changed.
const PERMISSION_TICK_INTERVAL: Duration = Duration::from_millis(500);

/// The subject of problems with rights.
const PERMISSIONS: &str = "permissions";

/// Asks for the rights of policies whenever they change.
pub(super) async fn run_permission_checks(parts: BackgroundParts, context: Arc<JobContext>) {
    let (mut rules, mut served) = (parts.rules.clone(), parts.served.clone());
    let mut asked: Option<Instant> = None;
    while !parts.is_stopping.load(Ordering::Relaxed) {
        tokio::time::sleep(PERMISSION_TICK_INTERVAL).await;
        let is_due = asked.is_none_or(|at| at.elapsed() >= PERMISSION_INTERVAL);
        let is_changed = rules.has_changed().unwrap_or_default() || served.has_changed().unwrap_or_default();
        if !is_due && !is_changed {
            continue;
        }
        let (loaded, resources) = (rules.borrow_and_update().clone(), served.borrow_and_update().clone());
        let (Some(loaded), Some(resources)) = (loaded, resources) else { continue };
        asked = Some(Instant::now());
        let needed = needed_rights(&arranged(&loaded), &resources);
        check_rights(&parts.client, &context, needed).await;
    }
}

async fn check_rights(
    client: &Client,
    context: &JobContext,
    needed: Vec<(PolicyIdentity, Vec<ResourceAccess>)>,
) {
    let mut known = HashMap::new();
    for (policy, accesses) in needed {
        let mut missing = Vec::new();
        for access in accesses {
            let verbs = missing_verbs(client, &access, &mut known).await;
            if !verbs.is_empty() {
                missing.push(ResourceAccess { verbs, ..access });
            }
        }
        match missing.is_empty() {
            true => context.problems.clear(&policy, PERMISSIONS),
            false => {
                let message =
                    format!("the ServiceAccount of the scan lacks the RBAC rule {}", policy_rules(&missing));
                context.problems.add(&policy, ProblemReason::MissingPermission, PERMISSIONS, &message);
            }
        }
    }
}

/// A question: group, resource, namespace and verb.
type AskedVerb = (Text, Text, Text, &'static str);

async fn missing_verbs(
    client: &Client,
    access: &ResourceAccess,
    known: &mut HashMap<AskedVerb, bool>,
) -> Vec<&'static str> {
    let mut missing = Vec::new();
    for verb in &access.verbs {
        let ResourceAccess { group, resource, namespace, .. } = access;
        let asked = (group.clone(), resource.clone(), namespace.clone(), *verb);
        let is_allowed = match known.get(&asked) {
            Some(is_allowed) => *is_allowed,
            // An API server that does not answer says nothing about rights.
            None => is_permitted(client, None, access, verb).await.unwrap_or(true),
        };
        known.insert(asked, is_allowed);
        if !is_allowed {
            missing.push(*verb);
        }
    }
    missing
}

/// Returns the rights that each policy needs.
fn needed_rights(
    policies: &BackgroundPolicies,
    served: &DiscoveredResources,
) -> Vec<(PolicyIdentity, Vec<ResourceAccess>)> {
    let named = |rules: &[_]| named_resources(rules, served).into_values().collect();
    let mut needed = Vec::new();
    for policy in &policies.triggered {
        let namespace = &policy.identity.key.namespace;
        let scope = AccessScope { served, named: &named, namespace };
        let accesses = policy.rules.iter().flat_map(|rule| rule_access(rule, &scope)).collect();
        needed.push((policy.identity.clone(), merged(accesses)));
    }
    for policy in &policies.scheduled {
        let namespace = &policy.program.namespace.clone().unwrap_or_default();
        let scope = AccessScope { served, named: &named, namespace };
        needed.push((policy.identity.clone(), scope.of_delete(&policy.program)));
    }
    needed
}

fn rule_access(rule: &TriggeredRule, scope: &AccessScope<'_>) -> Vec<ResourceAccess> {
    match &rule.program {
        TriggeredProgram::Generate(program) => scope.of_generate(program),
        TriggeredProgram::Mutate(program) => scope.of_mutate(program),
    }
}

/// Returns `accesses` with those of several rules to one resource as one.
fn merged(accesses: Vec<ResourceAccess>) -> Vec<ResourceAccess> {
    let mut all: Vec<ResourceAccess> = Vec::new();
    for access in accesses {
        let is_same = |one: &&mut ResourceAccess| {
            (&one.group, &one.resource, &one.namespace)
                == (&access.group, &access.resource, &access.namespace)
        };
        match all.iter_mut().find(is_same) {
            Some(known) => {
                let new = access.verbs.iter().filter(|verb| !known.verbs.contains(verb)).copied();
                known.verbs.extend(new.collect::<Vec<_>>());
            }
            None => all.push(access),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_of_several_rules_are_named_once() {
        let of = |resource: &str, verbs: &[&'static str]| ResourceAccess {
            resource: resource.into(),
            verbs: verbs.to_vec(),
            ..ResourceAccess::default()
        };
        let all =
            merged(vec![of("pods", &["get"]), of("services", &["get"]), of("pods", &["get", "update"])]);
        assert_eq!(all, [of("pods", &["get", "update"]), of("services", &["get"])]);
    }
}
