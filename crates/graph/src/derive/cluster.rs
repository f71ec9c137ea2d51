//! What concerns the cluster: webhooks, events, limits of namespaces, applications, workloads' Services.

use kubewright_value::Value;

use super::{Deriving, Target, core, items, named_group, or, text};
use crate::{EdgeType, Strength};

/// Labels that say which application an object is part of; the first one counts.
const APPLICATION: [&str; 3] =
    ["app.kubernetes.io/instance", "app.kubernetes.io/part-of", "app.kubernetes.io/name"];

impl Deriving<'_> {
    /// Workloads that name a Service.
    pub(super) fn workload(&mut self, object: &Value) {
        if self.kind == "StatefulSet" {
            let own = self.namespace.clone();
            let service = core("Service", &own, text(object, &["spec", "serviceName"]));
            self.refer(EdgeType::GOVERNED_BY, service, "spec.serviceName", Strength::Required);
        }
    }

    pub(super) fn webhooks(&mut self, object: &Value) {
        for (at, webhook) in items(object, &["webhooks"]) {
            if let Some(service) = webhook.at(&["clientConfig", "service"]) {
                self.called(service, &format!("webhooks[{at}].clientConfig.service"));
            }
        }
        for keys in [&["spec", "service"][..], &["spec", "conversion", "webhook", "clientConfig", "service"]]
        {
            if let Some(service) = object.at(keys) {
                self.called(service, &keys.join("."));
            }
        }
    }

    fn called(&mut self, service: &Value, via: &str) {
        let service = core("Service", text(service, &["namespace"]), text(service, &["name"]));
        self.refer(EdgeType::CALLS_WEBHOOK, service, via, Strength::Required);
    }

    pub(super) fn event(&mut self, object: &Value) {
        for field in ["involvedObject", "regarding"] {
            let Some(about) = object.get(field) else { continue };
            let target = Target {
                group: named_group(about).unwrap_or_default(),
                kind: text(about, &["kind"]),
                namespace: text(about, &["namespace"]),
                name: text(about, &["name"]),
            };
            // What an event is about is often gone by the time somebody looks.
            self.refer_if_present(EdgeType::REPORTS_ON, target, field, Strength::Optional);
        }
    }

    /// ResourceQuotas and LimitRanges.
    pub(super) fn limits(&mut self) {
        let own = self.namespace.clone();
        if !own.is_empty() {
            let namespace = core("Namespace", "", &own);
            self.referred_by(EdgeType::LIMITED_BY, namespace, "metadata.namespace", Strength::Required);
        }
    }

    pub(super) fn application(&mut self, object: &Value) {
        let Some(labels) = object.at(&["metadata", "labels"]) else { return };
        let named = APPLICATION.iter().find(|label| !text(labels, &[label]).is_empty());
        let own = self.namespace.clone();
        let release = "meta.helm.sh/release-name";
        let (name, via) = match named {
            Some(label) => (text(labels, &[label]), format!("metadata.labels['{label}']")),
            None => {
                let name = text(object, &["metadata", "annotations", release]);
                (name, format!("metadata.annotations['{release}']"))
            }
        };
        let application = core("Application", or(&own, ""), name);
        self.refer(EdgeType::PART_OF, application, &via, Strength::Implicit);
    }
}
