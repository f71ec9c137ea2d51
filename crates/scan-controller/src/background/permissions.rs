//! Whether our rights suffice for what policies do, asked when a policy is loaded: the missing rule is named before it is
//! missed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use kubewright_cluster::{Client, DiscoveredResources, GroupVersionResource};
use kubewright_scan::KindKey;
use kubewright_value::{Map, Text, Value, json};

use super::job::JobContext;
use super::policies::{BackgroundPolicies, PolicyIdentity, TriggeredProgram, TriggeredRule};
use super::problems::ProblemReason;
use super::resources::named_resources;
use super::watches::template_kinds;
use super::{BackgroundParts, arranged};

/// How often is asked again: rights are granted after policies.
const PERMISSION_INTERVAL: Duration = Duration::from_secs(30);

/// How often is looked whether policies have changed.
const PERMISSION_TICK_INTERVAL: Duration = Duration::from_millis(500);

/// The subject of problems with rights.
const PERMISSIONS: &str = "permissions";

/// A right: what may be done with which resource.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Right {
    group: Text,
    resource: Text,
    verb: &'static str,
    /// The only namespace in which it is needed; empty for all.
    namespace: Text,
}

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

async fn check_rights(client: &Client, context: &JobContext, needed: Vec<(PolicyIdentity, BTreeSet<Right>)>) {
    let mut known: HashMap<Right, bool> = HashMap::new();
    for (policy, rights) in needed {
        let mut missing = Vec::new();
        for right in rights {
            let is_allowed = match known.get(&right) {
                Some(is_allowed) => *is_allowed,
                // An API server that does not answer says nothing about rights.
                None => is_allowed(client, &right).await.unwrap_or(true),
            };
            known.insert(right.clone(), is_allowed);
            if !is_allowed {
                missing.push(right);
            }
        }
        match missing.is_empty() {
            true => context.problems.clear(&policy, PERMISSIONS),
            false => {
                let message = missing_rights(&missing);
                context.problems.add(&policy, ProblemReason::MissingPermission, PERMISSIONS, &message);
            }
        }
    }
}

/// Returns the rights that each policy needs.
pub(crate) fn needed_rights(
    policies: &BackgroundPolicies,
    served: &DiscoveredResources,
) -> Vec<(PolicyIdentity, BTreeSet<Right>)> {
    let mut needed = Vec::new();
    for policy in &policies.triggered {
        let rights = policy.rules.iter().flat_map(|rule| rule_rights(rule, served)).collect();
        needed.push((policy.identity.clone(), rights));
    }
    for policy in &policies.scheduled {
        let mut rights = BTreeSet::new();
        let namespace = policy.program.namespace.clone().unwrap_or_default();
        for resource in named_resources(&policy.program.targets, served).into_values() {
            let namespace = if resource.is_namespaced { namespace.clone() } else { Text::default() };
            add_rights(&mut rights, (&resource.group, &resource.resource), &["list", "delete"], &namespace);
        }
        needed.push((policy.identity.clone(), rights));
    }
    needed
}

fn rule_rights(rule: &TriggeredRule, served: &DiscoveredResources) -> BTreeSet<Right> {
    let mut rights = BTreeSet::new();
    let anywhere = Text::default();
    for resource in named_resources(rule.triggers(), served).into_values() {
        let verbs = ["get", "list", "watch"];
        add_rights(&mut rights, (&resource.group, &resource.resource), &verbs, &anywhere);
    }
    match &rule.program {
        TriggeredProgram::Generate(program) => {
            for KindKey { group, kind } in template_kinds(program) {
                let Some(resource) = served.of_kind(&group, &kind) else { continue };
                let verbs: &[&'static str] = match program.synchronizes {
                    true => &["get", "list", "watch", "create", "update", "delete"],
                    false => &["get", "create"],
                };
                add_rights(&mut rights, (&resource.group, &resource.resource), verbs, &anywhere);
                if program.uses_server_side_apply {
                    add_rights(&mut rights, (&resource.group, &resource.resource), &["patch"], &anywhere);
                }
            }
        }
        TriggeredProgram::Mutate(program) => {
            for resource in named_resources(&program.targets, served).into_values() {
                let verbs = ["get", "list", "update"];
                add_rights(&mut rights, (&resource.group, &resource.resource), &verbs, &anywhere);
            }
        }
    }
    rights
}

fn add_rights(
    rights: &mut BTreeSet<Right>,
    (group, resource): (&Text, &Text),
    verbs: &[&'static str],
    namespace: &Text,
) {
    rights.extend(verbs.iter().map(|verb| Right {
        group: group.clone(),
        resource: resource.clone(),
        verb,
        namespace: namespace.clone(),
    }));
}

/// Returns whether we have a right; nothing where that is not known.
pub(crate) async fn is_allowed(client: &Client, right: &Right) -> Option<bool> {
    let attributes = Map::from([
        ("group", right.group.clone().into()),
        ("resource", right.resource.clone().into()),
        ("verb", right.verb.into()),
        ("namespace", right.namespace.clone().into()),
    ]);
    let review = Map::from([
        ("apiVersion", "authorization.k8s.io/v1".into()),
        ("kind", "SelfSubjectAccessReview".into()),
        ("spec", Map::from([("resourceAttributes", attributes.into())]).into()),
    ]);
    let path = GroupVersionResource::new("authorization.k8s.io", "v1", "selfsubjectaccessreviews").all();
    let answer = client.raw("POST", &path, Some(&review.into())).await.ok()?;
    let answer = json::parse(&answer).ok()?;
    answer.at(&["status", "allowed"]).and_then(Value::as_bool)
}

impl Right {
    /// Returns the right to do `verb` with a resource in all namespaces.
    pub(crate) fn anywhere(group: &Text, resource: &Text, verb: &'static str) -> Self {
        Self { group: group.clone(), resource: resource.clone(), verb, namespace: Text::default() }
    }
}

/// Returns what to grant, as rules of a ClusterRole in one line.
fn missing_rights(missing: &[Right]) -> String {
    let mut rules: BTreeMap<(&Text, &Text, &Text), Vec<&str>> = BTreeMap::new();
    for right in missing {
        rules.entry((&right.group, &right.resource, &right.namespace)).or_default().push(right.verb);
    }
    let rules: Vec<String> = rules
        .into_iter()
        .map(|((group, resource, namespace), verbs)| {
            let place =
                if namespace.is_empty() { String::new() } else { format!(" in namespace {namespace}") };
            let verbs = verbs.join(", ");
            format!("{{apiGroups: [\"{group}\"], resources: [{resource}], verbs: [{verbs}]}}{place}")
        })
        .collect();
    format!("the ServiceAccount of the scan lacks the RBAC rule {}", rules.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_rights_are_named_as_the_rule_to_grant() {
        let right = |resource: &str, verb| Right::anywhere(&"apps".into(), &resource.into(), verb);
        assert_eq!(
            missing_rights(&[right("deployments", "get"), right("deployments", "update")]),
            "the ServiceAccount of the scan lacks the RBAC rule \
             {apiGroups: [\"apps\"], resources: [deployments], verbs: [get, update]}"
        );
    }
}
