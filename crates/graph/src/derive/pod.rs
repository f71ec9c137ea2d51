//! What Pods, and what makes them, use: configuration, accounts, images, classes, nodes.

use kubewright_value::Value;

use super::Target;
use super::{Deriving, Template, core, items, or, strength_of, text};
use crate::{EdgeType, Strength};

/// Where the containers of a Pod are.
const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

impl Deriving<'_> {
    pub(super) fn pod(&mut self, template: &Template<'_>) {
        let (spec, path) = (template.spec, template.path);
        self.volumes(template);
        for list in CONTAINERS {
            for (at, container) in items(spec, &[list]) {
                self.container(container, &format!("{path}.{list}[{at}]"));
            }
        }
        let namespace = self.namespace.clone();
        for (at, secret) in items(spec, &["imagePullSecrets"]) {
            let secret = core("Secret", &namespace, text(secret, &["name"]));
            let via = format!("{path}.imagePullSecrets[{at}]");
            self.refer(EdgeType::USES_CONFIG, secret, &via, Strength::Required);
            self.refer(EdgeType::PULLS_WITH, secret, &via, Strength::Required);
        }
        self.account(spec, path);
        let class = |group, kind, name| Target { group, kind, namespace: "", name };
        for (field, group, kind) in [
            ("priorityClassName", "scheduling.k8s.io", "PriorityClass"),
            ("runtimeClassName", "node.k8s.io", "RuntimeClass"),
        ] {
            let name = text(spec, &[field]);
            self.refer(
                EdgeType::OF_CLASS,
                class(group, kind, name),
                &format!("{path}.{field}"),
                Strength::Required,
            );
        }
        let node = core("Node", "", text(spec, &["nodeName"]));
        self.refer(EdgeType::SCHEDULED_ON, node, &format!("{path}.nodeName"), Strength::Required);
    }

    fn container(&mut self, container: &Value, path: &str) {
        let namespace = self.namespace.clone();
        for (at, source) in items(container, &["envFrom"]) {
            for (field, kind) in [("configMapRef", "ConfigMap"), ("secretRef", "Secret")] {
                if let Some(reference) = source.get(field) {
                    let target = core(kind, &namespace, text(reference, &["name"]));
                    let via = format!("{path}.envFrom[{at}].{field}");
                    self.refer(EdgeType::USES_CONFIG, target, &via, strength_of(reference));
                }
            }
        }
        for (at, variable) in items(container, &["env"]) {
            let Some(source) = variable.get("valueFrom") else { continue };
            for (field, kind) in [("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")] {
                if let Some(reference) = source.get(field) {
                    let target = core(kind, &namespace, text(reference, &["name"]));
                    let via = format!("{path}.env[{at}].valueFrom.{field}");
                    self.refer(EdgeType::USES_CONFIG, target, &via, strength_of(reference));
                }
            }
        }
        let image = core("Image", "", text(container, &["image"]));
        self.refer(EdgeType::USES_IMAGE, image, &format!("{path}.image"), Strength::Required);
    }

    fn account(&mut self, spec: &Value, path: &str) {
        let namespace = self.namespace.clone();
        let field = if text(spec, &["serviceAccountName"]).is_empty() {
            "serviceAccount"
        } else {
            "serviceAccountName"
        };
        let name = text(spec, &[field]);
        let account = core("ServiceAccount", &namespace, or(name, "default"));
        match name.is_empty() {
            false => self.refer(EdgeType::USES_SA, account, &format!("{path}.{field}"), Strength::Required),
            true => {
                let via = format!("{path}.serviceAccountName");
                self.refer_if_present(EdgeType::USES_SA, account, &via, Strength::Implicit);
            }
        }
    }
}
