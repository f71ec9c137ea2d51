//! What a policy does in the background, in the words of RBAC.

use std::fmt;

use kubewright_value::Text;

use crate::BackgroundProgram;

/// What is done with the objects of one resource. As text it is the RBAC rule that permits it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourceAccess {
    /// The API group; empty for the core group.
    pub group: Text,
    /// The version in which the objects are read.
    pub version: Text,
    /// The kind of the objects.
    pub kind: Text,
    /// The resource, with a subresource after a slash: `deployments`, `deployments/scale`.
    pub resource: Text,
    /// The only namespace in which it is done; empty for all.
    pub namespace: Text,
    /// What is done.
    pub verbs: Vec<&'static str>,
}

impl ResourceAccess {
    /// Returns the `apiVersion` and the kind, as in `apps/v1/Deployment/scale`.
    #[must_use]
    pub fn qualified_kind(&self) -> String {
        let group = if self.group.is_empty() { String::new() } else { format!("{}/", self.group) };
        let part = self.resource.split_once('/').map(|(_, part)| format!("/{part}")).unwrap_or_default();
        format!("{group}{}/{}{part}", self.version, self.kind)
    }
}

impl fmt::Display for ResourceAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { group, resource, namespace, verbs, .. } = self;
        write!(f, "{{apiGroups: [\"{group}\"], resources: [{resource}], verbs: [{}]}}", verbs.join(", "))?;
        match namespace.as_str() {
            "" => Ok(()),
            namespace => write!(f, " in namespace {namespace}"),
        }
    }
}

/// What a rule does in the background and the controller is not permitted to do.
#[derive(Debug, Clone, Copy)]
pub struct MissingAccess<'m> {
    /// The user name of the controller: `system:serviceaccount:namespace:name`.
    pub account: &'m str,
    /// The rule and its work.
    pub program: &'m BackgroundProgram,
    /// What is not permitted; never empty.
    pub missing: &'m [ResourceAccess],
}

impl MissingAccess<'_> {
    /// Returns what to grant, as rules of a ClusterRole in one line.
    #[must_use]
    pub fn policy_rules(&self) -> String {
        policy_rules(self.missing)
    }
}

/// Returns `accesses` as rules of a ClusterRole in one line.
#[must_use]
pub fn policy_rules(accesses: &[ResourceAccess]) -> String {
    let rules: Vec<String> = accesses.iter().map(ToString::to_string).collect();
    rules.join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_is_written_as_the_rule_to_grant() {
        let scale = ResourceAccess {
            group: "apps".into(),
            version: "v1".into(),
            kind: "Deployment".into(),
            resource: "deployments/scale".into(),
            namespace: "shop".into(),
            verbs: vec!["get", "update"],
        };
        assert_eq!(
            scale.to_string(),
            "{apiGroups: [\"apps\"], resources: [deployments/scale], verbs: [get, update]} in namespace shop"
        );
        assert_eq!(scale.qualified_kind(), "apps/v1/Deployment/scale");
        let anywhere = ResourceAccess { namespace: Text::default(), ..scale };
        assert!(policy_rules(&[anywhere.clone(), anywhere]).ends_with("[get, update]}"));
    }
}
