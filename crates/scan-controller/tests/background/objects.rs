//! Policies and objects of the tests, and what is asked about them.

use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use kubewright_value::Value;

use crate::stage::Stage;

/// How long a change may take to have its effect on a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// How long is waited where nothing is to happen.
pub(crate) const QUIET: Duration = Duration::from_secs(3);

/// The definitions of policies that a cluster of the tests may lack, with everything preserved.
const FURTHER_KINDS: &[(&str, &str, &str, &str, bool)] = &[
    ("policies.kyverno.io", "v1", "GeneratingPolicy", "generatingpolicies", false),
    ("policies.kyverno.io", "v1", "DeletingPolicy", "deletingpolicies", false),
    ("policies.kyverno.io", "v1", "NamespacedDeletingPolicy", "namespaceddeletingpolicies", true),
    ("policies.kyverno.io", "v1", "MutatingPolicy", "mutatingpolicies", false),
    ("kyverno.io", "v2", "ClusterCleanupPolicy", "clustercleanuppolicies", false),
    ("kyverno.io", "v2", "CleanupPolicy", "cleanuppolicies", true),
];

/// The cluster of all tests of this process. They follow each other, because each starts scans of its own.
pub(crate) struct SharedStage {
    stage: &'static Stage,
    _turn: MutexGuard<'static, ()>,
}

impl Deref for SharedStage {
    type Target = Stage;

    fn deref(&self) -> &Stage {
        self.stage
    }
}

impl Stage {
    /// Returns a cluster in which all policies can be stored that work in the background, and none is.
    pub(crate) fn for_background() -> Option<SharedStage> {
        static STAGE: OnceLock<Option<Stage>> = OnceLock::new();
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let stage = STAGE.get_or_init(Self::with_policy_kinds).as_ref()?;
        for (group, _, _, plural, _) in FURTHER_KINDS {
            stage.kubectl(&["delete", &format!("{plural}.{group}"), "--all", "--all-namespaces"]);
        }
        stage.kubectl(&["delete", "clusterpolicies.kyverno.io", "--all"]);
        Some(SharedStage { stage, _turn: turn })
    }

    fn with_policy_kinds() -> Option<Self> {
        let stage = Self::start()?;
        for (group, version, kind, plural, is_namespaced) in FURTHER_KINDS {
            let is_served = || stage.can_list(group, version, plural);
            if !is_served() {
                stage.apply(&definition(group, version, kind, plural, *is_namespaced));
                stage.within("a definition is served", SOON, is_served);
            }
        }
        Some(stage)
    }

    /// Returns a ConfigMap, if it is there.
    pub(crate) fn config_map(&self, namespace: &str, name: &str) -> Option<Value> {
        self.get("", "v1", "configmaps", (namespace, name))
    }

    /// Returns a text of the data of a ConfigMap; empty where there is none.
    pub(crate) fn data(&self, namespace: &str, name: &str, key: &str) -> String {
        let found = self.config_map(namespace, name).unwrap_or_default();
        found.str_at(&["data", key]).to_owned()
    }

    /// Makes a ConfigMap, or changes it.
    pub(crate) fn put_config_map(&self, namespace: &str, name: &str, labels: &str, data: &str) {
        self.apply(&format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: {namespace}, labels: {labels}}}, \
             data: {data}}}"
        ));
    }

    pub(crate) fn delete(&self, kind: &str, namespace: &str, name: &str) {
        let mut arguments = vec!["delete", kind, name, "--wait=false"];
        if !namespace.is_empty() {
            arguments.extend(["-n", namespace]);
        }
        self.kubectl(&arguments);
    }

    /// Returns the condition of a policy about its work in the background, as `status reason message`.
    pub(crate) fn background_condition(
        &self,
        group: &str,
        version: &str,
        plural: &str,
        name: &str,
    ) -> String {
        let policy = self.get(group, version, plural, ("", name)).unwrap_or_default();
        let conditions = policy.at(&["status", "conditions"]).and_then(Value::as_array).unwrap_or_default();
        let ours = conditions.iter().find(|one| one.str_at(&["type"]) == "BackgroundReady").cloned();
        let ours = ours.unwrap_or_default();
        let text = |key: &str| ours.str_at(&[key]).to_owned();
        format!("{} {} {}", text("status"), text("reason"), text("message"))
    }

    /// Returns the condition of a ClusterPolicy.
    pub(crate) fn problem_of(&self, policy: &str) -> String {
        self.background_condition("kyverno.io", "v1", "clusterpolicies", policy)
    }

    /// Returns the reasons of all Events about a policy.
    pub(crate) fn event_reasons(&self, policy: &str) -> Vec<String> {
        let events = self.list("", "v1", "events");
        let about = events.iter().filter(|event| event.str_at(&["involvedObject", "name"]) == policy);
        about.map(|event| event.str_at(&["reason"]).to_owned()).collect()
    }
}

/// A ClusterPolicy that makes a ConfigMap `name` with `data` for each ConfigMap that is labelled `app: APP`.
pub(crate) struct DataPolicy<'p> {
    pub(crate) name: &'p str,
    pub(crate) downstream: &'p str,
    pub(crate) value: &'p str,
    pub(crate) options: &'p str,
}

impl DataPolicy<'_> {
    /// Returns the policy. Its rule is called `make`.
    pub(crate) fn manifest(&self) -> String {
        let Self { name, downstream, value, options } = self;
        format!(
            "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: {name}}}, spec: {{rules: [{{name: make, match: \
             {{any: [{{resources: {{kinds: [ConfigMap], selector: {{matchLabels: {{app: {name}}}}}}}}}]}}, generate: \
             {{apiVersion: v1, kind: ConfigMap, name: {downstream}, namespace: '{{{{request.namespace}}}}', {options}, data: \
             {{data: {{value: '{value}'}}}}}}}}]}}}}"
        )
    }
}

/// Returns a ClusterPolicy called `name` that copies something into each namespace that is labelled `app: NAME`.
pub(crate) fn copying_policy(name: &str, kind: &str, source: &str, options: &str) -> String {
    format!(
        "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: {name}}}, spec: {{rules: [{{name: copy, match: \
         {{any: [{{resources: {{kinds: [Namespace], selector: {{matchLabels: {{app: {name}}}}}}}}}]}}, generate: \
         {{apiVersion: v1, kind: {kind}, name: {source}, namespace: '{{{{request.object.metadata.name}}}}', {options}, clone: \
         {{name: {source}, namespace: sources}}}}}}]}}}}"
    )
}

fn definition(group: &str, version: &str, kind: &str, plural: &str, is_namespaced: bool) -> String {
    let scope = if is_namespaced { "Namespaced" } else { "Cluster" };
    let open = "{type: object, x-kubernetes-preserve-unknown-fields: true}";
    format!(
        "{{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {{name: {plural}.{group}}}, spec: \
         {{group: {group}, scope: {scope}, names: {{kind: {kind}, plural: {plural}}}, versions: [{{name: {version}, served: \
         true, storage: true, subresources: {{status: {{}}}}, schema: {{openAPIV3Schema: {{type: object, properties: {{spec: \
         {open}, status: {open}}}}}}}}}]}}}}"
    )
}

/// What the account of a scan with few rights may do.
const LIMITED_ROLE: &str = r#"
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: background}, rules: [
  {apiGroups: [""], resources: [configmaps, namespaces, nodes, pods], verbs: [get, list, watch]},
  {apiGroups: [kyverno.io], resources: ["*"], verbs: [get, list, watch, patch, update]},
  {apiGroups: [policies.kyverno.io, openreports.io, api.kubemod.io], resources: ["*"], verbs: [get, list, watch]},
  {apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: [get, list, watch]},
  {apiGroups: [""], resources: [events], verbs: [create, patch]},
  {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, create, update, patch]}]}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: background, namespace: kubewright-system}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: background}, roleRef: {apiGroup:
  rbac.authorization.k8s.io, kind: ClusterRole, name: background}, subjects: [{kind: ServiceAccount, name: background,
  namespace: kubewright-system}]}
"#;

impl Stage {
    /// Makes an account with few rights.
    pub(crate) fn limited_account(&self) {
        self.apply(LIMITED_ROLE);
    }

    /// Grants it the right to write a resource of the core group.
    pub(crate) fn grant(&self, resource: &str) {
        self.apply(&format!(
            r#"
{{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {{name: granted}}, rules: [{{apiGroups: [""],
  resources: [{resource}], verbs: [get, list, watch, create, update, delete]}}]}}
---
{{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {{name: granted}}, roleRef: {{apiGroup:
  rbac.authorization.k8s.io, kind: ClusterRole, name: granted}}, subjects: [{{kind: ServiceAccount, name: background,
  namespace: kubewright-system}}]}}
"#
        ));
    }
}
