//! ModRules in a cluster.

use kubewright_engine::{
    Door, IgnoredNamespace, InCluster, Needs, Outcome, Reply, Right, Target, TargetName, WatchRole, Watched,
    Webhook,
};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Deadline, Document, Value};

use super::binding::{Binding, bind_in_cluster};
use super::dry_run::dry_run_with;
use super::ignored::{IGNORE_LABEL, IGNORED, IGNORED_BY_DEFAULT};
use super::references::REFERENCES;
use super::resources::Resource;
use super::{ModRule, denial_of};

impl InCluster for ModRule {
    fn definitions(&self) -> Vec<&'static str> {
        vec![include_str!("crd.yaml")]
    }

    fn watched(&self) -> &'static [Watched] {
        &[Watched {
            group: "api.kubemod.io",
            version: "v1beta1",
            resource: "modrules",
            kind: "ModRule",
            role: WatchRole::Rule,
        }]
    }

    fn webhook(&self, _document: &Document) -> Webhook {
        let operations = [Operation::Create, Operation::Update, Operation::Delete].into_iter().collect();
        let target = |resource: &Resource| Target {
            group: resource.group.clone(),
            version: "*".into(),
            name: TargetName::Resource(resource.name.clone()),
            subresource: resource.subresource.clone(),
            operations,
        };
        Webhook {
            door: Door::Mutate,
            fails: false,
            own: None,
            timeout: 5,
            conditions: Vec::new(),
            namespaces: Value::Null,
            objects: Value::Null,
            targets: self.resources.iter().map(target).collect(),
        }
    }

    /// A rule that comes to a node in another way, with all of the object in a template, has it looked up.
    fn needs(&self, document: &Document) -> Needs {
        let nodes = document.value.get("spec").is_some_and(|spec| spec.to_string().contains(REFERENCES));
        Needs { nodes, ..Needs::default() }
    }

    /// Functions of the clock and of chance are off unless they are allowed.
    fn goes_stale(&self, _document: &Document) -> bool {
        self.has_allowed_functions
    }

    fn rights(&self) -> &'static [Right] {
        &[
            Right {
                group: "",
                resources: &["nodes"],
                verbs: &["get", "list", "watch"],
                why: "the node of a Pod, as rules see it",
            },
            Right {
                group: "",
                resources: &["pods"],
                verbs: &["get", "patch"],
                why: "the annotation with the name of its node, for a Pod that asks for it",
            },
        ]
    }

    fn reply(&self, _request: &AdmissionRequest, outcomes: &[&Outcome]) -> Reply {
        let message = denial_of(outcomes.iter().copied()).unwrap_or_default();
        Reply { reason: message.clone(), message, ..Reply::default() }
    }

    fn hears_bindings(&self) -> bool {
        true
    }

    fn bind(&self, binding: &Value, pod: &Value) -> Option<Value> {
        bind_in_cluster(&Binding::read(binding)?, pod)
    }

    fn dry_run(&self, request: &Value, deadline: Option<Deadline>) -> Option<Result<Value, String>> {
        request.get("modRules").or_else(|| request.get("resourceManifest"))?;
        Some(dry_run_with(self, request, deadline).map(|run| run.to_value()))
    }

    fn originals(&self) -> &'static [&'static str] {
        &["kubemod-mutating-webhook-configuration", "kubemod-validating-webhook-configuration"]
    }

    fn ignore_label(&self) -> Option<(&'static str, &'static str)> {
        Some((IGNORE_LABEL, IGNORED))
    }

    fn ignored_namespaces(&self) -> &'static [IgnoredNamespace] {
        &IGNORED_BY_DEFAULT
    }
}
