//! The type of rule that each row of a test file tests, so that the score is split by feature.

use std::collections::BTreeMap;
use std::path::Path;

use kubewright_value::{Source, Value, yaml};

use super::{case_list, case_text};

/// The methods of a validate rule that have a suite of their own.
const METHODS: &[&str] = &["cel", "podSecurity", "manifests"];

/// The other sorts of rules of a policy.
const ACTIONS: &[&str] = &["validate", "mutate", "generate", "verifyImages"];

/// The policies of one test file by name.
#[derive(Default)]
pub(super) struct RuleSorts {
    policies: BTreeMap<String, Value>,
}

impl RuleSorts {
    /// Reads the policies that the test file in `folder` names. One that cannot be read is left out.
    pub(super) fn read(folder: &Path, test: &Value) -> Self {
        let paths = case_list(test, "policies").iter().filter_map(Value::as_str);
        Self::of_policies(paths.flat_map(|path| read_policy_documents(&folder.join(path))))
    }

    pub(super) fn of_policies(policies: impl IntoIterator<Item = Value>) -> Self {
        let name =
            |policy: &Value| policy.get("metadata").map(|metadata| case_text(metadata, "name").to_owned());
        let named = policies.into_iter().map(|policy| (name(&policy).unwrap_or_default(), policy));
        Self { policies: named.collect() }
    }

    /// Returns the sort of a rule: `validate`, another sort of rule, or the kind of a policy without rules.
    pub(super) fn of(&self, policy: &str, rule: &str) -> String {
        let policy = policy.rsplit('/').next().unwrap_or_default();
        let Some(policy) = self.policies.get(policy) else { return "unknown".to_owned() };
        let kind = case_text(policy, "kind");
        if !matches!(kind, "ClusterPolicy" | "Policy") {
            return kind.to_owned();
        }
        let rules = policy.get("spec").map(|spec| case_list(spec, "rules")).unwrap_or_default();
        let named = rules.iter().find(|each| is_rule_name(case_text(each, "name"), rule));
        named.or_else(|| rules.first()).map_or("unknown", rule_sort).to_owned()
    }
}

fn rule_sort(rule: &Value) -> &'static str {
    let validate = rule.get("validate").unwrap_or(&Value::Null);
    let method = METHODS.iter().find(|method| validate.get(method).is_some() || rule.get(method).is_some());
    let action = || ACTIONS.iter().find(|action| rule.get(action).is_some());
    method.or_else(action).copied().unwrap_or("unknown")
}

/// A row may name the rule as it was made for a controller.
fn is_rule_name(name: &str, wanted: &str) -> bool {
    let plain = wanted.strip_prefix("autogen-").unwrap_or(wanted);
    name == wanted || name == plain || plain.strip_prefix("cronjob-") == Some(name)
}

/// Reads the documents of a file, or of the files of a folder.
pub(super) fn read_policy_documents(path: &Path) -> Vec<Value> {
    if path.is_dir() {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        return entries
            .filter(|entry| entry.path().is_file())
            .flat_map(|entry| read_policy_documents(&entry.path()))
            .collect();
    }
    let Ok(content) = std::fs::read_to_string(path) else { return Vec::new() };
    let reading = yaml::read(&Source::new(path.display().to_string(), content));
    reading.documents.into_iter().map(|document| document.value).collect()
}
