//! Edges of Pods and workloads: configuration, accounts, images, classes, nodes.
//!
//! There are more of them than of anything else, so every object is gone through once, not searched for each field.

use kubewright_value::{Map, Value};

use super::{Deriving, PodTemplateView, ReferenceTarget, core, or, strength_of};
use crate::names::NO_PLACE;
use crate::{EdgeType, Strength};

impl Deriving<'_, '_> {
    pub(super) fn pod(&mut self, template: &PodTemplateView<'_>) {
        let path = template.path;
        let namespace = self.namespace.clone();
        let [mut account, mut old_account] = [""; 2];
        let mut volumes: &[Value] = &[];
        let mut mounted: Vec<&str> = Vec::new();
        for (field, value) in template.spec.as_object().into_iter().flat_map(Map::iter) {
            match field.as_str() {
                "containers" => self.containers(path, "containers", value, &mut mounted),
                "initContainers" => self.containers(path, "initContainers", value, &mut mounted),
                "ephemeralContainers" => self.containers(path, "ephemeralContainers", value, &mut mounted),
                "volumes" => volumes = value.as_array().unwrap_or_default(),
                "serviceAccountName" => account = value.as_str().unwrap_or_default(),
                "serviceAccount" => old_account = value.as_str().unwrap_or_default(),
                "imagePullSecrets" => self.pull_secrets(path, value),
                "priorityClassName" => {
                    self.class(path, "priorityClassName", ("scheduling.k8s.io", "PriorityClass"), value);
                }
                "runtimeClassName" => {
                    self.class(path, "runtimeClassName", ("node.k8s.io", "RuntimeClass"), value);
                }
                "nodeName" => {
                    let node = core("Node", "", value.as_str().unwrap_or_default());
                    let via = [(path, NO_PLACE), ("nodeName", NO_PLACE)];
                    self.refer(EdgeType::SCHEDULED_ON, node, via, Strength::Required);
                }
                "affinity" => self.affinity(template, value),
                _ => {}
            }
        }
        self.nodes(template.spec, path);
        mounted.sort_unstable();
        mounted.dedup();
        self.volumes(path, volumes, &mounted);
        let (field, name) = match account.is_empty() && !old_account.is_empty() {
            true => ("serviceAccount", old_account),
            false => ("serviceAccountName", account),
        };
        let via = [(path, NO_PLACE), (field, NO_PLACE)];
        let account = core("ServiceAccount", &namespace, or(name, "default"));
        match name.is_empty() {
            false => self.refer(EdgeType::USES_SA, account, via, Strength::Required),
            true => self.refer_if_present(EdgeType::USES_SA, account, via, Strength::Implicit),
        }
    }

    /// The containers of one list. Adds the names of the volumes that they mount.
    fn containers<'o>(
        &mut self,
        path: &'static str,
        list: &'static str,
        containers: &'o Value,
        mounted: &mut Vec<&'o str>,
    ) {
        for (at, container) in containers.as_array().unwrap_or_default().iter().enumerate() {
            for (field, value) in container.as_object().into_iter().flat_map(Map::iter) {
                match field.as_str() {
                    "envFrom" => self.sources(path, (list, at), value),
                    "env" => self.variables(path, (list, at), value),
                    "image" => {
                        let image = core("Image", "", value.as_str().unwrap_or_default());
                        let via = [(path, NO_PLACE), (list, at), ("image", NO_PLACE)];
                        self.refer(EdgeType::USES_IMAGE, image, via, Strength::Required);
                    }
                    "volumeMounts" | "volumeDevices" => {
                        let mounts = value.as_array().unwrap_or_default().iter();
                        mounted.extend(mounts.filter_map(|mount| mount.get("name")?.as_str()));
                    }
                    _ => {}
                }
            }
        }
    }

    fn sources(&mut self, path: &'static str, container: (&'static str, usize), sources: &Value) {
        let namespace = self.namespace.clone();
        for (at, source) in sources.as_array().unwrap_or_default().iter().enumerate() {
            for (field, reference) in source.as_object().into_iter().flat_map(Map::iter) {
                let (field, kind) = match field.as_str() {
                    "configMapRef" => ("configMapRef", "ConfigMap"),
                    "secretRef" => ("secretRef", "Secret"),
                    _ => continue,
                };
                let target = core(kind, &namespace, super::text_at(reference, &["name"]));
                let via = [(path, NO_PLACE), container, ("envFrom", at), (field, NO_PLACE)];
                self.refer(EdgeType::USES_CONFIG, target, via, strength_of(reference));
            }
        }
    }

    fn variables(&mut self, path: &'static str, container: (&'static str, usize), variables: &Value) {
        let namespace = self.namespace.clone();
        for (at, variable) in variables.as_array().unwrap_or_default().iter().enumerate() {
            let source = variable.get("valueFrom").and_then(Value::as_object);
            for (field, reference) in source.into_iter().flat_map(Map::iter) {
                let (field, kind) = match field.as_str() {
                    "configMapKeyRef" => ("valueFrom.configMapKeyRef", "ConfigMap"),
                    "secretKeyRef" => ("valueFrom.secretKeyRef", "Secret"),
                    _ => continue,
                };
                let target = core(kind, &namespace, super::text_at(reference, &["name"]));
                let via = [(path, NO_PLACE), container, ("env", at), (field, NO_PLACE)];
                self.refer(EdgeType::USES_CONFIG, target, via, strength_of(reference));
            }
        }
    }

    fn pull_secrets(&mut self, path: &'static str, secrets: &Value) {
        let namespace = self.namespace.clone();
        for (at, secret) in secrets.as_array().unwrap_or_default().iter().enumerate() {
            let secret = core("Secret", &namespace, super::text_at(secret, &["name"]));
            let via = [(path, NO_PLACE), ("imagePullSecrets", at)];
            self.refer(EdgeType::USES_CONFIG, secret, via, Strength::Required);
            self.refer(EdgeType::PULLS_WITH, secret, via, Strength::Required);
        }
    }

    fn class(&mut self, path: &'static str, field: &'static str, kind: (&str, &str), name: &Value) {
        let name = name.as_str().unwrap_or_default();
        let class = ReferenceTarget { group: kind.0, kind: kind.1, namespace: "", name };
        self.refer(EdgeType::OF_CLASS, class, [(path, NO_PLACE), (field, NO_PLACE)], Strength::Required);
    }
}
