//! Which outcomes of an object are left to the workload that made it.
//!
//! A rule for Pods is often also a rule for the workloads that make Pods: its language derives rules called `autogen-…`
//! from it. Then the workload has a row of its own, and a row for each of its Pods would say the same again.

use std::collections::HashMap;
use std::sync::Arc;

use kubewright_engine::{KindScope, Rule, RuleId};
use kubewright_k8s::{GroupVersionKind, WorkloadKind};
use kubewright_value::Value;

/// How names of derived rules begin; the longer one is tried first.
const DERIVED_PREFIXES: [&str; 2] = ["autogen-cronjob-", "autogen-"];

/// The workload kinds that each rule also covers by a derived rule.
#[derive(Debug, Default)]
pub(crate) struct OwnerRules {
    covered: HashMap<Arc<RuleId>, Vec<WorkloadKind>>,
}

impl OwnerRules {
    /// Returns what `rules` cover.
    pub(crate) fn of(rules: &[Rule]) -> Self {
        let mut policies: HashMap<(&'static str, &str), Vec<&Rule>> = HashMap::new();
        for rule in rules {
            policies.entry((rule.id.dialect, rule.id.policy.as_str())).or_default().push(rule);
        }
        let mut covered = HashMap::new();
        for family in policies.values().filter(|family| family.iter().any(|rule| is_derived(&rule.id))) {
            for rule in family {
                let derived = family.iter().filter(|other| is_derived_with(&other.id, &rule.id));
                let kinds: Vec<WorkloadKind> = derived.flat_map(|other| workload_kinds(other)).collect();
                if !kinds.is_empty() {
                    covered.insert(Arc::clone(&rule.id), kinds);
                }
            }
        }
        Self { covered }
    }

    /// Returns whether what `rule` says about `object` is left to the workload that controls the object.
    pub(crate) fn is_left_to_owner(&self, rule: &RuleId, object: &Value) -> bool {
        let Some(kinds) = self.covered.get(rule) else { return false };
        controlling_workload(object).is_some_and(|owner| kinds.contains(&owner))
    }
}

/// Returns the built-in workload that controls `object`.
fn controlling_workload(object: &Value) -> Option<WorkloadKind> {
    let owners = object.at(&["metadata", "ownerReferences"])?.as_array()?;
    let is_controller = |owner: &&Value| owner.get("controller").and_then(Value::as_bool) == Some(true);
    let owner = GroupVersionKind::of(owners.iter().find(is_controller)?);
    WorkloadKind::named(&owner.kind).filter(|kind| kind.group() == owner.group)
}

fn is_derived(id: &RuleId) -> bool {
    id.rule.starts_with("autogen-")
}

/// Returns whether `derived` is a derived rule, and comes from `rule` or from the same rule as that.
fn is_derived_with(derived: &RuleId, rule: &RuleId) -> bool {
    // Of a policy that is one rule all derived rules come from it.
    let is_only_rule = ["", "autogen-defaults", "autogen-cronjobs", "autogen-extract"];
    if is_only_rule.contains(&derived.rule.as_str()) && is_only_rule.contains(&rule.rule.as_str()) {
        return is_derived(derived);
    }
    // A derived name that would be too long is cut.
    is_derived(derived) && {
        let (from, own) = (source_name(&derived.rule), source_name(&rule.rule));
        own == from || (derived.rule.len() >= 63 && own.starts_with(from))
    }
}

fn source_name(rule: &str) -> &str {
    DERIVED_PREFIXES.iter().find_map(|prefix| rule.strip_prefix(prefix)).unwrap_or(rule)
}

fn workload_kinds(rule: &Rule) -> Vec<WorkloadKind> {
    match &rule.scope.kinds {
        KindScope::Any => Vec::new(),
        KindScope::Named(kinds) => kinds.iter().filter_map(|kind| WorkloadKind::named(kind)).collect(),
    }
}
